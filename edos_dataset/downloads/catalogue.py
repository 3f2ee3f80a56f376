"""Project Gutenberg's catalogue, `pg_catalog.csv`: language, title and authors of every book by its number."""

import csv
import gzip
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from edos_dataset.languages import primary_language
from edos_dataset.wording import counted

CATALOGUE = "pg_catalog.csv"
"""Project Gutenberg's name of the file; it may also end in `.gz`."""

_COLUMNS = ("Text#", "Type", "Title", "Language", "Authors")
_MOST_BYTES = 1 << 28
_MOST_FAULTS = 100


class CatalogueError(ValueError):
    """A file is not a catalogue of Project Gutenberg; the message says why."""


class Listed(NamedTuple):
    """The catalogue's entry of a book."""

    number: int
    languages: tuple[str, ...]  # codes
    title: str | None
    author: str | None  # "Surname, Forename, 1811-1882; …"


@dataclass(frozen=True)
class Catalogue:
    """The texts of a catalogue.

    Attributes:
        books: by their number.
        faults: why rows were skipped, a sentence each, at most 100.
        others: number of rows that are not texts: sound, pictures, data.
    """

    books: dict[int, Listed] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    others: int = 0


def read_catalogue(path: Path) -> Catalogue:
    """Read a catalogue; empty and broken rows are skipped and listed in `faults`.

    Raises:
        CatalogueError: the file cannot be read or is not a catalogue.
    """
    data, catalogue = _content(path), Catalogue()
    others = 0
    rows = _rows(data.decode("utf-8-sig", "replace").replace("\0", ""), catalogue.faults)
    _, header = next(rows, (0, []))
    if not set(_COLUMNS) <= set(header):
        named = ", ".join(header[:9])[:200] or "nothing"
        raise CatalogueError(f"{path}: its first line names {named}; expected {', '.join(_COLUMNS)}: fetch it again")
    places = [header.index(name) for name in _COLUMNS]
    for line, row in rows:
        if len(row) != len(header):
            _note(catalogue.faults, line, f"{counted(len(row), 'columns')} instead of {len(header)}")
            continue
        number, kind, *facts = (row[place].strip() for place in places)
        if not number.isdecimal() or len(number) > 9:
            _note(catalogue.faults, line, f"{number[:20]!r} is no number of a book")
        elif kind != "Text":
            others += 1
        elif listed := _listed(int(number), *facts):
            catalogue.books[listed.number] = listed
        else:
            _note(catalogue.faults, line, f"book {number} has no language")
    return Catalogue(catalogue.books, catalogue.faults, others)


def _content(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as unpacked:
                data = unpacked.read(_MOST_BYTES)
    except (OSError, EOFError) as error:
        raise CatalogueError(f"{path}: {error}; fetch it again") from error
    return data


def _listed(number: int, title: str, languages: str, authors: str) -> Listed | None:
    if not languages:
        return None
    codes = tuple(primary_language(code.strip()) for code in languages.split(";"))
    return Listed(number, codes, " ".join(title.split()) or None, " ".join(authors.split()) or None)


def _rows(text: str, faults: list[str]) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""))
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            _note(faults, reader.line_num, str(error))
            continue
        if any(row):
            yield reader.line_num, row
        else:
            _note(faults, reader.line_num, "is empty")


def _note(faults: list[str], line: int, what: str) -> None:
    if len(faults) < _MOST_FAULTS:
        faults.append(f"line {line}: {what}")
