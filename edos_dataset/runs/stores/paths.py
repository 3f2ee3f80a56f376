"""Addresses of stores as paths: `s3://bucket/edos` is a `Path` whose methods ask the store.

Code written for local paths can join, test, list and read them as usual. Two things differ: a library that opens a file
by its name opens a local copy (`reading.Copies`), and files are written through `uploaded`.
"""

import io
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice
from multiprocessing.pool import ThreadPool
from pathlib import Path, PosixPath
from typing import Any, NoReturn, TypeVar

from edos_dataset.runs.stores.hub_store import HubStore
from edos_dataset.runs.stores.reading import COPIES, RangeFile, sha256_of
from edos_dataset.runs.stores.store import ObjectStore, Status, Store, StoreError

T = TypeVar("T")
R = TypeVar("R")

SCHEMES = ("s3", "gs", "az", "hf", "memory")
"""Stores by the beginning of their addresses; `memory` lasts as long as the process."""

READ_ONLY = ("hf",)
"""Stores that a run cannot write to: on the Hub each file would be a commit."""

_BUCKET = re.compile(r"[\w.-]+", re.ASCII)
_ADDRESS = re.compile(rf"({'|'.join(SCHEMES)}):/+([^/]*)/*(.*)", re.DOTALL)
_THREADS = 16


def split_address(address: str) -> tuple[str, str, str] | None:
    """Return the scheme, bucket and key of an address, or None for anything else, such as a path.

    Raises:
        StoreError: it contains credentials or a query: secrets belong in the environment.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        return None
    scheme, bucket, key = match.groups()
    # A secret key may contain a slash, so the text before "@" is not always in the bucket.
    if ("@" in key and scheme != "hf") or "?" in key or not _BUCKET.fullmatch(bucket or "x"):
        raise StoreError(
            f"an address of {scheme}:// that names a user, a key or a query is refused, since messages would repeat "
            f"it: give {scheme}://BUCKET/FOLDER, and the keys by the environment"
        )
    if not bucket:
        raise StoreError(f"{scheme}:// names no bucket: give {scheme}://BUCKET/FOLDER")
    return scheme, bucket, key


@lru_cache(maxsize=16)
def store_of(scheme: str, bucket: str) -> Store:
    """Return a store.

    Raises:
        ModuleNotFoundError: a package that it needs is not installed; the message gives the command.
    """
    return (HubStore if scheme == "hf" else ObjectStore)(scheme, bucket)


def open_remote(address: str) -> RangeFile | None:
    """Return an object open for reading by ranges, or None if the address is not in a store."""
    if (parts := split_address(address)) is None:
        return None
    scheme, bucket, key = parts
    return RangeFile(store_of(scheme, bucket), key, f"{scheme}://{bucket}/{key}")


class RemotePath(PosixPath):
    """An object of a store, or a folder: the objects whose keys begin with it."""

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
        """Return the path of a local copy, for libraries that read files."""
        return str(COPIES.of(self.store, self.key, str(self)))

    def relative_to(self, *other: str | os.PathLike[str], **_: object) -> PosixPath:  # type: ignore[override]
        """Return the path relative to a folder, as a plain path."""
        return PosixPath(*self.parts).relative_to(PosixPath(*RemotePath(*other).parts))

    def status(self) -> Status | None:
        """Return the status of the object, or None if it does not exist."""
        return self.store.status(self.key) if self.key else None

    def sha256(self) -> str:
        """Return the SHA-256 (hex) of the object, which is read unless the store has recorded it.

        Raises:
            FileNotFoundError: there is no such object.
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
        return self.store.holds(self._prefix)

    def is_symlink(self) -> bool:
        """Return False: stores have no links."""
        return False

    def stat(self, **_: object) -> os.stat_result:
        """Return the kind and the size; everything else is 0."""
        if (found := self.status()) is not None:
            return os.stat_result((stat.S_IFREG, 0, 0, 0, 0, 0, found.size, 0, 0, 0))
        if self.is_dir():
            return os.stat_result((stat.S_IFDIR, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        raise FileNotFoundError(2, "there is no such object", str(self))

    def iterdir(self) -> Generator["RemotePath", None, None]:
        """Yield the objects and folders in a folder."""
        for key, _ in self.store.list(self._prefix, deep=False):
            if name := key[len(self._prefix) :].rstrip("/"):
                yield self / name

    def below(self) -> Iterator[tuple["RemotePath", Status]]:
        """Yield the objects below with their status, in the order of their keys."""
        for key, found in self.store.list(self._prefix):
            if found is not None and not key.endswith("/"):
                yield self / key[len(self._prefix) :], found

    def glob(self, pattern: str, **_: object) -> Generator["RemotePath", None, None]:
        """Yield objects and folders below that match a pattern without `**`."""
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

    def open(self, mode: str = "r", *_: object, **options: Any) -> Any:  # noqa: ANN401
        """Open the object for reading, by ranges: bytes, or text in UTF-8 unless another encoding is given."""
        if mode not in ("r", "rb"):
            self._refuse()
        stream = io.BufferedReader(RangeFile(self.store, self.key, str(self)), 1 << 16)
        return (
            stream
            if mode == "rb"
            else io.TextIOWrapper(stream, options.get("encoding") or "utf-8", options.get("errors"))
        )

    def read_bytes(self) -> bytes:
        """Return the content of a small object."""
        return RangeFile(self.store, self.key, str(self)).read()

    def read_text(self, encoding: str | None = None, errors: str | None = None, **_: object) -> str:
        """Return the text of a small object."""
        return self.read_bytes().decode(encoding or "utf-8", errors or "strict")

    def unlink(self, missing_ok: bool = False) -> None:
        """Delete the object, if it exists."""
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
    """Return a local path or an address as a path.

    Args:
        path: as given by a user; `~` is the home folder, also where no shell has replaced it, and `s3:/bucket/x`, as
            `Path` writes an address, is accepted too.

    Raises:
        StoreError: as for `split_address`.
    """
    if isinstance(path, RemotePath):
        return path
    parts = split_address(str(path))
    if parts is None:
        return Path(os.path.expanduser(path))  # noqa: PTH111 - keeps "~name" where there is no such user
    if os.name != "posix":
        raise StoreError(f"{path}: stores are read on Linux and macOS only; on Windows use WSL, or copy the files here")
    scheme, bucket, key = parts
    return RemotePath(f"{scheme}:", bucket, key)


def local_place(path: str | Path, what: str) -> Path:
    """Return a path on this machine, of what cannot be in a store.

    Args:
        path: as given by a user.
        what: what the path is, for the message, such as "--out of `edos extend`".

    Raises:
        StoreError: it is an address.
    """
    place = place_of(path)
    if isinstance(place, RemotePath):
        raise StoreError(f"{place}: {what} must be on this machine: give a path here, and copy it to the store later")
    return place


@contextmanager
def local_copies(folders: Iterable[Path]) -> Iterator[list[Path]]:
    """Yield folders on this machine for code that walks through them: local ones as they are, and those in a store as
    copies that last until the end of the context.
    """
    with tempfile.TemporaryDirectory(prefix="edos-copies-") as scratch:
        yield [
            _copied(folder, Path(scratch) / str(number) / folder.name) if isinstance(folder, RemotePath) else folder
            for number, folder in enumerate(folders)
        ]


def _copied(folder: RemotePath, to: Path) -> Path:
    for path, _ in folder.below():
        target = to / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return to


def readable(path: Path) -> Any:  # noqa: ANN401 - what pyarrow takes
    """Return a file for pyarrow to read: its path, or a remote object open by ranges."""
    return path.open("rb") if isinstance(path, RemotePath) else path


def at_once(function: Callable[[T], R], items: Iterable[T], folder: Path) -> Iterator[R]:
    """Yield the results of a function for items, in their order; in threads if the folder is in a store, where most of
    the time is spent waiting.
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
    """Yield a local file to write; on exit it is uploaded as a whole, verified, and kept as the local copy.

    Raises:
        StoreError: the store does not answer, or is read-only.
    """
    check_writable(path)
    with COPIES.beside(path.name) as temporary:
        yield temporary
        found = path.store.put(path.key, temporary, sha256_of(temporary))
        COPIES.adopt(temporary, str(path), found.tag)


def check_writable(path: Path) -> None:
    """Refuse a read-only store.

    Raises:
        StoreError: the store is read-only.
    """
    if isinstance(path, RemotePath) and path.scheme in READ_ONLY:
        raise StoreError(
            f"{path}: a run cannot be written to the Hub file by file, where each is a commit: give another --out, and "
            "then `edos publish`"
        )


def remove_tree(folder: Path) -> None:
    """Remove a folder and its content, as far as possible."""
    if isinstance(folder, RemotePath):
        folder.remove_below()
    else:
        shutil.rmtree(folder, ignore_errors=True)
