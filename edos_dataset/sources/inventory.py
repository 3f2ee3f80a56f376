"""What there is to read: the files below the sources, grouped by film, before any of them is opened."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import nest, unnest
from edos_dataset.languages.codes import same_language
from edos_dataset.schema.tables import FILE, FILMS
from edos_dataset.sources.formats import formats, formats_by_suffix
from edos_dataset.sources.found import Entry, Found, SourceError
from edos_dataset.sources.names import Named, name_file
from edos_dataset.sources.paths import spell_out_path
from edos_dataset.sources.walk import walk


@dataclass(frozen=True)
class Inventory:
    """The files found.

    Attributes:
        documents: table of FILMS (or BOOKS) sorted by film, the files of a film sorted by document id.
        skipped: path and reason of everything that was found but is not wanted, sorted.
        quarantined: path, reason and message of what should be read and cannot: a folder that may not be listed, an
            archive that is cut off, a member of one with a name that leads out of it; in the form of the notes of a
            run, sorted.
        files: number of files in `documents`.
        bytes: their size as stored.
    """

    documents: pa.Table
    skipped: list[tuple[str, str]]
    quarantined: list[dict[str, Any]]
    files: int
    bytes: int

    @property
    def films(self) -> pa.Table:
        """The table, of films."""
        return self.documents

    @property
    def books(self) -> pa.Table:
        """The table, of books."""
        return self.documents

    def facts(self) -> dict[str, Any]:
        """Return what a manifest says of the input: the numbers of `films` (or `books`), of `files`, and of what could
        not be opened, which is none of these; and what was `skipped`.
        """
        skipped = [list(entry) for entry in self.skipped]
        return {
            f"{self.documents.column_names[0]}s": self.documents.num_rows,
            "files": self.files,
            "unopened": len(self.quarantined),
            "skipped": skipped,
        }


def find_films(sources: Sequence[Path], language: str) -> Inventory:
    """Find all subtitle files in files, folders and zip archives; neither the order of the sources nor that of a
    listing matters.

    A source is what is given, with its own name and all that is in it; what it lies in says nothing of its files, but
    that an OPUS file has its id from the folders YEAR/IMDB, wherever in that tree a source begins. Of several files of
    one such id the first by path counts.

    Args:
        sources: files, folders (with all folders below, also behind symbolic links) and zip archives.
        language: code of the language wanted ("en"); files whose path names another one are skipped.

    Raises:
        SourceError: a source does not exist, two sources of one name hold files of one path, or nothing was found.
    """
    if not sources:
        raise SourceError("no source given: name at least one file, folder or zip archive of subtitles")
    found = walk(sources)
    by_id: dict[str, tuple[Named, Entry]] = {}
    for entry in sorted(found.entries, key=lambda entry: (entry.path, entry.location)):
        named = name_file(entry.path, entry.full_path)
        if named.language is not None and not same_language(named.language, language):
            found.skip(entry.path, f"other_language: its path says {named.language!r}, wanted is {language!r}")
        elif named.document_id not in by_id:
            by_id[named.document_id] = (named, entry)
        elif (first := by_id[named.document_id][1]).path != entry.path:
            found.skip(entry.path, f"same_id: {first.path} has the id {named.document_id!r}, too")
        else:
            raise collision(first, entry)
    if not by_id:
        raise nothing_found("subtitles", sources, found, formats_by_suffix())
    ordered = sorted(by_id.values(), key=lambda pair: (pair[0].film, pair[0].document_id))
    total = sum(entry.size for _, entry in ordered)
    return listed(_to_table(ordered), found, len(ordered), total)


def listed(documents: pa.Table, found: Found, files: int, size: int) -> Inventory:
    """Return an inventory, with what is not in it sorted."""
    quarantined = sorted(found.quarantined, key=lambda note: (note["path"], note["reason"], note["detail"]))
    return Inventory(documents, sorted(found.skipped), quarantined, files, size)


def estimate_sentences(films: pa.Table) -> np.ndarray:
    """Return about how many sentences each film of a FILMS table holds (float64), judged by the size and kind of its
    files.
    """
    flat, offsets = unnest(films, "files")
    of_kind = [formats()[kind] for kind in flat.field("kind").to_pylist()]
    zipped = flat.field("member").is_valid().to_numpy(zero_copy_only=False)
    packed = zipped | np.array([path.endswith(".gz") for path in flat.field("path").to_pylist()], dtype=bool)
    rate = np.array([1 / format.bytes_per_sentence for format in of_kind]) * np.where(
        packed, [format.packing for format in of_kind], 1.0
    )
    running = np.concatenate([[0.0], np.cumsum(flat.field("size").to_numpy() * rate)])
    return np.asarray(np.maximum(running[offsets[1:]] - running[offsets[:-1]], 1.0))


def collision(first: Entry, second: Entry) -> SourceError:
    """Return the error of two files that would have one id."""
    return SourceError(
        f"two files have the path {first.path!r}: {first.full_path} and {second.full_path}. Ids come from the name of "
        "the source and the path in it, so give the folder that holds both, rename one of the sources, or leave out "
        "the copy"
    )


def nothing_found(what: str, sources: Sequence[Path], found: Found, suffixes: Iterable[str]) -> SourceError:
    """Return the error of sources that hold none of what is wanted.

    Args:
        what: is wanted, "subtitles".
        sources: as given.
        found: in them.
        suffixes: of the files wanted.
    """
    names = ", ".join(sorted(spell_out_path(str(source)) for source in sources))
    passed = [f"{note['detail']} ({note['reason']})" for note in found.quarantined]
    passed += [f"{path} ({reason})" for path, reason in sorted(found.skipped)]
    seen = f" {len(passed)} other files were found, such as {'; '.join(passed[:3])}." if passed else ""
    return SourceError(f"no {what} in {names}.{seen} Known suffixes: {', '.join([*suffixes, '.zip'])}")


def _to_table(ordered: Sequence[tuple[Named, Entry]]) -> pa.Table:
    films, offsets = grouped([named.film for named, _ in ordered])
    return pa.table({"film": pa.array(films, pa.string()), "files": file_lists(ordered, offsets)}, schema=FILMS)


def grouped(keys: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return the different ones of sorted keys, and where each begins, with the end."""
    different: list[str] = []
    offsets: list[int] = []
    for position, key in enumerate(keys):
        if not different or different[-1] != key:
            different.append(key)
            offsets.append(position)
    return different, [*offsets, len(keys)]


def file_lists(ordered: Sequence[tuple[Named, Entry]], offsets: Sequence[int]) -> pa.ListArray:
    """Return the files as lists of FILE, parted at the offsets."""
    columns = {
        "document_id": [named.document_id for named, _ in ordered],
        "path": [entry.path for _, entry in ordered],
        "location": [os.fsencode(entry.location) for _, entry in ordered],
        "member": [entry.member for _, entry in ordered],
        "kind": [named.kind for named, _ in ordered],
        "year": [named.year for named, _ in ordered],
        "imdb_id": [named.imdb_id for named, _ in ordered],
        "language": [named.language for named, _ in ordered],
        "size": [entry.size for _, entry in ordered],
        "stamp": [entry.stamp for _, entry in ordered],
    }
    return nest(offsets, FILE, columns)
