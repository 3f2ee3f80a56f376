"""How good a classifier of the 41 labels is: plain functions of labels and probabilities, in NumPy.

Throughout, `labels` and `predicted` are int64 [n] label ids, `probabilities` [n, classes] rows that sum to 1, and
`logits` [n, classes] numbers whose softmax they are, up to the temperature; the logarithms of probabilities are logits.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edos_dataset.labels import LABELS
from edos_dataset.metrics.calibration import (
    BINS,
    Array,
    Ints,
    Values,
    calibration_error,
    check,
    softmax,
)
from edos_dataset.metrics.resampling import RESAMPLES, interval, resampled

TOP = 3


def confusion(labels: Ints, predicted: Ints, classes: int = len(LABELS)) -> npt.NDArray[np.int64]:
    """Count, int64 [classes, classes], the examples of each true label (row) and predicted label (column).

    Raises:
        ValueError: the two differ in length, or an id is not below `classes`.
    """
    if len(labels) != len(predicted):
        raise ValueError(f"there are {len(predicted)} predictions for {len(labels)} labels: give one for each")
    for name, ids in (("label", labels), ("prediction", predicted)):
        wrong = np.flatnonzero((ids < 0) | (ids >= classes))
        if len(wrong):
            raise ValueError(f"{name} {ids[wrong[0]]} of example {wrong[0]} is not an id from 0 to {classes - 1}")
    return np.bincount(labels * classes + predicted, minlength=classes**2).reshape(classes, classes).astype(np.int64)


def per_label(counts: npt.NDArray[np.int64]) -> dict[str, Array]:
    """Return `precision`, `recall`, `f1` and `support` (true examples), each [classes], of a confusion matrix.

    A precision without predictions and a recall without examples are 0; all three of a label that is on neither side
    are NaN.
    """
    return rates(
        counts.diagonal().astype(np.float64),
        counts.sum(axis=1).astype(np.float64),
        counts.sum(axis=0).astype(np.float64),
    )


def rates(right: Array, support: Array, predicted: Array) -> dict[str, Array]:
    """Return what `per_label` does, of counts [..., classes]: right, true and predicted ones of each label."""
    absent = support + predicted == 0
    measures = {
        "precision": right / np.maximum(predicted, 1),
        "recall": right / np.maximum(support, 1),
        "f1": 2 * right / np.maximum(support + predicted, 1),
    }
    return {**{name: np.where(absent, np.nan, values) for name, values in measures.items()}, "support": support}


def confusion_scores(counts: npt.NDArray[np.int64]) -> dict[str, float]:
    """Return `accuracy`, `macro_precision`, `macro_recall` and `macro_f1` of a confusion matrix with at least one
    example.

    Macro figures are means over the labels that are on at least one side, true or predicted, as in scikit-learn; a
    label on neither side doesn't count.
    """
    table = per_label(counts)
    means = {f"macro_{name}": float(np.nanmean(table[name])) for name in ("precision", "recall", "f1")}
    return {"accuracy": float(counts.trace() / counts.sum()), **means}


def scores(probabilities: Values, labels: Ints) -> dict[str, float]:
    """Return `confusion_scores` of the most probable labels, `top_3_accuracy` and `cross_entropy` (nats)."""
    counts = confusion(labels, probabilities.argmax(axis=1), probabilities.shape[1])
    return {
        **confusion_scores(counts),
        "top_3_accuracy": top_k_accuracy(probabilities, labels),
        "cross_entropy": cross_entropy(probabilities, labels),
    }


def top_k_accuracy(probabilities: Values, labels: Ints, k: int = TOP) -> float:
    """Return the share of examples whose label is among the k most probable; of equals the lower id comes first."""
    return float(_in_top(probabilities, labels, k).mean())


def _in_top(probabilities: Values, labels: Ints, k: int) -> npt.NDArray[np.bool_]:
    own = probabilities[np.arange(len(labels)), labels][:, None]
    earlier = np.arange(probabilities.shape[1]) < labels[:, None]
    ahead = (probabilities > own) | ((probabilities == own) & earlier)
    inside: npt.NDArray[np.bool_] = ahead.sum(axis=1) < k
    return inside


def cross_entropy(probabilities: Values, labels: Ints) -> float:
    """Return the mean negative log-probability (nats) of the labels; a probability below 1e-12 counts as that."""
    return float(-np.log(np.maximum(probabilities[np.arange(len(labels)), labels], 1e-12)).mean())


def bootstrap(
    probabilities: Values,
    labels: Ints,
    groups: npt.NDArray[Any] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, list[float | None]]:
    """Return 95 % intervals, as of `interval`, of `accuracy`, `macro_f1`, `top_3_accuracy` and `ece`, all of the same
    resamples.

    Args:
        probabilities: [n, classes].
        labels: [n].
        groups: [n], what is drawn together, such as the film of a dialogue; by default every example alone.
        resamples: how often to draw.
        seed: of the drawing.
    """
    classes, predicted, confidence = probabilities.shape[1], probabilities.argmax(axis=1), probabilities.max(axis=1)
    right = predicted == labels
    bin_of = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    identity = np.eye(classes)
    parts = [
        np.ones((len(labels), 1)),
        _in_top(probabilities, labels, TOP)[:, None],
        np.eye(BINS)[bin_of] * (confidence - right)[:, None],
        identity[labels] * right[:, None],
        identity[labels],
        identity[predicted],
    ]
    drawn = resampled(np.hstack(parts), np.arange(len(labels)) if groups is None else groups, resamples, seed)
    size, top, gaps, hits, support, of_predicted = np.split(
        drawn, np.cumsum([part.shape[1] for part in parts])[:-1], axis=1
    )
    values = {
        "accuracy": hits.sum(axis=1) / size[:, 0],
        "macro_f1": np.nanmean(rates(hits, support, of_predicted)["f1"], axis=1) if len(drawn) > 1 else drawn[:, 0],
        "top_3_accuracy": top[:, 0] / size[:, 0],
        "ece": np.abs(gaps).sum(axis=1) / size[:, 0],
    }
    return {name: interval(each) for name, each in values.items()}


def evaluate_predictions(
    logits: Values,
    labels: Ints,
    temperature: float = 1.0,
    groups: Sequence[Any] | npt.NDArray[Any] | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Return what a `metrics.json` holds, rounded to 4 digits.

    Args:
        logits: [n, 41] before the temperature.
        labels: [n].
        temperature: what the logits are divided by, above 0, fitted on other data.
        groups: [n], as of `bootstrap`.
        seed: of the intervals.

    Returns:
        `examples`, `temperature`, the `scores`, `majority_class_accuracy`, `cross_entropy_before_temperature`,
        `ece_before_temperature`, `ece`, `intervals` (as of `bootstrap`), `resampling` (how these were drawn),
        `by_label` (label → precision, recall, f1, support; null without a value).

    Raises:
        ValueError: there are no examples, lengths or ids don't fit, or a logit is not finite.
    """
    check(logits, labels, len(LABELS))
    if groups is not None and len(groups) != len(labels):
        raise ValueError(f"there are {len(groups)} groups for {len(labels)} labels: give one for each")
    before, probabilities = softmax(logits), softmax(logits, temperature)
    counts = confusion(labels, probabilities.argmax(axis=1))
    drawn = None if groups is None else np.asarray(groups)
    measures = {
        **scores(probabilities, labels),
        "majority_class_accuracy": float(counts.sum(axis=1).max() / len(labels)),
        "cross_entropy_before_temperature": cross_entropy(before, labels),
        "ece_before_temperature": calibration_error(before, labels),
        "ece": calibration_error(probabilities, labels),
    }
    table = per_label(counts)
    return {
        "examples": len(labels),
        "temperature": round(float(temperature), 4),
        **{name: round(value, 4) for name, value in measures.items()},
        "intervals": bootstrap(probabilities, labels, drawn, seed=seed),
        "resampling": {
            "level": 0.95,
            "resamples": RESAMPLES,
            "seed": seed,
            "groups": len(labels) if drawn is None else len(np.unique(drawn)),
        },
        "by_label": {label: _row(table, row) for row, label in enumerate(LABELS)},
    }


def _row(table: dict[str, Array], row: int) -> dict[str, float | None]:
    rates = {
        name: None if np.isnan(table[name][row]) else round(float(table[name][row]), 4)
        for name in ("precision", "recall", "f1")
    }
    return {**rates, "support": int(table["support"][row])}
