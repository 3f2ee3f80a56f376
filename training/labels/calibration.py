"""What probabilities are made to mean: temperatures, and what the labels' shares in films would be worth."""

from typing import NamedTuple

import numpy as np

from edos_dataset.arrays import Bools, Floats
from edos_dataset.metrics.calibration import softmax

_TEMPERATURES = np.round(np.geomspace(0.4, 3.0, 60), 4)
_CLEAR = 0.4
"""Part of the largest share that a label needs to be right: one worker of four says almost anything."""


class Calibration(NamedTuple):
    """What was fitted to turns of films.

    Attributes:
        temperature: of the answer.
        figures: what was measured.
    """

    temperature: float
    figures: dict[str, float]


def calibrate(logits: Floats, targets: Floats) -> Calibration:
    """Fit the temperature so that of turns with confidence c a share c has one of the right labels. What a shift of the
    labels, fitted on one half of the turns, would be worth on the other is measured.

    Args:
        logits: float32 [n, 41].
        targets: float32 [n, 41], the shares of the labels; right are those with at least `_CLEAR` of the largest share.

    Raises:
        ValueError: there are no two turns, one for each half.
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
    told = {name: round(value, 4) for name, value in figures.items()}
    return Calibration(float(temperature), told)


def label_shift(logits: Floats, shares: Floats, rounds: int = 50) -> Floats:
    """Return what to add to logits so that the mean probabilities are the shares, which sum to 1, float32 [41] (the
    prior correction of Saerens, Latinne and Decaestecker, 2002, with known shares). Labels without a share stay.
    """
    shift: Floats = np.zeros(logits.shape[1], np.float32)
    known = shares > 0
    for _ in range(rounds):
        means = softmax(logits + shift).mean(axis=0)
        shift[known] += 0.5 * np.log(shares[known] / np.maximum(means[known], 1e-6))
    return shift


def acceptable(logits: Floats, targets: Floats) -> Bools:
    """Return of which turns the most probable label is among the right ones, [n]."""
    found: Bools = targets[np.arange(len(logits)), logits.argmax(axis=1)] > 0
    return found


def hit_rate(logits: Floats, targets: Floats) -> float:
    """Return the share of turns whose most probable label is among the right ones."""
    return float(acceptable(logits, targets).mean())


def calibration_error(confidence: Floats, right: Bools, bins: int = 15) -> float:
    """Return the expected calibration error, over bins of equally many turns."""
    order = np.array_split(np.argsort(confidence, kind="stable"), bins)
    gaps = [len(part) * abs(float(confidence[part].mean()) - float(right[part].mean())) for part in order if len(part)]
    return sum(gaps) / max(1, len(confidence))
