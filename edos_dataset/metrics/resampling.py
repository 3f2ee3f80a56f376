"""Uncertainty of metrics: the bootstrap over groups, and confidence intervals."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

RESAMPLES = 1000
_Z = 1.959964  # quantile of the normal distribution for 95 %


def resampled(columns: Array, groups: npt.NDArray[Any], resamples: int = RESAMPLES, seed: int = 0) -> Array:
    """Sum columns over groups drawn with replacement, as many as there are (the bootstrap over groups).

    Args:
        columns: [n, columns].
        groups: [n]; rows of a group are drawn together.
        resamples: number of resamples.
        seed: seed of the random draws.

    Returns:
        [resamples, columns]; one row of NaN for a single group, which shows no variation.
    """
    names, number = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        return np.full((1, columns.shape[1]), np.nan)
    sums = np.stack([np.bincount(number, weights=column) for column in columns.T], axis=1)
    generator, share, drawn = np.random.default_rng(seed), np.full(len(names), 1 / len(names)), []
    for start in range(0, resamples, 100):  # in pieces, to save memory
        drawn.append(generator.multinomial(len(names), share, size=min(100, resamples - start)) @ sums)
    return np.concatenate(drawn)


def interval(values: Array) -> list[float | None]:
    """Return the 95 % percentile interval of bootstrapped values, to 4 digits; None if all are NaN."""
    return [
        None if np.isnan(values).all() else round(float(np.nanpercentile(values, percent)), 4)
        for percent in (2.5, 97.5)
    ]


def wilson(share: float, number: float) -> list[float]:
    """Return the 95 % score interval (Wilson, 1927) of a fraction, 0 to 1, of `number` judgements.

    `number` is above 0 and may be fractional, as effective numbers are.
    """
    middle, spread = (
        share + _Z**2 / (2 * number),
        _Z * math.sqrt(share * (1 - share) / number + _Z**2 / (4 * number**2)),
    )
    return [round(min(max((middle + sign * spread) / (1 + _Z**2 / number), 0.0), 1.0), 4) for sign in (-1, 1)]
