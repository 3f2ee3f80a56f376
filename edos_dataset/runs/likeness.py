"""Corpus steps about what is nearly the same: units of which one says much of what another says are found by sketches,
and the better one stays.

A sketch is those of a unit's 64-bit hashes, each of which stands for something that the unit says, that lie below a
limit; the more a unit has, the lower its limit (after Broder, 1997, and Beyer et al., SIGMOD 2007). Below the lower of
two limits both sketches are complete, so what they share there tells, by its number, what the units share. Three
rounds:

1. each group of shards tells the hashes of its units' sketches;
2. each partition of the hashes pairs a unit with the better ones that have the same hash, and counts these;
3. each partition of the units adds these counts up and names the pairs that are alike.

Then it is settled which of these leave (`runs.settling`): a unit that is like a better one that stays. So no two that
stay are alike, but for this: of many units with the same hash each is paired with the best ones and those next to it in
order alone, so that what thousands say costs no more than what forty say. Copies of one unit have the same best one,
and lie side by side, where the order says so; two that are alike only just, and by what so many others say, too, may
both stay.

Memory: a worker holds a shard and what waits to be parted, or the hashes or pairs of a partition, of which one unit has
at most `MOST_PAIRED`, or few more; the process that leads holds paths alone.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.passage import Group, Passage, carry_out, groups_of, partitions_for
from edos_dataset.runs.removals import Leaving
from edos_dataset.runs.settling import ALIKE, Settling, scattered
from edos_dataset.runs.shards import read_shard

MOST_PAIRED = 32
"""Better units with which a hash pairs a unit."""

BYTES_A_HASH = 1500
"""Memory that a partition takes for each of its hashes at most, where forty units share every one
(benchmarks/same_films.py).
"""

_BYTES_A_PAIR = 128  # that are added up: their table, and where each one is in it
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
    likeness: Likeness, hashes: int, shards: Sequence[Path], removals: Sequence[Path], folder: Path, engine: Engine
) -> None:
    """Write what leaves, as `SharedStep.decide_together`.

    Args:
        likeness: when units are alike.
        hashes: how many all sketches have together, about.
        shards: Parquet files, a unit a row or several rows, which lie in one shard.
        removals: where to write, a file of REMOVALS for each shard.
        folder: for files of passage.
        engine: what carries out the tasks.
    """
    if not shards:
        return
    parts = partitions_for(hashes, BYTES_A_HASH, likeness.memory)
    job, groups = _Job(parts, folder, likeness.share, likeness.least, likeness), groups_of(shards)
    carry_out(engine, job.sketch, groups)
    job.compare(len(groups), engine)
    leaving = Leaving.of(len(shards), folder)
    tables = Settling(parts, folder, leaving, likeness.reason).settle(engine)
    leaving.part_among(removals, tables, engine)


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

    def add(self, number: int, sketches: Iterable[tuple[int, pa.Table]]) -> None:
        """Write sketches of units, at least one table.

        Args:
            number: of the file, from 0.
            sketches: those of a shard each, behind the shard's number.
        """
        self.write_parts("sketches", number, (_placed(shard, table) for shard, table in sketches))

    def alike(self, files: int, engine: Engine) -> pa.Table:
        """Return the pairs of units that are alike, ALIKE; nothing in a process that does not lead.

        Args:
            files: how many were added.
            engine: what carries out the tasks.
        """
        self.compare(files, engine)
        return pa.concat_tables(
            [self.read("alike", part) for part in range(self.parts if engine.leads else 0)] or [ALIKE.empty_table()]
        )

    def compare(self, files: int, engine: Engine) -> None:
        """Write the pairs of units that are alike, for `Settling`; the arguments are those of `alike`."""
        carry_out(engine, self.pair, [(part, files) for part in range(self.parts)])
        carry_out(engine, self.judge, range(self.parts))

    def pair(self, task: tuple[int, int]) -> None:
        """Pair the units that share hashes of a partition, and count these for each pair.

        Args:
            task: the partition, and the number of files.
        """
        part, files = task
        slices = self.read_slices("sketches", part, files, BYTES_A_HASH)
        self.write_parts("pairs", part, map(self._paired, slices), scattered("place"))

    def judge(self, part: int) -> None:
        """Name the pairs of a partition's units that are alike."""
        slices = self.read_slices("pairs", part, self.parts, _BYTES_A_PAIR, scattered("place"))
        self.write("alike", part, pa.concat_tables(map(_alike, slices)))

    def _paired(self, sketches: pa.Table) -> pa.Table:
        # what only one unit says is most of it, and pairs nothing
        sketches = sketches.filter(pa.array(_repeated(sketches["key"].to_numpy())))
        columns = {name: sketches[name].to_numpy() for name in sketches.column_names}
        _, first, unit = np.unique(columns["place"], return_index=True, return_inverse=True)
        ranking = np.lexsort((columns["place"], columns["order"], columns["key"]))
        keys, unit = columns["key"][ranking], unit[ranking]
        shared = [unit[worse] * len(first) + unit[better] for worse, better in _partners(keys)]
        pairs, times = np.unique(np.concatenate(shared), return_counts=True)
        units = {name: values[first] for name, values in columns.items()}
        return self._pairs(units, *np.divmod(pairs, max(len(first), 1)), times)

    def _pairs(
        self, columns: dict[str, np.ndarray], worse: np.ndarray, better: np.ndarray, shared: np.ndarray
    ) -> pa.Table:
        """Return pairs of units, given by their places in the columns: where they are, how many hashes it takes to be
        alike, and how many are shared.
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
                "needed": needed.astype(np.int32),
                "shared": shared.astype(np.int32),
            }
        )


@dataclass(frozen=True)
class _Job(Comparison):
    """The tasks of a decision."""

    likeness: Likeness

    def sketch(self, group: Group) -> None:
        """Sketch the units of the shards of a group."""
        columns, sketch = list(self.likeness.columns), self.likeness.sketch
        self.add(group.number, ((number, sketch(read_shard(path, columns))) for number, path in group.numbered()))


def _placed(shard: int, sketches: pa.Table) -> pa.Table:
    places = (shard << 32) + sketches["row"].to_numpy().astype(np.int64)
    return sketches.drop_columns(["row"]).append_column("place", pa.array(places))


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


def _alike(pairs: pa.Table) -> pa.Table:
    """Return each pair once that shares as many hashes as it takes."""
    added = pairs.group_by([*ALIKE.names, "needed"], use_threads=False).aggregate([("shared", "sum")])
    return added.filter(pc.greater_equal(added["shared_sum"], added["needed"])).select(ALIKE.names)
