"""Shared code for reading films and books: limits on size and time, the language, and the best of several files."""

import os
import signal
import threading
import time
import traceback
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.languages import check_language, same_language
from edos_dataset.languages.detection import contradict_language
from edos_dataset.runs.pipeline import Stage, Unit, check_ranges
from edos_dataset.schema.tables import DETAIL, KEPT_FILE, READING, REASON
from edos_dataset.sources.files import read_bytes
from edos_dataset.sources.parsed import ReadError

OTHER_LANGUAGE = "other_language"
"""Reason for a file in another language than the one wanted, according to its path, header or words."""

_ALARM_AGAIN = 1.0
"""Seconds after which the alarm rings again, in case a reader has caught it."""

_Read = TypeVar("_Read")


class OtherLanguageError(ReadError):
    """A file is in another language than the one wanted.

    Attributes:
        language: code of that language, or null if unknown.
    """

    def __init__(self, detail: str, language: str | None) -> None:
        """Refuse a file for its language."""
        super().__init__(OTHER_LANGUAGE, detail)
        self.language = language


@dataclass(slots=True)
class Document(Generic[_Read]):
    """One of the files of a film or book, and what was read from it.

    Attributes:
        key: key of the film or book.
        listed: its row of FILMS or BOOKS.
        file: a row of FILE.
        language: code of the language wanted; for a file in another language its code, or null if unknown.
        read: what the reader returned; null for a rejected file.
        reason: why the file is rejected, or null.
        detail: the same in words.
        kept: path of the better file that is kept instead, or null.
    """

    key: str
    listed: dict[str, Any]
    file: dict[str, Any]
    language: str | None
    read: _Read | None = None
    reason: str | None = None
    detail: str | None = None
    kept: str | None = None

    def reject(self, reason: str, detail: str) -> None:
        """Drop what was read, and record why."""
        self.read = None
        self.reason = reason
        self.detail = f"{self.file['path']}: {detail}"


class ReadDocuments(Stage, Generic[_Read]):
    """The base of the stages that read all files of each film or book and keep the best one in the language wanted.

    A subclass is a dataclass with the parameters below.

    Attributes:
        language: code of the language wanted.
        detect_language: whether letters and words are examined.
        max_bytes: maximum size of an unpacked file, 1 byte to 2 GiB.
        max_seconds: time limit for reading one file, above 0 and up to a million seconds.
    """

    name: ClassVar[str] = "read"
    unit: ClassVar[Unit] = "files"
    document: ClassVar[str]
    """What is read: "film" or "book"."""
    other_file: ClassVar[str]
    """Reason for a readable file if a better one exists."""
    all_files: bool = False
    """Whether all readable files are kept."""
    schema: ClassVar[pa.Schema]
    """Columns of the output before `reason`, `detail` and `kept_file`."""

    language: str
    detect_language: bool
    max_bytes: int
    max_seconds: float

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_language(self.language)
        check_ranges(self, max_bytes=(1, 1 << 31), max_seconds=(1e-3, 1e6))

    def __call__(self, table: pa.Table) -> pa.Table:
        """Read FILMS or BOOKS into a row for each file, with the columns `reason`, `detail` and `kept_file`; rejected
        files have no content.
        """
        rows: list[Document[_Read]] = []
        for listed in table.to_pylist():
            rows += self._keep_best(
                Document(listed[self.document], listed, file, file["language"] or self.language)
                for file in listed["files"]
            )
        return self._to_table(rows)

    def tally(self, table: pa.Table) -> dict[str, int]:
        """Count the files read by encoding, and those in other languages by language."""
        kept = table.filter(pc.is_null(table[REASON])) if REASON in table.column_names else table
        encodings = pc.value_counts(pc.struct_field(kept["reading"], "encoding"))
        counts = {f"encoding: {entry['values']}": int(entry["counts"]) for entry in encodings.to_pylist()}
        if REASON in table.column_names:
            others = table.filter(pc.equal(table[REASON], OTHER_LANGUAGE))
            for entry in pc.value_counts(others["language"]).to_pylist():
                counts[f"other language: {entry['values'] or 'not known'}"] = int(entry["counts"])
        return counts

    def left_out(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Return the readable files that have a better one or are in another language."""
        return left_out_files(rejected, (self.other_file, OTHER_LANGUAGE))

    @abstractmethod
    def _read_file(self, row: Document[_Read], data: bytes) -> _Read:
        """Return the content of a file, or raise ReadError."""

    @abstractmethod
    def _rank(self, row: Document[_Read]) -> tuple[Any, ...]:
        """Return the sort key of a readable file; the best file has the smallest."""

    @abstractmethod
    def _claims(self, row: Document[_Read]) -> Iterable[tuple[str, str | None, str | None]]:
        """Return the file's claims about its language, for `refuse_other_language`."""

    @abstractmethod
    def _texts(self, row: Document[_Read]) -> Sequence[str]:
        """Return the texts by which the language is judged."""

    @abstractmethod
    def _source(self, row: Document[_Read]) -> dict[str, Any]:
        """Return the struct of the column `source`."""

    @abstractmethod
    def _reading(self, row: Document[_Read]) -> dict[str, Any]:
        """Return the struct of the column `reading`."""

    @abstractmethod
    def _contents(self, rows: Sequence[Document[_Read]]) -> list[pa.Array]:
        """Return the columns between `reading` and `reason`."""

    def _to_table(self, rows: Sequence[Document[_Read]]) -> pa.Table:
        columns = [
            pa.array([row.file["document_id"] for row in rows], pa.string()),
            pa.array([row.key for row in rows], pa.string()),
            pa.array([row.language for row in rows], pa.string()),
            pa.array([self._source(row) for row in rows], self.schema.field("source").type),
            pa.array([self._reading(row) for row in rows], READING),
            *self._contents(rows),
            pa.array([row.reason for row in rows], pa.string()),
            pa.array([row.detail for row in rows], pa.string()),
            pa.array([row.kept for row in rows], pa.string()),
        ]
        schema = pa.schema([*self.schema, *(pa.field(name, pa.string()) for name in (REASON, DETAIL, KEPT_FILE))])
        return pa.Table.from_arrays(columns, schema=schema)

    def _keep_best(self, rows: Iterable[Document[_Read]]) -> list[Document[_Read]]:
        """Read all files of a film or book, and reject all but the best. Only the content of the best file so far is
        kept in memory, as some films have hundreds of files.
        """
        rows, best = list(rows), None
        others: list[Document[_Read]] = []
        for row in rows:
            try:
                with time_limit(self.max_seconds):
                    self._read(row)
            except ReadError as error:
                if isinstance(error, OtherLanguageError):
                    row.language = error.language
                row.reject(error.reason, error.detail)
                continue
            if self.all_files:
                continue
            worse, best = (row, best) if best and self._rank(best) < self._rank(row) else (best, row)
            if worse:
                worse.read = None
                others.append(worse)
        for row in others:
            assert best is not None
            row.kept = best.file["path"]
            row.reject(self.other_file, f"the {self.document} has a better file, {row.kept}")
        return rows

    def _read(self, row: Document[_Read]) -> None:
        def read(data: bytes) -> None:
            row.read = self._read_file(row, data)

        read_with(read, row.file, self.max_bytes)
        refuse_other_language(self._claims(row), self._texts(row) if self.detect_language else [], self.language)


def read_with(reader: Callable[[bytes], _Read], file: dict[str, Any], max_bytes: int) -> _Read:
    """Return what a reader returns for a FILE.

    Args:
        reader: the reader, including any further steps that may fail on its output.
        file: a row of FILE.
        max_bytes: maximum unpacked size.

    Raises:
        ReadError: the file cannot be read. A bug in the reader also counts, with the reason reader_failed: it costs one
            file, not the run.
    """
    data = read_bytes(os.fsdecode(file["location"]), file["member"], max_bytes, file["size"])
    try:
        return reader(data)
    except (ReadError, MemoryError):  # a lack of memory is not the fault of the file
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]  # the error's own message may quote the file
        where = f"{type(error).__name__} in line {place.lineno} of {Path(place.filename).name}"
        raise ReadError("reader_failed", f"{where}; please report this file") from error


def refuse_other_language(
    claims: Iterable[tuple[str, str | None, str | None]], texts: Sequence[str], wanted: str
) -> None:
    """Refuse a file that is in another language than the one wanted.

    Args:
        claims: for each statement about the file's language, where it is made, the name it gives ("German"), and the
            code of that ("de"); null if it gives none.
        texts: texts of the file to compare with a dictionary; empty for no comparison.
        wanted: code of the language wanted.

    Raises:
        OtherLanguageError: it is in another language.
    """
    for who, said, code in claims:
        if code and not same_language(code, wanted):
            raise OtherLanguageError(f"{who} says it is in {said}, wanted is {wanted!r}", code)
    if texts and (other := contradict_language(texts, wanted)):
        seems = f", it seems to be {other.language!r}" if other.language else ""
        raise OtherLanguageError(f"{other.why}{seems}, wanted is {wanted!r}", other.language)


def rejected_files(rejected: pa.Table, unwanted: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return path, reason and message of each rejected file, except those rejected for the reasons `unwanted`."""
    return [
        {"path": row["source"]["path"], "reason": row[REASON], "detail": row[DETAIL]}
        for row in rejected.select(["source", REASON, DETAIL]).to_pylist()
        if row[REASON] not in unwanted
    ]


def left_out_files(rejected: pa.Table, reasons: Collection[str]) -> list[dict[str, Any]]:
    """Return path, reason, message and the path of the file that is `kept` instead (or null) of each file rejected for
    one of the reasons.
    """
    return [
        {"path": row["source"]["path"], "reason": row[REASON], "detail": row[DETAIL], "kept": row[KEPT_FILE]}
        for row in rejected.select(["source", REASON, DETAIL, KEPT_FILE]).to_pylist()
        if row[REASON] in reasons
    ]


def rejected_books(rejected: pa.Table) -> list[dict[str, Any]]:
    """Return the notes of a run on rejected rows of books: `book` and `reason` of each, once."""
    different = rejected.select(["book", REASON]).group_by(["book", REASON], use_threads=False).aggregate([])
    notes: list[dict[str, Any]] = different.sort_by([("book", "ascending"), (REASON, "ascending")]).to_pylist()
    return notes


class _TooSlow(BaseException):
    """Not an `Exception`, as readers may catch these."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Limit the wall-clock time of the `with` block.

    It uses the alarm of the operating system, so it works only in the main thread of a process, where every engine
    reads files; elsewhere, and on Windows, which has no such alarm, there is no limit. An alarm that was set before
    is set again afterwards; if it became due meanwhile, it then rings.

    Args:
        seconds: more than 0.

    Raises:
        ReadError: with the reason too_slow.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise _TooSlow

    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, ring)
    waiting, interval = signal.setitimer(signal.ITIMER_REAL, seconds, _ALARM_AGAIN)

    def disarm() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler or signal.SIG_DFL)
        if waiting:
            left = max(waiting - (time.monotonic() - began), 1e-6)
            signal.setitimer(signal.ITIMER_REAL, left, interval)

    try:
        try:
            yield
        finally:
            disarm()
    except _TooSlow:
        disarm()  # it may have rung in the middle of the first call
        raise ReadError("too_slow", f"not read within {seconds:g} seconds (read.max_seconds)") from None
