"""The walk over the sources: every file below them and every member of their archives, listed once."""

import errno
import os
import re
import stat
import zipfile
from collections.abc import Container, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from multiprocessing.pool import ThreadPool
from typing import Any

from edos_dataset.runs.manifest import UNREADABLE_FOLDER, UNREADABLE_ZIP
from edos_dataset.runs.stores.paths import RemotePath, place_of
from edos_dataset.runs.stores.store import Status, StoreError
from edos_dataset.sources.files import open_file
from edos_dataset.sources.formats import split_suffix
from edos_dataset.sources.given import Source, SourceError
from edos_dataset.sources.names import spell_out, spell_out_path

LONGEST_NAME = 4096
"""Characters of a member's name; no file system can hold a longer path."""

_SHOWN = 200
_LEADS_OUT = re.compile(r"[/\\]|[A-Za-z]:|(?:.*[/\\])?\.\.(?:[/\\]|$)", re.DOTALL)
_LOCAL_HEADER = 30  # bytes, and the name
_UNIX = 3
_THREADS = 16  # that ask a store, which answers slowly
_MANY, _LONGER = 20, 100  # objects of a list in one folder, and how many times as many are listed for them


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a known format.

    Attributes:
        above: the folder that contains the source, spelt out (`names.spell_out`).
        path: path from the name of the source on, also spelt out.
        location: path on this machine of the file, or of the archive that contains it.
        member: name in the archive, or null.
        size: stored size in bytes.
        stamp: as in FILE.
    """

    above: str
    path: str
    location: str
    member: str | None
    size: int
    stamp: str

    @property
    def full_path(self) -> str:
        """The whole path, spelt out."""
        return f"{self.above}/{self.path}"


@dataclass
class Found:
    """The files below the sources.

    Attributes:
        entries: files of a known format.
        skipped: path and reason of unwanted files.
        quarantined: notes of wanted files that cannot be opened.
    """

    entries: list[Entry] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    quarantined: list[dict[str, Any]] = field(default_factory=list)

    def skip(self, path: str, reason: str) -> None:
        """List a file as unwanted."""
        self.skipped.append((_clipped(path), reason))

    def quarantine(self, path: str, reason: str, detail: str) -> None:
        """List a wanted file that cannot be opened."""
        path = _clipped(path)
        self.quarantined.append({"path": path, "reason": reason, "detail": f"{path}: {detail}"})


def _clipped(path: str) -> str:
    return path if len(path) <= LONGEST_NAME else f"{path[:_SHOWN]}..."


def walk(sources: Sequence[Source], suffixes: Container[str], other: str) -> Found:
    """Find zip archives and files with one of `suffixes` below the sources, in no particular order; other files are
    skipped for the reason `other`.

    Raises:
        SourceError: a source does not exist.
    """
    found = _Walk(_suffixes=suffixes, _other=other)
    by_location = {source.location: source for source in sorted(sources, key=lambda source: source.name or "")}
    remote = sorted((source for source in by_location.values() if source.is_remote), key=lambda each: each.location)
    # Folders before their subfolders, so that `subs subs/season1` gives the same as `subs/season1 subs`.
    here = by_location.keys() - {source.location for source in remote}
    for location in sorted(here, key=lambda path: (path.count(os.sep), path)):
        source, full = by_location[location], spell_out_path(location).replace(os.sep, "/")
        if not source.listed:
            try:
                os.stat(location)
            except OSError as error:
                raise _no_source(full, error) from error
        name = spell_out_path(source.name or os.path.basename(location))
        found.visit(name, location, full.removesuffix(name).rstrip("/"))
    found.follow_links()
    found.visit_remote(remote)
    return found


def _no_source(source: str, error: OSError) -> SourceError:
    return SourceError(f"source {source}: {error.strerror}. Give an existing file, folder or zip archive")


def _objects_below(source: Source, place: RemotePath) -> Iterator[tuple[str, str, Status]]:
    """Yield the object at an address, or those of a folder in the order of their keys: the path that identifies it,
    the address, and the status from the store.

    Raises:
        StoreError: the store does not answer, or there is no such bucket.
        FileNotFoundError: there is neither an object nor a folder.
        PermissionError: it may not be listed.
    """
    name, bucket = spell_out(source.name or place.name), f"{place.scheme}://{place.parts[1]}"
    if (one := source.status or place.status()) is not None:
        yield name, str(place), one
        return
    folder = f"{place.key}/" if place.key else ""
    none = True
    for key, status in place.store.list(folder):
        none = False
        if status is not None and not key.endswith("/"):
            yield f"{name}/{spell_out(key[len(folder) :])}", f"{bucket}/{key}", status
    if none:
        raise FileNotFoundError(2, "there is no such object or folder", str(place))


def _with_status(sources: Iterable[Source]) -> Iterator[tuple[Source, RemotePath]]:
    """Yield the sources in stores as paths; the objects of a list with their status, for which the store is asked at
    once: of many in one folder by a listing, which takes a request for a thousand.
    """

    def asked(pair: tuple[Source, RemotePath]) -> tuple[Source, RemotePath]:
        source, place = pair
        return (replace(source, status=known.get(place.key) or place.status()) if source.listed else source), place

    places = [(source, place) for source in sources if isinstance(place := place_of(source.location), RemotePath)]
    for folder, group in groupby(places, key=lambda pair: pair[1].parent):
        pairs = list(group)
        wanted = {place.key for source, place in pairs if source.listed}
        known = _listed_status(folder, wanted) if len(wanted) >= _MANY and isinstance(folder, RemotePath) else {}
        with ThreadPool(_THREADS) as threads:
            yield from threads.imap(asked, pairs)


def _listed_status(folder: RemotePath, wanted: Set[str]) -> dict[str, Status]:
    """Return the status of objects of a folder by key, as far as a listing gives it that is not much longer."""
    known: dict[str, Status] = {}
    with suppress(OSError, StoreError):  # a folder that may not be listed: each object is asked for
        for key, status in islice(folder.store.list(f"{folder.key}/" if folder.key else ""), _LONGER * len(wanted)):
            if status is not None and key in wanted:
                known[key] = status
    return known


@dataclass
class _Walk(Found):
    """Follows links last, so that a file is listed under its real path if it has one."""

    _seen: set[tuple[int, int]] = field(default_factory=set)
    _objects: set[str] = field(default_factory=set)
    _links: list[tuple[str, str, str]] = field(default_factory=list)
    _suffixes: Container[str] = ()
    _other: str = ""

    def follow_links(self) -> None:
        while self._links:
            self._links.sort(reverse=True)
            self.visit(*self._links.pop())

    def visit(self, path: str, location: str, above: str) -> None:
        # A stack instead of recursion, as folders may be nested deeply.
        stack = [(path, location)]
        while stack:
            path, location = stack.pop()
            try:
                status = os.stat(location)
            except OSError as error:
                self._not_there(path, error)
                continue
            if self._repeated(path, status):
                continue
            if stat.S_ISDIR(status.st_mode):
                stack += self._list(path, location, above)
            elif not stat.S_ISREG(status.st_mode):
                self.skip(path, "not_a_file: a device, socket or pipe")
            elif not self._is_wanted(path):
                continue
            else:
                self._keep(path, location, above, status.st_size, f"{status.st_mtime_ns} {status.st_ctime_ns}")

    def visit_remote(self, sources: Iterable[Source]) -> None:
        for source, place in _with_status(sources):
            try:
                self._visit_objects(source, place)
            except FileNotFoundError as error:
                if not source.listed:
                    raise _no_source(str(place), error) from error
                self._not_there(spell_out(source.name or place.name), error)
            except OSError as error:
                raise _no_source(str(place), error) from error

    def _visit_objects(self, source: Source, place: RemotePath) -> None:
        above = place.parent if source.name is None else place.parents[source.name.count("/")]
        for path, location, status in _objects_below(source, place):
            if location in self._objects:
                self.skip(path, "seen_before: a second path to something read already")
            elif self._is_wanted(path):
                self._keep(path, location, spell_out(str(above)), status.size, status.tag)
            self._objects.add(location)

    def _keep(self, path: str, location: str, above: str, size: int, stamp: str) -> None:
        if split_suffix(path)[1] == ".zip":
            self._open_zip(path, location, above)
        else:
            self.entries.append(Entry(above, path, location, None, size, stamp))

    def _repeated(self, path: str, status: os.stat_result) -> bool:
        key = (status.st_dev, status.st_ino)
        if key in self._seen:
            self.skip(path, "seen_before: a directory loop, or a second path to something read already")
            return True
        self._seen.add(key)
        return False

    def _not_there(self, path: str, error: OSError) -> None:
        """List an entry of a folder that cannot be examined; without a known suffix it may be a folder."""
        suffix, message = split_suffix(path)[1], _message(error)
        if suffix in self._suffixes:
            self.quarantine(path, "unreadable", message)
        elif suffix == ".zip":
            self.quarantine(path, UNREADABLE_ZIP, message)
        elif error.errno in (errno.ENOENT, errno.ELOOP):
            self.skip(path, f"unreadable: {message}")  # a link that leads nowhere
        else:
            self.quarantine(path, UNREADABLE_FOLDER, message)

    def _list(self, path: str, location: str, above: str) -> list[tuple[str, str]]:
        inside: list[tuple[str, str]] = []
        try:
            with os.scandir(location) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name, reverse=True):
                    below = f"{path}/{spell_out_path(entry.name)}"
                    if entry.is_symlink():
                        self._links.append((below, entry.path, above))
                    else:
                        inside.append((below, entry.path))
        except OSError as error:
            self.quarantine(path, UNREADABLE_FOLDER, _message(error))
        return inside

    def _is_wanted(self, path: str) -> bool:
        suffix = split_suffix(path)[1]
        if "/__MACOSX/" in path or path.rpartition("/")[2].startswith("._"):
            self.skip(path, f"{self._other}: a resource file of macOS")
        elif suffix not in self._suffixes and suffix != ".zip":
            self.skip(path, f"{self._other}: suffix {suffix or 'missing'}")
        else:
            return True
        return False

    def _open_zip(self, path: str, location: str, above: str) -> None:
        try:
            with open_file(location) as file, zipfile.ZipFile(file) as archive:
                members = archive.infolist()
        except StoreError:  # not the fault of the archive
            raise
        except Exception as error:  # zipfile raises too many kinds of errors for damaged directories to list
            self.quarantine(path, UNREADABLE_ZIP, _message(error))
            return
        last = {info.filename: info for info in members}
        overlapping = set(_overlapping(members))
        for number, info in enumerate(members, 1):
            inside = f"{path}/{spell_out(info.filename)}"
            if last[info.filename] is not info:
                inside += f" (entry {number})"
            if info.filename.endswith("/") and not info.file_size:
                continue
            if unwanted := _unwanted(info, last[info.filename]):
                self.skip(inside, unwanted)
            elif not self._is_wanted(inside):
                continue
            elif fault := _fault(info, overlapping):
                self.quarantine(inside, *fault)
            else:
                stamp = f"{info.CRC:08x}"
                self.entries.append(Entry(above, inside, location, info.filename, info.compress_size, stamp))


def _unwanted(info: zipfile.ZipInfo, last: zipfile.ZipInfo) -> str | None:
    if info.filename.endswith("/"):
        return "not_a_file: a folder of an archive, with data"
    if info.create_system == _UNIX and stat.S_ISLNK(info.external_attr >> 16):
        return "not_a_file: a symbolic link of an archive"
    if last is not info:
        return "replaced: the archive has a later file of that name"
    if split_suffix(info.filename)[1] == ".zip":
        return "nested_zip: an archive in an archive is not opened; unpack it"
    return None


def _fault(info: zipfile.ZipInfo, overlapping: Set[int]) -> tuple[str, str] | None:
    if len(info.filename) > LONGEST_NAME:
        return "unsafe_name", f"a name of {len(info.filename):,} characters"
    if _LEADS_OUT.match(info.filename):
        return "unsafe_name", "leads out of the archive; pack it anew with plain names"
    if info.header_offset in overlapping:
        return "corrupt_member", "lies over the next member; the archive may be a zip bomb"
    return None


def _overlapping(members: Sequence[zipfile.ZipInfo]) -> Iterator[int]:
    """Yield the position of each member that overlaps the next one."""
    places = sorted((info.header_offset, info.compress_size) for info in members)
    for (place, size), (following, _) in zip(places, places[1:], strict=False):
        if place + _LOCAL_HEADER + size > following:
            yield place


def _message(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
