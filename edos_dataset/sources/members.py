"""A member of a zip archive, unpacked within bounds.

`zipfile` unpacks bzip2 and LZMA as far as the data it has read goes: 2 KB can become 6 GB. Here no decompressor is ever
asked for more than the size that the archive's directory states, which is checked first.
"""

import bz2
import copy
import lzma
import struct
import zipfile
import zlib
from typing import IO, Protocol

_BLOCK = 1 << 16
_LZMA_HEADER = struct.Struct("<HHBI")  # version, size of what follows, and that: packed lc, lp and pb; dictionary size
_LEAST_DICTIONARY = 4096


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class Archive(Protocol):
    """What gives the members of an archive as they lie in it: a `zipfile.ZipFile`, or a `directories.Directory`."""

    def open(self, info: zipfile.ZipInfo, /) -> IO[bytes]: ...  # noqa: D102 - as of `zipfile`


def unpack_member(archive: Archive, info: zipfile.ZipInfo) -> bytes:
    """Return the content of a member; memory: its size as the directory states it, which the caller has judged.

    Raises:
        zipfile.BadZipFile: the content is not what the directory says.
        EOFError: the archive ends within it.
        NotImplementedError: of an unknown compression.
        RuntimeError: it needs a password.
        ValueError, OSError, lzma.LZMAError, zlib.error, struct.error: it is damaged in another way.
    """
    stored = copy.copy(info)  # the member as it lies in the archive, not unpacked, so not with this checksum
    stored.compress_type, stored.file_size = zipfile.ZIP_STORED, info.compress_size
    stored.CRC = None  # type: ignore[assignment]  # zipfile then checks none
    with archive.open(stored) as stream:
        if info.compress_type == zipfile.ZIP_STORED:
            data = stream.read(info.file_size)
        else:
            data = _unpack(stream, _unpacker(stream, info), info.file_size)
    if len(data) != info.file_size:
        raise zipfile.BadZipFile(f"{len(data):,} bytes, but {info.file_size:,} by the directory")
    if zlib.crc32(data) != info.CRC:
        raise zipfile.BadZipFile("the checksum (CRC-32) is another one than in the directory")
    return data


class _Inflate:
    """Deflate with the interface of the other decompressors."""

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
            # Nothing refers to what lies further back than the content is long.
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
