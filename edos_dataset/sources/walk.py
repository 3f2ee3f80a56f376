"""The walk over the sources: every file below them and every member of their archives, each listed once."""

import errno
import os
import re
import stat
import zipfile
from collections.abc import Container, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from edos_dataset.runs.manifest import UNREADABLE_FOLDER, UNREADABLE_ZIP
from edos_dataset.runs.stores.base import StoreError
from edos_dataset.runs.stores.paths import RemotePath, place_of
from edos_dataset.sources.files import open_file
from edos_dataset.sources.formats import formats_by_suffix
from edos_dataset.sources.found import LONGEST_NAME, Entry, Found, SourceError
from edos_dataset.sources.names import split_suffix
from edos_dataset.sources.objects import objects_below
from edos_dataset.sources.paths import spell_out, spell_out_path

_LEADS_OUT = re.compile(r"[/\\]|[A-Za-z]:|(?:.*[/\\])?\.\.(?:[/\\]|$)", re.DOTALL)
_LOCAL_HEADER = 30  # bytes, and the name
_UNIX = 3


def walk(sources: Sequence[Path], suffixes: Container[str] | None = None, other: str = "not_subtitles") -> Found:
    """Find zip archives and files with one of `suffixes`, null for those of all formats of subtitles, below the
    sources, in whatever order; other files are skipped for the reason `other`.

    Raises:
        SourceError: a source does not exist.
    """
    found = _Walk(_suffixes=formats_by_suffix() if suffixes is None else suffixes, _other=other)
    places = {place_of(source) for source in sources}
    remote = {place for place in places if isinstance(place, RemotePath)}
    # A folder before the folders in it: `subs subs/season1` gives the same as `subs/season1 subs`.
    for location in sorted(map(os.path.abspath, places - remote), key=lambda path: (path.count(os.sep), path)):
        with _there(spell_out_path(location)):
            os.stat(location)
        above, name = os.path.split(location)
        found.visit(spell_out_path(name), location, spell_out_path(above))
    found.follow_links()
    for source in sorted(remote, key=lambda source: source.parts):
        with _there(str(source)):
            found.visit_objects(source)
    return found


@contextmanager
def _there(source: str) -> Iterator[None]:
    """Say of a source that cannot be looked at that it is none."""
    try:
        yield
    except OSError as error:
        told = f"source {source}: {error.strerror}. Give an existing file, folder or zip archive"
        raise SourceError(told) from error


@dataclass
class _Walk(Found):
    """Links are followed last, so that a file is always known by its real path if it has one."""

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
        """Walk what lies at a location: a stack instead of recursion, as folders may be nested very deeply."""
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

    def visit_objects(self, source: RemotePath) -> None:
        """List a folder of a store, or one object of it."""
        for path, location, status in objects_below(source):
            if location in self._objects:
                self.skip(path, "seen_before: a second path to something read already")
            elif self._is_wanted(path):
                self._keep(path, location, spell_out(str(source.parent)), status.size, status.tag)
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
        """List what is named in a folder but cannot be looked at; without a suffix that we know it may be a folder."""
        suffix, told = split_suffix(path)[1], _told(error)
        if suffix in self._suffixes:
            self.quarantine(path, "unreadable", told)
        elif suffix == ".zip":
            self.quarantine(path, UNREADABLE_ZIP, told)
        elif error.errno in (errno.ENOENT, errno.ELOOP):
            self.skip(path, f"unreadable: {told}")  # a link that leads nowhere
        else:
            self.quarantine(path, UNREADABLE_FOLDER, told)

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
            self.quarantine(path, UNREADABLE_FOLDER, _told(error))
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
        except StoreError:  # says nothing of the archive
            raise
        except Exception as error:  # what zipfile says of a damaged directory is too various to list
            self.quarantine(path, UNREADABLE_ZIP, _told(error))
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
    """Say why a member is no file, or not the one of its name."""
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
    """Return why a member must not be read: reason and message."""
    if len(info.filename) > LONGEST_NAME:
        return "unsafe_name", f"a name of {len(info.filename):,} characters"
    if _LEADS_OUT.match(info.filename):
        return "unsafe_name", "leads out of the archive; pack it anew with plain names"
    if info.header_offset in overlapping:
        return "corrupt_member", "lies over the next member; the archive may be a zip bomb"
    return None


def _overlapping(members: Sequence[zipfile.ZipInfo]) -> Iterator[int]:
    """Yield the place of each member that reaches into the next one."""
    places = sorted((info.header_offset, info.compress_size) for info in members)
    for (place, size), (following, _) in zip(places, places[1:], strict=False):
        if place + _LOCAL_HEADER + size > following:
            yield place


def _told(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
