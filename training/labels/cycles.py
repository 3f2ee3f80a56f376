"""Cycles of the learning rate: it rises and falls to zero several times, and what is kept is the mean of the weights
at the ends (Izmailov et al. 2018, stochastic weight averaging).
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import torch

from training.classifier.fit import linear_rate


def ends_of(updates: int, cycles: Sequence[float]) -> list[int]:
    """Return the update after which each cycle ends, the last one `updates`.

    Args:
        updates: of all cycles, from 1.
        cycles: their parts, each above 0; they need not sum to 1.

    Raises:
        ValueError: a part is too small for an update.
    """
    ends = [round(updates * end / sum(cycles)) for end in accumulate(cycles)]
    if len({0, *ends}) <= len(ends):
        raise ValueError(f"cycles are {list(cycles)}, but {updates} updates are too few for so many: they end at {ends}")
    return ends


def cycled_rate(update: int, ends: Sequence[int], warmup: float) -> float:
    """Return the learning rate of an update (from 0) relative to its highest, as `linear_rate` in each cycle."""
    number = min(bisect_right(ends, update), len(ends) - 1)
    start = ends[number - 1] if number else 0
    return linear_rate(update - start, ends[number] - start, warmup)


class MeanOfEnds:
    """The sum of a model's trained weights at the ends of cycles."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.sums = [torch.zeros_like(parameter) for parameter in self.trained]
        self.count = 0

    @torch.no_grad()
    def add(self) -> None:
        """Take in the model's weights."""
        self.count += 1
        torch._foreach_add_(self.sums, [parameter.detach() for parameter in self.trained])

    @torch.no_grad()
    def apply(self) -> None:
        """Give the model the mean of what was taken in."""
        for parameter, total in zip(self.trained, self.sums, strict=True):
            parameter.copy_(total / self.count)

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {"count": self.count, "sums": self.sums}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.count = state["count"]
        for total, stored in zip(self.sums, state["sums"], strict=True):
            total.copy_(stored)
