"""What the stages that read films and books share: reading within bounds, language, what is told of it."""

import os
import traceback
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.languages.codes import same_language
from edos_dataset.languages.detection import contradict_language
from edos_dataset.schema.tables import DETAIL, REASON
from edos_dataset.sources.files import read_bytes
from edos_dataset.sources.parsed import ReadError
from edos_dataset.sources.time_limit import time_limit

OTHER_LANGUAGE = "other_language"
"""Reason of a file in another language than the one wanted, as its path, it itself or its words say."""

_Read = TypeVar("_Read")


class ForeignError(ReadError):
    """A file is in another language than the one wanted.

    Attributes:
        language: code of that language, or null where it is not known.
    """

    def __init__(self, detail: str, language: str | None) -> None:
        """Refuse a file for its language."""
        super().__init__(OTHER_LANGUAGE, detail)
        self.language = language


class Candidate(Protocol):
    """One of the files of a film or book, of which the best is kept.

    Attributes:
        language: code of its own, or null.
    """

    language: str | None

    def reject(self, reason: str, detail: str) -> None:
        """Let go of what was read."""

    def rank(self) -> tuple[Any, ...]:
        """Return what the best file has the least of."""


_Candidate = TypeVar("_Candidate", bound=Candidate)


def keep_best(
    rows: Iterable[_Candidate], read: Callable[[_Candidate], None], max_seconds: float, reason: str, better: str
) -> list[_Candidate]:
    """Read all files of a film or book, and reject all but the best. Only the best so far is held, as some films have
    hundreds of files.

    Args:
        rows: its files.
        read: reads one into its row; raises ReadError for one that is of no use.
        max_seconds: that reading one may take.
        reason: of a readable file of which there is a better one.
        better: says so.

    Returns:
        The rows.
    """
    rows, best = list(rows), None
    for row in rows:
        try:
            with time_limit(max_seconds):
                read(row)
        except ReadError as error:
            if isinstance(error, ForeignError):
                row.language = error.language
            row.reject(error.reason, error.detail)
            continue
        worse, best = (row, best) if best and best.rank() < row.rank() else (best, row)
        if worse:
            worse.reject(reason, better)
    return rows


def read_file(file: dict[str, Any], max_bytes: int, read: Callable[[bytes], _Read]) -> _Read:
    """Return what a reader makes of a FILE.

    Args:
        file: a row of FILE.
        max_bytes: largest size unpacked.
        read: the reader, and whatever else may fail by what it gives.

    Raises:
        ReadError: the file cannot be read; a reader's own mistake is one, too, with the reason reader_failed: it costs
            a file, not the run.
    """
    data = read_bytes(os.fsdecode(file["location"]), file["member"], max_bytes, file["size"])
    try:
        return read(data)
    except (ReadError, MemoryError):  # what the machine lacks says nothing of the file
        raise
    except Exception as error:
        raise ReadError("reader_failed", f"{_where(error)}; please report this file") from error


def refuse_foreign(claims: Iterable[tuple[str, str | None, str | None]], texts: Sequence[str], wanted: str) -> None:
    """Refuse a file that is in another language than the one wanted.

    Args:
        claims: who says in which language it is, how ("German"), and the code of that ("de"); null where nobody does.
        texts: its texts, which are compared with a dictionary; none are not.
        wanted: code of the language wanted.

    Raises:
        ForeignError: it is.
    """
    for who, said, code in claims:
        if code and not same_language(code, wanted):
            raise ForeignError(f"{who} says it is in {said}, wanted is {wanted!r}", code)
    if texts and (other := contradict_language(texts, wanted)):
        seems = f", it seems to be {other.language!r}" if other.language else ""
        raise ForeignError(f"{other.why}{seems}, wanted is {wanted!r}", other.language)


def struct_of(kind: pa.StructType, columns: dict[str, list[Any]]) -> pa.StructArray:
    """Return columns as structs of a type."""
    arrays = [pa.array(columns[field.name], field.type) for field in kind]
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


def tally_reading(table: pa.Table) -> dict[str, int]:
    """Count the files that were read by encoding, and those in other languages by theirs."""
    kept = table.filter(pc.is_null(table[REASON])) if REASON in table.column_names else table
    encodings = pc.value_counts(pc.struct_field(kept["reading"], "encoding"))
    counts = {f"encoding: {entry['values']}": int(entry["counts"]) for entry in encodings.to_pylist()}
    if REASON in table.column_names:
        foreign = table.filter(pc.equal(table[REASON], OTHER_LANGUAGE))
        for entry in pc.value_counts(foreign["language"]).to_pylist():
            counts[f"other language: {entry['values'] or 'not known'}"] = int(entry["counts"])
    return counts


def notes_of(rejected: pa.Table, unwanted: Collection[str]) -> list[dict[str, Any]]:
    """Return path, reason and message of each file that could not be read, not of those that leave for the reasons
    `unwanted`.
    """
    return [
        {"path": row["source"]["path"], "reason": row[REASON], "detail": row[DETAIL]}
        for row in rejected.select(["source", REASON, DETAIL]).to_pylist()
        if row[REASON] not in unwanted
    ]


def _where(error: Exception) -> str:
    """Return what a reader stumbled over, and where in its code: the error's own message may quote the file."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in line {place.lineno} of {Path(place.filename).name}"
