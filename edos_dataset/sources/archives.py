"""Zip archives: large directories held in a few bytes per member, and members unpacked within bounds.

`zipfile` keeps an object of 600 bytes for each member: 290 MB in every worker for the English archive of OPUS. Here a
worker keeps a hash of each name and the place of its entry, 16 bytes, and has `zipfile` read the one entry that is
asked for.

`zipfile` also unpacks bzip2 and LZMA as far as the data it has read allows: 2 KB can become 6 GB. Here no decompressor
is ever asked for more than the size stated in the archive's directory, which is checked first.
"""

import bz2
import copy
import io
import lzma
import struct
import zipfile
import zlib
from typing import IO, Protocol

import numpy as np

from edos_dataset.sources.parsed import ReadError
from edos_dataset.text import hash64
from edos_dataset.wording import counted

LARGE = 1 << 20
"""Size in bytes from which a directory is kept in this way: about 10,000 members."""

_END = struct.Struct("<4s4H2LH")  # signature, numbers of disks, entries (twice), bytes and place of the directory
_END64 = struct.Struct("<4sQ2H2L4Q")  # the same for archives of 4 GiB and more
_LOCATOR64 = struct.Struct("<4sLQL")  # where the end record for large archives is
_ENTRY = struct.Struct("<28x3H12x")  # lengths of name, extra field and comment, which follow
_LOCAL = struct.Struct("<26x2H")  # lengths of name and extra field, which follow
_LONGEST = 0xFFFF  # of what follows, each
_LONGEST_ENTRY = _ENTRY.size + 3 * _LONGEST
_DIRECTORY_BLOCK = 1 << 20

ENCRYPTED = "encrypted"
"""Reason for a file that only a password or a reading program opens."""

_ENCRYPTED = 0x41  # flags: encrypted, strongly encrypted
_BLOCK = 1 << 16
_LZMA_HEADER = struct.Struct("<HHBI")  # version, size of what follows, and that: packed lc, lp and pb; dictionary size
_LEAST_DICTIONARY = 4096


def open_archive(stream: IO[bytes]) -> "zipfile.ZipFile | Directory":
    """Open an archive; a small one, or one that only `zipfile` understands, with `zipfile`.

    Raises:
        zipfile.BadZipFile: it is not a zip archive.
    """
    try:
        directory = Directory(stream)
        if directory.size >= LARGE:
            directory.read()
            return directory
    except (zipfile.BadZipFile, struct.error):
        pass  # zipfile reports what is wrong
    stream.seek(0)
    return zipfile.ZipFile(stream)


class Directory:
    """The directory of an archive, with the part of the interface of `zipfile.ZipFile` that reading a member needs.

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
                data, base, at = data[at:] + self.fp.read(max(_DIRECTORY_BLOCK, _LONGEST_ENTRY)), base + at, 0
            if data[at : at + 4] != b"PK\1\2":
                raise zipfile.BadZipFile(f"entry {number:,} of the directory is damaged")
            lengths = _ENTRY.unpack_from(data, at)
            self._hashes[number] = hash64(data[at + _ENTRY.size : at + _ENTRY.size + lengths[0]])
            self._places[number] = base + at
            at += _ENTRY.size + sum(lengths)
        order = np.argsort(self._hashes, kind="stable")
        self._hashes, self._places = self._hashes[order], self._places[order]

    def getinfo(self, name: str) -> zipfile.ZipInfo:
        """Return the entry of a member, the last one of that name.

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
        """Open a member as `zipfile.ZipFile.open` does, in an archive that contains it alone."""
        self.fp.seek(info.header_offset)
        member = self.fp.read(_LOCAL.size)
        if len(member) == _LOCAL.size:
            # No compression makes data much larger, so a larger stated size is not believed.
            most = info.file_size + (info.file_size >> 3) + _DIRECTORY_BLOCK
            member += self.fp.read(sum(_LOCAL.unpack(member)) + min(info.compress_size, most))
        alone = copy.copy(info)
        alone.header_offset = 0
        return zipfile.ZipFile(io.BytesIO(member + _end_of(0, 0, len(member)))).open(alone)

    def _entry(self, place: int) -> zipfile.ZipInfo:
        # `zipfile` reads it as the only entry of an archive.
        self.fp.seek(place)
        entry = self.fp.read(_ENTRY.size)
        entry += self.fp.read(sum(_ENTRY.unpack(entry)))
        [info] = zipfile.ZipFile(io.BytesIO(entry + _end_of(1, len(entry), 0))).infolist()
        info.header_offset += self._before
        return info


def _end_of(entries: int, size: int, place: int) -> bytes:
    return _END.pack(b"PK\5\6", 0, 0, entries, entries, size, place, 0)


def _find(stream: IO[bytes]) -> tuple[int, int, int, int]:
    """Return the number of entries, the bytes of the directory, where it begins, and the bytes before the archive."""
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
        if signature != b"PK\6\6":  # something precedes the archive: zipfile can find it
            raise zipfile.BadZipFile("no end of a directory of 64 bits")
        end = record
    if end - size < place or entries * _ENTRY.size > size:
        raise zipfile.BadZipFile("the directory is not where, or not as long as, it is said to be")
    return entries, size, end - size, end - size - place


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class Archive(Protocol):
    """Opens the members of an archive: a `zipfile.ZipFile` or a `Directory`."""

    def open(self, info: zipfile.ZipInfo, /) -> IO[bytes]: ...  # noqa: D102 - as in `zipfile`


def unpack_member(archive: Archive, info: zipfile.ZipInfo) -> bytes:
    """Return the content of a member. It takes as much memory as the directory states, which the caller has checked.

    Raises:
        ReadError: with the reason encrypted.
        zipfile.BadZipFile: the content does not match the directory.
        EOFError: the archive ends within it.
        NotImplementedError: its compression is unknown.
        ValueError, OSError, lzma.LZMAError, zlib.error, struct.error: it is damaged in another way.
    """
    if info.flag_bits & _ENCRYPTED:
        raise ReadError(ENCRYPTED, "a password protects it; unpack the archive with the password, and give the folder")
    stored = copy.copy(info)  # the member as stored, still packed, so without this checksum
    stored.compress_type, stored.file_size = zipfile.ZIP_STORED, info.compress_size
    stored.CRC = None  # type: ignore[assignment]  # zipfile then checks none
    with archive.open(stored) as stream:
        if info.compress_type == zipfile.ZIP_STORED:
            data = stream.read(info.file_size)
        else:
            data = _unpack(stream, _unpacker(stream, info), info.file_size)
    if len(data) != info.file_size:
        raise zipfile.BadZipFile(f"{counted(len(data), 'bytes')}, but {info.file_size:,} by the directory")
    if zlib.crc32(data) != info.CRC:
        raise zipfile.BadZipFile("the checksum (CRC-32) is another one than in the directory")
    return data


class _Inflate:
    def __init__(self) -> None:
        self._inner = zlib.decompressobj(-zlib.MAX_WBITS)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


def _unpacker(stream: IO[bytes], info: zipfile.ZipInfo) -> _Unpacker:
    match info.compress_type:
        case zipfile.ZIP_DEFLATED:
            return _Inflate()
        case zipfile.ZIP_BZIP2:
            return bz2.BZ2Decompressor()
        case zipfile.ZIP_LZMA:
            _, size, packed, dictionary = _LZMA_HEADER.unpack(stream.read(_LZMA_HEADER.size))
            if size != 5 or packed >= 225:
                raise zipfile.BadZipFile("its LZMA header is damaged")
            rest, lc = divmod(packed, 9)
            pb, lp = divmod(rest, 5)
            # No reference reaches further back than the length of the content.
            dictionary = min(dictionary, max(info.file_size, _LEAST_DICTIONARY))
            options = {"id": lzma.FILTER_LZMA1, "dict_size": dictionary, "lc": lc, "lp": lp, "pb": pb}
            return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[options])
    raise NotImplementedError(f"compression method {info.compress_type}")


def _unpack(stream: IO[bytes], unpacker: _Unpacker, size: int) -> bytes:
    pieces: list[bytes] = []
    left = size
    while left and not unpacker.eof:
        data = stream.read(_BLOCK) if unpacker.needs_input else b""
        piece = unpacker.decompress(data, left)
        if not data and not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
