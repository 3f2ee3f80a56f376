"""What a model answers of labelled dialogues: each distinct turn is encoded once, both heads work on the vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from transformers import PreTrainedTokenizerBase

from edos_dataset.arrays import Floats, Ints
from edos_dataset.labeling.models.context import ContextClassifier
from edos_dataset.labels import LABELS
from training.classifier.batches import micro_batches, pad
from training.labels.calibration import acceptable
from training.labels.model import turn_ids
from training.labels.plan import turns_of
from training.labels.recipe import LabelsRecipe
from training.labels.sources import Taught
from training.labels.targets import Target

_TOKENS = 2048
_BLOCK = 500  # dialogues that are labelled at once


@dataclass(frozen=True, eq=False)
class Vectors:
    """Dialogues one behind the other, and what their turns teach.

    Attributes:
        rows: int64 [turns], row of each turn's vector in `values`.
        values: float16 [distinct turns, width].
        bounds: int64 [dialogues + 1], the turns of dialogue i are `bounds[i]:bounds[i + 1]`.
        sources: source → its first dialogue and the one behind its last.
        labelled: int64 [turns], row of the turn's target, -1 without.
        targets: float32 [targets, 41].
    """

    rows: Ints
    values: Floats
    bounds: Ints
    sources: dict[str, tuple[int, int]]
    labelled: Ints
    targets: torch.Tensor

    def take(self, dialogues: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return of some dialogues the vectors [turns, width], the row of each turn's first one, which turns are
        labelled, and the rows of their targets.
        """
        turns, starts, chosen = turns_of(dialogues, self.bounds, self.labelled)
        vectors = torch.from_numpy(self.values[self.rows[turns]].astype(np.float32))
        targets = torch.from_numpy(self.labelled[turns[chosen]])
        return vectors, torch.from_numpy(starts), torch.from_numpy(chosen), targets


def vectors_of(
    corpus: Mapping[str, Sequence[Taught]],
    model: ContextClassifier,
    tokenizer: PreTrainedTokenizerBase,
    recipe: LabelsRecipe,
    accelerator: Accelerator,
    most: int | None = None,
) -> Vectors:
    """Encode the turns of dialogues, each distinct one once.

    Args:
        corpus: source → dialogues.
        model: its encoder.
        tokenizer: the encoder's.
        recipe: how many tokens of a turn are read.
        accelerator: every process encodes a part and gets all.
        most: labelled turns of a source, at most: dialogues in an order drawn by the recipe's seed; None for all.
    """
    texts: dict[str, int] = {}
    rows: list[int] = []
    labelled: list[int] = []
    targets: list[Target] = []
    bounds, sources = [0], {}
    for name, dialogues in corpus.items():
        begin, taken = len(bounds) - 1, 0
        for number in np.random.default_rng(recipe.seed).permutation(len(dialogues)).tolist():
            if most is not None and taken >= most:
                break
            each = dialogues[number]
            for text, target in zip(each.turns, each.targets, strict=True):
                rows.append(texts.setdefault(text, len(texts)))
                labelled.append(-1 if target is None else len(targets))
                targets += [] if target is None else [target]
                taken += target is not None
            bounds.append(len(rows))
        sources[name] = begin, len(bounds) - 1
    values = np.stack([target.values for target in targets])
    return Vectors(
        np.array(rows),
        encode(list(texts), model, tokenizer, recipe, accelerator),
        np.array(bounds),
        sources,
        np.array(labelled),
        torch.from_numpy(values),
    )


def encode(
    texts: Sequence[str],
    model: ContextClassifier,
    tokenizer: PreTrainedTokenizerBase,
    recipe: LabelsRecipe,
    accelerator: Accelerator,
) -> Floats:
    """Return the vectors of turns, float16 [n, width], as runs keep them."""
    inputs = turn_ids(texts, tokenizer, recipe.turn_tokens)
    parts: list[tuple[Ints, Floats]] = []
    model.eval()  # type: ignore[no-untyped-call]
    with torch.inference_mode(), accelerator.autocast():
        batches = micro_batches(np.arange(len(inputs)), inputs, _TOKENS)
        for batch in batches[accelerator.process_index :: accelerator.num_processes]:
            ids, mask = pad([inputs[row] for row in batch], tokenizer.pad_token_id or 0)
            found = model.encode(ids.to(accelerator.device), mask.to(accelerator.device))
            parts.append((batch, found.float().cpu().numpy().astype(np.float16)))
    parts = gather_object(parts)
    vectors: Floats = np.zeros((len(inputs), parts[0][1].shape[1] if parts else 0), np.float16)
    for batch, own in parts:
        vectors[batch] = own
    return vectors


def answers_of(model: ContextClassifier, vectors: Vectors, accelerator: Accelerator) -> dict[str, Floats]:
    """Return the logits of all labelled turns, by each of the model's answers, float32 [targets, 41]."""
    model.eval()  # type: ignore[no-untyped-call]
    found = {name: np.zeros((len(vectors.targets), len(LABELS)), np.float32) for name in model.config.answers}
    with torch.inference_mode():
        for start in range(0, len(vectors.bounds) - 1, _BLOCK):
            block = range(start, min(start + _BLOCK, len(vectors.bounds) - 1))
            values, starts, chosen, rows = vectors.take(block)
            values, starts, chosen = (part.to(accelerator.device) for part in (values, starts, chosen))
            logits, odds = model.see_dialogues(values, starts)
            seen = {"turn": model.see_turns(values[chosen]), "history": (logits[chosen], odds[chosen])}
            for name, answers in found.items():
                said = seen[model.config.answers[name]["sees"]]
                answers[rows] = model.mix(*said, name).float().cpu().numpy()
    return found


def hits(vectors: Vectors, logits: Floats) -> dict[str, float]:
    """Return for each source the share of labelled turns whose most probable label is among the right ones."""
    right = acceptable(logits, vectors.targets.numpy())
    return {name: float(right[rows].mean()) for name in vectors.sources if len(rows := rows_of(vectors, name))}


def rows_of(vectors: Vectors, name: str) -> Ints:
    """Return the rows of the targets of a source."""
    start, stop = vectors.sources[name]
    own = vectors.labelled[vectors.bounds[start] : vectors.bounds[stop]]
    found: Ints = own[own >= 0]
    return found
