"""Plain texts: Project Gutenberg's of any age, and any other book in a `.txt`. Header and licence are removed, and the
text is split into paragraphs by its layout.
"""

import codecs
import re
import statistics
from collections.abc import Callable
from contextlib import suppress
from io import IncrementalNewlineDecoder
from itertools import compress, pairwise
from typing import NamedTuple

import numpy as np

from edos_dataset.languages import code_of_language
from edos_dataset.sources.books.book import PARAGRAPH, SPEECH, VERSE, Block, Book
from edos_dataset.sources.books.kinds import Kinds
from edos_dataset.sources.books.structure import structure
from edos_dataset.sources.encodings import decode
from edos_dataset.sources.parsed import ReadError
from edos_dataset.text import normal_form

NOT_A_BOOK = "not_a_book"
"""Reason for a file that is not a book: binary data, too little text, or an endless paragraph."""

COPYRIGHTED = "copyrighted"
"""Reason for a book that its header calls copyrighted."""

LEAST_CHARACTERS = 1_000
"""Minimum number of characters of a book; the shortest stories have a few thousand."""

LONGEST_BLOCK = 1 << 20
"""Maximum number of characters of a paragraph; even a novel without line breaks has fewer."""

_SAID = frozenset((PARAGRAPH, SPEECH, VERSE))
_LICENCE = re.compile(r"\W*THE FULL PROJECT GUTENBERG LICENSE")

_REACH = 60_000  # characters at either end that may contain a header or licence; the longest has 20,000
# With the literal first and the flags after it, the search is ten times as fast.
_START = re.compile(
    r"\*(?:\*\* ?(?i:START OF TH(?:E|IS) PROJECT GUTENBERG)(?:[^*]{0,400}\*\*\*|[^\n]*)"
    r"|(?i:END[* ]+(?:OF )?THE SMALL PRINT!)[^\n]*)"
)
_END = re.compile(
    r"\n[ \t]*(?i:\*\*\* ?END OF TH(?:E|IS) PROJECT GUTENBERG|End of (?:the |this )?Project Gutenberg"
    r"|(?:Ende|Fin|Fine|Fim|Einde|Slut)\b[^\n]{0,24}\b(?:Proje[ck]?t|Proyecto|Progetto|Projeto)s? Gutenberg"
    r"|\*\*\* ?START[* ]+(?:OF )?THE SMALL PRINT!)"
)
_FIELD = re.compile(
    r"^(Title|Author|Language|Original publication): *([^\n]*(?:\n[ \t]{2,}[^\s][^\n]*)*)", re.MULTILINE
)
_FIRST_LINE = re.compile(
    r"(?:The )?Project Gutenberg(?:'s|’s)? (?:E-?(?:book|text),? (?:of )?)?([^\n]{1,300})\n",
    re.IGNORECASE,
)
_BY = re.compile(r",? by ", re.IGNORECASE)
_COPYRIGHTED = re.compile(rb"\bis a copyrighted project gutenberg", re.IGNORECASE)
_DECLARED = re.compile(rb"Character set encoding: *(?:Unicode )?([A-Za-z0-9][A-Za-z0-9 _-]{1,30})", re.IGNORECASE)
_BY_NAME = re.compile(r"\d-([08])(?:\.|$)")
_YEAR = re.compile(r"\b(1[4-9]\d\d|20\d\d)\b")

_BLANK = re.compile(r"\n([ \t\xa0\n]*\n)")
_SAMPLE_LINES = 50_000  # lines whose widths are measured
_LONG = 40  # lines; paragraphs of prose between blank lines are seldom longer
_WRAPPED = 120  # columns; a text with longer lines is not wrapped
_TERMINAL = frozenset(".!?…:»”\"'’*)")
_OPENING = frozenset("-–—―«“„\"'‘¿¡(")


def read_text(data: bytes, name: str, language: str | None) -> Book:
    """Read a plain text.

    Raises:
        ReadError: with the reason not_a_book or unknown_encoding.
    """
    return _read(data, name, language, _structured)


def outline_text(data: bytes, name: str, language: str | None) -> Book:
    """Read a plain text without distinguishing kinds of paragraphs, as the recipe `papers` uses the text as it is.

    Raises:
        ReadError: as `read_text`.
    """
    return _read(data, name, language, lambda text: tuple(map(Block, text.split("\n\n"))))


def _read(data: bytes, name: str, language: str | None, blocks_of: Callable[[str], tuple[Block, ...]]) -> Book:
    text, encoding, confidence = decode_text(data, declared_encoding(data, name), language)
    book = unwrap(text)
    if book.text is text and _LICENCE.match(text):
        raise ReadError(NOT_A_BOOK, "the licence of Project Gutenberg")
    refuse_endless(book.text)
    blocks = refuse_little(blocks_of(book.text))
    return Book(blocks, book.language, book.title, book.author, book.year, encoding, confidence)


def _structured(text: str) -> tuple[Block, ...]:
    paragraphs, blanks, width = lay_out(text)
    return structure(paragraphs, blanks, list(map(Kinds(width).kind_of, paragraphs, blanks)))


def decode_text(data: bytes, declared: str | None, language: str | None) -> tuple[str, str, float]:
    """Decode a text by the strongest evidence; its lines end with line feeds, and it is in NFC.

    Returns:
        The text; its encoding, followed by the one declared if they differ; and a confidence of 0 to 1.

    Raises:
        ReadError: with the reason not_a_book or unknown_encoding.
    """
    try:
        text, encoding, confidence = decode(data, declared, language)
    except ReadError as error:
        raise ReadError(NOT_A_BOOK if error.reason == "not_subtitles" else error.reason, error.detail) from error
    if not text.isascii() and declared and _differ(declared, encoding):
        encoding = f"{encoding}, declared {declared}"
    text = IncrementalNewlineDecoder(None, translate=True).decode(text, final=True)  # half the time of `replace`
    return normal_form(text.replace("\f", "\n")), encoding, confidence


def refuse_copyrighted(data: bytes) -> None:
    """Refuse a book that Project Gutenberg's header calls copyrighted.

    Raises:
        ReadError: it does.
    """
    if _COPYRIGHTED.search(data, 0, _REACH):
        raise ReadError(COPYRIGHTED, "its header says that it is a copyrighted book of Project Gutenberg")


def refuse_endless(text: str) -> None:
    """Refuse a text with a line longer than any in a book.

    Raises:
        ReadError: with the reason not_a_book.
    """
    half = LONGEST_BLOCK // 2  # a line that is too long covers a whole piece of this size
    if all("\n" in text[start : start + half] for start in range(0, len(text) - half, half)):
        return
    if (longest := max(map(len, text.split("\n")))) > LONGEST_BLOCK:
        raise ReadError(NOT_A_BOOK, f"a line of {longest:,} characters")


def refuse_little(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the blocks of a book if it has enough text.

    Raises:
        ReadError: with the reason not_a_book.
    """
    lengths = [len(block.text) for block in blocks]
    size = sum(compress(lengths, [block.kind in _SAID for block in blocks]))
    if size < LEAST_CHARACTERS:
        raise ReadError(NOT_A_BOOK, f"{size:,} characters of text; a book has {LEAST_CHARACTERS:,} at least")
    longest = max(lengths)
    if longest > LONGEST_BLOCK:
        raise ReadError(NOT_A_BOOK, f"a paragraph of {longest:,} characters")
    return blocks


def _differ(declared: str, found: str) -> bool:
    """Return whether the declared encoding would give another text; Latin-1 is read as Windows-1252."""
    with suppress(LookupError):
        names = {codecs.lookup(name).name for name in (declared, found)}
        return len(names - {"cp1252", "iso8859-1", "ascii"}) > 0 and len(names) > 1
    return False


class Wrapped(NamedTuple):
    """A book without header and licence; facts that the header does not state are null."""

    text: str
    title: str | None = None
    author: str | None = None
    language: str | None = None  # code
    year: int | None = None  # of the book in print


def declared_encoding(data: bytes, name: str) -> str | None:
    """Return the encoding declared by the header, else by the file name ("1234-8.txt": ISO-8859-1, "1234-0.txt":
    UTF-8), or null.
    """
    if found := _DECLARED.search(data[:_REACH]):
        return found[1].decode("ascii").strip().lower().replace("iso latin", "latin").replace(" ", "-")
    by_name = _BY_NAME.search(name)
    return {"0": "utf-8", "8": "iso8859-1"}[by_name[1]] if by_name else None


def unwrap(text: str) -> Wrapped:
    """Remove the header and licence of a text and read the facts that the header states; a text without them is
    unchanged.

    Known forms are the lines "*** START OF …" and "*** END OF …" in all variants, the "small print" of the nineties,
    before or after the book, and files cut off at these lines.

    Args:
        text: its lines end with line feeds.
    """
    start = _START.search(text, 0, _REACH)
    begin = start.end() if start else 0
    end = _END.search(text, max(begin, len(text) - _REACH))
    inner = text[begin : end.start() if end else len(text)]
    return _with_facts(inner, text[:begin]) if start else Wrapped(inner)


def _with_facts(text: str, header: str) -> Wrapped:
    fields = {found[1]: " ".join(found[2].split()) for found in reversed(list(_FIELD.finditer(header)))}
    first = _FIRST_LINE.search(header)
    title, author = [*_BY.split(first[1] if first else "", maxsplit=1), ""][:2]
    year = _YEAR.search(fields.get("Original publication", ""))
    return Wrapped(
        text,
        title=fields.get("Title") or title.strip(" ,.") or None,
        author=fields.get("Author") or author.strip(" ,.") or None,
        language=code_of_language(fields.get("Language", "").partition(",")[0].strip()),
        year=int(year[1]) if year else None,
    )


class Laid(NamedTuple):
    """The paragraphs of a text: the lines of each, with their indents, joined by line feeds."""

    paragraphs: list[str]
    blanks: list[int]  # blank lines before each
    width: int  # column at which lines are wrapped; 0 if they are not


def lay_out(text: str) -> Laid:
    """Split a text into paragraphs.

    Blank lines separate paragraphs. If most lines are in blocks of more than 40 lines, these are split further: if
    lines are long, each is a paragraph; if some are indented, these begin paragraphs; otherwise a line begins one if
    the line before it ends a sentence and had space left for its first word.

    Args:
        text: its lines end with line feeds.
    """
    pieces = _BLANK.split("\n\n" + text.strip("\n") + "\n\n")
    blocks, blanks = pieces[2:-2:2], [blank.count("\n") for blank in pieces[1:-2:2]]
    sample = "\n".join(blocks[: _SAMPLE_LINES // 4])
    width = _width(sample)
    wrapped = width if width <= _WRAPPED else 0
    sizes = [block.count("\n") + 1 for block in blocks]
    if 2 * sum(size for size in sizes if size > _LONG) <= sum(sizes):
        return Laid(blocks, blanks, wrapped)
    indented = statistics.fmean(line[:1] in (" ", "\t") for line in sample.split("\n")[:_SAMPLE_LINES])
    laid = Laid([], [], wrapped)
    for block, before in zip(blocks, blanks, strict=True):
        lines = block.split("\n")
        if not wrapped:
            begins = [True] * len(lines)
        elif 0.02 <= indented <= 0.6:
            begins = [line[0] in " \t" for line in lines]
        else:
            begins = [True, *(_begins_paragraph(one, other, width) for one, other in pairwise(lines))]
        paragraphs = _cut(lines, begins)
        laid.paragraphs.extend(paragraphs)
        laid.blanks.extend([before, *[0] * (len(paragraphs) - 1)])
    return laid


def _width(text: str) -> int:
    """Return the width reached or exceeded by one in a hundred of the first lines."""
    signs = np.frombuffer(f"\n{text}\n".encode("utf-32-le", "surrogatepass"), "<u4")
    widths = np.diff(np.flatnonzero(signs == ord("\n")))[:_SAMPLE_LINES] - 1
    return int(np.sort(widths)[len(widths) * 99 // 100])


def _begins_paragraph(before: str, line: str, width: int) -> bool:
    before, line = before.rstrip(), line.lstrip()
    if not before or not line or before[-1] not in _TERMINAL:
        return False
    if line[0] in _OPENING and line[0] not in "'\"(":
        return True
    had_space = len(before) + 1 + len(line.partition(" ")[0]) < width
    return had_space and (line[0].isupper() or line[0] in _OPENING)


def _cut(lines: list[str], begins: list[bool]) -> list[str]:
    starts = [0, *(place for place, begin in enumerate(begins) if begin and place)]
    ends = [*starts[1:], len(lines)]
    return ["\n".join(lines[start:end]) for start, end in zip(starts, ends, strict=True)]
