"""Batches of texts of many lengths."""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt


def token_batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield row numbers, longest texts first, so that rows times the longest row stays within the budget; a longer text
    is a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))
    start = 0
    while start < len(order):
        size = max(1, budget // max(1, lengths[order[start]]))
        yield order[start : start + size]
        start += size


def pad(
    sequences: Sequence[Sequence[int]], lengths: npt.NDArray[np.int64], padding: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return sequences as a matrix, int64 [sequences, longest], filled up at the right with `padding`, and its mask, 1
    where a token is.
    """
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(mask.shape, padding, dtype=np.int64)
    ids[mask] = np.fromiter(chain.from_iterable(sequences), np.int64, int(lengths.sum()))
    return ids, mask.astype(np.int64)
