"""The published layout: `<config>/<split>-00000-of-0000N.parquet`, and a README whose YAML `load_dataset` reads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.label_sets import DEFAULT, LabelSet, label_set_of, load_label_set
from edos_dataset.label_sets.configs import schema_of_set
from edos_dataset.publishing.front_matter import with_content
from edos_dataset.publishing.splits import Division
from edos_dataset.publishing.statistics import Statistics
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.folder import only_file
from edos_dataset.runs.shards import digest, replacing, write_shard, write_text
from edos_dataset.runs.shuffle import Group, groups_of
from edos_dataset.schema import SPLITS, Labels
from edos_dataset.schema.tables import SEVERAL

ROW_GROUP = 10_000

ROWS_A_FILE = 100_000

_KEYS = ("film", "book")
"""Columns of what the splits divide."""


@dataclass
class ConfigFiles(Statistics):
    """The files of a config, and counts of their contents.

    Attributes:
        config: Its name.
        files: Split → file names, relative to the published folder.
        digests: File name → SHA-256.
        bytes: Split → size of the Parquet files.
        arrow_bytes: Split → size of the data as Arrow messages, without empty validity bitmaps; roughly num_bytes of
            `datasets`.
        label_set: Label set of its labels as plain data; None for that of EDOS.
        several: Whether a turn can have several labels.
        divided: Shares of the splits in percent, such as "80/10/10".
        moved: Number of films or books that were moved so that no split is empty.
    """

    config: str
    files: dict[str, list[str]] = field(default_factory=lambda: {split: [] for split in SPLITS})
    digests: dict[str, str] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SPLITS, 0))
    arrow_bytes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SPLITS, 0))
    label_set: dict[str, Any] | None = None
    several: bool = False
    divided: str = ""
    moved: int = 0

    @property
    def set_of_labels(self) -> LabelSet:
        """The label set of its labels."""
        return load_label_set(self.label_set or DEFAULT)

    @property
    def columns(self) -> Labels:
        """Its labels, as `schema.features` takes them."""
        return Labels(self.set_of_labels.labels, self.several)


@dataclass(frozen=True)
class FileTask:
    """All that a worker needs to write one published file.

    Attributes:
        target: The file.
        split: The split of its rows.
        shards: The shards that have them, in order.
        skip: Rows of the split in the first shard that belong to the previous file.
        rows: Number of rows of the file.
        schema: Schema of the file.
        division: Division of the films or books.
    """

    target: Path
    split: str
    shards: Sequence[Path]
    skip: int
    rows: int
    schema: pa.Schema
    division: Division


@dataclass(frozen=True)
class FileWritten:
    """What a worker returns about a file that it wrote: digest, sizes as in `ConfigFiles`, counts, and the documents of
    its first and its last row.
    """

    target: Path
    digest: str
    bytes: int
    arrow_bytes: int
    counted: Statistics
    documents: tuple[str, str]


def write_config(
    config: str,
    shards: Sequence[Path],
    folder: Path,
    rows_a_file: int = ROWS_A_FILE,
    engine: Engine | None = None,
    division: Division | None = None,
) -> ConfigFiles:
    """Write the dialogues of a run's shards as the Parquet files of a config, one task for each file.

    The files depend neither on the distribution of the dialogues over the shards nor on the engine. Memory of a worker:
    one shard, and ROW_GROUP dialogues.

    Args:
        config: One of `schema.CONFIGS`.
        shards: Parquet files with the columns of the config and with `film` or `book`, which decides the split, or with
            `split`, if that is already decided.
        folder: The published folder, visible to all workers; the files go to `folder/config`.
        rows_a_file: Largest number of dialogues of a file. A split without dialogues gets no file: `datasets` refuses
            to load a split without rows.
        engine: Engine that runs the tasks in its workers; by default this process.
        division: Division of the films or books among the splits; by default that of films.
    """
    engine, division = engine or LocalEngine(), division or Division()
    written = ConfigFiles(config, divided=division.as_text, moved=len(division.moved))
    (folder / config).mkdir(parents=True)
    rows = _rows_of_splits(shards, engine, division)
    shard_schema = pq.read_schema(shards[0]) if shards else None
    if shard_schema is not None and (labels := label_set_of(shard_schema)) != load_label_set(DEFAULT):
        written.label_set = labels.as_dict()
    fields = _fields_of_turns(shard_schema)
    written.several = SEVERAL in fields
    labelled = None if shard_schema is None else "label" in fields
    schema = schema_of_set(config, written.set_of_labels, labelled, written.several)
    tasks: list[FileTask] = []
    for split in SPLITS:
        given = [(shard, rows[number][split]) for number, shard in enumerate(shards) if rows[number][split]]
        tasks += _cut(folder / config, split, given, rows_a_file, schema, division)
    results = {one.target: one for one in engine.map(write_file, tasks)}
    last: dict[str, str] = {}
    for task in tasks:
        one, split, name = results[task.target], task.split, f"{config}/{task.target.name}"
        written.files[split].append(name)
        written.digests[name] = one.digest
        written.bytes[split] += one.bytes
        written.arrow_bytes[split] += one.arrow_bytes
        written.include(one.counted)
        written.documents -= last.get(split) == one.documents[0]  # a document that begins in the previous file
        last[split] = one.documents[1]
    return written


def _cut(
    folder: Path,
    split: str,
    given: Sequence[tuple[Path, int]],
    rows_a_file: int,
    schema: pa.Schema,
    division: Division,
) -> Iterator[FileTask]:
    """Yield the tasks of a split, given its shards and the number of its rows in each."""
    ends = np.cumsum([rows for _, rows in given])
    total = int(ends[-1]) if given else 0
    files = -(-total // rows_a_file)
    for number in range(files):
        start = number * rows_a_file
        stop = min(start + rows_a_file, total)
        first, last = int(np.searchsorted(ends, start, "right")), int(np.searchsorted(ends, stop))
        target = folder / f"{split}-{number:05d}-of-{files:05d}.parquet"
        before = int(ends[first]) - given[first][1]
        of_file = [shard for shard, _ in given[first : last + 1]]
        yield FileTask(target, split, of_file, start - before, stop - start, schema, division)


def filled_division(division: Division, shards: Sequence[Path], engine: Engine | None) -> Division:
    """Return a division in which no split is empty, as far as possible; see `Division.filled`.

    Args:
        division: The division.
        shards: Shards of the config that has the dialogues of all films or books.
        engine: Engine that counts the shards; by default this process.
    """
    rows = _rows_of_splits(shards, engine or LocalEngine(), division) if division.fill else {}
    if not rows or all(any(row[split] for row in rows.values()) for split in division.wanted):
        return division
    keys: set[str] = set()
    for shard in shards:  # few films, or the splits would hardly be empty
        with pq.ParquetFile(shard) as file:
            owner = _owner(file)
            keys.update(file.read(columns=[owner])[owner].to_pylist() if owner in _KEYS else ())
    return division.filled(keys)


def _rows_of_splits(shards: Sequence[Path], engine: Engine, division: Division) -> dict[int, dict[str, int]]:
    """Return the rows of each split of each shard, by its number."""
    tasks = ((group, division) for group in groups_of(shards))
    return dict(pair for pairs in engine.map(count_splits, tasks) for pair in pairs)


def count_splits(task: tuple[Group, Division]) -> list[tuple[int, dict[str, int]]]:
    """Return the number of each shard of a group, with its number of rows of each split."""
    group, division = task
    return [
        (number, {split: pc.sum(pc.equal(splits, split)).as_py() or 0 for split in SPLITS})
        for number, path in group.numbered()
        for _, splits in [_read(path, [], division)]
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
            # a copy: the bytes of a slice depend on the table it was cut from
            yield waiting.take(pa.array(range(rows))).combine_chunks()
            waiting, left = waiting.slice(rows), left - rows


def _rows(task: FileTask) -> Iterator[pa.Table]:
    """Yield the rows of a file, followed by further rows of the last shard."""
    skip = task.skip
    for shard in task.shards:
        table, splits = _read(shard, task.schema.names, task.division)  # without the embeddings
        yield table.filter(pc.equal(splits, task.split)).select(task.schema.names).slice(skip).cast(task.schema)
        skip = 0


def _read(shard: Path, columns: Sequence[str], division: Division) -> tuple[pa.Table, pa.Array]:
    """Return some columns of a shard, and the split of each row."""
    with pq.ParquetFile(shard) as file:
        owner = _owner(file)
        table = file.read(columns=[*columns, owner])
    splits = table[owner]
    if owner in _KEYS:
        known = {key: division.split_of(key) for key in pc.unique(splits).to_pylist()}
        splits = pa.array([known[key] for key in splits.to_pylist()], pa.string())
    return table, splits


def _owner(shard: pq.ParquetFile) -> str:
    """Return the column that decides the split of a row."""
    return next(name for name in ("split", *_KEYS) if name in shard.schema_arrow.names)


def _fields_of_turns(schema: pa.Schema | None) -> list[str]:
    """Return the names of the fields of turns."""
    return [] if schema is None else list(schema.field("turns").type.value_type.names)


def write_single(
    folder: Path, config: str, tables: Mapping[str, pa.Table], card: str, texts: Mapping[str, str]
) -> None:
    """Write a dataset of one config whose rows fit into memory: a file for each split, the card, and other files.

    Args:
        folder: An empty folder that is prepared for a commit.
        config: Name of the config.
        tables: Split → its rows, with the columns of the config in any order.
        card: Text of README.md, to which the digest of the data is added.
        texts: Name of each other file → its content.

    Raises:
        ValueError: A table lacks a column or holds values of another type; nothing is written.
    """
    labels = label_set_of(next(iter(tables.values())).schema)
    schema = schema_of_set(config, labels)
    rows = {}
    for split, table in tables.items():
        if lacking := [name for name in schema.names if name not in table.column_names]:
            raise ValueError(f"the rows of {split} have no column {lacking[0]!r}: expected {', '.join(schema.names)}")
        rows[split] = table.select(schema.names).cast(schema)
    paths = {split: only_file(folder, config, split) for split in rows}
    digests = {path.relative_to(folder).as_posix(): write_shard(path, rows[split]) for split, path in paths.items()}
    for name, text in {"README.md": with_content(card, digests), **texts}.items():
        write_text(folder / name, text)
