"""Addresses of stores as paths: `s3://bucket/edos` is a `Path` whose methods ask the store.

So what knows nothing of stores works on them: a name is joined, looked at, listed and read as ever. Two things it is
not: a file that libraries open by its name is a copy on this machine (`copies`), and what is to be written is written
by `uploaded`.
"""

import io
import os
import stat
from collections.abc import Generator, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PosixPath
from typing import Any, NoReturn

from edos_dataset.runs.stores.addresses import split_address, store_of
from edos_dataset.runs.stores.base import Status, Store
from edos_dataset.runs.stores.copies import COPIES, sha256_of
from edos_dataset.runs.stores.ranges import RangeFile


class RemotePath(PosixPath):
    """An object of a store, or a folder of them: all those whose keys begin with it."""

    @property
    def scheme(self) -> str:
        """The beginning of the address, "s3"."""
        return self.parts[0].rstrip(":")

    @property
    def store(self) -> Store:
        """The bucket."""
        return store_of(self.scheme, self.parts[1])

    @property
    def key(self) -> str:
        """The key in the bucket."""
        return "/".join(self.parts[2:])

    def __str__(self) -> str:
        """Return the address."""
        return f"{self.scheme}://{'/'.join(self.parts[1:])}"

    def __fspath__(self) -> str:
        """Return the path of a copy on this machine, for libraries that read files."""
        return str(COPIES.of(self.store, self.key, str(self)))

    def relative_to(self, *other: str | os.PathLike[str], **_: object) -> PosixPath:  # type: ignore[override]
        """Return the way from a folder to this, a path of no store."""
        return PosixPath(*self.parts).relative_to(PosixPath(*RemotePath(*other).parts))

    def status(self) -> Status | None:
        """Return what the store says of the object, None where there is none."""
        return self.store.status(self.key) if self.key else None

    def sha256(self) -> str:
        """Return the SHA-256 (hex) of the object; it is read where nobody has noted it.

        Raises:
            FileNotFoundError: there is none.
        """
        found = self.status()
        return found.sha256 if found and found.sha256 else sha256_of(Path(self.__fspath__()))

    def exists(self, **_: object) -> bool:
        """Return whether there is an object, or one below."""
        return self.is_file() or self.is_dir()

    def is_file(self, **_: object) -> bool:
        """Return whether there is an object."""
        return self.status() is not None

    def is_dir(self, **_: object) -> bool:
        """Return whether there is an object below."""
        return next(self.store.list(self._prefix, deep=False), None) is not None

    def is_symlink(self) -> bool:
        """Return False: stores know no links."""
        return False

    def stat(self, **_: object) -> os.stat_result:
        """Return the size, as of a file; all else is 0."""
        if (found := self.status()) is not None:
            return os.stat_result((stat.S_IFREG, 0, 0, 0, 0, 0, found.size, 0, 0, 0))
        if self.is_dir():
            return os.stat_result((stat.S_IFDIR, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        raise FileNotFoundError(2, "there is no such object", str(self))

    def iterdir(self) -> Generator["RemotePath", None, None]:
        """Yield what lies in a folder."""
        for key, _ in self.store.list(self._prefix, deep=False):
            if name := key[len(self._prefix) :].rstrip("/"):
                yield self / name

    def below(self) -> Iterator[tuple["RemotePath", Status]]:
        """Yield the objects below, with what is known of each, in the order of their keys."""
        for key, found in self.store.list(self._prefix):
            if found is not None and not key.endswith("/"):
                yield self / key[len(self._prefix) :], found

    def glob(self, pattern: str, **_: object) -> Generator["RemotePath", None, None]:
        """Yield objects and folders below whose parts match those of a pattern without `**`."""
        wanted = pattern.split("/")
        if len(wanted) == 1:
            yield from (path for path in self.iterdir() if fnmatchcase(path.name, pattern))
            return
        depth = len(wanted)
        found = {path.relative_to(self).parts[:depth] for path, _ in self.below()}
        for parts in sorted(found):
            if len(parts) == depth and all(map(fnmatchcase, parts, wanted)):
                yield self.joinpath(*parts)

    def rglob(self, pattern: str, **_: object) -> Generator["RemotePath", None, None]:
        """Yield objects below, at any depth, whose names match a pattern."""
        yield from (path for path, _ in self.below() if fnmatchcase(path.name, pattern))

    def open(self, mode: str = "r", *_: object, **__: object) -> Any:  # noqa: ANN401
        """Open the object for reading bytes, by ranges."""
        if mode != "rb":
            self._refuse()
        return io.BufferedReader(RangeFile(self.store, self.key, str(self)), 1 << 16)

    def read_bytes(self) -> bytes:
        """Return the content of a small object."""
        return RangeFile(self.store, self.key, str(self)).read()

    def read_text(self, encoding: str | None = None, errors: str | None = None, **_: object) -> str:
        """Return the content of a small object of text."""
        return self.read_bytes().decode(encoding or "utf-8", errors or "strict")

    def unlink(self, missing_ok: bool = False) -> None:
        """Delete the object; none is no error."""
        self.store.delete([self.key])

    def remove_below(self) -> None:
        """Delete all objects below."""
        self.store.delete([path.key for path, _ in self.below()])

    def mkdir(self, *_: object, **__: object) -> None:
        """Do nothing: stores have no folders of their own."""

    def resolve(self, strict: bool = False) -> "RemotePath":
        """Return the path itself."""
        return self

    absolute = resolve

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError(f"{self}: an object of a store is written by `uploaded`")

    write_bytes = write_text = touch = rename = replace = symlink_to = _refuse

    @property
    def _prefix(self) -> str:
        return f"{self.key}/" if self.key else ""


def place_of(path: str | Path) -> Path:
    """Return where something lies, as a path: of this machine, or of a store.

    Args:
        path: as a user gives it; of `s3://bucket/x`, which `Path` writes with one slash, too.

    Raises:
        StoreError: as of `split_address`.
    """
    if isinstance(path, RemotePath):
        return path
    parts = split_address(str(path))
    if parts is None:
        return Path(path)
    scheme, bucket, key = parts
    return RemotePath(f"{scheme}:", bucket, key)
