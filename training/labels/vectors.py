"""Dialogues as the context layer learns from them: the vectors of their turns, from an encoder that is trained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from transformers import PreTrainedTokenizerBase

from edos_dataset.arrays import Floats, Ints
from edos_dataset.labeling.models.context import ContextClassifier
from training.caches import kept, key_of
from training.classifier.batches import micro_batches, pad
from training.labels.model import turn_ids
from training.labels.recipe import LabelsRecipe
from training.labels.sources import Taught
from training.labels.targets import Target, whole_set

_TOKENS = 2048


@dataclass(frozen=True, eq=False)
class Vectors:
    """Dialogues one behind the other, and what their turns teach.

    Attributes:
        rows: int64 [turns], row of each turn's vector in `values`.
        values: float16 [distinct turns, width].
        bounds: int64 [dialogues + 1], the turns of dialogue i are `bounds[i]:bounds[i + 1]`.
        sources: source → its first dialogue and the one behind its last.
        labelled: int64 [turns], row of the turn's target, -1 without.
        targets, wide: float32 [targets, 41]; kinds: int64 [targets].
    """

    rows: Ints
    values: Floats
    bounds: Ints
    sources: dict[str, tuple[int, int]]
    labelled: Ints
    targets: torch.Tensor
    wide: torch.Tensor
    kinds: torch.Tensor

    def take(self, dialogues: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return of some dialogues the vectors [turns, width], the row of each turn's first one, which turns are
        labelled, and the rows of their targets.
        """
        spans = [np.arange(self.bounds[each], self.bounds[each + 1]) for each in dialogues]
        turns = np.concatenate(spans)
        starts = np.repeat(np.cumsum([0, *map(len, spans)])[:-1], [len(span) for span in spans])
        targets = self.labelled[turns]
        chosen = np.flatnonzero(targets >= 0)
        vectors = torch.from_numpy(self.values[self.rows[turns]].astype(np.float32))
        return vectors, torch.from_numpy(starts), torch.from_numpy(chosen), torch.from_numpy(targets[chosen])


def vectors_of(
    corpus: Mapping[str, Sequence[Taught]],
    model: ContextClassifier,
    tokenizer: PreTrainedTokenizerBase,
    recipe: LabelsRecipe,
    accelerator: Accelerator,
    most: int | None = None,
    cache: Path | None = None,
) -> Vectors:
    """Encode the turns of dialogues, each distinct one once.

    Args:
        corpus: source → dialogues.
        model: its encoder.
        tokenizer: the encoder's.
        recipe: how many tokens of a turn are read.
        accelerator: every process encodes a part and gets all.
        most: labelled turns of a source, at most: dialogues in an order drawn by the recipe's seed; None for all.
        cache: folder that keeps the vectors, so that the context layers can be trained anew; not with several
            processes.
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
    path = cache / f"vectors-{_key(model, list(texts))}.npy" if cache and accelerator.num_processes == 1 else None
    return Vectors(
        np.array(rows),
        kept(path, len(texts), lambda: encode(list(texts), model, tokenizer, recipe, accelerator)),
        np.array(bounds),
        sources,
        np.array(labelled),
        torch.from_numpy(values),
        torch.from_numpy(whole_set(values)),
        torch.tensor([int(target.kind) for target in targets]),
    )


def _key(model: ContextClassifier, texts: Sequence[str]) -> str:
    """Return a digest of an encoder and of texts."""
    digest = sha256()
    for values in model.encoder.state_dict().values():
        digest.update(values.cpu().numpy().tobytes())
    return key_of([digest.hexdigest(), *texts])


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
