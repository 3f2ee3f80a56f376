"""The sources that users give: files, folders and archives, patterns of them, and lists of files."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from glob import has_magic, iglob
from itertools import takewhile
from pathlib import Path

from edos_dataset.runs.stores.paths import RemotePath, place_of, split_address
from edos_dataset.runs.stores.store import Status
from edos_dataset.runs.untrusted import standard_input

STDIN = "-"
"""As the name of a list: standard input."""


class SourceError(ValueError):
    """A given source cannot be read; the message says which one, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file, folder or archive to read.

    Attributes:
        location: absolute path on this machine, or an address in a store.
        written: the path as the user wrote it.
        name: path from which the ids of its files are made; None stands for the last part of the location.
        listed: whether it comes from a list, which does not stop at a missing file.
        status: of an object that was found in a store.
    """

    location: str
    written: str
    name: str | None = None
    listed: bool = False
    status: Status | None = None

    @property
    def is_remote(self) -> bool:
        """Whether it is in a store."""
        return split_address(self.location) is not None

    @classmethod
    def at(cls, place: Path, name: str | None = None, status: Status | None = None) -> "Source":
        """Return the source at a path or address."""
        if isinstance(place, RemotePath):
            return cls(str(place), str(place), name, status=status)
        return cls(os.path.abspath(place), str(place), name)


def sources_of(
    given: "str | Path | Source | Sequence[str | Path | Source]", files_from: str | Path | None = None
) -> list[Source]:
    """Return the sources that a user gave.

    Ids come from the last part of a path on: `films/a.srt` is `a.srt`. Files given one by one that share it are
    identified by their paths as written. What a pattern matches has the ids that the folder before its first wildcard
    gives: `data/films/*/a.srt` those of `data/films`. A listed file is identified by its path as written.

    Args:
        given: paths, addresses, and patterns with `*`, `?`, `[...]` and `**` (any folders) where no such file exists.
        files_from: a file with a path per line, or with NUL between the paths; "-" is standard input.

    Raises:
        SourceError: nothing matches a pattern, or the list names no file.
    """
    each: Iterable[str | Path | Source] = [given] if isinstance(given, str | Path | Source) else given
    plain: list[Source] = []
    found: list[Source] = []
    for one in each:
        if isinstance(one, Source):
            found.append(one)
        elif has_magic(str(one)) and not place_of(one).exists():
            found += _matches(one)
        else:
            plain.append(Source.at(place_of(one)))
    return [*_distinguished(plain), *found, *(() if files_from is None else _listed(files_from))]


def _distinguished(sources: list[Source]) -> Iterator[Source]:
    """Yield sources; files with the name of another one get their path as written as their name."""
    places = {(os.path.basename(source.location), source.location) for source in sources}
    often = {name for name, count in Counter(name for name, _ in places).items() if count > 1}
    for source in sources:
        if os.path.basename(source.location) in often and (source.is_remote or os.path.isfile(source.location)):
            yield replace(source, name=_identity(source.written))
        else:
            yield source


def _identity(written: str) -> str:
    """Return a path as written, without what leads up or to the root: "../films//a.srt" is "films/a.srt"."""
    address = split_address(written)
    if address is not None:
        return "/".join(address[1:])
    parts = os.path.normpath(os.path.splitdrive(written)[1]).replace(os.sep, "/").split("/")
    leading = len(list(takewhile(lambda part: part in ("", "..", "."), parts)))
    return "/".join(parts[leading:])


def _matches(pattern: str | Path) -> list[Source]:
    place = place_of(pattern)
    found = list(_objects(place) if isinstance(place, RemotePath) else _files(place))
    if not found:
        raise SourceError(f"source {place}: no such file or folder, and as a pattern it matches none")
    return found


def _files(pattern: Path) -> Iterator[Source]:
    fixed = os.path.join("", *takewhile(lambda part: not has_magic(part), pattern.parts))
    above = os.path.dirname(os.path.abspath(fixed)) if fixed else os.getcwd()
    folder = ""
    # Folders come before what is in them, which is then not matched twice.
    for path in sorted(iglob(str(pattern), recursive=True), key=lambda path: path.split(os.sep)):
        location = os.path.abspath(path)
        if folder and location.startswith(folder):
            continue
        if os.path.isdir(location):
            folder = os.path.join(location, "")
        yield Source(location, path, os.path.relpath(location, above).replace(os.sep, "/"))


def _objects(pattern: RemotePath) -> Iterator[Source]:
    fixed = RemotePath(*takewhile(lambda part: not has_magic(part), pattern.parts))
    wanted = pattern.relative_to(fixed).parts
    for path, status in fixed.below():
        inside = path.relative_to(fixed)
        if _fits(inside.parts, wanted):
            yield Source.at(path, f"{fixed.name}/{inside.as_posix()}", status)


def _fits(parts: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether the parts of a path, or of a folder above it, match those of a pattern."""
    if not wanted:
        return True
    if wanted[0] == "**":
        return any(_fits(parts[count:], wanted[1:]) for count in range(len(parts)))
    return bool(parts) and fnmatchcase(parts[0], wanted[0]) and _fits(parts[1:], wanted[1:])


def _listed(files_from: str | Path) -> Iterator[Source]:
    """Yield the files of a list, each once."""
    data = standard_input().buffer.read() if str(files_from) == STDIN else _read(files_from)
    data = data.removeprefix(b"\xef\xbb\xbf")
    lines = data.split(b"\0") if b"\0" in data else [line.rstrip(b"\r") for line in data.split(b"\n")]
    seen: set[str] = set()
    for line in filter(None, lines):
        written = os.fsdecode(line)
        place = place_of(written) if written[0] == "~" or "://" in written else None
        location = os.path.abspath(written) if place is None else Source.at(place).location
        if location not in seen:
            seen.add(location)
            yield Source(location, written, _identity(written), listed=True)
    if not seen:
        raise SourceError(f"{files_from} names no file: give a list with the path of a file on each line")


def _read(path: str | Path) -> bytes:
    try:
        return place_of(path).read_bytes()
    except OSError as error:
        raise SourceError(f"cannot read the list of files {path}: {error.strerror}") from error
