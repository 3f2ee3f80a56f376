"""Outcomes at a threshold, and accuracy, precision, recall and F1 over many."""

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Bools, Floats

GRID = np.linspace(0, 1, 1001, dtype=np.float32)  # thresholds that are tried
CURVE_POINTS = 50


def outcomes_of(same: Bools, predicted: Bools) -> npt.NDArray[np.float64]:
    """Return [n, 4]: whether each seam is a new turn that was found, a false one, a missed one, or rightly none."""
    return np.stack([~same & ~predicted, same & ~predicted, ~same & predicted, same & predicted], axis=-1).astype(
        np.float64
    )


def accuracy_of(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the accuracy of counts of outcomes, [..., 4]; NaN where there are none."""
    with np.errstate(invalid="ignore"):
        return np.asarray((counts[..., 0] + counts[..., 3]) / counts.sum(axis=-1))


def f1_of(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the F1 of "new turn" of counts of outcomes, [..., 4]; NaN where there is none to find."""
    with np.errstate(invalid="ignore"):
        return np.asarray(2 * counts[..., 0] / (2 * counts[..., 0] + counts[..., 1] + counts[..., 2]))


def points_at(same: Bools, score: Floats, thresholds: Floats) -> list[dict[str, float | None]]:
    """Return accuracy, precision, recall and F1 at each threshold."""
    right = np.searchsorted(np.sort(score[~same]), thresholds)
    false = np.searchsorted(np.sort(score[same]), thresholds)
    counts = np.stack([right, false, (~same).sum() - right, same.sum() - false], axis=-1).astype(np.float64)
    with np.errstate(invalid="ignore"):
        columns = {
            "accuracy": accuracy_of(counts),
            "precision": right / (right + false),
            "recall": right / (~same).sum(),
            "f1": f1_of(counts),
        }
    return [
        {"threshold": round(float(limit), 4), **{name: rounded(column[row]) for name, column in columns.items()}}
        for row, limit in enumerate(thresholds)
    ]


def best_point(points: list[dict[str, float | None]], name: str) -> dict[str, float | None]:
    """Return the point of the highest value; the middle one of equals, farthest from where it would change."""
    values = np.array([point[name] if point[name] is not None else -1.0 for point in points])
    equal = np.flatnonzero(values == values.max()).tolist()
    return points[equal[len(equal) // 2]]


def thinned(points: list[dict[str, float | None]]) -> list[dict[str, float | None]]:
    """Return at most 50 points that lie evenly along the recall."""
    defined = [point for point in points if point["precision"] is not None and point["recall"] is not None]
    recall = np.array([point["recall"] for point in defined])
    if not defined:
        return []
    places = np.searchsorted(recall, np.linspace(0, 1, CURVE_POINTS))
    return [defined[row] for row in np.unique(np.minimum(places, len(recall) - 1))]


def rounded(value: npt.ArrayLike) -> float | None:
    """Return a number with four decimals; None for NaN."""
    value = float(np.asarray(value))
    return None if np.isnan(value) else round(value, 4)
