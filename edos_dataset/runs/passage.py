"""Files of passage: what the tasks of one round of a corpus step leave for those of the next, parted by a key."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.runs.engines.base import Engine, T, on_one_machine
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.shards import replacing
from edos_dataset.runs.stores.copies import COPIES
from edos_dataset.runs.stores.paths import RemotePath

_MOST_PARTITIONS = 10_000  # each is some files
_UNITS_A_PARTITION = 500_000  # so that a middling corpus keeps several workers busy, and a small one has no overhead
_BYTES_A_PARTITION = 1 << 27  # so that workers take no more memory for a corpus ten times as large
_MOST_GROUPS = _BUSY = 512
"""Groups of shards, and partitions that keep enough workers busy: a partition opens the file of every group, which
takes 75 µs of the processor.
"""
_BYTES_A_SLICE = 1 << 25  # less than a shard takes
_BUFFER = 1 << 23  # bytes of rows that wait until they are parted


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

    def read(self, what: str, number: int) -> pa.Table:
        """Return what `write` wrote."""
        with pa.OSFile(os.fspath(self._path(what, number))) as source:
            return pa.ipc.open_file(source).read_all()

    def read_pieces(self, what: str, number: int) -> Iterator[pa.RecordBatch]:
        """Yield the pieces of what `write` wrote: memory does not grow with the file."""
        with pa.OSFile(os.fspath(self._path(what, number))) as source, pa.ipc.open_file(source) as file:
            yield from map(file.get_batch, range(file.num_record_batches))

    def write_parts(self, what: str, number: int, tables: Iterable[pa.Table]) -> None:
        """Write tables, at least one, as a batch for each partition of their column `key`, numbers from 0; and where
        they are large, again a batch for each of what follows: memory does not grow with what is written.
        """
        tables = iter(tables)
        first = next(tables)
        with replacing(self._path(what, number)) as temporary, pa.ipc.new_file(temporary, first.schema) as file:
            waiting = [first]
            for table in tables:
                if sum(one.nbytes for one in waiting) > _BUFFER:
                    self._write_batches(file, pa.concat_tables(waiting))
                    waiting = []
                waiting.append(table)
            self._write_batches(file, pa.concat_tables(waiting))

    def _write_batches(self, file: pa.ipc.RecordBatchFileWriter, table: pa.Table) -> None:
        owners = (table["key"].to_numpy() % np.uint64(self.parts)).astype(np.min_scalar_type(self.parts))
        order = np.argsort(owners, kind="stable")  # of 16 bits, in a tenth of the time
        table = table.take(pa.array(order)).combine_chunks()
        borders = np.searchsorted(owners[order], np.arange(self.parts + 1))
        for start, stop in zip(borders[:-1], borders[1:], strict=True):
            [batch] = table.slice(start, stop - start).combine_chunks().to_batches() or [_no_rows(table.schema)]
            file.write_batch(batch)

    def read_part(self, what: str, part: int, files: int) -> pa.Table:
        """Return a partition of what the files 0 to `files` - 1 hold together, in their order."""
        batches = []
        for number in range(files):
            with pa.OSFile(os.fspath(self._path(what, number))) as source, pa.ipc.open_file(source) as file:
                batches += [file.get_batch(place) for place in range(part, file.num_record_batches, self.parts)]
        return pa.Table.from_batches(batches)

    def read_slices(self, what: str, part: int, files: int, bytes_a_row: int) -> Iterator[pa.Table]:
        """Yield a partition as `read_part` gives it, but in tables each of which has all rows of its keys, so many of
        these that what is made of one takes about `_BYTES_A_SLICE`: a large partition takes no more than a small one.

        Args:
            what: the files.
            part: the partition.
            files: their number.
            bytes_a_row: memory that is taken for each row.
        """
        table = self.read_part(what, part, files)
        slices = max(1, -(-len(table) * bytes_a_row // _BYTES_A_SLICE))
        owners = table["key"].to_numpy() // np.uint64(self.parts) % np.uint64(slices)
        for number in range(slices):
            yield table.filter(pa.array(owners == number)) if slices > 1 else table

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


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
