"""One film, or book, once: of those that say nearly the same, under whatever names, one stays."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.cleaning.shingles import sketch
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.likeness import BYTES_A_HASH, Likeness, decide_alike
from edos_dataset.runs.partitions import SharedStep
from edos_dataset.runs.passage import count_rows, count_together
from edos_dataset.runs.pipeline import Unit, check_ranges
from edos_dataset.runs.removals import nothing_leaves
from edos_dataset.sources.books.leaving import books_that_left

SAME_FILM = "same_film"
"""Reason of a file that says what a better one says."""

SAME_BOOK = "same_book"
"""Reason of a book that says what a better one says."""

_HASHES = 512
_LEAST = 50


@dataclass(frozen=True)
class _DropSame(SharedStep):
    """Keep one of the documents that say nearly the same.

    Compared are the documents of one language by the different runs of four words that they say. Two are the same if
    they share `share` of what the shorter one says, and at least 50 runs, or all. Judged by about 512 runs of each,
    those with the least hashes. The one stays that repeats more of its own words: it is longer, or less damaged.
    """

    share: float | None = 0.3
    memory: int = 1 << 30

    unit: ClassVar[Unit] = "files"
    gives: ClassVar[tuple[str, ...] | None] = ()
    reason: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_ranges(self, share=(1e-3, 1), memory=(BYTES_A_HASH, 1 << 40))

    @staticmethod
    @abstractmethod
    def texts(table: pa.Table) -> list[str]:
        """Return what each document says."""

    def decide_together(self, shards: Sequence[Path], removals: Sequence[Path], folder: Path, engine: Engine) -> None:
        """Name the documents that leave."""
        if self.share is None:
            nothing_leaves(removals, engine)
            return
        columns = ("document_id", "language", *self.columns)
        likeness = Likeness(self.sketches, columns, self.share, _LEAST, self.reason, self.memory)
        documents = count_together(count_rows, shards, folder, engine)
        decide_alike(likeness, documents * _HASHES, shards, removals, folder, engine)

    def sketches(self, table: pa.Table) -> pa.Table:
        """Return the sketches of a shard's documents."""
        return sketch(self.texts(table), table["language"].to_pylist(), table["document_id"].to_pylist(), _HASHES)


@dataclass(frozen=True)
class DropSameFilms(_DropSame):
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
        memory: bytes for a partition of the hashes, from 1,500 to 1 TiB.
    """

    share: float | None = 0.3
    memory: int = 1 << 30

    name: ClassVar[str] = "films"
    needs: ClassVar[tuple[str, ...]] = ("sentences",)
    reason: ClassVar[str] = SAME_FILM
    columns: ClassVar[tuple[str, ...]] = ("sentences.list.element.text",)

    @staticmethod
    def texts(table: pa.Table) -> list[str]:
        """Return what each film says."""
        return _joined(table, "sentences")


@dataclass(frozen=True)
class DropSameBooks(_DropSame):
    """Keep one of the books that say nearly the same: one under two names, in two editions, or a part of a collection.

    As `DropSameFilms`, over READ_BOOKS; recipe `papers` has texts there, the others blocks.

    Args:
        share: of the shorter book's runs that the other one must have, above 0 to 1; null keeps all books. Two editions
            of Alice share 0.998; of different books of seven languages no two share more than 0.04
            (evaluation/same_books.json).
        memory: bytes for a partition of the hashes, from 1,500 to 1 TiB.
    """

    name: ClassVar[str] = "same_books"
    needs: ClassVar[tuple[str, ...]] = ("blocks", "text")
    reason: ClassVar[str] = SAME_BOOK
    columns: ClassVar[tuple[str, ...]] = ("text", "blocks.list.element.text")

    def notes(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Tell which books have left."""
        return books_that_left(rejected)

    @staticmethod
    def texts(table: pa.Table) -> list[str]:
        """Return what each book says."""
        plain = table["text"].to_pylist()
        return [text or blocks for text, blocks in zip(plain, _joined(table, "blocks"), strict=True)]


def _joined(table: pa.Table, column: str) -> list[str]:
    parts, offsets = unnest(table, column)
    texts = parts.field("text").to_pylist()
    return [" ".join(texts[start:stop]) for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]
