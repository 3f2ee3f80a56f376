"""Corpus steps about what comes too often, decided part by part of a hash, so that all workers share the work.

Every unit has a 64-bit key, and the keys fall into partitions. Two rounds, each a task a group of shards and then a
task a partition:

1. each shard counts its keys; each partition adds these up and names the keys that come too often;
2. each shard tells the occurrences of these; each partition ranks them and names the surplus.

Then each group of shards sorts its surplus. Memory: a worker holds a shard and what waits to be parted, or the counts
or occurrences of a partition, and 8 bytes for each key that comes too often; the process that leads holds paths alone
(benchmarks/growth.py).
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Hashes
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.passage import Group, Passage, carry_out, count_together, groups_of, partitions_for
from edos_dataset.runs.pipeline import CorpusStep
from edos_dataset.runs.removals import Leaving
from edos_dataset.runs.shards import read_shard


@dataclass(frozen=True)
class SharedStep(CorpusStep):
    """A corpus step that all workers of a run decide together."""

    def decide_together(self, shards: Sequence[Path], removals: Sequence[Path], folder: Path, engine: Engine) -> None:
        """Write what leaves of each shard.

        Args:
            shards: Parquet files. Their number and order don't change what leaves.
            removals: where to, a file of REMOVALS for each shard; tasks write them, as `write_shard` does.
            folder: for files of passage.
            engine: what carries out the tasks.
        """
        raise TypeError(f"{type(self).__name__} defines no decide_together")

    def decide(self, shards: Sequence[Path]) -> Iterator[pa.Table]:
        """Yield what leaves, decided in this process."""
        with tempfile.TemporaryDirectory() as place:
            removals = [Path(place) / f"{number}.parquet" for number in range(len(shards))]
            self.decide_together(shards, removals, Path(place) / "passage", LocalEngine())
            yield from map(read_shard, removals)


@dataclass(frozen=True)
class PartitionedStep(SharedStep):
    """A corpus step whose decision on a unit depends on the units with the same key alone.

    A subclass has a parameter `memory`, bytes for a partition.
    """

    columns: ClassVar[tuple[str, ...]]
    """Parquet columns that the step reads."""

    bytes_a_unit: ClassVar[int]
    """Memory that a partition takes for each of its units, measured."""

    @property
    def limit_of_key(self) -> int:
        """Units of one key that may stay."""
        raise TypeError(f"{type(self).__name__} defines no limit_of_key")

    @property
    def partition_bytes(self) -> int:
        """Bytes that a partition may take."""
        raise TypeError(f"{type(self).__name__} defines no partition_bytes")

    def count(self, shard: Path) -> int:
        """Return an upper bound of a shard's units, from its footer alone."""
        raise TypeError(f"{type(self).__name__} defines no count")

    def keys(self, table: pa.Table) -> Hashes:
        """Return the keys of a shard's units."""
        raise TypeError(f"{type(self).__name__} defines no keys")

    def occurrences(self, table: pa.Table, frequent: Hashes) -> pa.Table:
        """Return the units of a shard whose key is among the `frequent` ones: `key`, and what `surplus` needs."""
        raise TypeError(f"{type(self).__name__} defines no occurrences")

    def surplus(self, occurrences: pa.Table) -> pa.Table:
        """Return what leaves of all occurrences of some keys, which have the column `shard`: a table of SURPLUS."""
        raise TypeError(f"{type(self).__name__} defines no surplus")

    def decide_together(self, shards: Sequence[Path], removals: Sequence[Path], folder: Path, engine: Engine) -> None:
        """Decide by `decide_in_parts`."""
        decide_in_parts(self, shards, removals, folder, engine)


def decide_in_parts(
    step: PartitionedStep, shards: Sequence[Path], removals: Sequence[Path], folder: Path, engine: Engine
) -> None:
    """Write what leaves, as `SharedStep.decide_together`; the number of partitions doesn't change it, either."""
    if not shards:
        return
    units = count_together(step.count, shards, folder, engine)
    parts = partitions_for(units, step.bytes_a_unit, step.partition_bytes)
    groups = groups_of(shards)
    job = _Job(parts, folder, step, len(groups), Leaving.of(len(shards), folder))
    carry_out(engine, job.count, groups)
    carry_out(engine, job.find_frequent, range(parts))
    carry_out(engine, job.collect, groups)
    carry_out(engine, job.rank, range(parts))
    job.leaving.part_among(removals, parts, engine)


@dataclass(frozen=True)
class _Job(Passage):
    """The tasks of a decision; each reads files that earlier ones wrote, and writes one."""

    step: PartitionedStep
    groups: int
    leaving: Leaving

    def count(self, group: Group) -> None:
        """Count the keys of each shard of a group."""
        self.write_parts("counts", group.number, map(self._counted, group.paths))

    def find_frequent(self, part: int) -> None:
        """Name the keys of a partition that come too often."""
        slices = self.read_slices("counts", part, self.groups, self.step.bytes_a_unit)
        self.write("frequent", part, pa.concat_tables(map(self._frequent, slices)).sort_by("key"))

    def collect(self, group: Group) -> None:
        """Collect the occurrences of these keys in the shards of a group."""
        frequent = np.sort(np.concatenate([self.read("frequent", part)["key"] for part in range(self.parts)]))
        found = (self._occurrences(number, path, frequent) for number, path in group.numbered())
        self.write_parts("occurrences", group.number, found)

    def rank(self, part: int) -> None:
        """Name the surplus of a partition."""
        slices = self.read_slices("occurrences", part, self.groups, self.step.bytes_a_unit)
        self.leaving.note(part, pa.concat_tables(map(self.step.surplus, slices)))

    def _counted(self, path: Path) -> pa.Table:
        keys, counts = np.unique(self.step.keys(self._shard(path)), return_counts=True)
        return pa.table({"key": keys, "count": counts})

    def _frequent(self, counts: pa.Table) -> pa.Table:
        total = counts.group_by("key", use_threads=False).aggregate([("count", "sum")])
        return total.filter(pc.greater(total["count_sum"], self.step.limit_of_key)).select(["key"])

    def _occurrences(self, number: int, path: Path, frequent: Hashes) -> pa.Table:
        found = self.step.occurrences(self._shard(path), frequent)
        return found.append_column("shard", pa.array(np.full(len(found), number, np.int32)))

    def _shard(self, path: Path) -> pa.Table:
        return read_shard(path, list(self.step.columns))
