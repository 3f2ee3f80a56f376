"""The first stage: from the files of a film to the lines of its best file."""

from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from edos_dataset.pipeline import Stage, Unit
from edos_dataset.schema import LINE, LINES, READING, REASON, SOURCE, nest
from edos_dataset.sources.files import read_bytes
from edos_dataset.sources.opensubtitles import parse_opus
from edos_dataset.sources.parsed import Parsed, ReadError
from edos_dataset.sources.subtitles import parse_subtitles

DETAIL = "detail"
"""Column beside `reason`: what is wrong with the file and where, for a person."""

OTHER_FILE = "other_file_of_film"
"""Reason of a readable file of which the film has a better one."""

_READERS = {"opus": parse_opus, "subtitle": parse_subtitles}


@dataclass(frozen=True)
class ReadFilms(Stage):
    """Read all files of each film and keep the best one.

    Of the files that can be read the best one is, by the first of these points in which two differ:

    1. it holds the whole film rather than one of several discs (`<cds>`);
    2. a larger share of its lines is timed, in steps of 5 %: without times no dialogue can be cut;
    3. a smaller share of its words was unknown to OPUS or had to be corrected (scans and bad translations), in steps of 2 %;
    4. a higher confidence of OPUS in the subtitle's language;
    5. more lines;
    6. the smaller document id.

    The papers name no rule: the corpus holds about three files a film, and all of them would teach a model the same dialogues three times.

    Attributes:
        language: code of the language of the files whose path names none.
        max_bytes: largest size of an unpacked file.
    """

    name: ClassVar[str] = "read"
    unit: ClassVar[Unit] = "files"

    language: str = "en"
    max_bytes: int = 64 * 2**20

    def __call__(self, table: pa.Table) -> pa.Table:
        """Read FILMS into LINES; adds the columns `reason` and `detail` (both null for the best file of a film)."""
        rows: list[_Document] = []
        for film, files in zip(table["film"].to_pylist(), table["files"].to_pylist(), strict=True):
            rows += self._read_film(film, files)
        return _to_table(rows)

    def _read_film(self, film: str, files: list[dict[str, Any]]) -> list["_Document"]:
        rows = [self._read_file(film, file) for file in files]
        readable = [row for row in rows if row.parsed]
        for row in sorted(readable, key=_rank)[1:]:
            row.parsed = None
            row.reason = OTHER_FILE
        return rows

    def _read_file(self, film: str, file: dict[str, Any]) -> "_Document":
        row = _Document(film, file, file["language"] or self.language)
        try:
            data = read_bytes(Path(file["location"]), file["member"], self.max_bytes)
            row.parsed = _READERS[file["kind"]](data, row.language)
        except ReadError as error:
            row.reason, row.detail = error.reason, f"{file['path']}: {error.detail}"
        return row


@dataclass(slots=True)
class _Document:
    film: str
    file: dict[str, Any]
    language: str
    parsed: Parsed | None = None
    reason: str | None = None
    detail: str | None = None


def _rank(row: _Document) -> tuple[Any, ...]:
    parsed = row.parsed
    assert parsed is not None
    facts = parsed.facts
    return (
        facts.is_part,
        -round(parsed.timed_share * 20),
        round((facts.doubtful or 0.0) * 50),
        -(facts.confidence if facts.confidence is not None else 0.0),
        -len(parsed.texts),
        row.file["document_id"],
    )


def _to_table(rows: list[_Document]) -> pa.Table:
    parsed = [row.parsed for row in rows]
    facts = [document.facts if document else None for document in parsed]
    source = {
        "kind": [row.file["kind"] for row in rows],
        "path": [row.file["path"] for row in rows],
        "imdb_id": [row.file["imdb_id"] for row in rows],
        "year": [row.file["year"] or (fact.year if fact else None) for row, fact in zip(rows, facts, strict=True)],
        "genres": [fact.genres if fact else [] for fact in facts],
    }
    reading = {
        "encoding": [document.encoding if document else None for document in parsed],
        "encoding_confidence": [document.encoding_confidence if document else None for document in parsed],
        "original_language": [fact.original_language if fact else None for fact in facts],
        "bad_times": [document.bad_times if document else 0 for document in parsed],
    }
    columns = [
        pa.array([row.file["document_id"] for row in rows], pa.string()),
        pa.array([row.film for row in rows], pa.string()),
        pa.array([row.language for row in rows], pa.string()),
        _struct(SOURCE, source),
        _struct(READING, reading),
        _lines([document for document in parsed if document], [len(document.texts) if document else 0 for document in parsed]),
        pa.array([row.reason for row in rows], pa.string()),
        pa.array([row.detail for row in rows], pa.string()),
    ]
    schema = pa.schema([*LINES, pa.field(REASON, pa.string()), pa.field(DETAIL, pa.string())])
    return pa.Table.from_arrays(columns, schema=schema)


def _struct(kind: pa.StructType, columns: dict[str, list[Any]]) -> pa.StructArray:
    arrays = [pa.array(columns[field.name], field.type) for field in kind]
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


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
    return pa.array([speaker for document in parsed for speaker in document.speakers or [None] * len(document.texts)], pa.string())


def _concatenate(arrays: list[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate([*arrays, np.empty(0, dtype)]).astype(dtype, copy=False)
