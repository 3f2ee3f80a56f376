"""How two distributions of labels differ, and what follows what more often than chance has it; on counts alone."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Doubles
from edos_dataset.metrics.resampling import RESAMPLES, interval, resampled

SMOOTHING = 0.5
"""Added to each count of a smoothed distribution (Jeffreys' prior): no label has the probability 0, and of thousands of
turns the shares stay what they are."""


class ChiSquared(NamedTuple):
    """Pearson's test that two rows of counts are of one distribution.

    Attributes:
        statistic: χ².
        freedom: its degrees of freedom.
        p: probability of as large a value, were the distributions the same; of many turns it is near 0 whatever the
            size of the difference, which `v` tells.
        v: Cramér's V, 0 (the same) to 1.
    """

    statistic: float
    freedom: int
    p: float
    v: float


def shares(counts: npt.ArrayLike, smoothing: float = 0.0) -> Doubles:
    """Return counts as shares of their sum.

    Args:
        counts: [labels], none below 0.
        smoothing: added to each of them first.

    Raises:
        ValueError: a count is no finite number or below 0, or all are 0.
    """
    values = np.asarray(counts, np.float64)
    if values.ndim != 1 or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"counts are finite numbers from 0, one a label; got {values.tolist()!r:.80}")
    values = values + smoothing
    total = values.sum()
    if not total:
        raise ValueError("there is nothing to divide: every count is 0; give counts of which one is above 0")
    normalised: Doubles = values / total
    return normalised


def kl_divergence(counts: npt.ArrayLike, reference: npt.ArrayLike, smoothing: float = 0.0) -> float:
    """Return the Kullback-Leibler divergence of a distribution from a reference, Σ p ln(p / q), in nats, from 0.

    The EDOS paper (Section 4.2) gives that of EDOS, `counts`, with respect to EmpatheticDialogues, `reference`.

    Args:
        counts: [labels], of the distribution p.
        reference: [labels], of q; the labels are the same.
        smoothing: added to every count of both (0: none, infinite where q lacks what p has).

    Raises:
        ValueError: the two have not as many labels, or as of `shares`.
    """
    p, q = _pair(counts, reference, smoothing)
    there = p > 0
    if (q[there] == 0).any():
        return float("inf")
    return max(0.0, float((p[there] * np.log(p[there] / q[there])).sum()))


def js_divergence(counts: npt.ArrayLike, others: npt.ArrayLike) -> float:
    """Return the Jensen-Shannon divergence of two distributions (Lin, 1991), in nats, 0 to ln 2, the same both ways.

    It needs no smoothing.

    Raises:
        ValueError: as of `kl_divergence`.
    """
    p, q = _pair(counts, others, 0.0)
    middle = (p + q) / 2
    return (kl_divergence(p, middle) + kl_divergence(q, middle)) / 2


def chi_squared(counts: npt.ArrayLike, others: npt.ArrayLike) -> ChiSquared:
    """Return Pearson's χ² test of two rows of counts; labels that neither has are left out.

    Raises:
        ValueError: as of `kl_divergence`.
    """
    from scipy.stats import chi2

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
    """Return how much more often than chance one label follows another.

    Args:
        transitions: [labels, labels], how often the column follows the row.

    Returns:
        [labels, labels] each: the lift, observed / expected, where the expected count is that of independent rows and
        columns (NaN where it is 0); and the standardised residual, (observed - expected) / √expected, in standard
        deviations of a Poisson count (0 where it is 0).

    Raises:
        ValueError: it is no square.
    """
    observed = np.asarray(transitions, np.float64)
    if observed.ndim != 2 or observed.shape[0] != observed.shape[1]:
        raise ValueError(f"transitions are a square of counts, from each label to each; got {list(observed.shape)}")
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / max(observed.sum(), 1)
    there = expected > 0
    ratio = np.divide(observed, expected, out=np.full_like(observed, np.nan), where=there)
    surprise = np.divide(observed - expected, np.sqrt(expected), out=np.zeros_like(observed), where=there)
    return ratio, surprise


def share_intervals(blocks: npt.ArrayLike, resamples: int = RESAMPLES, seed: int = 0) -> list[list[float | None]]:
    """Return the 95 % bootstrap interval of each label's share.

    Args:
        blocks: [blocks, labels] counts of what is drawn together, such as films.
        resamples: how often to draw.
        seed: of the drawing.
    """
    drawn = _drawn(blocks, resamples, seed)
    return [interval(column) for column in (drawn / drawn.sum(axis=1, keepdims=True).clip(min=1)).T]


def divergence_intervals(
    blocks: npt.ArrayLike, reference: npt.ArrayLike, smoothing: float = SMOOTHING, resamples: int = RESAMPLES
) -> dict[str, list[float | None]]:
    """Return the 95 % bootstrap intervals of the divergences of two data sets, in nats, both drawn anew each time.

    Args:
        blocks: [blocks, labels] counts of the one, of what is drawn together, such as films.
        reference: likewise of the other; it may have another number of blocks.
        smoothing: of the Kullback-Leibler divergence.
        resamples: how often to draw.

    Returns:
        `kl` and `js`, and of the test χ² its statistic, `chi_squared`, and Cramér's `v`. None of them can fall below 0,
        so that those of two samples of one distribution lie above it.
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
        raise ValueError(f"the two have {len(p)} and {len(q)} labels: give counts of the same labels, in one order")
    return p, q
