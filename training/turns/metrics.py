"""Metrics of turn boundaries: outcomes at a threshold, and accuracy, precision, recall and F1."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import average_precision_score, brier_score_loss, log_loss, roc_auc_score

from edos_dataset.arrays import Bools, Floats
from edos_dataset.metrics import classification as calibration
from edos_dataset.metrics import resampling
from training.turns.boundaries import Boundaries

GRID = np.linspace(0, 1, 1001, dtype=np.float32)  # thresholds to try
CURVE_POINTS = 50


def outcomes_of(same: Bools, predicted: Bools) -> npt.NDArray[np.float64]:
    """Return one-hot outcomes [n, 4] of each boundary, with "new turn" as positive: true positive, false positive,
    false negative, true negative.
    """
    return np.stack([~same & ~predicted, same & ~predicted, ~same & predicted, same & predicted], axis=-1).astype(
        np.float64
    )


def accuracy_of(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the accuracy of counts of outcomes, [..., 4]; NaN if there are none."""
    with np.errstate(invalid="ignore"):
        return np.asarray((counts[..., 0] + counts[..., 3]) / counts.sum(axis=-1))


def f1_of(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the F1 of "new turn" of counts of outcomes, [..., 4]; NaN if it is undefined."""
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
    """Return the point with the highest value; of equal ones the middle one, which is the most stable."""
    values = np.array([point[name] if point[name] is not None else -1.0 for point in points])
    equal = np.flatnonzero(values == values.max()).tolist()
    return points[equal[len(equal) // 2]]


def thinned(points: list[dict[str, float | None]]) -> list[dict[str, float | None]]:
    """Return at most 50 points, spread evenly over the recall."""
    defined = [point for point in points if point["precision"] is not None and point["recall"] is not None]
    recall = np.array([point["recall"] for point in defined])
    if not defined:
        return []
    places = np.searchsorted(recall, np.linspace(0, 1, CURVE_POINTS))
    return [defined[row] for row in np.unique(np.minimum(places, len(recall) - 1))]


def rounded(value: npt.ArrayLike) -> float | None:
    """Return a number rounded to four decimals; None for NaN."""
    value = float(np.asarray(value))
    return None if np.isnan(value) else round(value, 4)


def measure(boundaries: Boundaries, score: Floats, threshold: float = 0.5, *, seed: int = 0) -> dict[str, Any]:
    """Measure one scorer on the boundaries whose label is known.

    Args:
        boundaries: labelled boundaries; give whole documents including unknown boundaries, or `turns` will join what
            lies on both sides of a missing one.
        score: float32 [n], 0 to 1, the probability that the turn continues; may be NaN if the label is unknown.
        threshold: a new turn begins if the score is below it.
        seed: seed of the resampling of documents for the intervals.

    Returns:
        `seams`, `documents`, `threshold`; `accuracy`, `precision`, `recall`, `f1` at the threshold; `accuracy_interval`
        and `f1_interval` (95 %, by resampling documents); `roc_auc`, `average_precision`, `log_loss` (nats), `brier`,
        `ece`; `reliability` (bins), `curve` (at most 50 thresholds), `best_f1` and `best_accuracy` (points of the same
        form), `turns` (see turn_shares), `baselines`.

    Raises:
        ValueError: no label is known, or the score of a known label is missing or not between 0 and 1.
    """
    known = boundaries.known()
    same, scored = boundaries.same[known] == 1, _checked(boundaries, score)[known]
    at = points_at(same, scored, np.array([threshold], np.float32))[0]
    curve, bins = points_at(same, scored, GRID), reliability(same, scored)
    draws = resampling.resampled(outcomes_of(same, scored >= np.float32(threshold)), boundaries.group[known], seed=seed)
    return {
        "seams": len(same),
        "documents": len(np.unique(boundaries.group[known])),
        **at,
        "accuracy_interval": resampling.interval(accuracy_of(draws)),
        "f1_interval": resampling.interval(f1_of(draws)),
        **_ranking(same, scored),
        "ece": calibration_error(bins),
        "reliability": bins,
        "curve": thinned(curve),
        "best_f1": best_point(curve, "f1"),
        "best_accuracy": best_point(curve, "accuracy"),
        "turns": turn_shares(boundaries, score, sorted({threshold, *(step / 10 for step in range(1, 10))})),
        "baselines": baselines(same),
    }


def baselines(same: Bools) -> dict[str, dict[str, float | None]]:
    """Return the metrics of two baselines on the labels `same` [n]: the majority class, and a new turn at every
    sentence.
    """
    always = {"new_turn_everywhere": np.zeros(len(same), bool), "majority_class": np.full(len(same), same.mean() > 0.5)}
    counts = {name: outcomes_of(same, predicted).sum(axis=0) for name, predicted in always.items()}
    return {name: {"accuracy": rounded(accuracy_of(of)), "f1": rounded(f1_of(of))} for name, of in counts.items()}


def compare(
    boundaries: Boundaries,
    first: Floats,
    second: Floats,
    thresholds: tuple[float, float] = (0.5, 0.5),
    *,
    seed: int = 0,
) -> dict[str, Any]:
    """Compare two scorers on the same boundaries.

    Args:
        boundaries: labelled boundaries.
        first: float32 [n], scores of the first scorer.
        second: float32 [n], scores of the second scorer.
        thresholds: thresholds of both.
        seed: seed of the resampling of documents.

    Returns:
        `accuracy_difference`, `f1_difference` (first minus second) and their 95 % intervals, with both scorers measured
        on the same resampled documents; `only_first_right`, `only_second_right`: numbers of boundaries.

    Raises:
        ValueError: as for `measure`.
    """
    known = boundaries.known()
    same = boundaries.same[known] == 1
    predicted = [
        _checked(boundaries, score)[known] >= np.float32(limit)
        for score, limit in zip((first, second), thresholds, strict=True)
    ]
    outcomes = [outcomes_of(same, each) for each in predicted]
    draws = [resampling.resampled(each, boundaries.group[known], seed=seed) for each in outcomes]
    totals = [each.sum(axis=0) for each in outcomes]
    right = [each == same for each in predicted]
    return {
        "accuracy_difference": rounded(accuracy_of(totals[0]) - accuracy_of(totals[1])),
        "accuracy_interval": resampling.interval(accuracy_of(draws[0]) - accuracy_of(draws[1])),
        "f1_difference": rounded(f1_of(totals[0]) - f1_of(totals[1])),
        "f1_interval": resampling.interval(f1_of(draws[0]) - f1_of(draws[1])),
        "only_first_right": int((right[0] & ~right[1]).sum()),
        "only_second_right": int((right[1] & ~right[0]).sum()),
    }


def ablation_row(
    features: str, boundaries: Boundaries, score: Floats, whole: Floats, threshold: float = 0.5, *, seed: int = 0
) -> dict[str, Any]:
    """Return a row of an ablation table: accuracy and F1 of a model with other features, and the differences from the
    whole model.

    Args:
        features: the features that were left out, or the only ones used.
        boundaries: labelled boundaries.
        score: float32 [n], of the model with these features.
        whole: float32 [n], of the model with all features.
        threshold: threshold of both.
        seed: seed of the resampling of documents.
    """
    known = boundaries.known()
    point = points_at(
        boundaries.same[known] == 1, _checked(boundaries, score)[known], np.array([threshold], np.float32)
    )[0]
    return {
        "features": features,
        "accuracy": point["accuracy"],
        "f1": point["f1"],
        **compare(boundaries, score, whole, (threshold, threshold), seed=seed),
    }


def by_confidence(
    boundaries: Boundaries, score: Floats, threshold: float = 0.5, edges: tuple[float, ...] = (0, 0.5, 0.8, 0.9, 1)
) -> list[dict[str, Any]]:
    """Return the accuracy in bands of the label's confidence, with which it rises if labels are noisy."""
    band = np.clip(
        np.searchsorted(np.array(edges, np.float32), boundaries.confidence, side="right") - 1, 0, len(edges) - 2
    )
    right = (score >= np.float32(threshold)) == (boundaries.same == 1)
    rows = []
    for number, (low, high) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
        inside = boundaries.known() & (band == number)
        if inside.any():
            rows.append(
                {"from": low, "to": high, "seams": int(inside.sum()), "accuracy": rounded(right[inside].mean())}
            )
    return rows


def turn_shares(boundaries: Boundaries, score: Floats, thresholds: list[float]) -> list[dict[str, float | None]]:
    """Return, for each threshold, the fractions of turns with more than one speaker and of speakers' runs that are cut.

    An unknown boundary ends a turn and a run. A run is what a speaker says until another one speaks; it is cut if a
    turn begins within it.

    Args:
        boundaries: labelled boundaries of whole documents.
        score: float32 [n], NaN allowed if the label is unknown.
        thresholds: one row is returned for each.

    Returns:
        Rows of `threshold`, `mixed_turns`, `cut_runs` (fractions, 0 to 1), `sentences_per_turn`.
    """
    boundary = ~boundaries.known() | np.r_[True, boundaries.group[1:] != boundaries.group[:-1]]
    alone = boundary & np.r_[boundary[1:], True]  # a sentence between two unknown boundaries gives no information
    boundary, is_new, scored = boundary[~alone], boundaries.same[~alone] == 0, score[~alone]
    run = np.cumsum(boundary | is_new)
    rows = []
    for threshold in thresholds:
        begins = boundary | ~(scored >= np.float32(threshold))
        turn = np.cumsum(begins)
        mixed, cut = len(np.unique(turn[is_new & ~begins])), len(np.unique(run[begins & ~boundary & ~is_new]))
        counts = max(begins.sum(), 1)
        shares = {
            "mixed_turns": mixed / counts,
            "cut_runs": cut / max(len(np.unique(run)), 1),
            "sentences_per_turn": len(begins) / counts,
        }
        rows.append({"threshold": threshold, **{name: rounded(value) for name, value in shares.items()}})
    return rows


def reliability(same: Bools, score: Floats) -> list[dict[str, Any]]:
    """Return the non-empty ones of 15 bins of equal width over the score: `seams`, mean `score`, and `same`, the
    fraction of labels "same turn".
    """
    sizes, scores, sames = calibration.reliability(score, same)
    return [
        {
            "from": number / calibration.BINS,
            "seams": int(sizes[number]),
            "score": rounded(scores[number] / sizes[number]),
            "same": rounded(sames[number] / sizes[number]),
        }
        for number in np.flatnonzero(sizes).tolist()
    ]


def calibration_error(bins: list[dict[str, Any]]) -> float:
    """Return the mean distance between score and fraction of same turns over the bins of `reliability`, weighted by
    size (Guo et al., 2017).
    """
    return round(
        float(np.average([abs(row["score"] - row["same"]) for row in bins], weights=[row["seams"] for row in bins])), 4
    )


def _checked(boundaries: Boundaries, score: Floats) -> Floats:
    known = boundaries.known()
    if len(score) != len(boundaries):
        raise ValueError(
            f"there are {len(score)} scores for {len(boundaries)} boundaries: score every sentence of the same "
            "documents, the first of each too"
        )
    if not known.any():
        raise ValueError(
            f"none of the {len(boundaries)} boundaries has a label, so there is nothing to measure: give "
            "documents that were aligned"
        )
    wrong = np.flatnonzero(known & ~((score >= 0) & (score <= 1)))
    if len(wrong):
        raise ValueError(
            f"the score of boundary {wrong[0]} is {score[wrong[0]]}, but a labelled boundary needs a probability "
            "between 0 and 1"
        )
    return score


def _ranking(same: Bools, score: Floats) -> dict[str, float | None]:
    """Compute the metrics that need no threshold; if there is only one class, only the probability errors
    are defined.
    """
    both = bool(same.any() and not same.all())
    return {
        "roc_auc": rounded(roc_auc_score(same, score)) if both else None,
        "average_precision": rounded(average_precision_score(~same, 1 - score)) if both else None,
        "log_loss": rounded(log_loss(same, score.astype(np.float64), labels=[False, True])),
        "brier": rounded(brier_score_loss(same, score, pos_label=True))
        if both
        else rounded(np.mean((score - same) ** 2)),
    }
