"""Bytes of a file, of a gzip file, or of a member of a zip archive, never more than a limit."""

import gzip
import os
import stat
import zipfile
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import IO

from edos_dataset.runs.stores.addresses import open_remote, split_address
from edos_dataset.runs.stores.base import StoreError
from edos_dataset.runs.stores.ranges import RangeFile
from edos_dataset.sources.directories import Directory, open_archive
from edos_dataset.sources.members import unpack_member
from edos_dataset.sources.parsed import ReadError

_GZIP = b"\x1f\x8b"
_HEADER = 30 + 64
"""Bytes before a member's name, and what may stand between it and the content."""

_AGAIN = "download or copy it again"
_AFRESH = "it was changed after the inventory: give the same command again"


def read_bytes(location: str | Path, member: str | None, max_bytes: int, size: int | None = None) -> bytes:
    """Return the unpacked content of a file.

    At most `max_bytes` are ever unpacked, so a small file that would grow to gigabytes costs no more than any other.

    Args:
        location: the file, or the zip archive that holds it; also one of a store (`runs.stores`), of which only what
            is needed is fetched.
        member: its name in the archive, or null.
        max_bytes: largest unpacked size.
        size: bytes as stored, by the inventory; another size now is refused.

    Raises:
        ReadError: with the reason unreadable, not_a_file, changed, corrupt_member, truncated, too_large or empty_file.
        StoreError: a store does not answer, which says nothing of the file.
    """
    try:
        data = (
            _read_file(location, max_bytes, size) if member is None else _read_member(location, member, max_bytes, size)
        )
        if data[:2] == _GZIP:
            with gzip.GzipFile(fileobj=BytesIO(data)) as unpacked:
                data = _at_most(max_bytes, unpacked.read(max_bytes + 1))
    except (ReadError, MemoryError, StoreError):
        raise
    except EOFError as error:
        raise ReadError("truncated", f"the packed data end early; {_AGAIN}") from error
    except (gzip.BadGzipFile, zipfile.BadZipFile) as error:
        raise ReadError("corrupt_member", f"{error}; {_AGAIN}") from error
    except (NotImplementedError, RuntimeError) as error:  # zipfile: an unknown compression, or a password
        raise ReadError("unreadable", f"{error}; pack the archive anew without a password, with deflate") from error
    except OSError as error:
        if error.errno is None:  # bzip2's word for damaged data
            raise ReadError("corrupt_member", f"{error}; {_AGAIN}") from error
        raise ReadError("unreadable", error.strerror or type(error).__name__) from error
    except Exception as error:  # what the other libraries say of damaged data is too various to list
        raise ReadError("corrupt_member", f"{type(error).__name__}; {_AGAIN}") from error
    if not data.strip():
        raise ReadError("empty_file", f"no content but {len(data):,} blanks" if data else "0 bytes")
    return data


def open_file(location: str | Path) -> IO[bytes]:
    """Open a plain file for reading, without ever waiting for somebody to write into a pipe, or an object of a store.

    Raises:
        ReadError: with the reason not_a_file: there is another thing of that name by now.
        OSError: it cannot be opened.
    """
    if (remote := open_remote(str(location))) is not None:
        return remote  # type: ignore[return-value]  # it has all that is used
    stream = open(  # noqa: SIM115 - the caller closes it
        location, "rb", opener=lambda path, flags: os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    )
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise ReadError("not_a_file", "a device, socket or pipe")
    return stream


def _read_file(location: str | Path, max_bytes: int, size: int | None) -> bytes:
    with open_file(location) as stream:
        _check_size(size, stream.size if isinstance(stream, RangeFile) else os.fstat(stream.fileno()).st_size)
        return _at_most(max_bytes, stream.read(max_bytes + 1))


def _read_member(location: str | Path, member: str, max_bytes: int, size: int | None) -> bytes:
    # An object of a store that is open stays what it was, or reading it fails; a file may be replaced.
    status = None if split_address(str(location)) else os.stat(location)
    version = status and (status.st_mtime_ns, status.st_size)
    # The process is part of the key since a file position shared with a parent process would move under both.
    archive = _archive(location, version, os.getpid())
    try:
        info = archive.getinfo(member)
    except KeyError as error:
        raise ReadError("changed", f"the archive has no member {member!r} any more; {_AFRESH}") from error
    _check_size(size, info.compress_size)
    if info.file_size > max_bytes:
        raise _too_large(max_bytes)
    if isinstance(archive.fp, RangeFile):  # all of it at once
        archive.fp.expect(info.header_offset, _HEADER + len(info.filename.encode()) + info.compress_size)
    return unpack_member(archive, info)


@lru_cache(maxsize=4)
def _archive(location: str | Path, version: tuple[int, int] | None, process: int) -> zipfile.ZipFile | Directory:
    """Keep an archive open: reading the directory of the OPUS archive takes seconds, and a shard reads a hundred of its
    members.
    """
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
