"""What there is to read: the files below the sources, grouped by film, before any of them is opened."""

import os
import stat
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import nest, unnest
from edos_dataset.languages.codes import same_language
from edos_dataset.schema.tables import FILE, FILMS
from edos_dataset.sources.formats import formats, formats_by_suffix
from edos_dataset.sources.names import Named, name_file, split_suffix


class SourceError(ValueError):
    """The sources as given cannot be read; the message says which, why, and what to do."""


@dataclass(frozen=True)
class Inventory:
    """The files found.

    Attributes:
        films: table of FILMS sorted by film, the files of a film sorted by document id.
        skipped: path and reason of everything that was found but is not going to be read, sorted.
        files: number of files in `films`.
        bytes: their size as stored.
    """

    films: pa.Table
    skipped: list[tuple[str, str]]
    files: int
    bytes: int


def find_films(sources: Sequence[Path], language: str) -> Inventory:
    """Find all subtitle files in files, folders and zip archives; neither the order of the sources nor that of a
    listing matters.

    Args:
        sources: files, folders (with all folders below, also behind symbolic links) and zip archives.
        language: code of the language wanted ("en"); files whose path names another one are skipped.

    Raises:
        SourceError: a source does not exist, two files have the same document id, or nothing was found.
    """
    if not sources:
        raise SourceError("no source given: name at least one file, folder or zip archive of subtitles")
    walk = _Walk()
    walk.run(sources)
    by_id: dict[str, tuple[Named, _Entry]] = {}
    for entry in walk.entries:
        named = name_file(entry.path, entry.full_path)
        if named.language is not None and not same_language(named.language, language):
            walk.skipped.append(
                (entry.path, f"other_language: its path says {named.language!r}, wanted is {language!r}")
            )
            continue
        if named.document_id in by_id:
            raise _collision(named.document_id, by_id[named.document_id][1], entry)
        by_id[named.document_id] = (named, entry)
    if not by_id:
        raise _nothing_found(sources, walk.skipped)
    ordered = sorted(by_id.values(), key=lambda pair: (pair[0].film, pair[0].document_id))
    total = sum(entry.size for _, entry in ordered)
    return Inventory(_to_table(ordered), sorted(walk.skipped), len(ordered), total)


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


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str  # begins with the name of the source
    location: str
    member: str | None
    size: int
    stamp: str

    @property
    def full_path(self) -> str:
        return self.location if self.member is None else f"{self.location}/{self.member}"


@dataclass
class _Walk:
    """One walk over all sources. Links are followed last, so that a file is always known by its real path if it has
    one.
    """

    entries: list[_Entry] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    _seen: set[tuple[int, int]] = field(default_factory=set)
    _links: list[tuple[str, str]] = field(default_factory=list)

    def run(self, sources: Iterable[Path]) -> None:
        # A folder before the folders in it: `subs subs/season1` gives the same as `subs/season1 subs`.
        for location in sorted(
            {os.path.abspath(source) for source in sources}, key=lambda path: (path.count(os.sep), path)
        ):
            try:
                os.stat(location)
            except OSError as error:
                raise SourceError(
                    f"source {location}: {error.strerror}. Give an existing file, folder or zip archive"
                ) from error
            self._visit(os.path.basename(location), location)
        while self._links:
            self._links.sort(reverse=True)
            path, location = self._links.pop()
            self._visit(path, location)

    def _visit(self, path: str, location: str) -> None:
        """Walk what lies at a location: a stack instead of recursion, as folders may be nested very deeply."""
        stack = [(path, location)]
        while stack:
            path, location = stack.pop()
            try:
                status = os.stat(location)
                if self._repeated(path, status):
                    continue
                if stat.S_ISDIR(status.st_mode):
                    stack += self._list(path, location)
                elif stat.S_ISREG(status.st_mode):
                    self._add_file(path, location, status)
                else:
                    self.skipped.append((path, "not_a_file: a device, socket or pipe"))
            except OSError as error:
                self.skipped.append((path, f"unreadable: {error.strerror or error}"))

    def _repeated(self, path: str, status: os.stat_result) -> bool:
        key = (status.st_dev, status.st_ino)
        if key in self._seen:
            self.skipped.append((path, "seen_before: a directory loop, or a second path to something read already"))
            return True
        self._seen.add(key)
        return False

    def _list(self, path: str, location: str) -> list[tuple[str, str]]:
        inside: list[tuple[str, str]] = []
        with os.scandir(location) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name, reverse=True):
                target = self._links if entry.is_symlink() else inside
                target.append((f"{path}/{entry.name}", entry.path))
        return inside

    def _add_file(self, path: str, location: str, status: os.stat_result) -> None:
        if split_suffix(path)[1] == ".zip":
            self._add_zip(path, location)
        else:
            self._add(_Entry(path, location, None, status.st_size, str(status.st_mtime_ns)))

    def _add(self, entry: _Entry) -> None:
        suffix = split_suffix(entry.path)[1]
        if "/__MACOSX/" in entry.path or entry.path.rpartition("/")[2].startswith("._"):
            self.skipped.append((entry.path, "not_subtitles: a resource file of macOS"))
        elif suffix not in formats_by_suffix():
            self.skipped.append((entry.path, f"not_subtitles: suffix {suffix or 'missing'}"))
        else:
            self.entries.append(entry)

    def _add_zip(self, path: str, location: str) -> None:
        try:
            with zipfile.ZipFile(location) as archive:
                members = {
                    info.filename: (info.compress_size, f"{info.CRC:08x}")
                    for info in archive.infolist()
                    if not info.is_dir()
                }
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            self.skipped.append((path, f"unreadable_zip: {error}"))
            return
        for member, (size, checksum) in members.items():
            self._add(_Entry(f"{path}/{member}", location, member, size, checksum))


def _collision(document_id: str, first: _Entry, second: _Entry) -> SourceError:
    one, other = sorted([first.full_path, second.full_path])
    return SourceError(
        f"two files have the document id {document_id!r}: {one} and {other}. Ids come from the path below the source, "
        "so give the folder that holds both, "
        "rename one of the sources, or leave out the copy"
    )


def _nothing_found(sources: Sequence[Path], skipped: Sequence[tuple[str, str]]) -> SourceError:
    names = ", ".join(sorted(str(source) for source in sources))
    others = "; ".join(f"{path} ({reason})" for path, reason in sorted(skipped)[:3])
    seen = f" {len(skipped)} other files were found, such as {others}." if skipped else ""
    return SourceError(f"no subtitles in {names}.{seen} Known suffixes: {', '.join([*formats_by_suffix(), '.zip'])}")


def _to_table(ordered: Sequence[tuple[Named, _Entry]]) -> pa.Table:
    films: list[str] = []
    offsets: list[int] = []
    for position, (named, _) in enumerate(ordered):
        if not films or films[-1] != named.film:
            films.append(named.film)
            offsets.append(position)
    offsets.append(len(ordered))
    columns = {
        "document_id": [named.document_id for named, _ in ordered],
        "path": [entry.path for _, entry in ordered],
        "location": [entry.location for _, entry in ordered],
        "member": [entry.member for _, entry in ordered],
        "kind": [named.kind for named, _ in ordered],
        "year": [named.year for named, _ in ordered],
        "imdb_id": [named.imdb_id for named, _ in ordered],
        "language": [named.language for named, _ in ordered],
        "size": [entry.size for _, entry in ordered],
        "stamp": [entry.stamp for _, entry in ordered],
    }
    return pa.table({"film": pa.array(films, pa.string()), "files": nest(offsets, FILE, columns)}, schema=FILMS)
