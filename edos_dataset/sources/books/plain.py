"""Plain texts: Project Gutenberg's of every age, and whatever else is a book in a `.txt`."""

import codecs
import re
from collections.abc import Callable
from contextlib import suppress
from io import IncrementalNewlineDecoder
from itertools import compress

from edos_dataset.sources.books.book import PARAGRAPH, SPEECH, VERSE, Block, Book
from edos_dataset.sources.books.gutenberg import declared_encoding, unwrap
from edos_dataset.sources.books.kinds import Kinds
from edos_dataset.sources.books.layout import lay_out
from edos_dataset.sources.books.structure import structure
from edos_dataset.sources.encodings import decode
from edos_dataset.sources.parsed import ReadError
from edos_dataset.text import normal_form

NOT_A_BOOK = "not_a_book"
"""Reason of a file that holds no book: binary data, too little text, a paragraph without end."""

LEAST_CHARACTERS = 1_000
"""Characters of text below which a file is no book; the shortest stories have some thousands."""

LONGEST_BLOCK = 1 << 20
"""Characters of a paragraph; a novel without any line break has fewer."""

_SAID = frozenset((PARAGRAPH, SPEECH, VERSE))
_LICENCE = re.compile(r"\W*THE FULL PROJECT GUTENBERG LICENSE")


def read_text(data: bytes, name: str, language: str | None) -> Book:
    """Read a plain text.

    Raises:
        ReadError: with the reason not_a_book or unknown_encoding.
    """
    return _read(data, name, language, _structured)


def outline_text(data: bytes, name: str, language: str | None) -> Book:
    """Read what a plain text says of itself, its paragraphs being all of one kind: the recipe `papers` takes its text
    as it is, and needs no more.

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
    """Decode a text, whatever its encoding is said to be; its lines end with line feeds, and it is in NFC.

    Returns:
        The text, its encoding, beside which stands the one declared where that is another one, and a confidence of 0 to
        1.

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


def refuse_endless(text: str) -> None:
    """Refuse a text with a line that no book has.

    Raises:
        ReadError: with the reason not_a_book.
    """
    half = LONGEST_BLOCK // 2  # a line that is longer covers such a piece
    if all("\n" in text[start : start + half] for start in range(0, len(text) - half, half)):
        return
    if (longest := max(map(len, text.split("\n")))) > LONGEST_BLOCK:
        raise ReadError(NOT_A_BOOK, f"a line of {longest:,} characters")


def refuse_little(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the blocks of a book that has enough text.

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
    """Whether a text in an encoding is another one than in that declared; Windows-1252 is what Latin-1 is taken for."""
    with suppress(LookupError):
        names = {codecs.lookup(name).name for name in (declared, found)}
        return len(names - {"cp1252", "iso8859-1", "ascii"}) > 0 and len(names) > 1
    return False
