"""Cycles of the learning rate: it rises and falls to zero several times, and what is kept is the mean of the weights
at the ends (Izmailov et al. 2018, stochastic weight averaging). They lie in one valley, and their mean is better on
what was seen often than any of them, for no further pass when a text is labelled.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import torch

from training.classifier.fit import linear_rate


def ends_of(updates: int, cycles: Sequence[float]) -> list[int]:
    """Return the update after which each cycle ends, the last one `updates`; `cycles` are their parts, which need not
    sum to 1.
    """
    return [round(updates * end / sum(cycles)) for end in accumulate(cycles)]


def cycled_rate(update: int, ends: Sequence[int], warmup: float) -> float:
    """Return the learning rate of an update (from 0) relative to its highest, as `linear_rate` in each cycle."""
    number = min(bisect_right(ends, update), len(ends) - 1)
    start = ends[number - 1] if number else 0
    return linear_rate(update - start, ends[number] - start, warmup)


class MeanOfEnds:
    """The sum of a model's trained weights at the ends of cycles."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.sums: list[torch.Tensor] = []
        self.count = 0

    @torch.no_grad()
    def add(self) -> None:
        """Take in the model's weights."""
        self.count += 1
        if not self.sums:
            self.sums = [torch.zeros_like(parameter) for parameter in self.trained]
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
        self.sums = [stored.to(own.device, copy=True) for stored, own in zip(state["sums"], self.trained, strict=False)]
