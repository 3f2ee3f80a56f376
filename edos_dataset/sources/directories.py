"""Directories of zip archives with hundreds of thousands of members, in a few bytes a member.

`zipfile` keeps an object of 600 bytes for each: 290 MB in every worker for the English archive of OPUS. Here a worker
keeps a hash of each name and where its entry lies, 16 bytes, and has `zipfile` read the one entry that is asked for.
"""

import copy
import io
import struct
import zipfile
from typing import IO

import numpy as np

from edos_dataset.text import hash64

LARGE = 1 << 20
"""Bytes of a directory from which on it is kept so: about 10,000 members."""

_END = struct.Struct("<4s4H2LH")  # signature, numbers of disks, entries (twice), bytes and place of the directory
_END64 = struct.Struct("<4sQ2H2L4Q")  # likewise, for archives of 4 GiB and more
_LOCATOR64 = struct.Struct("<4sLQL")  # where that is
_ENTRY = struct.Struct("<28x3H12x")  # lengths of name, extra field and comment, which follow
_LOCAL = struct.Struct("<26x2H")  # lengths of name and extra field, which follow
_LONGEST = 0xFFFF  # of what follows, each
_LONGEST_ENTRY = _ENTRY.size + 3 * _LONGEST
_BLOCK = 1 << 20


def open_archive(stream: IO[bytes]) -> "zipfile.ZipFile | Directory":
    """Return an archive; a small one, or one that only `zipfile` understands, as `zipfile` gives it.

    Raises:
        zipfile.BadZipFile: it is none.
    """
    try:
        directory = Directory(stream)
        if directory.size >= LARGE:
            directory.read()
            return directory
    except (zipfile.BadZipFile, struct.error):
        pass  # zipfile tells
    stream.seek(0)
    return zipfile.ZipFile(stream)


class Directory:
    """The directory of an archive, with as much of the interface of `zipfile.ZipFile` as reading a member takes.

    Args:
        stream: the archive; it stays open.

    Attributes:
        fp: the archive.
        size: bytes of the directory.

    Raises:
        zipfile.BadZipFile: no directory is where it should be.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self.fp = stream
        count, self.size, self._begin, self._before = _find(stream)
        self._hashes, self._places = np.empty(count, np.uint64), np.empty(count, np.uint64)

    def read(self) -> None:
        """Read the names.

        Raises:
            zipfile.BadZipFile: an entry is damaged.
        """
        self.fp.seek(self._begin)
        data, base, at = b"", self._begin, 0
        for number in range(len(self._hashes)):
            if len(data) - at < _LONGEST_ENTRY:
                data, base, at = data[at:] + self.fp.read(max(_BLOCK, _LONGEST_ENTRY)), base + at, 0
            if data[at : at + 4] != b"PK\1\2":
                raise zipfile.BadZipFile(f"entry {number:,} of the directory is damaged")
            lengths = _ENTRY.unpack_from(data, at)
            self._hashes[number] = hash64(data[at + _ENTRY.size : at + _ENTRY.size + lengths[0]])
            self._places[number] = base + at
            at += _ENTRY.size + sum(lengths)
        order = np.argsort(self._hashes, kind="stable")
        self._hashes, self._places = self._hashes[order], self._places[order]

    def getinfo(self, name: str) -> zipfile.ZipInfo:
        """Return what the directory says of a member, the last one of that name.

        Raises:
            KeyError: there is none.
        """
        found: list[tuple[int, zipfile.ZipInfo]] = []
        for raw in {name.encode(code, "replace") for code in ("utf-8", "cp437")}:
            value = np.uint64(hash64(raw))
            first, last = (int(np.searchsorted(self._hashes, value, side)) for side in ("left", "right"))
            found += [(place, self._entry(place)) for place in self._places[first:last].tolist()]
        named = [each for each in found if each[1].filename == name]
        if not named:
            raise KeyError(f"There is no item named {name!r} in the archive")
        return max(named, key=lambda each: each[0])[1]

    def open(self, info: zipfile.ZipInfo) -> IO[bytes]:
        """Return the content of a member, as `zipfile.ZipFile.open` does: out of an archive of it alone, without its
        entry.
        """
        self.fp.seek(info.header_offset)
        member = self.fp.read(_LOCAL.size)
        if len(member) == _LOCAL.size:
            # No compression makes much more of anything: what claims so is not read.
            most = info.file_size + (info.file_size >> 3) + _BLOCK
            member += self.fp.read(sum(_LOCAL.unpack(member)) + min(info.compress_size, most))
        alone = copy.copy(info)
        alone.header_offset = 0
        return zipfile.ZipFile(io.BytesIO(member + _end_of(0, 0, len(member)))).open(alone)

    def _entry(self, place: int) -> zipfile.ZipInfo:
        """Let `zipfile` read an entry: that of an archive of nothing else."""
        self.fp.seek(place)
        entry = self.fp.read(_ENTRY.size)
        entry += self.fp.read(sum(_ENTRY.unpack(entry)))
        [info] = zipfile.ZipFile(io.BytesIO(entry + _end_of(1, len(entry), 0))).infolist()
        info.header_offset += self._before
        return info


def _end_of(entries: int, size: int, place: int) -> bytes:
    return _END.pack(b"PK\5\6", 0, 0, entries, entries, size, place, 0)


def _find(stream: IO[bytes]) -> tuple[int, int, int, int]:
    """Return the entries of the directory, its bytes, where it begins, and how many bytes lie before the archive."""
    whole = stream.seek(0, io.SEEK_END)
    start = max(0, whole - _END.size - _LONGEST)
    stream.seek(start)
    tail = stream.read()
    at = tail.rfind(b"PK\5\6")
    if at < 0:
        raise zipfile.BadZipFile("no end of a directory")
    _, *_, entries, size, place, _ = _END.unpack_from(tail, at)
    end = start + at
    stream.seek(max(0, end - _LOCATOR64.size))
    signature, _, record, _ = _LOCATOR64.unpack(stream.read(_LOCATOR64.size))
    if signature == b"PK\6\7":
        stream.seek(record)
        signature, *_, entries, size, place = _END64.unpack(stream.read(_END64.size))
        if signature != b"PK\6\6":  # something lies before the archive: zipfile knows how to look for it
            raise zipfile.BadZipFile("no end of a directory of 64 bits")
        end = record
    if end - size < place or entries * _ENTRY.size > size:
        raise zipfile.BadZipFile("the directory is not where, or not as long as, it is said to be")
    return entries, size, end - size, end - size - place
