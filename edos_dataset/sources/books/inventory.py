"""What books there are: the files below the sources, grouped by book, before any of them is opened."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from edos_dataset.downloads.catalogue import CATALOGUE, Catalogue, CatalogueError, Listed, read_catalogue
from edos_dataset.languages.codes import same_language
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.schema.books import BOOKS
from edos_dataset.sources.books.names import BookName, gutenberg_key, is_superseded, name_book
from edos_dataset.sources.books.reading import kind_of_file, suffixes
from edos_dataset.sources.found import Entry, Found, SourceError
from edos_dataset.sources.inventory import Inventory, collision, file_lists, grouped, listed, nothing_found
from edos_dataset.sources.names import Named
from edos_dataset.sources.walk import walk


def find_books(sources: Sequence[Path], language: str, catalogue: Path | None = None) -> Inventory:
    """Find all books in files, folders, zip archives and mirrors of Project Gutenberg; neither the order of the sources
    nor that of a listing matters.

    Several files of one book (`names.name_book`) are one book, of which the stage `read` keeps the best. Which language
    a book is in, a catalogue says, or else a folder ("hu/40715-0.txt"); the file itself and its words are asked when it
    is read.

    Args:
        sources: files, folders (with all folders below) and zip archives.
        language: code of the language wanted; books of which a catalogue or a folder names another one are skipped.
        catalogue: Project Gutenberg's; by default `pg_catalog.csv` of a source, where there is one. Its faults are told
            among what was skipped.

    Raises:
        SourceError: a source does not exist, the catalogue is none, two sources of one name hold files of one path, or
            nothing was found.
    """
    if not sources:
        raise SourceError("no source given: name at least one file, folder or zip archive of books")
    sources = [place_of(source) for source in sources]
    found = walk(sources, frozenset(suffixes()), "not_a_book")
    known = _catalogue(sources, catalogue, found)
    kept: dict[str, tuple[Named, Entry]] = {}
    entries = sorted(found.entries, key=lambda entry: (entry.path, entry.location))
    names = [name_book(entry.path) for entry in entries]
    numbered = {name.number for name in names if name.sure}
    for entry, name in zip(entries, names, strict=True):
        if is_superseded(entry.path):
            found.skip(entry.path, "superseded: the folder `old` of a mirror holds what was replaced")
            continue
        row = known.books.get(name.number) if name.number is not None and name.sure else None
        said = ("the catalogue", row.languages) if row else ("its path", (name.language,) if name.language else ())
        if said[1] and not any(same_language(code, language) for code in said[1]):
            found.skip(entry.path, f"other_language: {said[0]} says {', '.join(said[1])!r}, wanted is {language!r}")
            continue
        if entry.path in kept:
            raise collision(kept[entry.path][1], entry)
        code = next((code for code in said[1] if same_language(code, language)), None)
        kept[entry.path] = _named(entry, name, name.number in numbered, code), entry
    if not kept:
        raise nothing_found("books", sources, found, suffixes())
    ordered = sorted(kept.values(), key=lambda pair: (pair[0].film, pair[0].document_id))
    books, offsets = grouped([named.film for named, _ in ordered])
    facts = [_listed(known, book) for book in books]
    table = pa.table(
        {
            "book": pa.array(books, pa.string()),
            "title": pa.array([row and row.title for row in facts], pa.string()),
            "author": pa.array([row and row.author for row in facts], pa.string()),
            "files": file_lists(ordered, offsets),
        },
        schema=BOOKS,
    )
    return listed(table, found, len(ordered), sum(entry.size for _, entry in ordered))


def _named(entry: Entry, name: BookName, is_numbered: bool, language: str | None) -> Named:
    book = gutenberg_key(name.number) if name.number is not None and is_numbered else name.book
    return Named(entry.path, book, kind_of_file(entry.path) or "text", None, None, language)


def _listed(catalogue: Catalogue, book: str) -> Listed | None:
    number = book.removeprefix("gutenberg/")
    return catalogue.books.get(int(number)) if number != book and number.isdecimal() else None


def _catalogue(sources: Sequence[Path], given: Path | None, found: Found) -> Catalogue:
    path = given or next(_lying_by(sources), None)
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


def _lying_by(sources: Sequence[Path]) -> Iterator[Path]:
    for source in sorted(sources):
        for name in (CATALOGUE, f"{CATALOGUE}.gz"):
            if source.is_dir() and (source / name).is_file():
                yield source / name
