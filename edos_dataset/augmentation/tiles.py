"""Vectors cut into tiles, in float32 at length 1, that fit a budget of memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floating = npt.NDArray[np.floating[Any]]
Vectors = Floating | Sequence[Floating]
"""Rows of vectors, float16 to float64: an array or memory map [n, dim], or a list of these that count as one."""

Doubles = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

POOL_ROWS, SEED_ROWS = 2048, 2048
"""The largest tile, 16 MiB of cosines: with fewer rows of the pool the product is slower, as the BLAS arranges the
seeds anew for each tile.
"""
_PAIRS = 1024  # pairs computed again in float64 at a time


@dataclass(frozen=True)
class Tiles:
    """How a search is cut to fit a budget of memory.

    Attributes:
        pool_rows: most rows of the pool in a tile.
        seed_rows: most seeds in a tile.
        pairs: most pairs computed again at a time.
        hold: whether the seeds stay in memory in float32; else each tile of them is read again for each of the pool.
        memory: bytes that all of this takes at most.
    """

    pool_rows: int
    seed_rows: int
    pairs: int
    hold: bool
    memory: int

    @classmethod
    def fit(cls, seeds: int, dim: int, memory: int) -> "Tiles":
        """Return the largest tiles that fit.

        Raises:
            ValueError: not even the smallest do.
        """
        held = 4 * dim * seeds
        for shrink in range(8):
            pool_rows, seed_rows, pairs = POOL_ROWS >> shrink, SEED_ROWS >> shrink, _PAIRS >> shrink
            # Tiles in float32; cosines, a copy of those of rows that pass, sorted besides, flags and numbers of pairs;
            # two vectors and their products a pair.
            needed = 12 * dim * (pool_rows + seed_rows) + 32 * pool_rows * seed_rows + 48 * dim * pairs
            if needed <= memory:
                hold = held + needed <= memory
                return cls(pool_rows, seed_rows, pairs, hold, needed + (held if hold else 0))
        raise ValueError(
            f"memory of {memory:,} bytes is too small for a search among vectors of {dim} numbers: give at least "
            f"{needed:,}"
        )


@dataclass(frozen=True)
class Tile:
    """Rows of seeds or pool: the number of the first one, the vectors as stored, and in float32 at length 1."""

    start: int
    stored: Floating
    scaled: Singles


def parts_of(vectors: Vectors, name: str) -> list[Floating]:
    """Return vectors as a list of arrays that have rows."""
    parts = [vectors] if isinstance(vectors, np.ndarray) else list(vectors)
    for part in parts:
        if part.ndim != 2 or not np.issubdtype(part.dtype, np.floating):
            raise ValueError(
                f"{name} must be floating-point vectors of shape [n, dim], got {part.dtype} of shape {list(part.shape)}"
            )
    return [part for part in parts if len(part)]


def tiles_of(parts: Sequence[Floating], most: int, name: str) -> Iterator[Tile]:
    """Cut each part into as few tiles as can be, of nearly the same number of rows."""
    start = 0
    for part in parts:
        rows = -(-len(part) // -(-len(part) // most))
        for begin in range(0, len(part), rows):
            stored = np.asarray(part[begin : begin + rows])
            scaled = stored.astype(np.float32)
            lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled, dtype=np.float64)).astype(np.float32)
            if not np.isfinite(lengths).all():
                row = start + begin + int(np.argmin(np.isfinite(lengths)))
                raise ValueError(
                    f"{name} {row} (from 0) holds a number that is not finite, or too large for float32: make its "
                    "vector again"
                )
            scaled /= np.where(lengths == 0, np.float32(1), lengths)[:, None]
            yield Tile(start + begin, stored, scaled)
        start += len(part)
