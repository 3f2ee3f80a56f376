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

SHARE_TRAIN, SHARE_VALIDATION = 0.8, 0.1
ROW_GROUP = 10_000


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


def split_of(film: str) -> str:
    """Return the split of a film: by a hash of its key, 80/10/10, so that it is the same in every corpus and all files
    of a film share it.
    """
    place = int.from_bytes(hashlib.sha256(film.encode()).digest()[:8], "big") / 2**64
    if place < SHARE_TRAIN:
        return "train"
    return "validation" if place < SHARE_TRAIN + SHARE_VALIDATION else "test"


def write_config(config: str, shards: Sequence[Path], folder: Path, rows_a_file: int = 100_000) -> ConfigFiles:
    """Write the dialogues of a run's shards as the Parquet files of a config.

    Args:
        config: one of `schema.CONFIGS`.
        shards: Parquet files with the columns of the config and `film`, by which the splits are parted, or `split`,
            where they have been before.
        folder: the published folder; the files go to `folder/config`.
        rows_a_file: dialogues a file at most. A split without dialogues gets no file: `datasets` refuses to load a
            split without rows.

    The files don't depend on how the dialogues are spread over the shards. Memory: one shard, and ROW_GROUP dialogues
    for each split.
    """
    written = ConfigFiles(config)
    documents: dict[str, str | None] = dict.fromkeys(SPLITS)
    (folder / config).mkdir(parents=True)
    writers = {split: _SplitWriter(folder, config, split, rows_a_file) for split in SPLITS}
    for shard in shards:
        for split, table in _by_split(shard, config):
            writers[split].write(table)
            documents[split] = written.add(split, table, documents[split])
    for split, writer in writers.items():
        written.files[split] = writer.close()
        written.digests |= {name: digest(folder / name) for name in written.files[split]}
        written.arrow_bytes[split] = writer.arrow_bytes
        written.bytes[split] = sum((folder / name).stat().st_size for name in written.files[split])
    return written


def _by_split(shard: Path, config: str) -> Iterator[tuple[str, pa.Table]]:
    known = "split" in pq.read_schema(shard).names
    table = pq.read_table(
        shard, columns=[*arrow_schema(config).names, "split" if known else "film"]
    )  # the embeddings stay behind
    splits = table["split"] if known else pa.array([split_of(film) for film in table["film"].to_pylist()], pa.string())
    table = table.select(arrow_schema(config).names).cast(arrow_schema(config))
    for split in SPLITS:
        part = table.filter(pc.equal(splits, split))
        if part.num_rows:
            yield split, part


class _SplitWriter:
    """Writes one split in row groups of ROW_GROUP; the number of files in the names is known only at the end, so they
    are renamed then.
    """

    def __init__(self, folder: Path, config: str, split: str, rows_a_file: int) -> None:
        self.folder, self.config, self.split, self.rows_a_file = folder, config, split, rows_a_file
        self.paths: list[Path] = []
        self.writer: pq.ParquetWriter | None = None
        self.rows = self.arrow_bytes = 0
        self.waiting = arrow_schema(config).empty_table()

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
        self.writer = pq.ParquetWriter(
            self.paths[-1], arrow_schema(self.config), compression="zstd", write_page_index=True
        )
        self.rows = 0
