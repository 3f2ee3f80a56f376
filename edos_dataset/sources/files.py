"""Bytes of a file, of a gzip file, or of a member of a zip archive, never more than a limit."""

import gzip
import zipfile
import zlib
from functools import lru_cache
from io import BufferedIOBase
from pathlib import Path
from typing import IO, cast

from edos_dataset.sources.parsed import ReadError

from io import BytesIO as _Bytes

_GZIP = b"\x1f\x8b"


@lru_cache(maxsize=4)
def _archive(location: Path) -> zipfile.ZipFile:
    # Kept open: reading the directory of the OPUS archive takes seconds, and a shard reads a hundred of its members.
    return zipfile.ZipFile(location)


def read_bytes(location: Path, member: str | None, max_bytes: int) -> bytes:
    """Return the unpacked content of a file.

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
            with gzip.open(cast(IO[bytes], _Bytes(data))) as unpacked:
                data = _read(cast(BufferedIOBase, unpacked), max_bytes)
    except EOFError as error:
        raise ReadError("truncated", f"{error}; copy or download it again") from error
    except (zipfile.BadZipFile, gzip.BadGzipFile, zlib.error) as error:
        raise ReadError("corrupt_member", f"{error}; copy or download it again") from error
    except OSError as error:
        raise ReadError("unreadable", f"{error.strerror or error}") from error
    if not data.strip():
        raise ReadError("empty_file", "no content")
    return data


def _open(location: Path, member: str | None) -> IO[bytes]:
    return open(location, "rb") if member is None else _archive(location).open(member)


def _read(stream: IO[bytes] | BufferedIOBase, max_bytes: int) -> bytes:
    data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ReadError("too_large", f"more than {max_bytes:,} bytes unpacked; raise max_bytes if it is a subtitle")
    return data
