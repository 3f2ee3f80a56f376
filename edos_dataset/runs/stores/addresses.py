"""Addresses of stores as paths: `s3://bucket/edos` is a `Path` whose methods ask the store.

So what knows nothing of stores works on them: a name is joined, looked at, listed and read as ever. Two things it is
not: a file that libraries open by its name is a copy on this machine (`copies`), and what is to be written is written
by `uploaded`.
"""

import io
import os
import re
import stat
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice
from multiprocessing.pool import ThreadPool
from pathlib import Path, PosixPath
from typing import Any, NoReturn, TypeVar

from edos_dataset.runs.stores.base import Status, Store, StoreError
from edos_dataset.runs.stores.copies import COPIES, sha256_of
from edos_dataset.runs.stores.ranges import RangeFile

T = TypeVar("T")
R = TypeVar("R")

SCHEMES = ("s3", "gs", "hf", "memory")
"""Stores by the beginning of their addresses; `memory` lasts as long as the process."""

READ_ONLY = ("hf",)
"""Those that a run cannot write to: on the Hub each file would be a commit."""

_THREADS = 16
_BUCKET = re.compile(r"[\w.-]+", re.ASCII)
_ADDRESS = re.compile(rf"({'|'.join(SCHEMES)}):/+([^/]*)/*(.*)", re.DOTALL)


def split_address(address: str) -> tuple[str, str, str] | None:
    """Return the scheme, the bucket and the key of an address; None of what is none, such as a path.

    Raises:
        StoreError: it holds a key or a query: secrets belong into the environment.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        return None
    scheme, bucket, key = match.groups()
    # A secret key may hold a slash, so what stands before "@" is not always in the bucket.
    if ("@" in key and scheme != "hf") or "?" in key or not _BUCKET.fullmatch(bucket or "x"):
        raise StoreError(
            f"an address of {scheme}:// that names a user, a key or a query is not taken, since it would be told in "
            f"messages: give {scheme}://BUCKET/FOLDER, and the keys by the environment"
        )
    if not bucket:
        raise StoreError(f"{scheme}:// names no bucket: give {scheme}://BUCKET/FOLDER")
    return scheme, bucket, key


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


@lru_cache(maxsize=16)
def _store(scheme: str, bucket: str, process: int) -> Store:
    """Keep a client for each process: one that was forked must not share its connections."""
    if scheme == "s3":
        from edos_dataset.runs.stores.s3 import S3Store

        return S3Store(bucket)
    from edos_dataset.runs.stores.filesystems import FsspecStore

    return FsspecStore(scheme, bucket)


def store_of(scheme: str, bucket: str) -> Store:
    """Return a store.

    Raises:
        ModuleNotFoundError: what it needs is not installed; the message gives the command.
    """
    return _store(scheme, bucket, os.getpid())


def open_remote(address: str) -> RangeFile | None:
    """Return an object open for reading by ranges; None where the address is none of a store."""
    if (parts := split_address(address)) is None:
        return None
    scheme, bucket, key = parts
    return RangeFile(store_of(scheme, bucket), key, f"{scheme}://{bucket}/{key}")


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

    def glob(self, pattern: str, **_: object) -> Generator["RemotePath", None, None]:  # type: ignore[override]
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

    def rglob(self, pattern: str, **_: object) -> Generator["RemotePath", None, None]:  # type: ignore[override]
        """Yield objects below, at any depth, whose names match a pattern."""
        yield from (path for path, _ in self.below() if fnmatchcase(path.name, pattern))

    def open(self, mode: str = "r", *_: object, **__: object) -> Any:  # type: ignore[override]  # noqa: ANN401
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

    write_bytes = write_text = touch = rename = replace = symlink_to = _refuse  # type: ignore[assignment]

    @property
    def _prefix(self) -> str:
        return f"{self.key}/" if self.key else ""


def readable(path: Path) -> Any:  # noqa: ANN401 - what pyarrow takes
    """Return what pyarrow reads a file by: its path, or an object open for reading by ranges, so that of a large one
    only what is needed moves.
    """
    return path.open("rb") if isinstance(path, RemotePath) else path


def at_once(function: Callable[[T], R], items: Iterable[T], folder: Path) -> Iterator[R]:
    """Yield what a function gives for items, in their order: one after the other, or where the folder that it asks lies
    in a store several at once, since most of the time is spent waiting.
    """
    if not isinstance(folder, RemotePath):
        yield from map(function, items)
        return
    items = iter(items)
    with ThreadPool(_THREADS) as threads:
        while batch := list(islice(items, 4 * _THREADS)):
            yield from threads.map(function, batch)


@contextmanager
def uploaded(path: RemotePath) -> Iterator[Path]:
    """Give a local file to write; at the end it goes to the store, as a whole and looked at there, and stays here as
    the copy of it.

    Raises:
        StoreError: the store does not answer, or is one that is only read.
    """
    check_writable(path)
    with COPIES.beside(path.name) as temporary:
        yield temporary
        found = path.store.put(path.key, temporary, sha256_of(temporary))
        COPIES.adopt(temporary, str(path), found.tag)


def check_writable(path: Path) -> None:
    """Refuse a store that is only read.

    Raises:
        StoreError: it is.
    """
    if isinstance(path, RemotePath) and path.scheme in READ_ONLY:
        raise StoreError(
            f"{path}: a run cannot be written to the Hub file by file, where each is a commit: give another --out, and "
            "then `edos publish`"
        )
