"""Metrics for sets of labels as reference: classes of other datasets, each of which several of our labels can stand
for, and examples for which more than one label is right.

Throughout, `probabilities` are [n, labels] rows that sum to 1, and `right` is [n, classes]: whether a class is right
for an example; several can be.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Bools, Ints
from edos_dataset.metrics.classification import BINS, Array, Values, rates
from edos_dataset.metrics.resampling import interval, resampled


def without(probabilities: Values, left_out: Ints) -> Array:
    """Return probabilities without some labels, float64, renormalised; a row without other labels becomes 0."""
    kept = probabilities.astype(np.float64)
    kept[:, left_out] = 0
    kept /= np.maximum(kept.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return kept


def group_probabilities(probabilities: Values, sets: Bools) -> Array:
    """Return for each class the probability that the label is in its set, float64 [n, classes].

    Args:
        probabilities: [n, labels].
        sets: [classes, labels], which labels can stand for a class. A label that stands for several counts fully for
            each, so rows may sum to more than 1.
    """
    return probabilities.astype(np.float64) @ sets.T.astype(np.float64)


def fitting_classes(probabilities: Values, sets: Bools, right: Bools) -> Ints:
    """Return the class [n] of the most probable label that stands for any class: a right one of its classes, else the
    first.

    This is for sets that contain others: by `group_probabilities` the smaller set could never win, and a label in both
    does not show which is meant.
    """
    best = np.where(sets.any(axis=0), probabilities, -1).argmax(axis=1)
    classes = sets[:, best].T
    fitting = classes & right
    return np.asarray(np.where(fitting.any(axis=1), fitting.argmax(axis=1), classes.argmax(axis=1)))


def nested(sets: Bools) -> bool:
    """Return whether one of the sets [classes, labels] is a subset of another."""
    inside = sets.astype(np.int64) @ sets.T == sets.sum(axis=1, keepdims=True)
    return bool((inside & ~np.eye(len(sets), dtype=bool)).any())


def set_hits(predicted: Ints, right: Bools, places: int = 1) -> Bools:
    """Return [n], whether one of the first `places` predictions is right.

    Args:
        predicted: [n] ids, or [n, any] ids in order.
        right: [n, classes].
        places: how many predictions count.
    """
    asked = predicted.reshape(len(predicted), -1)[:, :places]
    return np.asarray(np.take_along_axis(right, asked, axis=1).any(axis=1))


def shared_confusion(predicted: Ints, right: Bools) -> Array:
    """Return the confusion matrix, float64 [classes, classes], of right (row) and predicted (column) classes; each
    example adds 1.

    An example with several right classes counts for the predicted class if that is right, otherwise equally for all
    right ones.
    """
    said = np.eye(right.shape[1])[predicted]
    parts = right / np.maximum(right.sum(axis=1, keepdims=True), 1)
    counts: Array = np.where(set_hits(predicted, right)[:, None], said, parts).T @ said
    return counts


def set_scores(predicted: Ints, right: Bools) -> dict[str, Array]:
    """Return `precision`, `recall`, `f1` and `support`, each [classes], of each class against the rest, like
    `metrics.classification.per_label` for examples with one right class.
    """
    said = np.eye(right.shape[1], dtype=bool)[predicted]
    found, support, of_predicted = (each.sum(axis=0).astype(np.float64) for each in (said & right, right, said))
    return rates(found, support, of_predicted)


def weighted_f1(f1: Array, support: Array) -> Array:
    """Return the mean of F1 [..., classes] over classes, weighted by support (scikit-learn's "weighted"); NaN without
    examples.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Array = np.asarray((np.nan_to_num(f1) * support).sum(axis=-1) / support.sum(axis=-1))
    return means


def macro_f1(f1: Array) -> Array:
    """Return the mean of F1 [..., classes] over the classes for which it is defined; NaN if there are none."""
    there = ~np.isnan(f1)
    with np.errstate(invalid="ignore"):
        means: Array = np.asarray(np.where(there, f1, 0).sum(axis=-1) / there.sum(axis=-1))
    return means


def set_intervals(
    predicted: Ints,
    right: Bools,
    shares: Mapping[str, Bools],
    confidence: tuple[Values, Bools],
    groups: npt.NDArray[Any],
) -> dict[str, list[float | None]]:
    """Return 95 % intervals as from `resampling.interval`, all from the same resamples (seed 0).

    Args:
        predicted: [n] classes.
        right: [n, classes].
        shares: name → [n]; the statistic is the fraction of true values.
        confidence: [n] confidences, and [n] whether each prediction is right.
        groups: [n], examples that are resampled together.

    Returns:
        The names in `shares`; `weighted_f1` and `macro_f1`, over the examples with one right class; `ece`.
    """
    sure, sure_right = confidence
    bin_of = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
    said, single = np.eye(right.shape[1], dtype=bool)[predicted], right.sum(axis=1, keepdims=True) == 1
    parts = [
        np.ones((len(right), 1)),
        np.stack([*shares.values()], axis=1),
        np.eye(BINS)[bin_of] * (sure - sure_right)[:, None],
        said & right & single,
        right & single,
        said & single,
    ]
    drawn = resampled(np.hstack(parts).astype(np.float64), groups)
    size, hits, gaps, found, support, of_predicted = np.split(
        drawn, np.cumsum([part.shape[1] for part in parts])[:-1], axis=1
    )
    f1 = rates(found, support, of_predicted)["f1"]
    values = dict(zip(shares, (hits / size).T, strict=True))
    values |= {"weighted_f1": weighted_f1(f1, support), "macro_f1": macro_f1(f1)}
    values["ece"] = np.abs(gaps).sum(axis=1) / size[:, 0]
    return {name: interval(each) for name, each in values.items()}


def risk_coverage(confidence: Values, right: Bools, steps: int = 20) -> list[float]:
    """Return the accuracy among the most confident 1/steps, 2/steps, ... of all predictions; the error rate is the risk
    of El-Yaniv and Wiener (2010).

    Args:
        confidence: [n]; predictions with equal confidence all count with their mean accuracy.
        right: [n].
        steps: number of values.
    """
    order = np.argsort(-confidence, kind="stable")
    _, start, size = np.unique(-confidence[order], return_index=True, return_counts=True)
    expected = np.repeat(np.add.reduceat(right[order].astype(np.float64), start) / size, size)
    taken = np.maximum(np.ceil(len(right) * np.arange(1, steps + 1) / steps).astype(np.int64), 1)
    shares: list[float] = (np.cumsum(expected)[taken - 1] / taken).tolist()
    return shares
