"""Corpus steps about what comes too often, decided part by part of a hash, so that all workers share the work.

Every unit has a 64-bit key, and the keys fall into partitions. Two rounds, each a task a shard and then a task a
partition:

1. each shard counts its keys; each partition adds these up and names the keys that come too often;
2. each shard tells the occurrences of these; each partition ranks them and names the surplus.

Then one process sorts the surplus by shard. Memory: a worker holds the keys of a shard, or the counts or occurrences of
a partition, and 8 bytes for each key that comes too often; the last process about 90 bytes for each unit that is
removed (benchmarks/growth.py).
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.passage import SURPLUS, Passage, by_shard, carry_out, partitions_for
from edos_dataset.runs.pipeline import CorpusStep
from edos_dataset.runs.shards import read_shard

Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class SharedStep(CorpusStep):
    """A corpus step that all workers of a run decide together."""

    def decide_together(self, shards: Sequence[Path], folder: Path, engine: Engine) -> list[pa.Table]:
        """Return what leaves, one table of REMOVALS for each shard, in the order of the shards; in processes that don't
        lead an empty list.

        Args:
            shards: Parquet files. Their number and order don't change what leaves.
            folder: for files of passage.
            engine: what carries out the tasks.
        """
        raise TypeError(f"{type(self).__name__} defines no decide_together")

    def decide(self, shards: Sequence[Path]) -> Iterator[pa.Table]:
        """Yield what leaves, decided in this process."""
        with tempfile.TemporaryDirectory() as folder:
            yield from self.decide_together(shards, Path(folder), LocalEngine())


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

    def keys(self, table: pa.Table) -> Keys:
        """Return the keys of a shard's units."""
        raise TypeError(f"{type(self).__name__} defines no keys")

    def occurrences(self, table: pa.Table, frequent: Keys) -> pa.Table:
        """Return the units of a shard whose key is among the `frequent` ones: `key`, and what `surplus` needs."""
        raise TypeError(f"{type(self).__name__} defines no occurrences")

    def surplus(self, occurrences: pa.Table) -> pa.Table:
        """Return what leaves of all occurrences of some keys, which have the column `shard`: a table of SURPLUS."""
        raise TypeError(f"{type(self).__name__} defines no surplus")

    def decide_together(self, shards: Sequence[Path], folder: Path, engine: Engine) -> list[pa.Table]:
        """Decide by `decide_in_parts`."""
        return decide_in_parts(self, shards, folder, engine)


def decide_in_parts(step: PartitionedStep, shards: Sequence[Path], folder: Path, engine: Engine) -> list[pa.Table]:
    """Return what leaves, as `SharedStep.decide_together`; the number of partitions doesn't change it, either."""
    if not shards:
        return []
    parts = partitions_for(sum(map(step.count, shards)), step.bytes_a_unit, step.partition_bytes)
    job = _Job(parts, folder, step, len(shards))
    carry_out(engine, job.count, list(enumerate(shards)))
    carry_out(engine, job.find_frequent, range(parts))
    carry_out(engine, job.collect, list(enumerate(shards)))
    carry_out(engine, job.rank, range(parts))
    if not engine.leads:
        return []
    surplus = pa.concat_tables([SURPLUS.empty_table(), *(job.read("surplus", part) for part in range(parts))])
    return by_shard(surplus, len(shards))


@dataclass(frozen=True)
class _Job(Passage):
    """The tasks of a decision; each reads files that earlier ones wrote, and writes one."""

    step: PartitionedStep
    shards: int

    def count(self, shard: tuple[int, Path]) -> None:
        """Count the keys of a shard, given by its number and path."""
        number, path = shard
        keys, counts = np.unique(self.step.keys(self._shard(path)), return_counts=True)
        self.write_parts("counts", number, pa.table({"key": keys, "count": counts}))

    def find_frequent(self, part: int) -> None:
        """Name the keys of a partition that come too often."""
        counts = pa.concat_tables(self.read_part("counts", part, self.shards))
        total = counts.group_by("key", use_threads=False).aggregate([("count", "sum")])
        frequent = total.filter(pc.greater(total["count_sum"], self.step.limit_of_key))
        self.write("frequent", part, frequent.select(["key"]).sort_by("key"))

    def collect(self, shard: tuple[int, Path]) -> None:
        """Collect the occurrences of these keys in a shard."""
        number, path = shard
        frequent = np.concatenate([self.read("frequent", part)["key"].to_numpy() for part in range(self.parts)])
        occurrences = self.step.occurrences(self._shard(path), np.sort(frequent))
        self.write_parts("occurrences", number, occurrences)

    def rank(self, part: int) -> None:
        """Name the surplus of a partition."""
        tables = [
            table.append_column("shard", pa.array(np.full(len(table), number, np.int32)))
            for number, table in enumerate(self.read_part("occurrences", part, self.shards))
        ]
        surplus = self.step.surplus(pa.concat_tables(tables))
        self.write("surplus", part, surplus.select(SURPLUS.names).cast(SURPLUS))

    def _shard(self, path: Path) -> pa.Table:
        return read_shard(path, list(self.step.columns))
