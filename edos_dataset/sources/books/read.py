"""The first stage of books: from the files of a book to the blocks, or the text, of its best file."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import nest
from edos_dataset.languages.codes import check_language
from edos_dataset.languages.detection import LINE_CHARACTERS, SAMPLE_LINES
from edos_dataset.runs.pipeline import Stage, Unit, check_ranges
from edos_dataset.schema.books import BLOCK, BOOK_SOURCE, READ_BOOKS
from edos_dataset.schema.tables import DETAIL, READING, REASON
from edos_dataset.sources.books.book import CONTENTS, NOTE, Book
from edos_dataset.sources.books.plain import outline_text
from edos_dataset.sources.books.reading import read_book
from edos_dataset.sources.documents import (
    keep_best,
    notes_of,
    read_file,
    refuse_foreign,
    struct_of,
    tally_reading,
)

OTHER_FILE = "other_file_of_book"
"""Reason of a readable file of which the book has a better one."""

_FORMS = ("tei", "epub", "html", "text")  # the more a form says of what its parts are, the better


@dataclass(frozen=True)
class ReadBooks(Stage):
    """Read all files of each book and keep the best one in the language wanted.

    A book is believed to be in that language unless the catalogue, its folder, its own header, its letters or its words
    say another one. Of the files that can be read the best one is, by the first of these points in which two differ:

    1. without a character that its encoding could not show;
    2. as plain text it was in UTF-8, or in the encoding that it names;
    3. the form: TEI, EPUB, HTML, plain text (of recipe `papers` plain text before all);
    4. more text, in steps of a twentieth;
    5. the smaller document id.

    Args:
        language: code of the language wanted (ISO 639: "en", "hu"); the stages behind this one take it from here.
        plain: give the one text that recipe `papers` reads instead of blocks.
        detect_language: whether letters and words are looked at.
        max_bytes: largest size of an unpacked file, 1 byte to 2 GiB.
        max_seconds: time that reading one file may take, above 0 and up to a million seconds by the clock on the wall;
            a novel takes a tenth of a second.
    """

    language: str = "en"
    plain: bool = False
    detect_language: bool = True
    max_bytes: int = 128 * 2**20
    max_seconds: float = 120.0

    name: ClassVar[str] = "read"
    unit: ClassVar[Unit] = "files"
    needs, gives, ends = ("files",), ("text", "blocks"), ("files",)

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_language(self.language)
        check_ranges(self, max_bytes=(1, 1 << 31), max_seconds=(1e-3, 1e6))

    def __call__(self, table: pa.Table) -> pa.Table:
        """Read BOOKS into READ_BOOKS, a row for each file, with the columns `reason` and `detail`."""
        rows: list[_Document] = []
        for book in table.to_pylist():
            rows += self._read_book(book)
        return _to_table(rows)

    def tally(self, table: pa.Table) -> dict[str, int]:
        """Count the files read by encoding, and those in other languages by theirs."""
        return tally_reading(table)

    def notes(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Return path, reason and message of each file that leaves, wanted or not, with the key of its book."""
        notes = zip(notes_of(rejected, ()), rejected["book"].to_pylist(), strict=True)
        return [{**note, "book": book} for note, book in notes]

    def _read_book(self, book: dict[str, Any]) -> list["_Document"]:
        rows = [_Document(book, file, file["language"] or self.language) for file in book["files"]]
        return keep_best(rows, self._read_wanted, self.max_seconds, OTHER_FILE, "the book has a better file")

    def _read_wanted(self, row: "_Document") -> None:
        self._read_file(row)
        self._check_language(row)

    def _read_file(self, row: "_Document") -> None:
        def read(data: bytes) -> None:
            outlined = self.plain and row.file["kind"] == "text"
            row.book = (outline_text if outlined else read_book)(data, row.path, row.language)
            if self.plain:  # as `read_plain` has it, but decoded once
                row.text = "\n\n".join(block.text for block in row.book.blocks) + ("" if outlined else "\n")

        read_file(row.file, self.max_bytes, read)

    def _check_language(self, row: "_Document") -> None:
        """Refuse a book in another language than the one wanted."""
        assert row.book is not None
        path, header = row.file["language"], row.book.language
        # The catalogue or a folder has named the language wanted, or the file would not be here: a header may be wrong.
        claims = () if path else (("it", repr(header), header),)
        said = " ".join(block.text for block in row.book.blocks if block.kind not in (NOTE, CONTENTS))
        step = max(LINE_CHARACTERS, len(said) // SAMPLE_LINES)  # a paragraph may be a whole book
        texts = [said[start : start + LINE_CHARACTERS] for start in range(0, len(said), step)]
        refuse_foreign(claims, texts if self.detect_language else [], self.language)


@dataclass(slots=True)
class _Document:
    listed: dict[str, Any]  # row of BOOKS
    file: dict[str, Any]
    language: str | None
    book: Book | None = None
    text: str | None = None
    reason: str | None = None
    detail: str | None = None

    @property
    def path(self) -> str:
        return str(self.file["path"])

    def reject(self, reason: str, detail: str) -> None:
        self.book = self.text = None
        self.reason = reason
        self.detail = f"{self.path}: {detail}"

    def rank(self) -> tuple[Any, ...]:
        """Return what the best file of a book has the least of."""
        assert self.book is not None
        size = sum(len(block.text) for block in self.book.blocks)
        lost = any("\ufffd" in block.text for block in self.book.blocks)
        form = _FORMS.index(self.file["kind"])
        doubtful = "," in self.book.encoding or self.book.encoding_confidence < 0.9
        fit = (lost, doubtful, form) if self.text is None else (-form, lost, doubtful)
        return *fit, -round(np.log(max(size, 1)) * 20), self.file["document_id"]


def _to_table(rows: list[_Document]) -> pa.Table:
    books = [row.book for row in rows]
    source: dict[str, list[Any]] = {
        "kind": [row.file["kind"] for row in rows],
        "path": [row.path for row in rows],
        "title": [row.listed.get("title") or (row.book and row.book.title) for row in rows],
        "author": [row.listed.get("author") or (row.book and row.book.author) for row in rows],
        "year": [row.file["year"] or (row.book and row.book.year) for row in rows],
    }
    reading: dict[str, list[Any]] = {
        "encoding": [book and book.encoding for book in books],
        "encoding_confidence": [book and book.encoding_confidence for book in books],
        "original_language": [None] * len(rows),
        "bad_times": [0] * len(rows),
    }
    columns = [
        pa.array([row.file["document_id"] for row in rows], pa.string()),
        pa.array([row.listed["book"] for row in rows], pa.string()),
        pa.array([row.language for row in rows], pa.string()),
        struct_of(BOOK_SOURCE, source),
        struct_of(READING, reading),
        pa.array([row.text for row in rows], pa.large_string()),
        _blocks(rows),
        pa.array([row.reason for row in rows], pa.string()),
        pa.array([row.detail for row in rows], pa.string()),
    ]
    schema = pa.schema([*READ_BOOKS, pa.field(REASON, pa.string()), pa.field(DETAIL, pa.string())])
    return pa.Table.from_arrays(columns, schema=schema)


def _blocks(rows: list[_Document]) -> pa.ListArray:
    """Return the blocks of each document; null where it has a text, or was rejected."""
    given = [row.book.blocks if row.book and row.text is None else () for row in rows]
    blocks = [block for of_book in given for block in of_book]
    offsets = np.concatenate([[0], np.cumsum([len(of_book) for of_book in given])])
    columns = {name: [getattr(block, name) for block in blocks] for name in ("text", "kind", "chapter", "speaker")}
    lists = nest(offsets.tolist(), BLOCK, columns)
    none = pa.array([not of_book for of_book in given])
    return pa.ListArray.from_arrays(lists.offsets, lists.values, type=lists.type, mask=none) if len(rows) else lists
