"""What moves between a store and this machine: files that are written, read by pieces, or asked for many at a time."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any, TypeVar

from edos_dataset.runs.stores.addresses import READ_ONLY
from edos_dataset.runs.stores.base import StoreError
from edos_dataset.runs.stores.copies import COPIES, sha256_of
from edos_dataset.runs.stores.paths import RemotePath

T = TypeVar("T")
R = TypeVar("R")

_THREADS = 16


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


def remove_tree(folder: Path) -> None:
    """Remove a folder with all that is in it, as far as that can be."""
    if isinstance(folder, RemotePath):
        folder.remove_below()
    else:
        shutil.rmtree(folder, ignore_errors=True)
