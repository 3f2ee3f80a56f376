"""The published layout: `<config>/<split>-00000-of-0000N.parquet` and the README whose YAML makes `load_dataset` read
them.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.publishing.statistics import Statistics
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.passage import Group, groups_of
from edos_dataset.runs.shards import digest, replacing
from edos_dataset.schema import SPLITS, arrow_schema

SHARES = (0.8, 0.1)
"""Of train and of validation, the rest is test: of films (EDOS, Section 6, of its labelled dialogues)."""

SHARES_OF_BOOKS = (0.9, 0.05)
"""Likewise, of books (the Gutenberg Dialogue Dataset, Section 3)."""

ROW_GROUP = 10_000

ROWS_A_FILE = 100_000

_SHARES = {"film": SHARES, "book": SHARES_OF_BOOKS}


@dataclass
class ConfigFiles(Statistics):
    """What was written for a config: its files, and what was counted in them.

    Attributes:
        files: split to file names, relative to the published folder.
        digests: file name to SHA-256.
        bytes: split to size of the Parquet files.
        arrow_bytes: split to size of the data as Arrow messages, which do without empty validity bitmaps; about what
            `datasets` calls num_bytes.
    """

    config: str
    files: dict[str, list[str]] = field(default_factory=lambda: {split: [] for split in SPLITS})
    digests: dict[str, str] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SPLITS, 0))
    arrow_bytes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SPLITS, 0))


def split_of(film: str, shares: tuple[float, float] = SHARES) -> str:
    """Return the split of a film or a book: by a hash of its key, so that it is the same in every corpus and all its
    files share it.

    Args:
        film: its key.
        shares: of train and of validation among all films, 0 to 1.
    """
    place = int.from_bytes(hashlib.sha256(film.encode()).digest()[:8], "big") / 2**64
    if place < shares[0]:
        return "train"
    return "validation" if place < sum(shares) else "test"


@dataclass(frozen=True)
class FileTask:
    """All that a worker needs to write one published file.

    Attributes:
        target: the file.
        split: of which it holds rows.
        shards: that have them, in order.
        skip: rows of the split in the first of these that belong to the file before.
        rows: of the file.
        schema: of the file.
    """

    target: Path
    split: str
    shards: Sequence[Path]
    skip: int
    rows: int
    schema: pa.Schema


@dataclass(frozen=True)
class FileWritten:
    """What a worker tells of a file that it has written: its digest, its sizes as of `ConfigFiles`, what was counted in
    it, and the documents of its first and its last row.
    """

    target: Path
    digest: str
    bytes: int
    arrow_bytes: int
    counted: Statistics
    documents: tuple[str, str]


def write_config(
    config: str, shards: Sequence[Path], folder: Path, rows_a_file: int = ROWS_A_FILE, engine: Engine | None = None
) -> ConfigFiles:
    """Write the dialogues of a run's shards as the Parquet files of a config, a task a file.

    Args:
        config: one of `schema.CONFIGS`.
        shards: Parquet files with the columns of the config and `film` or `book`, by which the splits are parted, or
            `split`, where they have been before.
        folder: the published folder, which all workers see; the files go to `folder/config`.
        rows_a_file: dialogues a file at most. A split without dialogues gets no file: `datasets` refuses to load a
            split without rows.
        engine: what carries out the tasks, all of them in this process's workers; by default this process.

    The files depend neither on how the dialogues are spread over the shards nor on the engine. Memory of a worker: one
    shard, and ROW_GROUP dialogues.
    """
    engine, written = engine or LocalEngine(), ConfigFiles(config)
    (folder / config).mkdir(parents=True)
    rows = dict(pair for pairs in engine.map(count_splits, groups_of(shards)) for pair in pairs)
    schema = arrow_schema(config, _labelled(shards))
    tasks: list[FileTask] = []
    for split in SPLITS:
        given = [(shard, rows[number][split]) for number, shard in enumerate(shards) if rows[number][split]]
        tasks += _cut(folder / config, split, given, rows_a_file, schema)
    told = {one.target: one for one in engine.map(write_file, tasks)}
    last: dict[str, str] = {}
    for task in tasks:
        one, split, name = told[task.target], task.split, f"{config}/{task.target.name}"
        written.files[split].append(name)
        written.digests[name] = one.digest
        written.bytes[split] += one.bytes
        written.arrow_bytes[split] += one.arrow_bytes
        written.include(one.counted)
        written.documents -= last.get(split) == one.documents[0]  # a document that begins in the file before
        last[split] = one.documents[1]
    return written


def _cut(
    folder: Path, split: str, given: Sequence[tuple[Path, int]], rows_a_file: int, schema: pa.Schema
) -> Iterator[FileTask]:
    """Yield the files of a split, whose shards are given with the rows of it that they have."""
    ends = np.cumsum([rows for _, rows in given])
    total = int(ends[-1]) if given else 0
    files = -(-total // rows_a_file)
    for number in range(files):
        start = number * rows_a_file
        stop = min(start + rows_a_file, total)
        first, last = int(np.searchsorted(ends, start, "right")), int(np.searchsorted(ends, stop))
        target = folder / f"{split}-{number:05d}-of-{files:05d}.parquet"
        before = int(ends[first]) - given[first][1]
        yield FileTask(
            target, split, [shard for shard, _ in given[first : last + 1]], start - before, stop - start, schema
        )


def count_splits(group: Group) -> list[tuple[int, dict[str, int]]]:
    """Return the rows of each split that shards have, behind the shard's number."""
    return [
        (number, {split: pc.sum(pc.equal(splits, split)).as_py() or 0 for split in SPLITS})
        for number, path in group.numbered()
        for _, splits in [_read(path, [])]
    ]


def write_file(task: FileTask) -> FileWritten:
    """Write one file of a config."""
    counted, arrow_bytes = Statistics(), 0
    first = last = None
    with replacing(task.target) as temporary:
        with pq.ParquetWriter(temporary, task.schema, compression="zstd", write_page_index=True) as writer:
            for table in _groups(task):
                arrow_bytes += sum(pa.ipc.get_record_batch_size(batch) for batch in table.to_batches())
                writer.write_table(table, row_group_size=ROW_GROUP)
                first = first or table["document_id"][0].as_py()
                last = counted.add(task.split, table, last)
        size, known = temporary.stat().st_size, digest(temporary)
    return FileWritten(task.target, known, size, arrow_bytes, counted, (str(first), str(last)))


def _groups(task: FileTask) -> Iterator[pa.Table]:
    """Yield the rows of a file in row groups."""
    left, waiting = task.rows, task.schema.empty_table()
    for table in _rows(task):
        waiting = pa.concat_tables([waiting, table])
        while left and waiting.num_rows >= (rows := min(ROW_GROUP, left)):
            # a copy: the bytes of a slice depend on what it was cut from
            yield waiting.take(pa.array(range(rows))).combine_chunks()
            waiting, left = waiting.slice(rows), left - rows


def _rows(task: FileTask) -> Iterator[pa.Table]:
    """Yield the rows of a file, and what the last shard has behind them."""
    skip = task.skip
    for shard in task.shards:
        table, splits = _read(shard, task.schema.names)  # the embeddings stay behind
        yield table.filter(pc.equal(splits, task.split)).select(task.schema.names).slice(skip).cast(task.schema)
        skip = 0


def _read(shard: Path, columns: Sequence[str]) -> tuple[pa.Table, pa.Array]:
    """Return some columns of a shard, and the split of each row."""
    with pq.ParquetFile(shard) as file:
        owner = next(name for name in ("split", *_SHARES) if name in file.schema_arrow.names)
        table = file.read(columns=[*columns, owner])
    splits = table[owner]
    if owner in _SHARES:
        known = {key: split_of(key, _SHARES[owner]) for key in pc.unique(splits).to_pylist()}
        splits = pa.array([known[key] for key in splits.to_pylist()], pa.string())
    return table, splits


def _labelled(shards: Sequence[Path]) -> bool | None:
    """Return whether the turns of shards have labels; None where there are no shards."""
    return next(("label" in pq.read_schema(shard).field("turns").type.value_type.names for shard in shards), None)
