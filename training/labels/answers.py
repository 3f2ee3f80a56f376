"""The model's answers for labelled dialogues: each distinct turn is encoded once, and both heads use the vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from transformers import PreTrainedTokenizerBase

from edos_dataset.arrays import Bools, Floats, Ints
from edos_dataset.labeling.models.context import ContextClassifier
from edos_dataset.labels import LABELS
from edos_dataset.metrics.classification import softmax
from training.classifier.fit import micro_batches, pad
from training.labels.model import turn_ids
from training.labels.plan import turns_of
from training.labels.recipe import LabelsRecipe
from training.labels.sources import Taught
from training.labels.targets import Target

_TEMPERATURES = np.round(np.geomspace(0.4, 3.0, 60), 4)
_CLEAR = 0.4
"""Fraction of the largest share that a label needs to count as right: any answer can occur once among four workers."""


class Calibration(NamedTuple):
    """A calibration fitted to turns of films.

    Attributes:
        temperature: the temperature of the answer.
        figures: the measurements.
    """

    temperature: float
    figures: dict[str, float]


def calibrate(logits: Floats, targets: Floats) -> Calibration:
    """Fit the temperature so that of turns with confidence c, a fraction c has a right label.

    The gain of a label shift, fitted on one half of the turns, is measured on the other half.

    Args:
        logits: float32 [n, 41].
        targets: float32 [n, 41], the shares of the labels; labels with at least `_CLEAR` of the largest share are
            right.

    Raises:
        ValueError: there are fewer than two turns, one for each half.
    """
    if len(logits) < 2:
        raise ValueError(f"calibration needs at least two labelled turns, got {len(logits)}")
    targets = np.where(targets >= _CLEAR * targets.max(axis=1, keepdims=True), targets, 0)
    half = np.arange(len(logits)) % 2 == 0
    shares = targets[half].sum(axis=0)
    found = label_shift(logits[half], shares / shares.sum())
    before, after = (hit_rate(each[~half], targets[~half]) for each in (logits, logits + found))
    right = acceptable(logits, targets)
    temperature = min(
        _TEMPERATURES, key=lambda each: calibration_error(softmax(logits, float(each)).max(axis=1), right)
    )
    confidence = softmax(logits, float(temperature)).max(axis=1)
    figures = {
        "turns": len(logits),
        "acceptable": float(right.mean()),
        "acceptable_without_shift_on_the_other_half": before,
        "acceptable_with_shift_on_the_other_half": after,
        "mean_confidence": float(confidence.mean()),
        "expected_calibration_error": calibration_error(confidence, right),
    }
    rounded = {name: round(value, 4) for name, value in figures.items()}
    return Calibration(float(temperature), rounded)


def label_shift(logits: Floats, shares: Floats, rounds: int = 50) -> Floats:
    """Return the offsets of logits that make the mean probabilities equal to the shares, which sum to 1, float32 [41].

    This is the prior correction of Saerens, Latinne and Decaestecker (2002) with known priors. Labels without a share
    are not shifted.
    """
    shift: Floats = np.zeros(logits.shape[1], np.float32)
    known = shares > 0
    for _ in range(rounds):
        means = softmax(logits + shift).mean(axis=0)
        shift[known] += 0.5 * np.log(shares[known] / np.maximum(means[known], 1e-6))
    return shift


def acceptable(logits: Floats, targets: Floats) -> Bools:
    """Return for which turns the most probable label is right, [n]."""
    found: Bools = targets[np.arange(len(logits)), logits.argmax(axis=1)] > 0
    return found


def hit_rate(logits: Floats, targets: Floats) -> float:
    """Return the fraction of turns whose most probable label is right."""
    return float(acceptable(logits, targets).mean())


def calibration_error(confidence: Floats, right: Bools, bins: int = 15) -> float:
    """Return the expected calibration error, over bins of equal size."""
    order = np.array_split(np.argsort(confidence, kind="stable"), bins)
    gaps = [len(part) * abs(float(confidence[part].mean()) - float(right[part].mean())) for part in order if len(part)]
    return sum(gaps) / max(1, len(confidence))


_TOKENS = 2048
_BLOCK = 500  # dialogues labelled at once


@dataclass(frozen=True, eq=False)
class Vectors:
    """The encoded turns of dialogues, one after another, and their targets.

    Attributes:
        rows: int64 [turns], row of each turn's vector in `values`.
        values: float16 [distinct turns, width].
        bounds: int64 [dialogues + 1]; the turns of dialogue i are `bounds[i]:bounds[i + 1]`.
        sources: source → its first dialogue and the end of its dialogues.
        labelled: int64 [turns], row of the turn's target, -1 if none.
        targets: float32 [targets, 41].
    """

    rows: Ints
    values: Floats
    bounds: Ints
    sources: dict[str, tuple[int, int]]
    labelled: Ints
    targets: torch.Tensor

    def take(self, dialogues: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the vectors [turns, width] of some dialogues, the row of the first turn for each turn, which turns are
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
        model: the model whose encoder is used.
        tokenizer: the encoder's.
        recipe: states how many tokens of a turn are read.
        accelerator: every process encodes a part and receives all.
        most: maximum number of labelled turns of a source, from dialogues in random order by the recipe's seed; None
            for all.
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
    """Return the vectors of turns, float16 [n, width], as stored by runs."""
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
    """Return the logits of all labelled turns by answer of the model, float32 [targets, 41]."""
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
    """Return for each source the fraction of labelled turns whose most probable label is right."""
    right = acceptable(logits, vectors.targets.numpy())
    return {name: float(right[rows].mean()) for name in vectors.sources if len(rows := rows_of(vectors, name))}


def rows_of(vectors: Vectors, name: str) -> Ints:
    """Return the target rows of a source."""
    start, stop = vectors.sources[name]
    own = vectors.labelled[vectors.bounds[start] : vectors.bounds[stop]]
    found: Ints = own[own >= 0]
    return found
