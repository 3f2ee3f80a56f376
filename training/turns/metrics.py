"""Measure scorers of turns on labelled seams: what `train_turn_segmenter.py` reports.

A seam is the place between two sentences that follow each other. Its label `same` is 1 where one speaker goes on, 0
where a new turn begins, -1 where nobody knows; its score is the probability of the first, and a new turn begins where
the score is below the threshold. "New turn" is the class that precision, recall and F1 speak of. Everything that is
returned is plain data that JSON can hold; None stands for what has no value.
"""

from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, brier_score_loss, log_loss, roc_auc_score

from edos_dataset.arrays import Bools, Floats
from edos_dataset.metrics import calibration, resampling
from training.turns.points import GRID, accuracy_of, best_point, f1_of, outcomes_of, points_at, rounded, thinned
from training.turns.seams import Seams


def measure(seams: Seams, score: Floats, threshold: float = 0.5, *, seed: int = 0) -> dict[str, Any]:
    """Measure one scorer on the seams whose label is known.

    Args:
        seams: labelled seams; give whole documents with their unknown seams, or `turns` will join what lies on both
            sides of a missing one.
        score: float32 [n], 0 to 1: the probability that the turn goes on; it may be NaN where the label is unknown.
        threshold: a new turn begins where the score is below it.
        seed: of the drawing of documents for the intervals.

    Returns:
        `seams`, `documents`, `threshold`; `accuracy`, `precision`, `recall`, `f1` at the threshold; `accuracy_interval`
        and `f1_interval` (95 %, of documents drawn anew); `roc_auc`, `average_precision`, `log_loss` (nats), `brier`,
        `ece`; `reliability` (bins), `curve` (at most 50 thresholds), `best_f1` and `best_accuracy` (points like those
        of the curve), `turns` (see turn_shares), `baselines`.

    Raises:
        ValueError: no label is known, or a score of a known label is missing or not between 0 and 1.
    """
    known = seams.known()
    same, scored = seams.same[known] == 1, _checked(seams, score)[known]
    at = points_at(same, scored, np.array([threshold], np.float32))[0]
    curve, bins = points_at(same, scored, GRID), reliability(same, scored)
    draws = resampling.resampled(outcomes_of(same, scored >= np.float32(threshold)), seams.group[known], seed=seed)
    return {
        "seams": len(same),
        "documents": len(np.unique(seams.group[known])),
        **at,
        "accuracy_interval": resampling.interval(accuracy_of(draws)),
        "f1_interval": resampling.interval(f1_of(draws)),
        **_ranking(same, scored),
        "ece": calibration_error(bins),
        "reliability": bins,
        "curve": thinned(curve),
        "best_f1": best_point(curve, "f1"),
        "best_accuracy": best_point(curve, "accuracy"),
        "turns": turn_shares(seams, score, sorted({threshold, *(step / 10 for step in range(1, 10))})),
        "baselines": baselines(same),
    }


def baselines(same: Bools) -> dict[str, dict[str, float | None]]:
    """Return what the more frequent class and a new turn at every sentence would score on the labels `same` [n]."""
    always = {"new_turn_everywhere": np.zeros(len(same), bool), "majority_class": np.full(len(same), same.mean() > 0.5)}
    counts = {name: outcomes_of(same, predicted).sum(axis=0) for name, predicted in always.items()}
    return {name: {"accuracy": rounded(accuracy_of(of)), "f1": rounded(f1_of(of))} for name, of in counts.items()}


def compare(
    seams: Seams, first: Floats, second: Floats, thresholds: tuple[float, float] = (0.5, 0.5), *, seed: int = 0
) -> dict[str, Any]:
    """Compare two scorers on the same seams.

    Args:
        seams: labelled seams.
        first: float32 [n], scores of the one.
        second: float32 [n], scores of the other.
        thresholds: of the one and the other.
        seed: of the drawing of documents.

    Returns:
        `accuracy_difference`, `f1_difference` (first minus second) and their 95 % intervals, both scorers measured on
        the same drawn documents;
        `only_first_right`, `only_second_right`: seams.

    Raises:
        ValueError: as of `measure`.
    """
    known = seams.known()
    same = seams.same[known] == 1
    predicted = [
        _checked(seams, score)[known] >= np.float32(limit)
        for score, limit in zip((first, second), thresholds, strict=True)
    ]
    outcomes = [outcomes_of(same, each) for each in predicted]
    draws = [resampling.resampled(each, seams.group[known], seed=seed) for each in outcomes]
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
    features: str, seams: Seams, score: Floats, whole: Floats, threshold: float = 0.5, *, seed: int = 0
) -> dict[str, Any]:
    """Return the row of an ablation table: accuracy and F1 of a model with other features, and how they differ from
    those of the whole model.

    Args:
        features: what was left out, or what was left alone.
        seams: labelled seams.
        score: float32 [n], of the model with these features.
        whole: float32 [n], of the model with all features.
        threshold: of both.
        seed: of the drawing of documents.
    """
    known = seams.known()
    point = points_at(seams.same[known] == 1, _checked(seams, score)[known], np.array([threshold], np.float32))[0]
    return {
        "features": features,
        "accuracy": point["accuracy"],
        "f1": point["f1"],
        **compare(seams, score, whole, (threshold, threshold), seed=seed),
    }


def by_confidence(
    seams: Seams, score: Floats, threshold: float = 0.5, edges: tuple[float, ...] = (0, 0.5, 0.8, 0.9, 1)
) -> list[dict[str, Any]]:
    """Return the accuracy in bands of the label's confidence: it rises with it where labels are noisy."""
    band = np.clip(np.searchsorted(np.array(edges, np.float32), seams.confidence, side="right") - 1, 0, len(edges) - 2)
    right = (score >= np.float32(threshold)) == (seams.same == 1)
    rows = []
    for number, (low, high) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
        inside = seams.known() & (band == number)
        if inside.any():
            rows.append(
                {"from": low, "to": high, "seams": int(inside.sum()), "accuracy": rounded(right[inside].mean())}
            )
    return rows


def turn_shares(seams: Seams, score: Floats, thresholds: list[float]) -> list[dict[str, float | None]]:
    """Return, for thresholds, the turns that hold more than one speaker and the speakers' runs that are cut.

    An unknown seam ends a turn and a run. A run is what a speaker says until another one speaks; it is cut if a turn
    begins within it.

    Args:
        seams: labelled seams of whole documents.
        score: float32 [n], NaN allowed where the label is unknown.
        thresholds: each gives a row.

    Returns:
        Rows of `threshold`, `mixed_turns`, `cut_runs` (shares, 0 to 1), `sentences_per_turn`.
    """
    border = ~seams.known() | np.r_[True, seams.group[1:] != seams.group[:-1]]
    alone = border & np.r_[border[1:], True]  # a sentence between two unknown seams says nothing
    border, is_new, scored = border[~alone], seams.same[~alone] == 0, score[~alone]
    run = np.cumsum(border | is_new)
    rows = []
    for threshold in thresholds:
        begins = border | ~(scored >= np.float32(threshold))
        turn = np.cumsum(begins)
        mixed, cut = len(np.unique(turn[is_new & ~begins])), len(np.unique(run[begins & ~border & ~is_new]))
        counts = max(begins.sum(), 1)
        shares = {
            "mixed_turns": mixed / counts,
            "cut_runs": cut / max(len(np.unique(run)), 1),
            "sentences_per_turn": len(begins) / counts,
        }
        rows.append({"threshold": threshold, **{name: rounded(value) for name, value in shares.items()}})
    return rows


def reliability(same: Bools, score: Floats) -> list[dict[str, Any]]:
    """Return the filled ones of 15 equally wide bins of score: `seams`, mean `score`, and `same`, the share of labels
    that say so.
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
    """Return the mean distance of score and share of same turns over the bins of `reliability`, weighted by size (Guo
    et al., 2017).
    """
    return round(
        float(np.average([abs(row["score"] - row["same"]) for row in bins], weights=[row["seams"] for row in bins])), 4
    )


def _checked(seams: Seams, score: Floats) -> Floats:
    known = seams.known()
    if len(score) != len(seams):
        raise ValueError(
            f"there are {len(score)} scores for {len(seams)} seams: score every sentence of the same documents, the "
            "first of each too"
        )
    if not known.any():
        raise ValueError(
            f"none of the {len(seams)} seams has a label, so there is nothing to measure: give documents that were "
            "aligned"
        )
    wrong = np.flatnonzero(known & ~((score >= 0) & (score <= 1)))
    if len(wrong):
        raise ValueError(
            f"the score of seam {wrong[0]} is {score[wrong[0]]}, but a labelled seam needs a probability between 0 and "
            "1"
        )
    return score


def _ranking(same: Bools, score: Floats) -> dict[str, float | None]:
    """Measure what needs no threshold; without both classes only the errors of probabilities have a value."""
    both = bool(same.any() and not same.all())
    return {
        "roc_auc": rounded(roc_auc_score(same, score)) if both else None,
        "average_precision": rounded(average_precision_score(~same, 1 - score)) if both else None,
        "log_loss": rounded(log_loss(same, score.astype(np.float64), labels=[False, True])),
        "brier": rounded(brier_score_loss(same, score, pos_label=True))
        if both
        else rounded(np.mean((score - same) ** 2)),
    }
