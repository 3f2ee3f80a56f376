"""The published layout: `<config>/<split>-00000-of-0000N.parquet` and the README whose YAML makes `load_dataset` read
them.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.publishing.statistics import Statistics
from edos_dataset.runs.shards import digest
from edos_dataset.schema import SPLITS, arrow_schema

SHARES = (0.8, 0.1)
"""Of train and of validation, the rest is test: of films (EDOS, Section 6, of its labelled dialogues)."""

SHARES_OF_BOOKS = (0.9, 0.05)
"""Likewise, of books (the Gutenberg Dialogue Dataset, Section 3)."""

ROW_GROUP = 10_000

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


def write_config(config: str, shards: Sequence[Path], folder: Path, rows_a_file: int = 100_000) -> ConfigFiles:
    """Write the dialogues of a run's shards as the Parquet files of a config.

    Args:
        config: one of `schema.CONFIGS`.
        shards: Parquet files with the columns of the config and `film` or `book`, by which the splits are parted, or
            `split`, where they have been before.
        folder: the published folder; the files go to `folder/config`.
        rows_a_file: dialogues a file at most. A split without dialogues gets no file: `datasets` refuses to load a
            split without rows.

    The files don't depend on how the dialogues are spread over the shards. Memory: one shard, and ROW_GROUP dialogues
    for each split.
    """
    written = ConfigFiles(config)
    documents: dict[str, str | None] = dict.fromkeys(SPLITS)
    (folder / config).mkdir(parents=True)
    schema = arrow_schema(config, _labelled(shards))
    writers = {split: _SplitWriter(folder, config, split, rows_a_file, schema) for split in SPLITS}
    for shard in shards:
        for split, table in _by_split(shard, schema):
            writers[split].write(table)
            documents[split] = written.add(split, table, documents[split])
    for split, writer in writers.items():
        written.files[split] = writer.close()
        written.digests |= {name: digest(folder / name) for name in written.files[split]}
        written.arrow_bytes[split] = writer.arrow_bytes
        written.bytes[split] = sum((folder / name).stat().st_size for name in written.files[split])
    return written


def _labelled(shards: Sequence[Path]) -> bool | None:
    """Return whether the turns of shards have labels; None where there are no shards."""
    return next(("label" in pq.read_schema(shard).field("turns").type.value_type.names for shard in shards), None)


def _by_split(shard: Path, schema: pa.Schema) -> Iterator[tuple[str, pa.Table]]:
    names = pq.read_schema(shard).names
    owner = next(name for name in ("split", *_SHARES) if name in names)
    table = pq.read_table(shard, columns=[*schema.names, owner])  # the embeddings stay behind
    splits = table[owner]
    if owner in _SHARES:
        splits = pa.array([split_of(key, _SHARES[owner]) for key in splits.to_pylist()], pa.string())
    table = table.select(schema.names).cast(schema)
    for split in SPLITS:
        part = table.filter(pc.equal(splits, split))
        if part.num_rows:
            yield split, part


class _SplitWriter:
    """Writes one split in row groups of ROW_GROUP; the number of files in the names is known only at the end, so they
    are renamed then.
    """

    def __init__(self, folder: Path, config: str, split: str, rows_a_file: int, schema: pa.Schema) -> None:
        self.folder, self.config, self.split, self.rows_a_file, self.schema = folder, config, split, rows_a_file, schema
        self.paths: list[Path] = []
        self.writer: pq.ParquetWriter | None = None
        self.rows = self.arrow_bytes = 0
        self.waiting = schema.empty_table()

    def write(self, table: pa.Table) -> None:
        self.waiting = pa.concat_tables([self.waiting, table])
        while self.waiting.num_rows >= ROW_GROUP:
            self._write_group()

    def close(self) -> list[str]:
        while self.waiting.num_rows:
            self._write_group()
        if self.writer is not None:
            self.writer.close()
        names = [
            f"{self.config}/{self.split}-{index:05d}-of-{len(self.paths):05d}.parquet"
            for index in range(len(self.paths))
        ]
        for path, name in zip(self.paths, names, strict=True):
            path.rename(self.folder / name)
        return names

    def _write_group(self) -> None:
        if self.writer is None or self.rows == self.rows_a_file:
            self._open()
        assert self.writer is not None
        rows = min(ROW_GROUP, self.rows_a_file - self.rows, self.waiting.num_rows)
        group = self.waiting.take(
            pa.array(range(rows))
        ).combine_chunks()  # a copy: the bytes of a slice depend on what it was cut from
        self.waiting = self.waiting.slice(group.num_rows)
        self.rows += group.num_rows
        self.arrow_bytes += sum(pa.ipc.get_record_batch_size(batch) for batch in group.to_batches())
        self.writer.write_table(group, row_group_size=ROW_GROUP)

    def _open(self) -> None:
        if self.writer is not None:
            self.writer.close()
        self.paths.append(self.folder / self.config / f"{self.split}-{len(self.paths):05d}.part")
        self.writer = pq.ParquetWriter(self.paths[-1], self.schema, compression="zstd", write_page_index=True)
        self.rows = 0
