"""The shuffle of a corpus step: the tasks of one round write rows, split by a key, for the tasks of the next. Removals
pass in the same way from the tasks that find them to one file per shard. No process holds all the rows.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.arrays import Hashes, release_memory
from edos_dataset.runs.engines.base import Engine, T, on_one_machine
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.pipeline import REMOVALS
from edos_dataset.runs.shards import replacing, write_shard
from edos_dataset.runs.stores.paths import RemotePath
from edos_dataset.runs.stores.reading import COPIES

_Sized = TypeVar("_Sized", pa.Table, pa.RecordBatch)

_MOST_PARTITIONS = 10_000  # each takes several files
_UNITS_A_PARTITION = 500_000  # a medium corpus keeps several workers busy, and a small one has no overhead
_BYTES_A_PARTITION = 1 << 27  # a corpus ten times as large takes no more memory per worker
_MOST_GROUPS = _BUSY = 512
"""Most groups of shards, and the number of partitions that keeps enough workers busy: each partition opens the file of
every group, which takes 75 µs of CPU time.
"""
_BYTES_A_SLICE = 1 << 23  # less than a shard takes
_MOST_SLICES = 64
_BUFFER = 1 << 23  # bytes of rows that are gathered before they are split


class Group(NamedTuple):
    """Consecutive shards that one task processes, or files that belong to them.

    Attributes:
        number: number of the group, from 0.
        first: number of its first shard, from 0.
        paths: one path per shard.
    """

    number: int
    first: int
    paths: Sequence[Path]

    def numbered(self) -> Iterator[tuple[int, Path]]:
        """Yield each shard's number and path."""
        return enumerate(self.paths, self.first)


def shards_a_group(shards: int) -> int:
    """Return the number of shards in each group but the last, given the number of all shards."""
    return max(1, -(-shards // _MOST_GROUPS))


def groups_of(paths: Sequence[Path]) -> list[Group]:
    """Return shards in groups; the number of groups limits the files of a shuffle."""
    size = shards_a_group(len(paths))
    return [Group(first // size, first, paths[first : first + size]) for first in range(0, len(paths), size)]


def key_column(table: pa.Table) -> Hashes:
    """Return the column `key` of a table."""
    keys: Hashes = table["key"].to_numpy()
    return keys


@dataclass(frozen=True)
class Shuffle:
    """A folder of Arrow files, each with one batch per partition.

    It is sent to a worker with every task, so it does not hold the names of the shards.

    Attributes:
        parts: number of partitions, from 1.
        folder: where the files are.
    """

    parts: int
    folder: Path

    @property
    def monitored(self) -> str:
        """The phase that the step begins (the name of its folder), for a monitor of the workers."""
        return self.folder.parent.name

    def write(self, what: str, number: int, table: pa.Table, rows: int | None = None) -> None:
        """Write a table in one piece, or in pieces of at most `rows` rows."""
        with replacing(self._path(what, number)) as temporary, pa.ipc.new_file(temporary, table.schema) as file:
            file.write_table(table, rows)
        release_memory()

    def read(self, what: str, number: int) -> pa.Table:
        """Return a table that `write` wrote."""
        with pa.OSFile(os.fspath(self._path(what, number))) as source:
            return pa.ipc.open_file(source).read_all()

    def read_pieces(self, what: str, number: int) -> Iterator[pa.RecordBatch]:
        """Yield the pieces of a table that `write` wrote; memory does not grow with the file."""
        with pa.OSFile(os.fspath(self._path(what, number))) as source, pa.ipc.open_file(source) as file:
            yield from map(file.get_batch, range(file.num_record_batches))

    def write_parts(
        self, what: str, number: int, tables: Iterable[pa.Table], keys_of: Callable[[pa.Table], Hashes] = key_column
    ) -> None:
        """Write at least one table as one batch for each partition of the keys.

        Large tables become several rounds of such batches, so memory does not grow with what is written.

        Args:
            what: name of the set of files.
            number: number of the file, from 0.
            tables: the tables to write.
            keys_of: returns the keys of a table's rows.
        """
        tables = iter(tables)
        first = next(tables)
        with replacing(self._path(what, number)) as temporary, pa.ipc.new_file(temporary, first.schema) as file:
            for some in _gathered(chain([first], tables)):
                self._write_batches(file, pa.concat_tables(some), keys_of)
        release_memory()

    def _write_batches(
        self, file: pa.ipc.RecordBatchFileWriter, table: pa.Table, keys_of: Callable[[pa.Table], Hashes]
    ) -> None:
        table, bounds = _sorted_by_owner(table, keys_of(table) % np.uint64(self.parts), self.parts)
        for start, stop in pairwise(bounds.tolist()):
            [batch] = table.slice(start, stop - start).combine_chunks().to_batches() or [_no_rows(table.schema)]
            file.write_batch(batch)

    def read_part(self, what: str, part: int, files: int) -> pa.Table:
        """Return a partition of the files 0 to `files` - 1, in the order of the files."""
        return pa.concat_tables(self._read_part(what, part, files))

    def read_slices(
        self,
        what: str,
        part: int,
        files: int,
        bytes_a_row: int,
        keys_of: Callable[[pa.Table], Hashes] = key_column,
    ) -> Iterator[pa.Table]:
        """Yield a partition as tables, each with all rows of its keys in their order.

        Processing one table takes about `_BYTES_A_SLICE` of memory, so large partitions take no more than small ones.

        Args:
            what: name of the set of files.
            part: the partition.
            files: number of files.
            bytes_a_row: bytes of memory that processing takes per row.
            keys_of: as in `write_parts`.
        """
        parts, rows = np.uint64(self.parts), 0
        pieces: list[tuple[pa.Table, np.ndarray]] = []
        for table in self._read_part(what, part, files):
            rows += len(table)
            pieces.append(_sorted_by_owner(table, keys_of(table) // parts % np.uint64(_MOST_SLICES), _MOST_SLICES))
        width = max(1, _MOST_SLICES * _BYTES_A_SLICE // max(1, rows * bytes_a_row))
        for first in range(0, _MOST_SLICES, width):
            spans = ((table, bounds[first], bounds[min(first + width, _MOST_SLICES)]) for table, bounds in pieces)
            yield pa.concat_tables([table.slice(start, stop - start) for table, start, stop in spans])

    def _read_part(self, what: str, part: int, files: int) -> Iterator[pa.Table]:
        return map(pa.Table.from_batches, _gathered(self._batches(what, part, files)))

    def _batches(self, what: str, part: int, files: int) -> Iterator[pa.RecordBatch]:
        for number in range(files):
            with pa.OSFile(os.fspath(self._path(what, number))) as source, pa.ipc.open_file(source) as file:
                yield from map(file.get_batch, range(part, file.num_record_batches, self.parts))

    def _path(self, what: str, number: int) -> Path:
        return self.folder / f"{what}-{number}.arrow"


def partitions_for(units: int, bytes_a_unit: int, memory: int) -> int:
    """Return the number of partitions, each of at most `memory` bytes, for evenly distributed units."""
    size = units * bytes_a_unit
    few = min(max(-(-units // _UNITS_A_PARTITION), -(-size // _BYTES_A_PARTITION)), _BUSY)
    return min(max(1, -(-size // memory), few), _MOST_PARTITIONS)


def count_together(count: Callable[[Path], int], shards: Sequence[Path], folder: Path, engine: Engine) -> int:
    """Return the sum of `count` over all shards.

    Tasks do the counting, as the 50 kB that a footer takes are never freed by the process that reads it.
    """
    job, groups = _Count(1, folder, count), groups_of(shards)
    run_tasks(engine, job.count_group, groups)
    return sum(job.read("units", group.number)["units"][0].as_py() for group in groups)


def count_rows(shard: Path) -> int:
    """Return the number of rows of a shard; reads only its footer."""
    return int(pq.read_metadata(shard).num_rows)


@dataclass(frozen=True)
class _Count(Shuffle):
    count: Callable[[Path], int]

    def count_group(self, group: Group) -> None:
        """Count what the shards of a group hold."""
        self.write("units", group.number, pa.table({"units": [sum(map(self.count, group.paths))]}))


def shuffle_folder(folder: Path, engine: Engine) -> Path:
    """Return the folder for the files of a shuffle: a local one for a run in a store, unless other machines need it."""
    if isinstance(folder, RemotePath) and on_one_machine(engine):
        return COPIES.folder / f"decision-{hash_json(str(folder))[:16]}"
    return folder


def run_tasks(engine: Engine, function: Callable[[T], None], tasks: Sequence[T]) -> None:
    """Run a round of tasks, and wait until all processes have finished theirs."""
    for _ in engine.map(function, engine.share(tasks)):
        pass
    engine.wait()


def _gathered(items: Iterable[_Sized]) -> Iterator[list[_Sized]]:
    """Yield consecutive items in lists of at most `_BUFFER` bytes, or of one larger item."""
    waiting: list[_Sized] = []
    size = 0
    for item in items:
        more = item.nbytes
        if waiting and size + more > _BUFFER:
            yield waiting
            waiting, size = [], 0
        waiting.append(item)
        size += more
    if waiting:
        yield waiting


def _sorted_by_owner(table: pa.Table, owners: np.ndarray, parts: int) -> tuple[pa.Table, np.ndarray]:
    """Return a table sorted by owner, 0 to `parts` - 1, and the offsets [parts + 1] of their rows."""
    if parts == 1:
        return table, np.array([0, len(table)])
    owners = owners.astype(np.min_scalar_type(parts))
    order = np.argsort(owners, kind="stable")  # ten times as fast for 16 bits
    # column by column, as Arrow makes several copies of a table with many batches
    columns = [column.combine_chunks().take(pa.array(order)) for column in table.columns]
    return pa.table(columns, table.schema), np.searchsorted(owners[order], np.arange(parts + 1))


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


SURPLUS = pa.schema([pa.field("shard", pa.int32()), *REMOVALS])
"""The removals, each with the number of its shard."""


@dataclass(frozen=True)
class Removals(Shuffle):
    """The removals as files of a shuffle, in which a partition is a group of shards.

    Attributes:
        size: number of shards in a group.
    """

    size: int

    @classmethod
    def of(cls, shards: int, folder: Path) -> "Removals":
        """Return the removals for a number of shards, from 1, with files in a folder."""
        size = shards_a_group(shards)
        return cls(-(-shards // size), folder, size)

    def note(self, number: int, surplus: pa.Table) -> None:
        """Write a table with the schema SURPLUS; tables are numbered from 0."""
        self.write_parts("surplus", number, [surplus.select(SURPLUS.names).cast(SURPLUS)], self._group)

    def _group(self, surplus: pa.Table) -> Hashes:
        keys: Hashes = surplus["shard"].to_numpy().astype(np.uint64) // np.uint64(self.size)
        return keys

    def split_among(self, removals: Sequence[Path], tables: int, engine: Engine) -> None:
        """Write the removals of each shard.

        Args:
            removals: the files to write, one with the schema REMOVALS per shard.
            tables: number of tables that were noted.
            engine: runs the tasks.
        """
        run_tasks(engine, self.gather, [(group, tables) for group in groups_of(removals)])

    def gather(self, task: tuple[Group, int]) -> None:
        """Write the removals of a group of shards; the task holds the files to write and the number of tables."""
        group, tables = task
        surplus = self.read_part("surplus", group.number, tables)
        surplus = surplus.sort_by([(name, "ascending") for name in ("shard", "row", "turn")])
        bounds = np.searchsorted(surplus["shard"].to_numpy(), group.first + np.arange(len(group.paths) + 1))
        for path, start, stop in zip(group.paths, bounds[:-1], bounds[1:], strict=True):
            write_shard(path, surplus.slice(start, stop - start).drop_columns(["shard"]))


def remove_nothing(removals: Sequence[Path], engine: Engine) -> None:
    """Write an empty file of removals for each shard."""
    run_tasks(engine, _write_none, groups_of(removals))


def _write_none(group: Group) -> None:
    for path in group.paths:
        write_shard(path, REMOVALS.empty_table())
