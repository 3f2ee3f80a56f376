"""Exact search for similar vectors, in tiles: never the whole matrix of cosines.

The authors' code asks scikit-learn for all cosines at once, 4 bytes for each pair: 143 GB for 8,912 seeds and 4,000,000
dialogues. Here a tile of the pool is multiplied with a tile of the seeds, the largest cosine of each row is compared
with what the row needs, and only the few rows that pass are looked at again.

The product is made in float32, whose last bits depend on the shape of a tile. So it only proposes: it passes what is
within the rounding error of the bound, and every pair that passes is computed again in float64, which decides. The
result is the same for all tiles, threads and memory budgets.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from edos_dataset.arrays import Ints
from edos_dataset.augmentation.tiles import Doubles, Floating, Singles, Tile, Tiles, Vectors, parts_of, tiles_of

TWO_GB = 2 << 30


@dataclass(frozen=True)
class Matches:
    """Pairs of a pool row and a seed, sorted by row; within a row the nearest seed first, of equally near ones the
    first in the order of the seeds.

    Attributes:
        rows: [matches] rows of the pool; one that no seed is near to does not occur.
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
    """Return for each row of the pool its nearest seeds, at most `top_k` of cosine at least `threshold`.

    Equal to sorting all cosines in float64. A vector of zeros has the cosine 0 with all others.

    Args:
        seeds: [s, dim]; vectors of any length.
        pool: [n, dim], likewise; read once, front to back, so a memory map of any size will do.
        threshold: least cosine, -1 to 1.
        top_k: most seeds for a row, from 1.
        memory: bytes that the search may take, beside the pages of memory maps and the matches themselves (24 bytes
            each, twice while they are put together).
        progress: called with the number of rows done, after each tile of the pool.

    Raises:
        ValueError: an argument is out of range, the vectors do not fit together or hold a number that is not finite, or
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
        vectors: an array, or a list of these that count as one.
        rows: [rows] numbers, sorted.
    """
    if isinstance(vectors, np.ndarray):
        return np.asarray(vectors[rows])
    borders = np.cumsum([0, *map(len, vectors)])
    ends = np.searchsorted(rows, borders)
    taken = [
        part[rows[start:stop] - border]
        for part, border, start, stop in zip(vectors, borders[:-1], ends[:-1], ends[1:], strict=True)
    ]
    return np.concatenate(taken) if taken else np.zeros((0, 0), np.float32)


class _TileSearch:
    """The nearest seeds of a tile of the pool, as far as seeds were seen."""

    def __init__(self, tile: Tile, threshold: float, top_k: int, pairs: int, scratch: Singles) -> None:
        self.tile, self.threshold, self.top_k, self.pairs, self.scratch = tile, threshold, top_k, pairs, scratch
        self.best = _NONE
        # Cauchy-Schwarz: products of unit vectors, summed in any order, are off by at most dim roundings; the scaling
        # of both adds some.
        self._error = np.float32((tile.stored.shape[1] + 8) * np.finfo(np.float32).eps)
        self._bounds = np.full(len(tile.stored), threshold, np.float32) - self._error

    def add(self, seeds: Tile) -> None:
        """Compare with some seeds more."""
        shape = len(self.tile.scaled), len(seeds.scaled)
        cosines = self.scratch[: shape[0] * shape[1]].reshape(
            shape
        )  # a fresh array would cost its page faults at every tile
        np.matmul(self.tile.scaled, seeds.scaled.T, out=cosines)
        rows = np.flatnonzero(cosines.max(axis=1) >= self._bounds)
        if not len(rows):
            return
        passing = cosines[rows]
        near = passing >= self._bounds[rows, None]
        crowded = np.flatnonzero(np.count_nonzero(near, axis=1) > self.top_k)
        if len(crowded):  # what is surely behind k others of this tile need not be computed again
            kth = np.partition(passing[crowded], -self.top_k, axis=1)[:, -self.top_k, None]
            near[crowded] &= passing[crowded] >= kth - 2 * self._error
        first, second = np.divmod(np.flatnonzero(near), near.shape[1])
        for begin in range(0, len(first), self.pairs):
            self._check(rows[first[begin : begin + self.pairs]], second[begin : begin + self.pairs], seeds)

    def _check(self, rows: Ints, columns: Ints, seeds: Tile) -> None:
        """Compute pairs again in float64, take those that are near enough, and raise the bounds of rows that have all
        the seeds that they may have.
        """
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
    """Return the cosine of each row of one with the same row of the other: 0 where one is all zeros.

    It is rounded to 12 decimals, so that multiples of one vector tie, and have the cosine 1 with each other.
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
    """Sort pairs as `Matches` says, and keep the first `top_k` of each row."""
    order = np.lexsort((matches.seeds, -matches.similarities, matches.rows))
    order = order[_ranks(matches.rows[order]) < top_k]
    return Matches(matches.rows[order], matches.seeds[order], matches.similarities[order])


def _ranks(rows: Ints) -> Ints:
    """Return the place of each element among those of the same row, from 0; rows are sorted."""
    ranks: Ints = np.arange(len(rows)) - np.searchsorted(rows, rows)
    return ranks
