"""Corpus steps about what is nearly the same: units of which one says much of what another says are found by sketches,
and the better one stays.

A sketch is those of a unit's 64-bit hashes, each of which stands for something that the unit says, that lie below a
limit; the more a unit has, the lower its limit (after Broder, 1997, and Beyer et al., SIGMOD 2007). Below the lower of
two limits both sketches are complete, so what they share there tells, by its number, what the units share. Three
rounds:

1. each shard tells the hashes of its units' sketches;
2. each partition of the hashes pairs a unit with the better ones that have the same hash, and counts these;
3. each partition of the units adds these counts up and names the pairs that are alike.

Then one process goes over the units of such pairs from the best to the worst: one that is like a better one that stays
leaves. So no two that stay are alike, but for this: of many units with the same hash each is paired with the best ones
and those next to it in order alone, so that what thousands say costs no more than what forty say. Copies of one unit
have the same best one, and lie side by side, where the order says so; two that are alike only just, and by what so many
others say, too, may both stay.

Memory: a worker holds the sketches of a shard, or the hashes or pairs of a partition; the last process 60 bytes for
each pair that is alike, of which one unit has at most `MOST_PAIRED`, or few more.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.passage import SURPLUS, Passage, by_shard, carry_out, partitions_for
from edos_dataset.runs.shards import read_shard

MOST_PAIRED = 32
"""Better units with which a hash pairs a unit."""

BYTES_A_HASH = 1500
"""Memory that a partition takes for each of its hashes at most, where forty units share every one
(benchmarks/same_films.py).
"""

_LEAST_TOLD = 8  # hashes that two sketches must share; fewer say too little of what the units share

SKETCH = pa.schema(
    {
        "key": pa.uint64(),  # one of the hashes
        "row": pa.int32(),  # of the unit, in its shard
        # of two units the one with the less of it is the better, of equal ones the earlier; units that are alike should
        # have nearly the same
        "order": pa.uint64(),
        "size": pa.float64(),  # hashes that the unit has in all, about, beyond the sketch, too
        "reach": pa.float64(),  # share of all possible hashes that the sketch is complete in, above 0 to 1
    }
)
"""Sketches of a shard's units, a hash a row."""

ALIKE = pa.schema({"order": pa.uint64(), "place": pa.int64(), "better_order": pa.uint64(), "better_place": pa.int64()})
"""Pairs of units that are alike."""


@dataclass(frozen=True)
class Likeness:
    """When units are alike.

    Attributes:
        sketch: gives the SKETCH of a shard's units; a function of a module, or a method of a step.
        columns: Parquet columns that it reads.
        share: what two units must share of what the smaller one has, above 0 to 1.
        least: hashes that they must share at least; units that have all hashes in common, and fit into a sketch, are
            alike with fewer, too.
        reason: why the worse one leaves.
        memory: bytes for a partition.
    """

    sketch: Callable[[pa.Table], pa.Table]
    columns: tuple[str, ...]
    share: float
    least: int
    reason: str
    memory: int


def decide_alike(
    likeness: Likeness, hashes: int, shards: Sequence[Path], folder: Path, engine: Engine
) -> list[pa.Table]:
    """Return what leaves, as `SharedStep.decide_together`.

    Args:
        likeness: when units are alike.
        hashes: how many all sketches have together, about.
        shards: Parquet files, a unit a row or several rows, which lie in one shard.
        folder: for files of passage.
        engine: what carries out the tasks.
    """
    if not shards:
        return []
    job = _Job(
        partitions_for(hashes, BYTES_A_HASH, likeness.memory), folder, likeness.share, likeness.least, likeness=likeness
    )
    carry_out(engine, job.sketch, list(enumerate(shards)))
    alike = job.alike(len(shards), engine)
    if not engine.leads:
        return []
    places = _leaving(alike)
    columns = {
        "shard": places >> 32,
        "row": places & 0xFFFFFFFF,
        "turn": pa.nulls(len(places), pa.int32()),
        "reason": [likeness.reason] * len(places),
    }
    return by_shard(pa.table(columns).cast(SURPLUS), len(shards))


@dataclass(frozen=True)
class Comparison(Passage):
    """Sketches as files of passage, and which of their units are alike. A unit is known by its place: shard and row in
    one number.

    Attributes:
        share: as of `Likeness`.
        least: likewise.
    """

    share: float
    least: int

    def add(self, number: int, sketches: pa.Table) -> None:
        """Write the sketches of a shard's units, given by its number, from 0."""
        places = (number << 32) + sketches["row"].to_numpy().astype(np.int64)
        self.write_parts("sketches", number, sketches.drop_columns(["row"]).append_column("place", pa.array(places)))

    def alike(self, shards: int, engine: Engine) -> pa.Table:
        """Return the pairs of units that are alike: `order` and `place` of the worse, and of the better one; nothing in
        a process that does not lead.

        Args:
            shards: how many were added.
            engine: what carries out the tasks.
        """
        carry_out(engine, self.pair, [(part, shards) for part in range(self.parts)])
        carry_out(engine, self.judge, range(self.parts))
        return pa.concat_tables(
            [self.read("alike", part) for part in range(self.parts if engine.leads else 0)] or [ALIKE.empty_table()]
        )

    def pair(self, task: tuple[int, int]) -> None:
        """Pair the units that share hashes of a partition, and count these for each pair.

        Args:
            task: the partition, and the number of shards.
        """
        part, shards = task
        sketches = pa.concat_tables(self.read_part("sketches", part, shards))
        # what only one unit says is most of it, and pairs nothing
        sketches = sketches.filter(pa.array(_repeated(sketches["key"].to_numpy())))
        columns = {name: sketches[name].to_numpy() for name in sketches.column_names}
        _, first, unit = np.unique(columns["place"], return_index=True, return_inverse=True)
        ranking = np.lexsort((columns["place"], columns["order"], columns["key"]))
        keys, unit = columns["key"][ranking], unit[ranking]
        shared = [unit[worse] * len(first) + unit[better] for worse, better in _partners(keys)]
        pairs, times = np.unique(np.concatenate(shared), return_counts=True)
        units = {name: values[first] for name, values in columns.items()}
        counted = self._pairs(units, *np.divmod(pairs, max(len(first), 1)), times)
        self.write_parts("pairs", part, counted.append_column("key", counted["place"].cast(pa.uint64())))

    def judge(self, part: int) -> None:
        """Name the pairs of a partition's units that are alike."""
        pairs = _added_up(pa.concat_tables(self.read_part("pairs", part, self.parts)))
        alike = pairs.filter(pa.array(pairs["shared"].to_numpy() >= pairs["needed"].to_numpy()))
        self.write("alike", part, alike.select(ALIKE.names))

    def _pairs(
        self, columns: dict[str, np.ndarray], worse: np.ndarray, better: np.ndarray, shared: np.ndarray
    ) -> pa.Table:
        """Return pairs of units, given by their places in the columns: of each order and place, how many hashes it
        takes to be alike, and how many are shared.
        """
        sizes, reaches = ((columns[name][worse], columns[name][better]) for name in ("size", "reach"))
        reach = np.minimum(*reaches)
        units = (self.share * np.minimum(*sizes)).clip(self.least)
        needed = np.ceil(units * reach - 1e-6).clip(_LEAST_TOLD)
        whole = (sizes[0] == sizes[1]) & (reach == 1)
        needed = np.where(whole, np.minimum(needed, sizes[0]), needed)
        return pa.table(
            {
                "place": columns["place"][worse],
                "order": columns["order"][worse],
                "better_place": columns["place"][better],
                "better_order": columns["order"][better],
                "needed": needed.astype(np.int64),
                "shared": shared,
            }
        )


@dataclass(frozen=True)
class _Job(Comparison):
    """The tasks of a decision."""

    likeness: Likeness

    def sketch(self, shard: tuple[int, Path]) -> None:
        """Sketch the units of a shard, given by its number and path."""
        number, path = shard
        self.add(number, self.likeness.sketch(read_shard(path, list(self.likeness.columns))))


def _repeated(keys: np.ndarray) -> np.ndarray:
    """Tell of each key whether another one is the same."""
    inorder = np.sort(keys)
    repeated = np.unique(inorder[1:][inorder[1:] == inorder[:-1]])
    if not len(repeated):
        return np.zeros(len(keys), bool)
    found: np.ndarray = repeated[np.searchsorted(repeated, keys).clip(max=len(repeated) - 1)] == keys
    return found


def _partners(keys: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield pairs of places with the same key, the later one first: of each place `MOST_PAIRED` at most, half of them
    the first with that key, half of them the next before it.
    """
    places, half = np.arange(len(keys)), MOST_PAIRED // 2
    first = np.searchsorted(keys, keys)
    for rank in range(half):
        worse = np.flatnonzero(places - first > rank)
        yield worse, first[worse] + rank
    for distance in range(1, half + 1):
        worse = np.flatnonzero(places - first >= half + distance)
        yield worse, worse - distance


def _added_up(pairs: pa.Table) -> pa.Table:
    """Return each pair once, with the sum of its hashes."""
    facts = ["place", "order", "better_place", "better_order", "needed"]
    added = pairs.group_by(facts, use_threads=False).aggregate([("shared", "sum")])
    return added.rename_columns([name.removesuffix("_sum") for name in added.column_names]).select([*facts, "shared"])


def _leaving(alike: pa.Table) -> np.ndarray:
    """Return the places of the units that leave."""
    pairs = alike.sort_by([(name, "ascending") for name in ("order", "place", "better_order", "better_place")])
    leaving: set[int] = set()
    for place, better in zip(pairs["place"].to_pylist(), pairs["better_place"].to_pylist(), strict=True):
        if better not in leaving:
            leaving.add(place)
    return np.array(sorted(leaving), np.int64)
