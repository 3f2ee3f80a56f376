"""The files of a folder as they are published: plain files alone, and the bytes that were looked at.

What is not named stays behind and is told; a link, which could lead anywhere on this machine, is refused.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.shards import digest

DATA = (".parquet", ".arrow", ".csv", ".tsv", ".jsonl", ".zip", ".gz")
"""Suffixes of data files, which `datasets` would load; each must belong to a config."""
_LARGE = (*DATA, ".safetensors")
"""What is sent from the disk; all else is small, and read once."""


@dataclass(frozen=True)
class ContentFile:
    """A file to publish: one of this machine by its path, or its content.

    A file on the disk is looked at when this is made, and `check` says whether it is that very file still: so what is
    sent is what was hashed.
    """

    source: Path | bytes

    def __post_init__(self) -> None:
        """Look at the file."""
        if isinstance(self.source, Path):
            self._seen  # noqa: B018 - the first look is kept

    @cached_property
    def _seen(self) -> tuple[int, ...]:
        return _look(self.source) if isinstance(self.source, Path) else ()

    @cached_property
    def size(self) -> int:
        """Bytes."""
        return len(self.source) if isinstance(self.source, bytes) else self._seen[2]

    @cached_property
    def sha256(self) -> str:
        """SHA-256 (hex), by which the Hub knows a large file."""
        found = hashlib.sha256(self.source).hexdigest() if isinstance(self.source, bytes) else digest(self.source)
        self.check()
        return found

    @cached_property
    def blob(self) -> str:
        """Id (hex) that git gives the content, by which the Hub knows a small file."""
        return blob_id(self.content)

    @property
    def content(self) -> bytes:
        """All bytes; for small files."""
        return self.source if isinstance(self.source, bytes) else self.source.read_bytes()

    def check(self) -> None:
        """Check that the file is as it was at the first look.

        Raises:
            FolderError: it was changed, or another one is in its place.
        """
        if isinstance(self.source, Path) and _look(self.source) != self._seen:
            raise FolderError(
                f"{self.source} changed while it was being published: give the command again when nothing writes there"
            )


def blob_id(content: bytes) -> str:
    """Return the id (hex) that git gives a file of this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def files_of(folder: Path, named: Callable[[str], bool]) -> tuple[dict[str, ContentFile], list[str]]:
    """Return the files of a folder that are named, path in it → file, and the paths of those that stay behind.

    Of what is hidden, such as all of `.run`, nothing is published or told.

    Args:
        folder: a folder.
        named: tells of a path in the folder, as `a/b.txt`, whether it may be published.

    Raises:
        FolderError: the folder, or something visible in it, is a link; or a named file is no plain file.
    """
    files, others = {}, []
    for path in sorted(_walk(folder)):
        name = path.relative_to(folder).as_posix()
        if named(name):
            files[name] = _opened(path)
        else:
            others.append(name)
    return files, others


def check_no_link(folder: Path) -> None:
    """Refuse a folder that is a link.

    Raises:
        FolderError: it is.
    """
    if folder.is_symlink():
        raise FolderError(f"{folder} is a link: give what it leads to, {folder.resolve()}, if that is what you mean")


def _walk(folder: Path) -> Iterator[Path]:
    check_no_link(folder)
    with os.scandir(folder) as entries:
        for entry in entries:
            path = folder / entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                raise FolderError(f"{path} is a link, which may lead anywhere: put the file itself there, or remove it")
            if entry.is_dir():
                yield from _walk(path)
            else:
                yield path


def _look(path: Path) -> tuple[int, ...]:
    """Return what changes with a file: any write to it, or another one in its place."""
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise FolderError(f"{path} is no plain file: remove it")
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _opened(path: Path) -> ContentFile:
    file = ContentFile(path)
    if path.name.endswith(_LARGE):
        return file
    content = path.read_bytes()
    file.check()
    return ContentFile(content)
