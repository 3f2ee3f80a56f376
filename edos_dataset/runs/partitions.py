"""Corpus steps about what comes too often, decided part by part of a hash, so that all workers share the work.

Every unit has a 64-bit key, and the keys fall into partitions. Two rounds, each a task a shard and then a task a
partition:

1. each shard counts its keys; each partition adds these up and names the keys that come too often;
2. each shard tells the occurrences of these; each partition ranks them and names the surplus.

Then one process sorts the surplus by shard. Memory: a worker holds the keys of a shard, or the counts or occurrences of
a partition, and 8 bytes for each key that comes too often; the last process 12 bytes for each unit that is removed.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.runs.engines.base import Engine, T
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.pipeline import REMOVALS, CorpusStep
from edos_dataset.runs.shards import read_shard, replacing

Keys = npt.NDArray[np.uint64]

_MOST_PARTITIONS = 10_000  # each is some files

SURPLUS = pa.schema([pa.field("shard", pa.int32()), *REMOVALS])
"""What leaves, and from which shard, by its number."""

_UNITS_A_PARTITION = 500_000  # so that a middling corpus keeps several workers busy, and a small one has no overhead


@dataclass(frozen=True)
class PartitionedStep(CorpusStep):
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

    def decide(self, shards: Sequence[Path]) -> Iterator[pa.Table]:
        """Yield what leaves, decided in this process; a run decides by `decide_in_parts`."""
        with tempfile.TemporaryDirectory() as folder:
            yield from decide_in_parts(self, shards, Path(folder), LocalEngine())


def decide_in_parts(step: PartitionedStep, shards: Sequence[Path], folder: Path, engine: Engine) -> list[pa.Table]:
    """Return what leaves, one table of REMOVALS for each shard, in the order of the shards; in processes that don't
    lead an empty list.

    Args:
        step: the step.
        shards: Parquet files. Neither their number nor that of the partitions changes what leaves.
        folder: for files of passage.
        engine: what carries out the tasks.
    """
    if not shards:
        return []
    units = sum(map(step.count, shards))
    parts = max(1, -(-units * step.bytes_a_unit // step.partition_bytes), -(-units // _UNITS_A_PARTITION))
    parts = min(parts, _MOST_PARTITIONS)
    job = _Job(step, len(shards), parts, folder)
    _carry_out(engine, job.count, list(enumerate(shards)))
    _carry_out(engine, job.find_frequent, range(parts))
    _carry_out(engine, job.collect, list(enumerate(shards)))
    _carry_out(engine, job.rank, range(parts))
    if not engine.leads:
        return []
    surplus = pa.concat_tables([SURPLUS.empty_table(), *(_read(job.path("surplus", part)) for part in range(parts))])
    surplus = surplus.sort_by([(name, "ascending") for name in ("shard", "row", "turn")])
    borders = np.searchsorted(surplus["shard"].to_numpy(), np.arange(len(shards) + 1))
    return [
        surplus.slice(start, stop - start).drop_columns(["shard"])
        for start, stop in zip(borders[:-1], borders[1:], strict=True)
    ]


def _carry_out(engine: Engine, function: Callable[[T], None], tasks: Sequence[T]) -> None:
    """Carry out a round of tasks, to the last one of the last process."""
    for _ in engine.map(function, engine.share(tasks)):
        pass
    engine.wait()


@dataclass(frozen=True)
class _Job:
    """The tasks of a decision; each reads files that earlier ones wrote, and writes one.

    It goes with every task to a worker, so it doesn't name the shards.
    """

    step: PartitionedStep
    shards: int
    parts: int
    folder: Path

    def path(self, what: str, number: int) -> Path:
        return self.folder / f"{what}-{number}.arrow"

    def count(self, shard: tuple[int, Path]) -> None:
        """Count the keys of a shard, given by its number and path."""
        number, path = shard
        keys, counts = np.unique(self.step.keys(self._shard(path)), return_counts=True)
        self._write_parts("counts", number, pa.table({"key": keys, "count": counts}))

    def find_frequent(self, part: int) -> None:
        """Name the keys of a partition that come too often."""
        counts = pa.concat_tables(self._parts("counts", part))
        total = counts.group_by("key", use_threads=False).aggregate([("count", "sum")])
        frequent = total.filter(pc.greater(total["count_sum"], self.step.limit_of_key))
        _write(self.path("frequent", part), frequent.select(["key"]).sort_by("key"))

    def collect(self, shard: tuple[int, Path]) -> None:
        """Collect the occurrences of these keys in a shard."""
        number, path = shard
        frequent = np.concatenate([_read(self.path("frequent", part))["key"].to_numpy() for part in range(self.parts)])
        occurrences = self.step.occurrences(self._shard(path), np.sort(frequent))
        self._write_parts("occurrences", number, occurrences)

    def rank(self, part: int) -> None:
        """Name the surplus of a partition."""
        tables = [
            table.append_column("shard", pa.array(np.full(len(table), number, np.int32)))
            for number, table in enumerate(self._parts("occurrences", part))
        ]
        _write(
            self.path("surplus", part), self.step.surplus(pa.concat_tables(tables)).select(SURPLUS.names).cast(SURPLUS)
        )

    def _shard(self, path: Path) -> pa.Table:
        return read_shard(path, list(self.step.columns))

    def _write_parts(self, what: str, number: int, table: pa.Table) -> None:
        """Write a table in a batch for each partition of its column `key`."""
        owners = table["key"].to_numpy() % np.uint64(self.parts)
        order = np.argsort(owners, kind="stable")
        table = table.take(pa.array(order)).combine_chunks()
        borders = np.searchsorted(owners[order], np.arange(self.parts + 1))
        with replacing(self.path(what, number)) as temporary, pa.ipc.new_file(temporary, table.schema) as file:
            for start, stop in zip(borders[:-1], borders[1:], strict=True):
                [batch] = table.slice(start, stop - start).combine_chunks().to_batches() or [_no_rows(table.schema)]
                file.write_batch(batch)

    def _parts(self, what: str, part: int) -> list[pa.Table]:
        """Return a partition of what each shard gave."""
        tables = []
        for number in range(self.shards):
            with pa.OSFile(str(self.path(what, number))) as source:
                file = pa.ipc.open_file(source)
                tables.append(pa.Table.from_batches([file.get_batch(part)]))
        return tables


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def _write(path: Path, table: pa.Table) -> None:
    with replacing(path) as temporary, pa.ipc.new_file(temporary, table.schema) as file:
        file.write_table(table)


def _read(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as source:
        return pa.ipc.open_file(source).read_all()
