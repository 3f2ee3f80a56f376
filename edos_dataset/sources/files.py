"""Bytes of a file, of a gzip file, or of a member of a zip archive, never more than a limit."""

import gzip
import os
import struct
import zipfile
import zlib
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import IO

from edos_dataset.sources.parsed import ReadError

_GZIP = b"\x1f\x8b"
_AGAIN = "download or copy it again"


def read_bytes(location: Path, member: str | None, max_bytes: int) -> bytes:
    """Return the unpacked content of a file.

    At most `max_bytes` are ever unpacked, so a small file that would grow to gigabytes costs no more than any other.

    Args:
        location: the file, or the zip archive that holds it.
        member: its name in the archive, or null.
        max_bytes: largest unpacked size.

    Raises:
        ReadError: with the reason unreadable, corrupt_member, truncated, too_large or empty_file.
    """
    try:
        with _open(location, member) as stream:
            data = _read(stream, max_bytes)
        if data[:2] == _GZIP:
            with gzip.GzipFile(fileobj=BytesIO(data)) as unpacked:
                data = _read(unpacked, max_bytes)
    except EOFError as error:
        raise ReadError("truncated", f"the gzip stream ends early; {_AGAIN}") from error
    except (zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, struct.error) as error:
        raise ReadError("corrupt_member", f"{error}; {_AGAIN}") from error
    except KeyError as error:
        raise ReadError(
            "corrupt_member", f"the archive has no member {member!r} any more: it was changed after the inventory"
        ) from error
    except (NotImplementedError, RuntimeError) as error:  # zipfile: an unknown compression, or a password
        raise ReadError("unreadable", f"{error}; pack the archive anew without a password, with deflate") from error
    except OSError as error:
        raise ReadError("unreadable", error.strerror or type(error).__name__) from error
    if not data.strip():
        raise ReadError("empty_file", f"no content but {len(data):,} blanks" if data else "0 bytes")
    return data


def _open(location: Path, member: str | None) -> IO[bytes]:
    if member is None:
        return open(location, "rb")
    status = os.stat(location)
    # The process is part of the key since a file position shared with a parent process would move under both.
    return _archive(location, status.st_mtime_ns, status.st_size, os.getpid()).open(member)


@lru_cache(maxsize=4)
def _archive(location: Path, modified: int, size: int, process: int) -> zipfile.ZipFile:
    """Keep an archive open: reading the directory of the OPUS archive takes seconds, and a shard reads a hundred of its
    members.
    """
    return zipfile.ZipFile(location)


def _read(stream: IO[bytes] | gzip.GzipFile, max_bytes: int) -> bytes:
    data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ReadError("too_large", f"more than {max_bytes:,} bytes unpacked; raise max_bytes if this is a subtitle")
    return data
