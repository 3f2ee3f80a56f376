"""Addresses of stores, such as `s3://bucket/edos`: what is one, and the store that it names."""

import os
import re
from functools import lru_cache

from edos_dataset.runs.stores.base import Store, StoreError
from edos_dataset.runs.stores.ranges import RangeFile

SCHEMES = ("s3", "gs", "hf", "memory")
"""Stores by the beginning of their addresses; `memory` lasts as long as the process."""

READ_ONLY = ("hf",)
"""Those that a run cannot write to: on the Hub each file would be a commit."""

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


@lru_cache(maxsize=16)
def _store(scheme: str, bucket: str, process: int) -> Store:
    """Keep a client for each process: one that was forked must not share its connections."""
    if scheme == "s3":
        from edos_dataset.runs.stores.s3 import S3Store

        return S3Store(bucket)
    if scheme == "gs":
        from edos_dataset.runs.stores.gcs import GoogleStore

        return GoogleStore(bucket)
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
