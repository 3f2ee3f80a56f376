"""Text files in any encoding, line by line."""

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from edos_dataset.releases.formats.faults import Findings
from edos_dataset.sources.encodings import decode
from edos_dataset.sources.parsed import ReadError

LARGEST = 1 << 24
"""Maximum number of characters of a line and of a dialogue, which bounds memory; real ones are shorter."""

_BLOCK = 1 << 20
_SAMPLE = 1 << 18  # bytes of lines with non-ASCII characters, from which the encoding is guessed
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is a prefix of this one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def encoding_of(file: BinaryIO, name: str, guess: bool = True) -> tuple[str, bool]:
    """Return the encoding of a file, and whether it may contain bytes that are invalid in that encoding.

    As for subtitles, the encoding is that of the byte order mark; else UTF-8 if the whole file is valid; else the one
    that gives the most plausible letters.

    Args:
        file: The file, which is rewound.
        name: Name of the file in messages.
        guess: Whether any encoding is possible; otherwise a file without byte order mark is UTF-8.

    Raises:
        ValueError: The file is not text in a known encoding.
    """
    file.seek(0)
    head = file.read(_BLOCK)
    file.seek(0)
    marked = next((encoding for mark, encoding in _BOMS if head.startswith(mark)), None)
    if marked is not None:
        return marked, True
    wide = head.count(0) > max(len(head) // 5, 8)  # UTF-16 or binary, not a stray NUL
    if not (wide and guess) and _is_utf_8(file):
        return "utf-8", False
    if not guess:
        return "utf-8", True
    sample = head if wide else _sample(file)
    file.seek(0)
    try:
        return decode(sample)[1], True
    except ReadError as error:
        raise ValueError(f"{name} is not text in a known encoding ({error}): save it as UTF-8") from error


def _is_utf_8(file: BinaryIO) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while block := file.read(_BLOCK):
            decoder.decode(block)
        decoder.decode(b"", True)
    except UnicodeDecodeError:
        return False
    finally:
        file.seek(0)
    return True


def _sample(file: BinaryIO) -> bytes:
    """Return the first lines with non-ASCII characters, wherever they are in the file."""
    lines: list[bytes] = []
    size = 0
    while size < _SAMPLE and (line := file.readline(_BLOCK)):
        if not line.isascii():
            lines.append(line.replace(b"\0", b""))
            size += len(line)
    return b"".join(lines)


@contextmanager
def as_text(
    file: BinaryIO, name: str, findings: Findings | None = None, *, newline: str = "", guess: bool = True
) -> Iterator[io.TextIOWrapper]:
    """Open a file as text, without byte order mark.

    Args:
        file: The file, which stays open.
        name: Name of the file in messages.
        findings: Receives the encoding.
        newline: As for `open`.
        guess: As for `encoding_of`; if false, invalid bytes become surrogates.

    Raises:
        ValueError: The file is not text in a known encoding.
    """
    encoding, damaged = encoding_of(file, name, guess)
    if findings is not None:
        findings.encoding = encoding
        if encoding == "utf-8" and damaged and guess:
            findings.warnings.append(f"{name} is not UTF-8 everywhere: some characters became \ufffd")
        elif encoding not in ("utf-8", "utf-8-sig"):
            findings.remarks.append(f"{name} was read as {encoding}")
    errors = "strict" if not damaged else "replace" if guess else "surrogateescape"
    text = io.TextIOWrapper(file, encoding, errors, newline=newline)
    try:
        yield text
    finally:
        if not file.closed:
            text.detach()


def lines(
    file: BinaryIO, name: str, findings: Findings | None = None, *, newline: str = "\n", guess: bool = True
) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, from 1, without byte order mark and with line ends. The arguments
    are those of `as_text`.

    Raises:
        ValueError: The file is not text in a known encoding, or a line is longer than LARGEST.
    """
    number = 0
    with as_text(file, name, findings, newline=newline, guess=guess) as text:
        while line := text.readline(LARGEST + 1):
            number += 1
            if len(line) > LARGEST:
                raise ValueError(f"{name}, line {number} is longer than {LARGEST:,} characters; split it")
            yield number, line


def other_bytes(text: str) -> bytes | None:
    """Return the first bytes of a text that were invalid UTF-8; None if all were valid."""
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.object[error.start : error.end].encode("utf-8", "surrogateescape")
    return None
