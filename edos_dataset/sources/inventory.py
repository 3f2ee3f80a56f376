"""The inventory of the files to read, grouped by film or book before any of them is opened; and digests of their
contents, which reveal a file edited in place even if its size and dates are unchanged.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import nest, unnest
from edos_dataset.downloads.catalogue import CATALOGUE, Catalogue, CatalogueError, Listed, read_catalogue
from edos_dataset.languages import same_language
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.stores.paths import place_of, split_address
from edos_dataset.schema.tables import BOOKS, FILE, FILMS
from edos_dataset.sources.chats import NotAChatError, check_beginning
from edos_dataset.sources.files import GZIP, open_file, read_bytes
from edos_dataset.sources.formats import BOOK_FORMATS, formats, formats_by_suffix, split_suffix
from edos_dataset.sources.given import Source, SourceError, sources_of
from edos_dataset.sources.names import (
    BookName,
    Named,
    is_superseded,
    name_book,
    name_file,
    spell_out_path,
)
from edos_dataset.sources.parsed import ReadError
from edos_dataset.sources.scripts import NotAScriptError, read_script
from edos_dataset.sources.subtitles.reading import OF_PICTURES, PICTURE_SUFFIXES, PICTURES
from edos_dataset.sources.subtitles.transcripts import NotATranscriptError
from edos_dataset.sources.walk import Entry, Found, walk
from edos_dataset.wording import counted

_SEVERAL_KINDS = ("chat", "transcript", "script")
"""Kinds whose suffixes others have, too: texts, tables, JSON and pages."""

_MOST_HASHED = 1 << 28  # bytes of a file
_MOST_LOOKED_AT = 1 << 25  # bytes of a file that may be a chat or a transcript
_BEGINNING = 1 << 16  # bytes that show whether a text is a chat
_NOT_TAKEN = ("not_subtitles", "not_a_book", PICTURES)
_SHOWN = 5  # sources in a message
_THREADS = 8  # most of the time is spent waiting for a disk


@dataclass(frozen=True)
class Inventory:
    """The files found.

    Attributes:
        documents: FILMS (or BOOKS) sorted by film, with the files of each film sorted by document id.
        skipped: path and reason of everything that was found but is not wanted, sorted.
        quarantined: path, reason and message of everything wanted that cannot be read, such as a folder that may not be
            listed, a truncated archive, or a member whose name leads out of it; in the form of a run's notes, sorted.
        files: number of files in `documents`.
        bytes: their stored size.
    """

    documents: pa.Table
    skipped: list[tuple[str, str]]
    quarantined: list[dict[str, Any]]
    files: int
    bytes: int

    @property
    def films(self) -> pa.Table:
        """The table of films."""
        return self.documents

    @property
    def books(self) -> pa.Table:
        """The table of books."""
        return self.documents

    def facts(self) -> dict[str, Any]:
        """Return the facts about the input for a manifest: the numbers of `films` (or `books`), of `files`, and of
        files that could not be opened, which are not among these; what was `skipped`; and, by suffix, how many files
        were `not_taken`, as their format is unknown.
        """
        skipped = [list(entry) for entry in self.skipped]
        return {
            f"{self.documents.column_names[0]}s": self.documents.num_rows,
            "files": self.files,
            "unopened": len(self.quarantined),
            "skipped": skipped,
            "not_taken": self.not_taken(),
        }

    def not_taken(self) -> dict[str, int]:
        """Return the number of files in no known format by suffix, most frequent first; files skipped for their
        language or as copies do not count.
        """
        suffixes = Counter(
            split_suffix(path)[1] or "no suffix" for path, why in self.skipped if why.partition(":")[0] in _NOT_TAKEN
        )
        return dict(sorted(suffixes.items(), key=lambda pair: (-pair[1], pair[0])))


def find_films(sources: Sequence[str | Path | Source], language: str) -> Inventory:
    """Find all subtitle files in files, folders and zip archives; the order of sources and listings does not matter.

    Files are identified by their path from the source's own name on (`given.sources_of` says which that is of patterns
    and lists). Folders above it do not matter, except that an OPUS file gets its id from the folders YEAR/IMDB,
    wherever in that tree a source begins. Of several files with the same such id, the first by path counts.

    Args:
        sources: files, folders (with all folders below, also through symbolic links), zip archives, and patterns.
        language: code of the language wanted ("en"); files whose path names another one are skipped.

    Raises:
        SourceError: a source does not exist, two sources of one name hold files of one path, or nothing was found.
    """
    kept = _Kept.below(sources, "subtitles", formats_by_suffix(), "not_subtitles")
    kept.found.skipped = [(path, _if_pictures(path) or reason) for path, reason in kept.found.skipped]
    for entry in kept.entries:
        named = name_file(entry.path, entry.full_path)
        shown = _shown_by_content(named, entry) if named.kind in _SEVERAL_KINDS else named
        if isinstance(shown, str):
            kept.found.skip(entry.path, shown)
        elif shown.language is None or same_language(shown.language, language):
            kept.add(shown, entry)
        else:
            reason = f"other_language: its path says {shown.language!r}, wanted is {language!r}"
            kept.found.skip(entry.path, reason)
    films, files = kept.grouped()
    return kept.inventory(pa.table({"film": pa.array(films, pa.string()), "files": files}, schema=FILMS))


def _if_pictures(path: str) -> str | None:
    suffix = split_suffix(path)[1].removesuffix(".gz")
    return f"{PICTURES}: {OF_PICTURES}" if suffix in PICTURE_SUFFIXES else None


def _shown_by_content(named: Named, entry: Entry) -> Named | str:
    """Return what a text, table, page or JSON file is, a chat, a screenplay or a transcript, or why it is skipped, as
    many folders have a README.txt. If that cannot be decided before reading, its name decides.
    """
    if split_address(entry.location) or entry.size > _MOST_LOOKED_AT:
        return named
    if not entry.size and named.kind in ("chat", "script"):
        return f"not_subtitles: suffix {split_suffix(entry.path)[1]}"
    try:
        if named.kind == "chat" and _begins_as_chat(entry):
            return named
        data = read_bytes(entry.location, entry.member, _MOST_LOOKED_AT, entry.size)
        parsed = formats()[named.kind].reader(data, named.language or "en")
    except (NotAChatError, NotATranscriptError, NotAScriptError) as error:
        return f"not_subtitles: {error.detail}"
    except (ReadError, OSError):
        return named
    kind = formats()[parsed.kind or named.kind]
    return Named(entry.path, entry.path, kind.kind) if kind.messages or kind.scripted else named


def _begins_as_chat(entry: Entry) -> bool:
    """Return whether the first lines of a large text show a chat; false where the whole file must be read to know, and
    for a screenplay.

    Raises:
        NotAChatError: they show something else.
    """
    if entry.member is not None or entry.size <= _BEGINNING:
        return False
    with open_file(entry.location) as file:
        head = file.read(_BEGINNING)
    try:
        return head[:2] != GZIP and check_beginning(head[: head.rfind(b"\n") + 1])
    except NotAChatError as error:
        try:
            read_script(head)
        except ReadError as other:
            raise NotAChatError(error.reason, f"{error.detail}; {other.detail}") from error
        return False
    except ReadError:  # the cut may be within a character
        return False


def find_books(sources: Sequence[str | Path | Source], language: str, catalogue: Path | None = None) -> Inventory:
    """Find all books in files, folders, zip archives and mirrors of Project Gutenberg; the order of sources and
    listings does not matter.

    Several files may belong to one book (`names.name_book`); the stage `read` keeps the best of them. The language of a
    book is that of the catalogue, else that of a folder ("hu/40715-0.txt"); header and words are checked on reading.

    Args:
        sources: files, folders (with all folders below), zip archives, and patterns.
        language: code of the language wanted; books with another one in the catalogue or a folder name are skipped.
        catalogue: Project Gutenberg's catalogue; by default `pg_catalog.csv` of a source, if there is one. Its faults
            are listed in `skipped`.

    Raises:
        SourceError: a source does not exist, the catalogue is invalid, two sources with the same name hold files with
            the same path, or nothing was found.
    """
    kept = _Kept.below(sources, "books", BOOK_FORMATS, "not_a_book")
    known = _catalogue(kept.sources, catalogue, kept.found).books
    names = [name_book(entry.path) for entry in kept.entries]
    numbered = {name.number: name.book for name in names if name.sure}
    for entry, name in zip(kept.entries, names, strict=True):
        source, codes = _stated_languages(name, known)
        if reason := _unwanted(entry.path, source, codes, language):
            kept.found.skip(entry.path, reason)
        else:
            code = next((code for code in codes if same_language(code, language)), None)
            kept.add(Named(entry.path, numbered.get(name.number, name.book), name.kind, language=code), entry)
    books, files = kept.grouped()
    rows = [_listed(known, book) for book in books]
    columns = [
        pa.array(books, pa.string()),
        pa.array([row and row.title for row in rows], pa.string()),
        pa.array([row and row.author for row in rows], pa.string()),
        files,
    ]
    return kept.inventory(pa.Table.from_arrays(columns, schema=BOOKS))


@dataclass
class _Kept:
    """The wanted files below the sources, one for each document id.

    Attributes:
        what: what is wanted, such as "subtitles".
        suffixes: suffixes of the files wanted.
    """

    sources: list[Source]
    what: str
    suffixes: Iterable[str]
    found: Found
    _by_id: dict[str, tuple[Named, Entry]] = field(default_factory=dict)

    @classmethod
    def below(cls, sources: Sequence[str | Path | Source], what: str, suffixes: Iterable[str], other: str) -> "_Kept":
        """Walk over the sources; unwanted files are skipped for the reason `other`."""
        if not sources:
            raise SourceError(f"no source given: name at least one file, folder or zip archive of {what}")
        given = sources_of(sources)
        return cls(given, what, suffixes, walk(given, frozenset(suffixes), other))

    @property
    def entries(self) -> list[Entry]:
        """All files of a known format, sorted."""
        return sorted(self.found.entries, key=lambda entry: (entry.path, entry.location))

    def add(self, named: Named, entry: Entry) -> None:
        """Keep a file, unless there is already one with its id."""
        first = self._by_id.setdefault(named.document_id, (named, entry))[1]
        if first is entry:
            return
        if first.path == entry.path:
            raise SourceError(
                f"two files have the path {first.path!r}: {first.full_path} and {entry.full_path}. Ids come from the "
                "name of the source and the path in it, so give the folder that holds both, rename one of the sources, "
                "or leave out the copy"
            )
        self.found.skip(entry.path, f"same_id: {first.path} has the id {named.document_id!r}, too")

    def grouped(self) -> tuple[list[str], pa.ListArray]:
        """Return the keys of films or books, sorted, and the files of each as FILE."""
        if not self._by_id:
            raise self._nothing_found()
        ordered = sorted(self._by_id.values(), key=lambda pair: (pair[0].film, pair[0].document_id))
        keys = [named.film for named, _ in ordered]
        begins = [place for place, key in enumerate(keys) if not place or keys[place - 1] != key]
        columns: dict[str, list[Any]] = {"location": [os.fsencode(entry.location) for _, entry in ordered]}
        for name in ("document_id", "kind", "year", "imdb_id", "language"):
            columns[name] = [getattr(named, name) for named, _ in ordered]
        for name in ("path", "member", "size", "stamp"):
            columns[name] = [getattr(entry, name) for _, entry in ordered]
        return [keys[place] for place in begins], nest([*begins, len(keys)], FILE, columns)

    def inventory(self, documents: pa.Table) -> Inventory:
        """Return the inventory of a table made from the output of `grouped`."""
        quarantined = sorted(self.found.quarantined, key=lambda note: (note["path"], note["reason"], note["detail"]))
        size = sum(entry.size for _, entry in self._by_id.values())
        return Inventory(documents, sorted(self.found.skipped), quarantined, len(self._by_id), size)

    def _nothing_found(self) -> SourceError:
        written = sorted(spell_out_path(source.written) for source in self.sources)
        names = ", ".join(written[:_SHOWN]) + (f" and {len(written) - _SHOWN:,} more" if written[_SHOWN:] else "")
        others = [f"{note['detail']} ({note['reason']})" for note in self.found.quarantined]
        others += [f"{path} ({reason})" for path, reason in sorted(self.found.skipped)]
        seen = f" {counted(len(others), 'other files were')} found, such as {'; '.join(others[:3])}." if others else ""
        return SourceError(f"no {self.what} in {names}.{seen} Known suffixes: {', '.join([*self.suffixes, '.zip'])}")


def _stated_languages(name: BookName, known: Mapping[int, Listed]) -> tuple[str, tuple[str, ...]]:
    listed = known.get(name.number) if name.number is not None and name.sure else None
    if listed:
        return "the catalogue", tuple(listed.languages)
    return "its path", (name.language,) if name.language else ()


def _unwanted(path: str, source: str, codes: Sequence[str], language: str) -> str | None:
    if is_superseded(path):
        return "superseded: the folder `old` of a mirror holds what was replaced"
    if codes and not any(same_language(code, language) for code in codes):
        return f"other_language: {source} says {', '.join(codes)!r}, wanted is {language!r}"
    return None


def _listed(known: Mapping[int, Listed], book: str) -> Listed | None:
    number = book.removeprefix("gutenberg/")
    return known.get(int(number)) if number != book and number.isdecimal() else None


def _catalogue(sources: Sequence[Source], given: Path | None, found: Found) -> Catalogue:
    path = given or next(_catalogues_in(sources), None)
    if path is None:
        return Catalogue()
    try:
        catalogue = read_catalogue(path)
    except CatalogueError as error:
        if given:
            raise SourceError(f"the catalogue {error}") from error
        found.skip(path.name, f"not_a_catalogue: {error}")
        return Catalogue()
    found.skipped += [(path.name, f"catalogue: {fault}") for fault in catalogue.faults]
    return catalogue


def _catalogues_in(sources: Sequence[Source]) -> Iterator[Path]:
    for source in sorted(place_of(source.location) for source in sources if not source.listed):
        for name in (CATALOGUE, f"{CATALOGUE}.gz"):
            if source.is_dir() and (source / name).is_file():
                yield source / name


def estimate_sentences(films: pa.Table) -> np.ndarray:
    """Return the approximate number of sentences of each film in FILMS (float64), by the size and kind of its files."""
    flat, offsets = unnest(films, "files")
    of_kind = [formats()[kind] for kind in flat.field("kind").to_pylist()]
    zipped = flat.field("member").is_valid().to_numpy(zero_copy_only=False)
    packed = zipped | np.array([path.endswith(".gz") for path in flat.field("path").to_pylist()], dtype=bool)
    rate = np.array([1 / format.bytes_per_sentence for format in of_kind]) * np.where(
        packed, [format.packing for format in of_kind], 1.0
    )
    running = np.concatenate([[0.0], np.cumsum(flat.field("size").to_numpy() * rate)])
    return np.asarray(np.maximum(running[offsets[1:]] - running[offsets[:-1]], 1.0))


def with_contents(films: pa.Table) -> pa.Table:
    """Return FILMS or BOOKS with a digest of the content of each file as its `stamp`; members of a zip archive keep
    the checksum from the inventory.

    Every file is read once, after which the first stage finds it in the cache: 0.1 s for a thousand files, against the
    20 s of curating them. For a file larger than 256 MB, its beginning, size and dates count. A file that cannot be
    read keeps its date; the stage that reads it reports why.
    """
    flat, offsets = unnest(films, "files")
    columns = {field.name: flat.field(field.name) for field in FILE}
    loose, stamps = columns["member"].is_null(), columns["stamp"]
    with ThreadPool(_THREADS) as threads:
        contents = pa.array(threads.imap(_content, columns["location"].filter(loose).to_pylist(), 64), pa.string())
    stamps = pc.replace_with_mask(stamps, loose, pc.coalesce(contents, stamps.filter(loose)))
    lists = nest(offsets, FILE, {**columns, "stamp": stamps})
    return films.set_column(films.column_names.index("files"), films.schema.field("files"), lists)


def contents_of(films: pa.Table) -> dict[str, str]:
    """Return a digest of each film's or book's files by key: of their ids and stamps, not their locations."""
    flat, offsets = unnest(films, "files")
    stamped = list(zip(flat.field("document_id").to_pylist(), flat.field("stamp").to_pylist(), strict=True))
    found: dict[str, list[tuple[str, str]]] = {}
    for film, start, stop in zip(films[0].to_pylist(), offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        found.setdefault(film, []).extend(stamped[start:stop])  # a film may have several rows
    return {film: hash_json(sorted(files))[:16] for film, files in found.items()}


def _content(location: bytes) -> str | None:
    """Return a digest of a file; None if it cannot be read, or is in a store, which provides a tag."""
    if split_address(os.fsdecode(location)):
        return None
    try:
        with open_file(os.fsdecode(location)) as file:
            status = os.fstat(file.fileno())
            sha256, left = hashlib.sha256(), _MOST_HASHED
            while left and (block := file.read(min(left, 1 << 20))):
                sha256.update(block)
                left -= len(block)
    except (OSError, ValueError, ReadError):  # the file may have been replaced by a pipe since
        return None
    large = status.st_size > _MOST_HASHED
    rest = f" {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}" if large else ""
    return sha256.hexdigest()[:32] + rest
