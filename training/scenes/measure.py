"""Metrics of scene boundaries, counted as in `evaluation/gaps.py`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from edos_dataset.arrays import Doubles
from training.scenes.corpus import Episode

THRESHOLDS = np.round(np.arange(0.02, 0.8, 0.01), 2)
_BINS = 10  # of the calibration table


def at_breaks(episode: Episode, scores: Doubles) -> Doubles:
    """Return the highest score, by sentences, in the interval of each break, [breaks]; -inf if there is none."""
    highest = [
        np.max(np.where(np.isnan(part), -np.inf, part))
        for first, last in zip(episode.breaks.first, episode.breaks.last, strict=True)
        for part in [scores[first : last + 1]]
    ]
    return np.array(highest, np.float64)


def judge(
    episodes: Sequence[Episode], scores: Sequence[Doubles], thresholds: Sequence[float]
) -> list[dict[str, float]]:
    """Evaluate "a scene begins where the score is at least the threshold" at each threshold.

    Args:
        episodes: the episodes, with their known breaks.
        scores: scores of each episode, [sentences]; NaN and -inf are never boundaries.
        thresholds: thresholds of the scores.

    Returns:
        Rows of `threshold`, `precision` (1 minus the fraction of cuts inside a scene), `recall` (fraction of breaks
        found), `f1` and `cuts`, the number of cuts that are known to be right or wrong.
    """
    rows = []
    breaks = sum(float(one.breaks.weight.sum()) for one in episodes)
    pairs = [(one, score, at_breaks(one, score)) for one, score in zip(episodes, scores, strict=True)]
    for threshold in thresholds:
        right = sum(float(one.breaks.weight[found >= threshold].sum()) for one, _, found in pairs)
        wrong = sum(
            one.breaks.boundary * float((score[one.breaks.within] >= threshold).sum()) for one, score, _ in pairs
        )
        precision = right / (right + wrong) if right + wrong else 1.0
        figures = (precision, right / breaks, 2 * right / (right + wrong + breaks), right + wrong)
        rows.append(
            {"threshold": float(threshold)}
            | dict(zip(("precision", "recall", "f1", "cuts"), (round(one, 4) for one in figures), strict=True))
        )
    return rows


def interval(
    episodes: Sequence[Episode], scores: Sequence[Doubles], threshold: float, seed: int = 0, samples: int = 1000
) -> list[float]:
    """Return the 95 % confidence interval of F1, from a bootstrap over episodes."""
    counts = np.array(
        [
            (
                one.breaks.weight[at_breaks(one, score) >= threshold].sum(),
                (score[one.breaks.within] >= threshold).sum() * one.breaks.boundary,
                one.breaks.weight.sum(),
            )
            for one, score in zip(episodes, scores, strict=True)
        ],
        np.float64,
    )
    picks = np.random.default_rng(seed).integers(len(counts), size=(samples, len(counts)))
    right, wrong, breaks = counts[picks].sum(1).T
    return [round(float(one), 4) for one in np.quantile(2 * right / (right + wrong + breaks), [0.025, 0.975])]


def calibration(episodes: Sequence[Episode], scores: Sequence[Doubles]) -> list[dict[str, float]]:
    """Return rows of `from` (lower edge of a tenth), `borders`, `mean_score` and `share_of_breaks`.

    Boundaries are weighted as in `Breaks`; the most likely boundary of an interval counts as the break.
    """
    parts = []
    for one, score in zip(episodes, scores, strict=True):
        own = score[one.begins]
        label, worth = one.labels(own)
        used = (worth > 0) & np.isfinite(own)
        parts.append(np.stack([own[used], label[used], worth[used]]))
    confidence, right, weight = np.concatenate(parts, axis=1)
    bins = np.minimum((confidence * _BINS).astype(np.int64), _BINS - 1)
    sizes, sums, hits = (np.bincount(bins, weight * part, _BINS) for part in (np.ones(len(right)), confidence, right))
    return [
        {
            "from": round(place / _BINS, 1),
            "borders": round(float(size), 1),
            "mean_score": round(float(total / size), 4),
            "share_of_breaks": round(float(hit / size), 4),
        }
        for place, (size, total, hit) in enumerate(zip(sizes, sums, hits, strict=True))
        if size
    ]


def describe(episodes: Sequence[Episode], scores: Sequence[Doubles], threshold: float) -> dict[str, Any]:
    """Return all metrics of this module, with those of silences alone on the same episodes."""
    silences = [one.silences for one in episodes]
    rows = judge(episodes, scores, THRESHOLDS.tolist())
    gaps = judge(episodes, silences, np.arange(1, 15.01, 0.5).tolist())
    return {
        "episodes": len(episodes),
        "breaks": sum(float(one.breaks.weight.sum()) for one in episodes),
        "seams_within_scenes": int(sum(one.breaks.within.sum() for one in episodes)),
        "chosen": judge(episodes, scores, [threshold])[0] | {"f1_interval": interval(episodes, scores, threshold)},
        "best": max(rows, key=lambda row: row["f1"]),
        "lower": judge(episodes, scores, [0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5]),
        "silence_over_5": judge(episodes, silences, [float(np.nextafter(5.0, 6))])[0],
        "silence_best": max(gaps, key=lambda row: row["f1"]),
        "calibration": calibration(episodes, scores),
    }
