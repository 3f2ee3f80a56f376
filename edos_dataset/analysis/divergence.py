"""Differences of two label distributions, and labels that follow each other more often than by chance; from counts."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Doubles
from edos_dataset.metrics.resampling import RESAMPLES, interval, resampled

SMOOTHING = 0.5
"""Added to each count of a smoothed distribution (Jeffreys' prior), so that no label has probability 0; the fractions
of thousands of turns hardly change."""


class ChiSquared(NamedTuple):
    """Pearson's test of whether two rows of counts come from one distribution.

    Attributes:
        statistic: χ².
        freedom: Degrees of freedom.
        p: Probability of a value at least as large if the distributions were equal. With many turns it is near 0 even
            for small differences; `v` measures their size.
        v: Cramér's V, 0 (equal) to 1.
    """

    statistic: float
    freedom: int
    p: float
    v: float


def shares(counts: npt.ArrayLike, smoothing: float = 0.0) -> Doubles:
    """Return counts as fractions of their sum.

    Args:
        counts: [labels], none negative.
        smoothing: Added to each count first.

    Raises:
        ValueError: A count is negative or not finite, or all counts are 0.
    """
    values = np.asarray(counts, np.float64)
    if values.ndim != 1 or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"counts must be finite numbers from 0, one per label; got {values.tolist()!r:.80}")
    values = values + smoothing
    total = values.sum()
    if not total:
        raise ValueError("every count is 0: give counts of which at least one is above 0")
    normalised: Doubles = values / total
    return normalised


def kl_divergence(counts: npt.ArrayLike, reference: npt.ArrayLike, smoothing: float = 0.0) -> float:
    """Return the Kullback-Leibler divergence of a distribution from a reference, Σ p ln(p / q), in nats, from 0.

    The EDOS paper (Section 4.2) states it for EDOS (`counts`) with respect to EmpatheticDialogues (`reference`).

    Args:
        counts: [labels] of the distribution p.
        reference: [labels] of q, for the same labels.
        smoothing: Added to every count of both. Without it the result is infinite if q lacks a label that p has.

    Raises:
        ValueError: The numbers of labels differ, or see `shares`.
    """
    p, q = _pair(counts, reference, smoothing)
    there = p > 0
    if (q[there] == 0).any():
        return float("inf")
    return max(0.0, float((p[there] * np.log(p[there] / q[there])).sum()))


def js_divergence(counts: npt.ArrayLike, others: npt.ArrayLike) -> float:
    """Return the Jensen-Shannon divergence of two distributions (Lin, 1991), in nats, 0 to ln 2.

    It is symmetric and needs no smoothing.

    Raises:
        ValueError: See `kl_divergence`.
    """
    p, q = _pair(counts, others, 0.0)
    middle = (p + q) / 2
    return (kl_divergence(p, middle) + kl_divergence(q, middle)) / 2


def chi_squared(counts: npt.ArrayLike, others: npt.ArrayLike) -> ChiSquared:
    """Return Pearson's χ² test of two rows of counts; labels without counts in both are ignored.

    Raises:
        ValueError: See `kl_divergence`.
    """
    from scipy.stats import chi2  # takes half a second to import

    _pair(counts, others, 0.0)
    table = np.stack([np.asarray(counts, np.float64), np.asarray(others, np.float64)])
    table = table[:, table.sum(axis=0) > 0]
    freedom = table.shape[1] - 1
    if not freedom:
        return ChiSquared(0.0, 0, 1.0, 0.0)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    statistic = float(((table - expected) ** 2 / expected).sum())
    return ChiSquared(statistic, freedom, float(chi2.sf(statistic, freedom)), float(np.sqrt(statistic / table.sum())))


def lift(transitions: npt.ArrayLike) -> tuple[Doubles, Doubles]:
    """Return how much more often one label follows another than by chance.

    Args:
        transitions: [labels, labels] counts of the column's label after the row's.

    Returns:
        Two tables [labels, labels]: the lift, observed / expected, where the expected count is that of independent rows
        and columns (NaN where it is 0); and the standardised residual, (observed - expected) / √expected, in standard
        deviations of a Poisson count (0 where the expected count is 0).

    Raises:
        ValueError: The table is not square.
    """
    observed = np.asarray(transitions, np.float64)
    if observed.ndim != 2 or observed.shape[0] != observed.shape[1]:
        raise ValueError(f"transitions must be a square table of counts, label by label; got {list(observed.shape)}")
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / max(observed.sum(), 1)
    there = expected > 0
    ratio = np.divide(observed, expected, out=np.full_like(observed, np.nan), where=there)
    surprise = np.divide(observed - expected, np.sqrt(expected), out=np.zeros_like(observed), where=there)
    return ratio, surprise


def share_intervals(blocks: npt.ArrayLike, resamples: int = RESAMPLES, seed: int = 0) -> list[list[float | None]]:
    """Return the 95 % bootstrap interval of each label's fraction.

    Args:
        blocks: [blocks, labels] counts of the units that are resampled, such as films.
        resamples: Number of resamples.
        seed: Seed of the resampling.
    """
    drawn = _drawn(blocks, resamples, seed)
    return [interval(column) for column in (drawn / drawn.sum(axis=1, keepdims=True).clip(min=1)).T]


def divergence_intervals(
    blocks: npt.ArrayLike, reference: npt.ArrayLike, smoothing: float = SMOOTHING, resamples: int = RESAMPLES
) -> dict[str, list[float | None]]:
    """Return the 95 % bootstrap intervals of the divergences of two datasets, both of which are resampled.

    Args:
        blocks: [blocks, labels] counts of the units that are resampled, such as films.
        reference: The same of the reference; the number of blocks may differ.
        smoothing: Smoothing of the Kullback-Leibler divergence.
        resamples: Number of resamples.

    Returns:
        Intervals of `kl` and `js` (in nats), of the χ² statistic (`chi_squared`) and of Cramér's `v`. As none of them
        can be negative, their intervals lie above 0 even for two samples of one distribution.
    """
    ours, theirs = _drawn(blocks, resamples, 0), _drawn(reference, resamples, 1)
    pairs = [(one, other) for one, other in zip(ours, theirs, strict=False) if one.sum() > 0 and other.sum() > 0]
    found = [
        (kl_divergence(one, other, smoothing), js_divergence(one, other), test.statistic, test.v)
        for one, other in pairs
        for test in (chi_squared(one, other),)
    ]
    columns = np.array(found).T if found else np.full((4, 1), np.nan)
    return {name: interval(column) for name, column in zip(("kl", "js", "chi_squared", "v"), columns, strict=True)}


def _drawn(blocks: npt.ArrayLike, resamples: int, seed: int) -> Doubles:
    counts = np.asarray(blocks, np.float64)
    counts = counts[counts.sum(axis=1) > 0]
    drawn: Doubles = (
        resampled(counts, np.arange(len(counts)), resamples, seed)
        if len(counts) > 1
        else np.full((1, counts.shape[1]), np.nan)
    )
    return drawn


def _pair(counts: npt.ArrayLike, others: npt.ArrayLike, smoothing: float) -> tuple[Doubles, Doubles]:
    p, q = shares(counts, smoothing), shares(others, smoothing)
    if p.shape != q.shape:
        raise ValueError(f"got counts of {len(p)} and {len(q)} labels: give counts of the same labels, in one order")
    return p, q
