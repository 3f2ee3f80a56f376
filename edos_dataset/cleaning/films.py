"""One film once: of files that say nearly the same, under whatever names, one stays."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.arrays import unnest
from edos_dataset.cleaning.shingles import sketch
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.likeness import BYTES_A_HASH, Likeness, decide_alike
from edos_dataset.runs.partitions import SharedStep
from edos_dataset.runs.pipeline import REMOVALS, Unit, check_ranges

SAME_FILM = "same_film"
"""Reason of a file that says what a better one says."""


@dataclass(frozen=True)
class DropSameFilms(SharedStep):
    """Keep one of the documents that say nearly the same: a film under two names, from two rips, or a part of it.

    Compared are the documents of one language by the different runs of four words that they say, so times, line breaks
    and turns don't matter, and damaged letters only in the runs that they are in. Two documents are the same film if
    they share `share` of what the shorter one says, and at least 50 runs, or all. Judged by about 512 runs of each,
    those with the least hashes, so a part of less than about a sixtieth of a film is not found. Of the same films the
    one stays that repeats more of its own words: it is longer, or less damaged. A film's split hangs on its name, so
    without this step copies of it come into several splits.

    Args:
        share: of the shorter document's runs that the other one must have, above 0 to 1; null keeps all films. Two
            rips share 0.98 or more, two transcripts of one episode made without each other 0.46 or more, two episodes
            of one show 0.02, one that shows scenes of others up to 0.2 (evaluation/same_films.json).
        memory: bytes for a partition of the hashes, from 1,500 to 1 TiB, beside 60 bytes for each pair of equal films.
    """

    share: float | None = 0.3
    memory: int = 1 << 30

    name: ClassVar[str] = "films"
    unit: ClassVar[Unit] = "files"
    needs, gives = ("sentences",), ()

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_ranges(self, share=(1e-3, 1), memory=(BYTES_A_HASH, 1 << 40))

    def decide_together(self, shards: Sequence[Path], folder: Path, engine: Engine) -> list[pa.Table]:
        """Name the documents that leave."""
        if self.share is None:
            return [REMOVALS.empty_table() for _ in shards]
        columns = ("document_id", "language", "sentences.list.element.text")
        likeness = Likeness(_sketches, columns, self.share, _LEAST, SAME_FILM, self.memory)
        films = sum(pq.read_metadata(shard).num_rows for shard in shards)
        return decide_alike(likeness, films * _HASHES, shards, folder, engine)


_HASHES = 512
_LEAST = 50


def _sketches(table: pa.Table) -> pa.Table:
    sentences, offsets = unnest(table, "sentences")
    texts = sentences.field("text").to_pylist()
    films = [" ".join(texts[start:stop]) for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]
    return sketch(films, table["language"].to_pylist(), table["document_id"].to_pylist(), _HASHES)
