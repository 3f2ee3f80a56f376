"""Files of passage: what the tasks of one round of a corpus step leave for those of the next, parted by a key."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from edos_dataset.runs.engines.base import Engine, T
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.pipeline import REMOVALS
from edos_dataset.runs.shards import replacing
from edos_dataset.runs.stores.copies import COPIES
from edos_dataset.runs.stores.paths import RemotePath

_MOST_PARTITIONS = 10_000  # each is some files
_UNITS_A_PARTITION = 500_000  # so that a middling corpus keeps several workers busy, and a small one has no overhead
_BUSY = 256  # partitions that keep enough workers so; as each opens a file of every shard, more would cost their square

SURPLUS = pa.schema([pa.field("shard", pa.int32()), *REMOVALS])
"""What leaves, and from which shard, by its number."""


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

    def write(self, what: str, number: int, table: pa.Table) -> None:
        """Write a table as a whole."""
        with replacing(self._path(what, number)) as temporary, pa.ipc.new_file(temporary, table.schema) as file:
            file.write_table(table)

    def read(self, what: str, number: int) -> pa.Table:
        """Return what `write` wrote."""
        with pa.OSFile(os.fspath(self._path(what, number))) as source:
            return pa.ipc.open_file(source).read_all()

    def write_parts(self, what: str, number: int, table: pa.Table) -> None:
        """Write a table in a batch for each partition of its column `key`, numbers from 0."""
        owners = (table["key"].to_numpy() % np.uint64(self.parts)).astype(np.min_scalar_type(self.parts))
        order = np.argsort(owners, kind="stable")  # of 16 bits, in a tenth of the time
        table = table.take(pa.array(order)).combine_chunks()
        borders = np.searchsorted(owners[order], np.arange(self.parts + 1))
        with replacing(self._path(what, number)) as temporary, pa.ipc.new_file(temporary, table.schema) as file:
            for start, stop in zip(borders[:-1], borders[1:], strict=True):
                [batch] = table.slice(start, stop - start).combine_chunks().to_batches() or [_no_rows(table.schema)]
                file.write_batch(batch)

    def read_part(self, what: str, part: int, files: int) -> list[pa.Table]:
        """Return a partition of what each of the files 0 to `files` - 1 holds."""
        tables = []
        for number in range(files):
            with pa.OSFile(os.fspath(self._path(what, number))) as source:
                tables.append(pa.Table.from_batches([pa.ipc.open_file(source).get_batch(part)]))
        return tables

    def _path(self, what: str, number: int) -> Path:
        return self.folder / f"{what}-{number}.arrow"


def partitions_for(units: int, bytes_a_unit: int, memory: int) -> int:
    """Return the number of partitions, each of which takes `memory` bytes at most, for units that are spread evenly."""
    of_workers = min(-(-units // _UNITS_A_PARTITION), _BUSY)
    return min(max(1, -(-units * bytes_a_unit // memory), of_workers), _MOST_PARTITIONS)


def passage_folder(folder: Path, engine: Engine) -> Path:
    """Return where files of passage lie: those of a run in a store on this machine, unless other ones need them."""
    if isinstance(folder, RemotePath) and not getattr(engine, "spans_machines", True):
        return COPIES.folder / f"decision-{hash_json(str(folder))[:16]}"
    return folder


def carry_out(engine: Engine, function: Callable[[T], None], tasks: Sequence[T]) -> None:
    """Carry out a round of tasks, to the last one of the last process."""
    for _ in engine.map(function, engine.share(tasks)):
        pass
    engine.wait()


def by_shard(surplus: pa.Table, shards: int) -> list[pa.Table]:
    """Return a table of SURPLUS as one of REMOVALS for each shard."""
    surplus = surplus.sort_by([(name, "ascending") for name in ("shard", "row", "turn")])
    borders = np.searchsorted(surplus["shard"].to_numpy(), np.arange(shards + 1))
    return [
        surplus.slice(start, stop - start).drop_columns(["shard"])
        for start, stop in zip(borders[:-1], borders[1:], strict=True)
    ]


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
