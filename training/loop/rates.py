"""The learning rate of every update, relative to its highest."""

from typing import Literal

Schedule = Literal["linear", "constant", "inverse_root"]
"""What follows the warm-up: a fall to zero, nothing, or a fall with the root of the number of updates (Vaswani et al.,
2017).
"""


def rate_factor(update: int, updates: int, warmup: float, schedule: Schedule) -> float:
    """Return the learning rate of an update (from 0) relative to its highest: linear warm-up over a share of the
    updates, then what the schedule says.
    """
    if schedule == "linear":
        return linear_rate(update, updates, warmup)
    rising = max(1, round(warmup * updates))
    if schedule == "constant" or update < rising:
        return min(1.0, (update + 1) / rising)
    return float((rising / (update + 1)) ** 0.5)


def linear_rate(update: int, updates: int, warmup: float) -> float:
    """Return the learning rate of an update (from 0) relative to its highest: it rises over a share of the updates,
    then falls to zero.
    """
    rising = max(1, round(warmup * updates))
    return (update + 1) / rising if update < rising else (updates - update) / max(1, updates - rising)
