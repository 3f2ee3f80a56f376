"""Bytes of a file or of standard input, unpacked, as text or as lines of text; each line is bounded."""

import gzip
import io
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from shutil import copyfileobj
from typing import BinaryIO, cast

from edos_dataset.releases.given.dialogue import LARGEST
from edos_dataset.runs.stores.paths import place_of

STDIN = "-"
_GZIP = b"\x1f\x8b"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@contextmanager
def opened(source: str) -> Iterator[BinaryIO]:
    """Open a file, or standard input as "-", and unpack what is gzipped; what comes out can be sought in.

    What can be read but once, such as a pipe, is first copied to a temporary file.

    Raises:
        ValueError: it is gzipped, and damaged or cut off; also while it is read.
        OSError: it cannot be read.
    """
    with ExitStack() as stack:
        if source == STDIN:
            file = _copied(stack, sys.stdin.buffer)
        else:
            file = stack.enter_context(place_of(source).open("rb"))
            if not file.seekable():
                file = _copied(stack, file)
        packed = file.read(2) == _GZIP
        file.seek(0)
        try:
            yield cast(BinaryIO, stack.enter_context(gzip.open(file))) if packed else file
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{called(source)} is a damaged gzip file ({error}): get or pack it again") from error


def called(source: str) -> str:
    """Return what a source is called in messages."""
    return "standard input" if source == STDIN else source


def _copied(stack: ExitStack, stream: BinaryIO) -> BinaryIO:
    copy = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
    copyfileobj(stream, copy)
    copy.seek(0)
    return cast(BinaryIO, copy)


def lines(file: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, from 1, without a byte order mark and with their ends.

    Raises:
        ValueError: a line is no UTF-8, or longer than LARGEST.
    """
    number = 0
    while line := file.readline(LARGEST + 1):
        number += 1
        if len(line) > LARGEST:
            raise ValueError(f"{name}, line {number} is longer than {LARGEST:,} bytes, as no dialogue is; part it")
        if number == 1 and line.startswith(_UTF_16):
            raise ValueError(f"{name} is UTF-16: save it as UTF-8, `iconv -f utf-16 -t utf-8`")
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{name}, line {number}: {line[error.start : error.end]!r} is no UTF-8; mend the line, or save the "
                "file as UTF-8, `iconv -f cp1252 -t utf-8`"
            ) from error
        yield number, text.removeprefix("\ufeff") if number == 1 else text


@contextmanager
def as_text(file: BinaryIO, name: str) -> Iterator[io.TextIOWrapper]:
    """Give a file as UTF-8 text, without a byte order mark.

    Raises:
        ValueError: on reading, it is none.
    """
    try:
        yield io.TextIOWrapper(file, "utf-8-sig", newline="")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is no UTF-8 ({error}): save it as UTF-8") from error
