"""Corpus steps that remove what occurs too often, decided in partitions of a hash so that all workers share the work.

Every unit has a 64-bit key, and the keys are divided into partitions. There are two rounds, each with one task per
group of shards and then one per partition:

1. each shard counts its keys; each partition adds up the counts and lists the keys that occur too often;
2. each shard lists the occurrences of these keys; each partition ranks them and lists the surplus.

Then each group of shards sorts its surplus. Memory: a worker holds a shard and the rows that wait to be split, or the
counts or occurrences of a partition, and 8 bytes for each key that occurs too often; the main process holds only paths
(benchmarks/growth.py).
"""

import tempfile
from abc import abstractmethod
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
from edos_dataset.runs.pipeline import CorpusStep
from edos_dataset.runs.shards import read_shard
from edos_dataset.runs.shuffle import Group, Removals, Shuffle, count_together, groups_of, partitions_for, run_tasks


@dataclass(frozen=True)
class SharedStep(CorpusStep):
    """A corpus step whose decision is computed by all workers of a run."""

    @abstractmethod
    def decide_together(self, shards: Sequence[Path], removals: Sequence[Path], folder: Path, engine: Engine) -> None:
        """Write the removals of each shard.

        Args:
            shards: Parquet files. Their number and order do not affect the decision.
            removals: the files to write, one with the schema REMOVALS per shard; tasks write them with `write_shard`.
            folder: for the files of shuffles.
            engine: runs the tasks.
        """

    def decide(self, shards: Sequence[Path]) -> Iterator[pa.Table]:
        """Yield the removals, decided in this process."""
        with tempfile.TemporaryDirectory() as place:
            removals = [Path(place) / f"{number}.parquet" for number in range(len(shards))]
            self.decide_together(shards, removals, Path(place) / "shuffle", LocalEngine())
            yield from map(read_shard, removals)


@dataclass(frozen=True)
class PartitionedStep(SharedStep):
    """A corpus step whose decision on a unit depends only on the units with the same key.

    A subclass has a parameter `memory`, bytes for a partition.
    """

    columns: ClassVar[tuple[str, ...]]
    """Parquet columns that the step reads."""

    bytes_a_unit: ClassVar[int]
    """Measured memory of a partition per unit, in bytes."""

    @property
    @abstractmethod
    def limit_of_key(self) -> int:
        """Number of units with the same key that may stay."""

    @property
    @abstractmethod
    def partition_bytes(self) -> int:
        """Bytes that a partition may take."""

    @abstractmethod
    def count(self, shard: Path) -> int:
        """Return an upper bound on the number of a shard's units; reads only its footer."""

    @abstractmethod
    def keys(self, table: pa.Table) -> Hashes:
        """Return the keys of a shard's units."""

    @abstractmethod
    def occurrences(self, table: pa.Table, frequent: Hashes) -> pa.Table:
        """Return the units of a shard whose key is among the `frequent` ones: `key`, and what `surplus` needs."""

    @abstractmethod
    def surplus(self, occurrences: pa.Table) -> pa.Table:
        """Return which of all occurrences of some keys, with the column `shard`, are removed, as SURPLUS."""

    def decide_together(self, shards: Sequence[Path], removals: Sequence[Path], folder: Path, engine: Engine) -> None:
        """Write the removals of each shard, by `decide_in_parts`."""
        decide_in_parts(self, shards, removals, folder, engine)


def decide_in_parts(
    step: PartitionedStep, shards: Sequence[Path], removals: Sequence[Path], folder: Path, engine: Engine
) -> None:
    """Write the removals, as `SharedStep.decide_together` does; the number of partitions does not affect them."""
    if not shards:
        return
    units = count_together(step.count, shards, folder, engine)
    parts = partitions_for(units, step.bytes_a_unit, step.partition_bytes)
    groups = groups_of(shards)
    job = _Job(parts, folder, step, len(groups), Removals.of(len(shards), folder))
    run_tasks(engine, job.count, groups)
    run_tasks(engine, job.find_frequent, range(parts))
    run_tasks(engine, job.collect, groups)
    run_tasks(engine, job.rank, range(parts))
    job.leaving.split_among(removals, parts, engine)


@dataclass(frozen=True)
class _Job(Shuffle):
    """The tasks of a decision; each reads files that earlier tasks wrote, and writes one file."""

    step: PartitionedStep
    groups: int
    leaving: Removals

    def count(self, group: Group) -> None:
        """Count the keys of each shard of a group."""
        self.write_parts("counts", group.number, map(self._counted, group.paths))

    def find_frequent(self, part: int) -> None:
        """List the keys of a partition that occur too often."""
        slices = self.read_slices("counts", part, self.groups, self.step.bytes_a_unit)
        self.write("frequent", part, pa.concat_tables(map(self._frequent, slices)).sort_by("key"))

    def collect(self, group: Group) -> None:
        """Collect the occurrences of these keys in the shards of a group."""
        frequent = np.sort(np.concatenate([self.read("frequent", part)["key"] for part in range(self.parts)]))
        found = (self._occurrences(number, path, frequent) for number, path in group.numbered())
        self.write_parts("occurrences", group.number, found)

    def rank(self, part: int) -> None:
        """List the surplus of a partition."""
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
