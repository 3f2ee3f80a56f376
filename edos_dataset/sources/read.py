"""The first stage: from the files of a film to the lines of its best file."""

from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import nest
from edos_dataset.languages.codes import check_language, code_of_language
from edos_dataset.runs.pipeline import Stage, Unit, check_ranges
from edos_dataset.schema.tables import DETAIL, LINE, LINES, READING, REASON, SOURCE
from edos_dataset.sources.documents import OTHER_LANGUAGE as OTHER_LANGUAGE
from edos_dataset.sources.documents import (
    keep_best,
    notes_of,
    read_file,
    refuse_foreign,
    struct_of,
    tally_reading,
)
from edos_dataset.sources.formats import code_of_others, formats
from edos_dataset.sources.parsed import Facts, Parsed, refuse_longer

OTHER_FILE = "other_file_of_film"
"""Reason of a readable file of which the film has a better one."""


@dataclass(frozen=True)
class ReadFilms(Stage):
    """Read all files of each film and keep the best one in the language wanted.

    A file is believed to be in that language unless its path or its header names another one, or its letters or words
    are of another one (`languages.detection`). Of the files that can be read the best one is, by the first of these
    points in which two differ:

    1. it holds the whole film rather than one of several discs (`<cds>`);
    2. a larger share of its lines is timed, in steps of 5 %: without times no dialogue can be cut;
    3. a smaller share of its words was unknown to OPUS or had to be corrected (scans, bad translations), in steps of 2
       %;
    4. a higher confidence of OPUS that the subtitle is in its language;
    5. more lines;
    6. the smaller document id.

    The papers name no rule: the corpus holds about three files a film, and all of them together would put every
    dialogue in it three times.

    Attributes:
        language: code of the language wanted (ISO 639: "en", "pt_br"); the stages behind this one take it from here.
        detect_language: whether letters and words are looked at.
        max_bytes: largest size of an unpacked file, 1 byte to 2 GiB. It bounds what a file can take of memory: at the
            default SubRip 22 times as much, WebVTT 26, ASS 21 and OPUS 16, measured on the hardest files known.
        max_seconds: time that reading one file may take, above 0 and up to a million seconds by the clock on the wall,
            where `time_limit` can tell. It is there for files that were made to hold a run up: a real one takes less
            than a hundredth of the default, so what comes out does not depend on the machine.
    """

    name: ClassVar[str] = "read"
    unit: ClassVar[Unit] = "files"
    needs, gives, ends = ("files",), ("lines",), ("files",)

    language: str = "en"
    detect_language: bool = True
    max_bytes: int = 16 * 2**20
    max_seconds: float = 60.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_language(self.language)
        check_ranges(self, max_bytes=(1, 1 << 31), max_seconds=(1e-3, 1e6))

    def __call__(self, table: pa.Table) -> pa.Table:
        """Read FILMS into LINES, a row for each file, with the columns `reason` and `detail`; rejected files have no
        lines.
        """
        rows: list[_Document] = []
        for film, files in zip(table["film"].to_pylist(), table["files"].to_pylist(), strict=True):
            rows += self._read_film(film, files)
        return _to_table(rows)

    def inputs(self) -> dict[str, str]:
        """Return the hashes of the code of other packages' formats."""
        return code_of_others()

    def tally(self, table: pa.Table) -> dict[str, int]:
        """Count the files read by encoding, the times that were dropped, and the files in other languages by theirs."""
        kept = table.filter(pc.is_null(table[REASON])) if REASON in table.column_names else table
        bad = int(pc.sum(pc.struct_field(kept["reading"], "bad_times")).as_py() or 0)
        return tally_reading(table) | {"bad times": bad}

    def notes(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Return path, reason and message of each file that could not be read, not of one that is not wanted."""
        return notes_of(rejected, (OTHER_FILE, OTHER_LANGUAGE))

    def _read_film(self, film: str, files: list[dict[str, Any]]) -> list["_Document"]:
        rows = [_Document(film, file, file["language"] or self.language) for file in files]
        return keep_best(rows, self._read_wanted, self.max_seconds, OTHER_FILE, "the film has a better file")

    def _read_wanted(self, row: "_Document") -> None:
        self._read_file(row)
        self._check_language(row)

    def _read_file(self, row: "_Document") -> None:
        file = row.file

        def read(data: bytes) -> None:
            parsed = row.parsed = formats()[file["kind"]].reader(data, file["language"] or self.language)
            refuse_longer(parsed.texts)
            _to_table([row])  # what a reader may give that no table can hold, such as half a character

        read_file(file, self.max_bytes, read)

    def _check_language(self, row: "_Document") -> None:
        """Refuse a file in another language than the one wanted."""
        assert row.parsed is not None
        header, path = row.parsed.facts.language, row.file["language"]
        claims = (("its path", path, path), ("it", header, code_of_language(header)))
        refuse_foreign(claims, row.parsed.texts if self.detect_language else [], self.language)


@dataclass(slots=True)
class _Document:
    film: str
    file: dict[str, Any]
    language: str | None  # of a file in another language that one, or null if it is not known
    parsed: Parsed | None = None
    reason: str | None = None
    detail: str | None = None

    def reject(self, reason: str, detail: str) -> None:
        self.parsed = None
        self.reason = reason
        self.detail = f"{self.file['path']}: {detail}"

    def rank(self) -> tuple[Any, ...]:
        """Return what the best file of a film has the least of."""
        facts = self.parsed.facts if self.parsed else Facts()
        timed, lines = (self.parsed.timed_share, len(self.parsed.texts)) if self.parsed else (0.0, 0)
        doubtful, confidence = round((facts.doubtful or 0.0) * 50), facts.confidence or 0.0
        return facts.is_part, -round(timed * 20), doubtful, -confidence, -lines, self.file["document_id"]


def _to_table(rows: list[_Document]) -> pa.Table:
    parsed = [row.parsed for row in rows]
    facts = [document.facts if document else None for document in parsed]
    source: dict[str, list[Any]] = {
        "kind": [row.file["kind"] for row in rows],
        "path": [row.file["path"] for row in rows],
        "imdb_id": [row.file["imdb_id"] for row in rows],
        "year": [row.file["year"] or (fact.year if fact else None) for row, fact in zip(rows, facts, strict=True)],
        "genres": [fact.genres if fact else [] for fact in facts],
    }
    reading: dict[str, list[Any]] = {
        "encoding": [document.encoding if document else None for document in parsed],
        "encoding_confidence": [document.encoding_confidence if document else None for document in parsed],
        "original_language": [fact.original_language if fact else None for fact in facts],
        "bad_times": [document.bad_times if document else 0 for document in parsed],
    }
    columns = [
        pa.array([row.file["document_id"] for row in rows], pa.string()),
        pa.array([row.film for row in rows], pa.string()),
        pa.array([row.language for row in rows], pa.string()),
        struct_of(SOURCE, source),
        struct_of(READING, reading),
        _lines(
            [document for document in parsed if document],
            [len(document.texts) if document else 0 for document in parsed],
        ),
        pa.array([row.reason for row in rows], pa.string()),
        pa.array([row.detail for row in rows], pa.string()),
    ]
    schema = pa.schema([*LINES, pa.field(REASON, pa.string()), pa.field(DETAIL, pa.string())])
    return pa.Table.from_arrays(columns, schema=schema)


def _lines(parsed: list[Parsed], lengths: list[int]) -> pa.ListArray:
    offsets = list(accumulate(lengths, initial=0))
    total = offsets[-1]
    columns = {
        "id": _concatenate([document.ids for document in parsed], np.int32),
        "text": [text for document in parsed for text in document.texts],
        "start": pa.array(_concatenate([document.starts for document in parsed], np.float64), from_pandas=True),
        "end": pa.array(_concatenate([document.ends for document in parsed], np.float64), from_pandas=True),
        "first_block": _concatenate([document.first_blocks for document in parsed], np.int32),
        "last_block": _concatenate([document.last_blocks for document in parsed], np.int32),
        "dash": pa.array(np.zeros(total, dtype=bool)),
        "speaker": _speakers(parsed, total),
    }
    return nest(offsets, LINE, columns)


def _speakers(parsed: list[Parsed], total: int) -> pa.Array:
    if not any(document.speakers for document in parsed):
        return pa.nulls(total, pa.string())
    return pa.array(
        [speaker for document in parsed for speaker in document.speakers or [None] * len(document.texts)], pa.string()
    )


def _concatenate(arrays: list[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate([*arrays, np.empty(0, dtype)]).astype(dtype, copy=False)
