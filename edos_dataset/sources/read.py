"""The first stage of a run: reads the files of a film or book, and keeps the content of the best one."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import nest
from edos_dataset.languages import code_of_language
from edos_dataset.languages.detection import LINE_CHARACTERS, SAMPLE_LINES
from edos_dataset.schema.tables import BLOCK, LINE, LINES, READ_BOOKS, REASON
from edos_dataset.sources.books.book import CONTENTS, NOTE, Book
from edos_dataset.sources.books.plain import outline_text, refuse_copyrighted
from edos_dataset.sources.chats import with_names
from edos_dataset.sources.documents import OTHER_LANGUAGE as OTHER_LANGUAGE
from edos_dataset.sources.documents import Document, ReadDocuments, rejected_files
from edos_dataset.sources.formats import code_of_others, formats, read_book
from edos_dataset.sources.parsed import Facts, Parsed, ReadError, refuse_longer
from edos_dataset.sources.scripts.reading import NOT_A_SCRIPT
from edos_dataset.sources.subtitles.bilingual import one_language
from edos_dataset.sources.subtitles.faults import faults_of
from edos_dataset.sources.subtitles.speakers import name_speakers, one_voice_a_block

OTHER_FILE, OTHER_FILE_OF_BOOK = "other_file_of_film", "other_file_of_book"
"""Reasons for a readable file if the film or book has a better one."""

_FORMS = ("tei", "epub", "html", "text")
"""Forms of books, those that describe their parts better first."""


@dataclass(frozen=True)
class ReadFilms(ReadDocuments[Parsed]):
    """Read all files of each film and keep the best one in the language wanted.

    A file is taken to be in that language unless its path or its header names another one, or its letters or words
    are of another one (`languages.detection`). The best of the readable files is decided by the first of these points
    in which two differ:

    1. it holds the whole film rather than one of several discs (`<cds>`);
    2. a larger fraction of its lines is timed, in steps of 5 %: without times no dialogue can be cut;
    3. a smaller fraction of its words was unknown to OPUS or had to be corrected (scans, bad translations), in steps of
       2 %;
    4. a higher confidence of OPUS that the subtitle is in its language;
    5. more lines;
    6. the smaller document id.

    The papers name no rule and read all files (`all_files`): the corpus holds about three a film, so that all of them
    together put most dialogues in it three times, but for those that are equal word by word.

    Attributes:
        language: code of the language wanted (ISO 639: "en", "pt_br"); later stages take it from here.
        detect_language: whether letters and words are looked at; of subtitles in two languages at once only the lines
            in the language wanted are then read.
        names: whether the marks of a whole file say who speaks ("[Ben]", "Ben's iPhone:"; `subtitles.speakers`); the
            papers know "NAME:" alone.
        only_scripts: whether every file but screenplays is rejected (reason not_a_script).
        all_files: whether every readable file of a film is kept (the papers). All of them are then in memory at once.
        max_bytes: largest size of an unpacked file, 1 byte to 2 GiB. It bounds the memory that a file can take: 22
            times as much for SubRip at the default, 26 for WebVTT, 21 for ASS and 16 for OPUS, measured on the hardest
            files known.
        max_seconds: wall-clock time that reading one file may take, above 0 and up to a million seconds, where the
            platform can measure it (`documents.time_limit`). It stops files that were made to hold a run up: a real
            one takes less than a hundredth of the default, so the result does not depend on the machine.
    """

    needs, gives, ends = ("files",), ("lines",), ("files",)
    document: ClassVar[str] = "film"
    other_file: ClassVar[str] = OTHER_FILE
    schema: ClassVar[pa.Schema] = LINES

    language: str = "en"
    detect_language: bool = True
    names: bool = True
    only_scripts: bool = False
    all_files: bool = False
    max_bytes: int = 16 * 2**20
    max_seconds: float = 60.0

    def inputs(self) -> dict[str, str]:
        """Return the hashes of the code of other packages' formats."""
        return code_of_others()

    def tally(self, table: pa.Table) -> dict[str, int]:
        """Count the files read by encoding and by fault, the times dropped, the lines of speakers who are not seen, and
        the files in other languages.
        """
        kept = table.filter(pc.is_null(table[REASON])) if REASON in table.column_names else table
        bad = int(pc.sum(pc.struct_field(kept["reading"], "bad_times")).as_py() or 0)
        counts = super().tally(table) | {"bad times": bad}
        for notes in pc.struct_field(kept["reading"], "left_out").to_pylist():
            for kind, number in notes or ():
                counts[f"left out: {kind}"] = counts.get(f"left out: {kind}", 0) + number
        voices = pc.list_flatten(kept["lines"]) if "lines" in kept.column_names else pa.array([], LINE)
        for entry in pc.value_counts(pc.drop_null(pc.struct_field(voices, "voice"))).to_pylist():
            counts[f"voice: {entry['values']}"] = int(entry["counts"])
        for faults in pc.struct_field(kept["reading"], "faults").to_pylist():
            for fault in faults or ():
                counts[f"fault: {fault}"] = counts.get(f"fault: {fault}", 0) + 1
        return counts

    def notes(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Return path, reason and message of each file that could not be read; unwanted files are left out."""
        return rejected_files(rejected, (OTHER_FILE, OTHER_LANGUAGE))

    def _read_file(self, row: Document[Parsed], data: bytes) -> Parsed:
        format = formats()[row.file["kind"]]
        parsed = format.reader(data, row.file["language"] or self.language)
        format = formats()[parsed.kind or row.file["kind"]]
        refuse_longer(parsed.texts)
        if self.only_scripts and not format.scripted:
            raise ReadError(NOT_A_SCRIPT, f"its format is {format.kind!r}, but this recipe reads only screenplays")
        if format.messages:
            parsed = with_names(parsed, os.fsdecode(row.file["location"]), row.file["member"])
        guess = not (format.whole_sentences or format.scripted)
        if guess and self.detect_language:
            parsed = one_language(parsed, self.language)
        if guess:
            parsed = name_speakers(parsed) if self.names else one_voice_a_block(parsed)
            parsed = replace(parsed, faults=faults_of(parsed, self.language))
        self._to_table(
            [replace(row, read=parsed)]
        )  # fails for content that no table can hold, such as a lone surrogate
        return parsed

    def _rank(self, row: Document[Parsed]) -> tuple[Any, ...]:
        assert row.read is not None
        facts = row.read.facts
        doubtful, confidence = round((facts.doubtful or 0.0) * 50), facts.confidence or 0.0
        timed, lines = round(row.read.timed_share * 20), len(row.read.texts)
        return facts.is_part, -timed, doubtful, -confidence, -lines, row.file["document_id"]

    def _claims(self, row: Document[Parsed]) -> Iterable[tuple[str, str | None, str | None]]:
        assert row.read is not None
        header, path = row.read.facts.language, row.file["language"]
        return ("its path", path, path), ("it", header, code_of_language(header))

    def _texts(self, row: Document[Parsed]) -> Sequence[str]:
        assert row.read is not None
        return row.read.texts

    def _source(self, row: Document[Parsed]) -> dict[str, Any]:
        facts = row.read.facts if row.read else Facts()
        stated = {name: row.file[name] for name in ("kind", "path", "imdb_id")}
        stated["kind"] = (row.read and row.read.kind) or stated["kind"]
        return {**stated, "year": row.file["year"] or facts.year, "genres": facts.genres}

    def _reading(self, row: Document[Parsed]) -> dict[str, Any]:
        if row.read is None:
            return {"bad_times": 0}
        return {
            "encoding": row.read.encoding,
            "encoding_confidence": row.read.encoding_confidence,
            "original_language": row.read.facts.original_language,
            "bad_times": row.read.bad_times,
            "left_out": list(row.read.left_out.items()) or None,
            "faults": row.read.faults or None,
        }

    def _contents(self, rows: Sequence[Document[Parsed]]) -> list[pa.Array]:
        offsets = list(accumulate((len(row.read.texts) if row.read else 0 for row in rows), initial=0))
        read = [row.read for row in rows if row.read]
        numbers = {
            name: np.concatenate([*(getattr(parsed, name) for parsed in read), np.empty(0)])
            for name in ("ids", "starts", "ends", "first_blocks", "last_blocks")
        }
        columns = {
            "id": numbers["ids"].astype(np.int32),
            "text": [text for parsed in read for text in parsed.texts],
            "start": pa.array(numbers["starts"], from_pandas=True),
            "end": pa.array(numbers["ends"], from_pandas=True),
            "first_block": numbers["first_blocks"].astype(np.int32),
            "last_block": numbers["last_blocks"].astype(np.int32),
            "dash": pa.array(np.zeros(offsets[-1], dtype=bool)),
            **{name: _given(read, f"{name}s") for name in ("speaker", "scene", "manner", "voice")},
        }
        return [nest(offsets, LINE, columns)]


def _given(read: Sequence[Parsed], name: str) -> list[Any]:
    """Return a column that a file may give or not: null for all lines of a file that does not."""
    return [value for parsed in read for value in getattr(parsed, name) or [None] * len(parsed.texts)]


@dataclass(frozen=True)
class ReadBooks(ReadDocuments[Book]):
    """Read all files of each book and keep the best one in the language wanted.

    A book is taken to be in that language unless the catalogue, its folder, its own header, its letters or its words
    say otherwise. The best of the readable files is decided by the first of these points in which two differ:

    1. no character that its encoding could not show;
    2. as plain text it was in UTF-8, or in the encoding that it names;
    3. the form: TEI, EPUB, HTML, plain text (for recipe `papers` plain text first);
    4. more text, in steps of a twentieth;
    5. the smaller document id.

    Args:
        language: code of the language wanted (ISO 639: "en", "hu"); later stages take it from here.
        plain: return the one text that recipe `papers` reads instead of blocks.
        detect_language: whether letters and words are looked at.
        copyrighted: whether books are read whose header of Project Gutenberg says that they are under copyright, some
            hundreds (`papers` rejects them).
        max_bytes: largest size of an unpacked file, 1 byte to 2 GiB.
        max_seconds: wall-clock time that reading one file may take, above 0 and up to a million seconds; a novel takes
            a tenth of a second.
    """

    language: str = "en"
    plain: bool = False
    detect_language: bool = True
    copyrighted: bool = True
    max_bytes: int = 128 * 2**20
    max_seconds: float = 120.0

    needs, gives, ends = ("files",), ("text", "blocks"), ("files",)
    document: ClassVar[str] = "book"
    other_file: ClassVar[str] = OTHER_FILE_OF_BOOK
    schema: ClassVar[pa.Schema] = READ_BOOKS

    def notes(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Return path, reason and message of each rejected file, wanted or not, with the key of its book."""
        notes = zip(rejected_files(rejected), rejected["book"].to_pylist(), strict=True)
        return [{**note, "book": book} for note, book in notes]

    def _read_file(self, row: Document[Book], data: bytes) -> Book:
        if not self.copyrighted:
            refuse_copyrighted(data)
        reader = outline_text if self._is_outlined(row) else read_book
        return reader(data, row.file["path"], row.language)

    def _rank(self, row: Document[Book]) -> tuple[Any, ...]:
        assert row.read is not None
        size = sum(len(block.text) for block in row.read.blocks)
        lost = any("\ufffd" in block.text for block in row.read.blocks)
        form = _FORMS.index(row.file["kind"])
        doubtful = "," in row.read.encoding or row.read.encoding_confidence < 0.9
        fit = (-form, lost, doubtful) if self.plain else (lost, doubtful, form)
        return *fit, -round(np.log(max(size, 1)) * 20), row.file["document_id"]

    def _claims(self, row: Document[Book]) -> Iterable[tuple[str, str | None, str | None]]:
        # The catalogue or a folder has already confirmed the language, and a header may be wrong.
        assert row.read is not None
        header = row.read.language
        return () if row.file["language"] else (("it", repr(header), header),)

    def _texts(self, row: Document[Book]) -> Sequence[str]:
        assert row.read is not None
        said = " ".join(block.text for block in row.read.blocks if block.kind not in (NOTE, CONTENTS))
        # Evenly spaced pieces of the text, as a single paragraph may be a whole book.
        step = max(LINE_CHARACTERS, len(said) // SAMPLE_LINES)
        return [said[start : start + LINE_CHARACTERS] for start in range(0, len(said), step)]

    def _source(self, row: Document[Book]) -> dict[str, Any]:
        title, author, year = (row.read.title, row.read.author, row.read.year) if row.read else (None, None, None)
        return {
            "kind": row.file["kind"],
            "path": row.file["path"],
            "title": row.listed.get("title") or title,
            "author": row.listed.get("author") or author,
            "year": row.file["year"] or year,
        }

    def _reading(self, row: Document[Book]) -> dict[str, Any]:
        stated = {} if row.read is None else row.read._asdict()
        return {name: stated.get(name) for name in ("encoding", "encoding_confidence")} | {"bad_times": 0}

    def _contents(self, rows: Sequence[Document[Book]]) -> list[pa.Array]:
        return [pa.array([self._text(row) for row in rows], pa.large_string()), self._blocks(rows)]

    def _is_outlined(self, row: Document[Book]) -> bool:
        return self.plain and row.file["kind"] == "text"

    def _text(self, row: Document[Book]) -> str | None:
        """Return the text as `read_plain` does, without decoding the file again."""
        if row.read is None or not self.plain:
            return None
        return "\n\n".join(block.text for block in row.read.blocks) + ("" if self._is_outlined(row) else "\n")

    def _blocks(self, rows: Sequence[Document[Book]]) -> pa.ListArray:
        of_rows = [row.read.blocks if row.read and not self.plain else () for row in rows]
        blocks = [block for of_book in of_rows for block in of_book]
        columns = {name: [getattr(block, name) for block in blocks] for name in ("text", "kind", "chapter", "speaker")}
        columns["said"] = [[said._asdict() for said in block.said] for block in blocks]
        lists = nest(list(accumulate(map(len, of_rows), initial=0)), BLOCK, columns)
        empty = pa.array([not of_book for of_book in of_rows])
        return pa.ListArray.from_arrays(lists.offsets, lists.values, type=lists.type, mask=empty) if rows else lists
