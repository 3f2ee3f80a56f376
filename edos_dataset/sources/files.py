"""The bytes of a file, of a gzip file, or of a member of a zip archive, never more than a limit."""

import gzip
import os
import stat
import zipfile
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import IO

from edos_dataset.runs.stores.paths import open_remote, split_address
from edos_dataset.runs.stores.reading import RangeFile
from edos_dataset.runs.stores.store import StoreError
from edos_dataset.sources.archives import Directory, open_archive, unpack_member
from edos_dataset.sources.parsed import ReadError

GZIP = b"\x1f\x8b"
"""The first bytes of a file packed by gzip."""

_HEADER = 30 + 64
"""Bytes before a member's name, and of the extra field between the name and the content."""

_AGAIN = "download or copy it again"
_AFRESH = "it was changed after the inventory: give the same command again"


def read_bytes(location: str | Path, member: str | None, max_bytes: int, size: int | None = None) -> bytes:
    """Return the unpacked content of a file.

    At most `max_bytes` are ever unpacked, so a small file that would expand to gigabytes costs no more than any other.

    Args:
        location: the file, or the zip archive that holds it; also an address in a store (`runs.stores`), of which only
            the bytes needed are fetched.
        member: its name in the archive, or null.
        max_bytes: largest unpacked size.
        size: stored size in bytes according to the inventory; a file whose size has changed is refused.

    Raises:
        ReadError: with the reason unreadable, encrypted, not_a_file, changed, corrupt_member, truncated, too_large or
            empty_file.
        StoreError: a store does not answer, which is not the fault of the file.
    """
    try:
        data = (
            _read_file(location, max_bytes, size) if member is None else _read_member(location, member, max_bytes, size)
        )
        if data[:2] == GZIP:
            with gzip.GzipFile(fileobj=BytesIO(data)) as unpacked:
                data = _at_most(max_bytes, unpacked.read(max_bytes + 1))
    except (ReadError, MemoryError, StoreError):
        raise
    except EOFError as error:
        raise ReadError("truncated", f"the packed data end early; {_AGAIN}") from error
    except (gzip.BadGzipFile, zipfile.BadZipFile) as error:
        raise ReadError("corrupt_member", f"{error}; {_AGAIN}") from error
    except NotImplementedError as error:  # zipfile: an unknown compression
        raise ReadError("unreadable", f"{error}; pack the archive anew, with deflate") from error
    except OSError as error:
        if error.errno is None:  # this is how bzip2 reports damaged data
            raise ReadError("corrupt_member", f"{error}; {_AGAIN}") from error
        raise ReadError("unreadable", error.strerror or type(error).__name__) from error
    except Exception as error:  # the other libraries raise too many kinds of errors for damaged data to list
        raise ReadError("corrupt_member", f"{type(error).__name__}; {_AGAIN}") from error
    if not data.strip():
        raise ReadError("empty_file", f"no content but {len(data):,} blanks" if data else "0 bytes")
    return data


def open_file(location: str | Path) -> IO[bytes]:
    """Open a plain file or an object in a store for reading, without ever waiting for the writer of a pipe.

    Raises:
        ReadError: with the reason not_a_file: the path is now something other than a file.
        OSError: it cannot be opened.
    """
    if (remote := open_remote(str(location))) is not None:
        return remote  # type: ignore[return-value]  # it has every method used
    stream = open(  # noqa: SIM115 - the caller closes it
        location, "rb", opener=lambda path, flags: os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    )
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise ReadError("not_a_file", "a device, socket or pipe")
    return stream


def _read_file(location: str | Path, max_bytes: int, size: int | None) -> bytes:
    with open_file(location) as stream:
        data = stream.read(max_bytes + 1)  # first, as this tells the size of an object in a store
        _check_size(size, stream.size if isinstance(stream, RangeFile) else os.fstat(stream.fileno()).st_size)
        return _at_most(max_bytes, data)


def _read_member(location: str | Path, member: str, max_bytes: int, size: int | None) -> bytes:
    # A file may be replaced; an open object in a store stays the same, or reading it fails.
    status = None if split_address(str(location)) else os.stat(location)
    version = status and (status.st_mtime_ns, status.st_size)
    # The process is part of the key, since parent and child processes would share one file position.
    archive = _archive(location, version, os.getpid())
    try:
        info = archive.getinfo(member)
    except KeyError as error:
        raise ReadError("changed", f"the archive has no member {member!r} any more; {_AFRESH}") from error
    _check_size(size, info.compress_size)
    if info.file_size > max_bytes:
        raise _too_large(max_bytes)
    if isinstance(archive.fp, RangeFile):  # fetch all of it in one request
        archive.fp.expect(info.header_offset, _HEADER + len(info.filename.encode()) + info.compress_size)
    return unpack_member(archive, info)


@lru_cache(maxsize=4)
def _archive(location: str | Path, version: tuple[int, int] | None, process: int) -> zipfile.ZipFile | Directory:
    # Kept open: reading the directory of the OPUS archive takes seconds, and a shard reads a hundred of its members.
    return open_archive(open_file(location))


def _check_size(expected: int | None, found: int) -> None:
    if expected is not None and found != expected:
        raise ReadError("changed", f"{found:,} bytes instead of {expected:,}; {_AFRESH}")


def _at_most(max_bytes: int, data: bytes) -> bytes:
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    return data


def _too_large(max_bytes: int) -> ReadError:
    return ReadError("too_large", f"more than {max_bytes:,} bytes unpacked; raise read.max_bytes if this is a subtitle")
