"""Files of passage: what the tasks of one round of a corpus step leave for those of the next, parted by a key."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.arrays import Hashes, give_back
from edos_dataset.runs.engines.base import Engine, T, on_one_machine
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.shards import replacing
from edos_dataset.runs.stores.copies import COPIES
from edos_dataset.runs.stores.paths import RemotePath

_Sized = TypeVar("_Sized", pa.Table, pa.RecordBatch)

_MOST_PARTITIONS = 10_000  # each is some files
_UNITS_A_PARTITION = 500_000  # so that a middling corpus keeps several workers busy, and a small one has no overhead
_BYTES_A_PARTITION = 1 << 27  # so that workers take no more memory for a corpus ten times as large
_MOST_GROUPS = _BUSY = 512
"""Groups of shards, and partitions that keep enough workers busy: a partition opens the file of every group, which
takes 75 µs of the processor.
"""
_BYTES_A_SLICE = 1 << 23  # less than a shard takes
_MOST_SLICES = 64
_BUFFER = 1 << 23  # bytes of rows that are gathered, and then parted


class Group(NamedTuple):
    """Shards side by side, through which one task goes, or files that belong to them.

    Attributes:
        number: of the group, from 0.
        first: number of its first shard, from 0.
        paths: one a shard.
    """

    number: int
    first: int
    paths: Sequence[Path]

    def numbered(self) -> Iterator[tuple[int, Path]]:
        """Yield each shard's number and path."""
        return enumerate(self.paths, self.first)


def shards_a_group(shards: int) -> int:
    """Return how many of so many shards a group has, but for the last one."""
    return max(1, -(-shards // _MOST_GROUPS))


def groups_of(paths: Sequence[Path]) -> list[Group]:
    """Return shards in groups, so that their number bounds the files of passage."""
    size = shards_a_group(len(paths))
    return [Group(first // size, first, paths[first : first + size]) for first in range(0, len(paths), size)]


def key_column(table: pa.Table) -> Hashes:
    """Return the column `key` of a table."""
    keys: Hashes = table["key"].to_numpy()
    return keys


@dataclass(frozen=True)
class Passage:
    """A folder of Arrow files, a batch a partition each.

    It goes with every task to a worker, so it doesn't name the shards.

    Attributes:
        parts: number of partitions, from 1.
        folder: where the files are.
    """

    parts: int
    folder: Path

    @property
    def monitored(self) -> str:
        """The phase that the step begins (its folder), for whoever watches the workers."""
        return self.folder.parent.name

    def write(self, what: str, number: int, table: pa.Table, rows: int | None = None) -> None:
        """Write a table as a whole, or in pieces of so many rows at most."""
        with replacing(self._path(what, number)) as temporary, pa.ipc.new_file(temporary, table.schema) as file:
            file.write_table(table, rows)
        give_back()

    def read(self, what: str, number: int) -> pa.Table:
        """Return what `write` wrote."""
        with pa.OSFile(os.fspath(self._path(what, number))) as source:
            return pa.ipc.open_file(source).read_all()

    def read_pieces(self, what: str, number: int) -> Iterator[pa.RecordBatch]:
        """Yield the pieces of what `write` wrote: memory does not grow with the file."""
        with pa.OSFile(os.fspath(self._path(what, number))) as source, pa.ipc.open_file(source) as file:
            yield from map(file.get_batch, range(file.num_record_batches))

    def write_parts(
        self, what: str, number: int, tables: Iterable[pa.Table], keys_of: Callable[[pa.Table], Hashes] = key_column
    ) -> None:
        """Write tables, at least one, as a batch for each partition of their keys; and where they are large, again a
        batch for each of what follows: memory does not grow with what is written.

        Args:
            what: the files.
            number: of the file, from 0.
            tables: what to write.
            keys_of: gives the keys of a table's rows.
        """
        tables = iter(tables)
        first = next(tables)
        with replacing(self._path(what, number)) as temporary, pa.ipc.new_file(temporary, first.schema) as file:
            for some in _gathered(chain([first], tables)):
                self._write_batches(file, pa.concat_tables(some), keys_of)
        give_back()

    def _write_batches(
        self, file: pa.ipc.RecordBatchFileWriter, table: pa.Table, keys_of: Callable[[pa.Table], Hashes]
    ) -> None:
        table, borders = _parted(table, keys_of(table) % np.uint64(self.parts), self.parts)
        for start, stop in pairwise(borders.tolist()):
            [batch] = table.slice(start, stop - start).combine_chunks().to_batches() or [_no_rows(table.schema)]
            file.write_batch(batch)

    def read_part(self, what: str, part: int, files: int) -> pa.Table:
        """Return a partition of what the files 0 to `files` - 1 hold together, in their order."""
        return pa.concat_tables(self._read_part(what, part, files))

    def read_slices(
        self,
        what: str,
        part: int,
        files: int,
        bytes_a_row: int,
        keys_of: Callable[[pa.Table], Hashes] = key_column,
    ) -> Iterator[pa.Table]:
        """Yield a partition in tables each of which has all rows of its keys, in their order but for that, so many of
        these that what is made of one takes about `_BYTES_A_SLICE`: a large partition takes no more than a small one.

        Args:
            what: the files.
            part: the partition.
            files: their number.
            bytes_a_row: memory that is taken for each row.
            keys_of: as they were written by.
        """
        parts, rows = np.uint64(self.parts), 0
        pieces: list[tuple[pa.Table, np.ndarray]] = []
        for table in self._read_part(what, part, files):
            rows += len(table)
            pieces.append(_parted(table, keys_of(table) // parts % np.uint64(_MOST_SLICES), _MOST_SLICES))
        width = max(1, _MOST_SLICES * _BYTES_A_SLICE // max(1, rows * bytes_a_row))
        for first in range(0, _MOST_SLICES, width):
            spans = ((table, borders[first], borders[min(first + width, _MOST_SLICES)]) for table, borders in pieces)
            yield pa.concat_tables([table.slice(start, stop - start) for table, start, stop in spans])

    def _read_part(self, what: str, part: int, files: int) -> Iterator[pa.Table]:
        """Yield a partition in tables of some batches each, at least one."""
        return map(pa.Table.from_batches, _gathered(self._batches(what, part, files)))

    def _batches(self, what: str, part: int, files: int) -> Iterator[pa.RecordBatch]:
        for number in range(files):
            with pa.OSFile(os.fspath(self._path(what, number))) as source, pa.ipc.open_file(source) as file:
                yield from map(file.get_batch, range(part, file.num_record_batches, self.parts))

    def _path(self, what: str, number: int) -> Path:
        return self.folder / f"{what}-{number}.arrow"


def partitions_for(units: int, bytes_a_unit: int, memory: int) -> int:
    """Return the number of partitions, each of which takes `memory` bytes at most, for units that are spread evenly."""
    size = units * bytes_a_unit
    few = min(max(-(-units // _UNITS_A_PARTITION), -(-size // _BYTES_A_PARTITION)), _BUSY)
    return min(max(1, -(-size // memory), few), _MOST_PARTITIONS)


def count_together(count: Callable[[Path], int], shards: Sequence[Path], folder: Path, engine: Engine) -> int:
    """Return what `count` gives of all shards together. Tasks look at them: what a footer takes stays with the process
    that reads it, 50 kB a shard.
    """
    job, groups = _Count(1, folder, count), groups_of(shards)
    carry_out(engine, job.count_group, groups)
    return sum(job.read("units", group.number)["units"][0].as_py() for group in groups)


def count_rows(shard: Path) -> int:
    """Return the rows of a shard, from its footer alone."""
    return int(pq.read_metadata(shard).num_rows)


@dataclass(frozen=True)
class _Count(Passage):
    count: Callable[[Path], int]

    def count_group(self, group: Group) -> None:
        """Count what the shards of a group hold."""
        self.write("units", group.number, pa.table({"units": [sum(map(self.count, group.paths))]}))


def passage_folder(folder: Path, engine: Engine) -> Path:
    """Return where files of passage lie: those of a run in a store on this machine, unless other ones need them."""
    if isinstance(folder, RemotePath) and on_one_machine(engine):
        return COPIES.folder / f"decision-{hash_json(str(folder))[:16]}"
    return folder


def carry_out(engine: Engine, function: Callable[[T], None], tasks: Sequence[T]) -> None:
    """Carry out a round of tasks, to the last one of the last process."""
    for _ in engine.map(function, engine.share(tasks)):
        pass
    engine.wait()


def _gathered(items: Iterable[_Sized]) -> Iterator[list[_Sized]]:
    """Yield what lies side by side, as much at once as has `_BUFFER` bytes, or one that has more."""
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


def _parted(table: pa.Table, owners: np.ndarray, parts: int) -> tuple[pa.Table, np.ndarray]:
    """Return a table with the rows of each owner, 0 to `parts` - 1, side by side, and where these begin and end."""
    if parts == 1:
        return table, np.array([0, len(table)])
    owners = owners.astype(np.min_scalar_type(parts))
    order = np.argsort(owners, kind="stable")  # of 16 bits, in a tenth of the time
    # a column at a time, as of a table whose batches are many Arrow takes several copies
    columns = [column.combine_chunks().take(pa.array(order)) for column in table.columns]
    return pa.table(columns, table.schema), np.searchsorted(owners[order], np.arange(parts + 1))


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
