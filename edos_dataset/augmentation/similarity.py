"""Exact search for similar vectors in tiles, which never holds the whole matrix of cosines.

The authors' code asks scikit-learn for all cosines at once, 4 bytes for each pair: 143 GB for 8,912 seeds and 4,000,000
dialogues. Here a tile of the pool is multiplied by a tile of the seeds, the largest cosine of each row is compared
with the row's bound, and only the few rows that pass are examined further.

The product is computed in float32, whose last bits depend on the shape of a tile. So it only proposes pairs: all within
rounding error of the bound pass, are computed again in float64, and are decided by that. The result is the same for all
tile sizes, thread counts and memory budgets.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Ints

Floating = npt.NDArray[np.floating[Any]]
Vectors = Floating | Sequence[Floating]
"""Rows of vectors, float16 to float64: an array or memory map [n, dim], or a list of these, read as one."""

Doubles = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

POOL_ROWS, SEED_ROWS = 2048, 2048
"""The largest tile, 16 MiB of cosines: with fewer rows of the pool the product is slower, as BLAS repacks the seeds for
each tile.
"""
_PAIRS = 1024  # pairs computed again in float64 at a time


@dataclass(frozen=True)
class Tiles:
    """How a search is cut to fit a budget of memory.

    Attributes:
        pool_rows: maximum number of rows of the pool in a tile.
        seed_rows: maximum number of seeds in a tile.
        pairs: maximum number of pairs computed again at once.
        hold: whether the seeds stay in memory in float32; otherwise their tiles are read again for each pool tile.
        memory: maximum bytes that all of this takes.
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
            # Tiles in float32; the cosines, copied and sorted copies of rows that pass, flags and pair indices; for
            # each pair, two vectors and their products.
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
    """Rows of seeds or pool: the index of the first, the vectors as stored, and the same in float32 at length 1."""

    start: int
    stored: Floating
    scaled: Singles


def parts_of(vectors: Vectors, name: str) -> list[Floating]:
    """Return vectors as a list of non-empty arrays."""
    parts = [vectors] if isinstance(vectors, np.ndarray) else list(vectors)
    for part in parts:
        if part.ndim != 2 or not np.issubdtype(part.dtype, np.floating):
            raise ValueError(
                f"{name} must be floating-point vectors of shape [n, dim], got {part.dtype} of shape {list(part.shape)}"
            )
    return [part for part in parts if len(part)]


def tiles_of(parts: Sequence[Floating], most: int, name: str) -> Iterator[Tile]:
    """Cut each part into as few tiles as possible, of about equal numbers of rows."""
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


TWO_GB = 2 << 30


@dataclass(frozen=True)
class Matches:
    """Pairs of a pool row and a seed, sorted by row, then nearest seed first, then in the order of the seeds.

    Attributes:
        rows: [matches] rows of the pool; rows without a near seed do not occur.
        seeds: [matches] rows of the seeds.
        similarities: [matches] cosines, float64, at least the threshold, rounded to 12 decimals.
    """

    rows: Ints
    seeds: Ints
    similarities: Doubles

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.rows)


def nearest(
    seeds: Vectors,
    pool: Vectors,
    threshold: float,
    top_k: int,
    memory: int = TWO_GB,
    progress: Callable[[int], object] = lambda rows: None,
) -> Matches:
    """Return the nearest seeds of each row of the pool: at most `top_k`, with a cosine of at least `threshold`.

    The result equals that of sorting all cosines in float64. A zero vector has the cosine 0 with all others.

    Args:
        seeds: [s, dim]; vectors of any length.
        pool: [n, dim], also of any length; read once, front to back, so it may be a memory map of any size.
        threshold: least cosine, -1 to 1.
        top_k: maximum number of seeds per row, from 1.
        memory: bytes that the search may take, besides the pages of memory maps and the matches themselves (24 bytes
            each, twice that while they are joined).
        progress: called with the number of rows done, after each tile of the pool.

    Raises:
        ValueError: an argument is out of range, the vectors differ in dimension or hold a number that is not finite, or
            the memory is too small.
    """
    if not -1 <= threshold <= 1:
        raise ValueError(f"threshold must be a cosine from -1 to 1, got {threshold}")
    if top_k < 1:
        raise ValueError(f"top_k must be at least 1 seed, got {top_k}")
    seed_parts, pool_parts = parts_of(seeds, "seeds"), parts_of(pool, "pool")
    dims = {part.shape[1] for part in (*seed_parts, *pool_parts)}
    if len(dims) > 1:
        raise ValueError(
            f"seeds and pool must be vectors of one dimension, got {sorted(dims)}: were they made by one encoder?"
        )
    matches = [_NONE]
    if dims:
        (dim,) = dims
        tiles = Tiles.fit(sum(map(len, seed_parts)), dim, memory)
        held = list(tiles_of(seed_parts, tiles.seed_rows, "seed")) if tiles.hold else None
        scratch = np.empty(tiles.pool_rows * tiles.seed_rows, np.float32)
        for tile in tiles_of(pool_parts, tiles.pool_rows, "pool row"):
            search = _TileSearch(tile, threshold, top_k, tiles.pairs, scratch)
            for seed_tile in held or tiles_of(seed_parts, tiles.seed_rows, "seed"):
                search.add(seed_tile)
            if len(search.best):
                matches.append(search.best)
            progress(tile.start + len(tile.stored))
    return _joined(matches)


def take(vectors: Vectors, rows: Ints) -> Floating:
    """Return some rows of vectors, [len(rows), dim], as they are stored.

    Args:
        vectors: an array, or a list of arrays, read as one.
        rows: [rows] indices, sorted.
    """
    if isinstance(vectors, np.ndarray):
        return np.asarray(vectors[rows])
    bounds = np.cumsum([0, *map(len, vectors)])
    ends = np.searchsorted(rows, bounds)
    taken = [
        part[rows[start:stop] - first]
        for part, first, start, stop in zip(vectors, bounds[:-1], ends[:-1], ends[1:], strict=True)
    ]
    return np.concatenate(taken) if taken else np.zeros((0, 0), np.float32)


class _TileSearch:
    """The nearest seeds of a pool tile among the seeds added so far."""

    def __init__(self, tile: Tile, threshold: float, top_k: int, pairs: int, scratch: Singles) -> None:
        self.tile, self.threshold, self.top_k, self.pairs, self.scratch = tile, threshold, top_k, pairs, scratch
        self.best = _NONE
        # Cauchy-Schwarz: products of unit vectors, summed in any order, are off by at most dim roundings; scaling both
        # adds a few.
        self._error = np.float32((tile.stored.shape[1] + 8) * np.finfo(np.float32).eps)
        self._bounds = np.full(len(tile.stored), threshold, np.float32) - self._error

    def add(self, seeds: Tile) -> None:
        """Compare with another tile of seeds."""
        shape = len(self.tile.scaled), len(seeds.scaled)
        cosines = self.scratch[: shape[0] * shape[1]].reshape(
            shape
        )  # a new array would cost page faults for every tile
        np.matmul(self.tile.scaled, seeds.scaled.T, out=cosines)
        rows = np.flatnonzero(cosines.max(axis=1) >= self._bounds)
        if not len(rows):
            return
        passing = cosines[rows]
        near = passing >= self._bounds[rows, None]
        crowded = np.flatnonzero(np.count_nonzero(near, axis=1) > self.top_k)
        if len(crowded):  # pairs certainly behind k others of this tile need no recomputation
            kth = np.partition(passing[crowded], -self.top_k, axis=1)[:, -self.top_k, None]
            near[crowded] &= passing[crowded] >= kth - 2 * self._error
        first, second = np.divmod(np.flatnonzero(near), near.shape[1])
        for begin in range(0, len(first), self.pairs):
            self._check(rows[first[begin : begin + self.pairs]], second[begin : begin + self.pairs], seeds)

    def _check(self, rows: Ints, columns: Ints, seeds: Tile) -> None:
        """Compute pairs again in float64, keep those near enough, and raise the bounds of rows with `top_k` seeds."""
        similarities = _cosines(self.tile.stored[rows], seeds.stored[columns])
        near = similarities >= self.threshold
        fresh = Matches(rows[near] + self.tile.start, columns[near] + seeds.start, similarities[near])
        self.best = _ranked(_joined([self.best, fresh]), self.top_k)
        last = np.flatnonzero(_ranks(self.best.rows) == self.top_k - 1)
        self._bounds[self.best.rows[last] - self.tile.start] = (
            self.best.similarities[last].astype(np.float32) - self._error
        )


_NONE = Matches(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


def _cosines(first: Floating, second: Floating) -> Doubles:
    """Return the cosines of corresponding rows; 0 where either is all zeros.

    They are rounded to 12 decimals, so that multiples of one vector tie and have the cosine 1 with each other.
    """
    first, second = first.astype(np.float64), second.astype(np.float64)
    products = (first * second).sum(axis=1)
    squares = (first * first).sum(axis=1) * (second * second).sum(axis=1)
    cosines: Doubles = products / np.sqrt(np.where(squares == 0, 1, squares))
    return np.round(cosines, 12)


def _joined(parts: Sequence[Matches]) -> Matches:
    return Matches(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "seeds", "similarities"))
    )


def _ranked(matches: Matches, top_k: int) -> Matches:
    """Sort pairs in the order of `Matches`, and keep the first `top_k` of each row."""
    order = np.lexsort((matches.seeds, -matches.similarities, matches.rows))
    order = order[_ranks(matches.rows[order]) < top_k]
    return Matches(matches.rows[order], matches.seeds[order], matches.similarities[order])


def _ranks(rows: Ints) -> Ints:
    """Return the position of each element within its row, from 0; `rows` is sorted."""
    ranks: Ints = np.arange(len(rows)) - np.searchsorted(rows, rows)
    return ranks
