"""A book by the form of its file."""

from collections.abc import Callable

from edos_dataset.sources.books.book import Book
from edos_dataset.sources.books.epub import read_epub
from edos_dataset.sources.books.gutenberg import unwrap
from edos_dataset.sources.books.plain import NOT_A_BOOK, read_text, refuse_endless
from edos_dataset.sources.books.tei import read_tei
from edos_dataset.sources.books.web import read_html
from edos_dataset.sources.names import split_suffix
from edos_dataset.sources.parsed import ReadError

Reader = Callable[[bytes, str, str | None], Book]
"""Takes the bytes of a file, unpacked, its name, and the code of the language expected."""

KINDS: dict[str, str] = {
    ".txt": "text", ".text": "text", ".xml": "tei", ".tei": "tei", ".html": "html", ".htm": "html", ".xhtml": "html",
    ".epub": "epub",
}  # fmt: skip
"""Suffix → kind, as the column `kind` holds it; the same with ".gz" behind are of the kind too."""

READERS: dict[str, Reader] = {"text": read_text, "tei": read_tei, "html": read_html, "epub": read_epub}


def suffixes() -> tuple[str, ...]:
    """Return every suffix that the file of a book may have."""
    return tuple(suffix + packed for suffix in KINDS for packed in ("", ".gz"))


def kind_of_file(name: str) -> str | None:
    """Return the kind of a file by its name, or null for one that is no book."""
    return KINDS.get(split_suffix(name)[1].removesuffix(".gz"))


def read_book(data: bytes, name: str, language: str | None) -> Book:
    """Read a book.

    Args:
        data: content of the file, unpacked.
        name: of the file; its suffix says the form, and of Project Gutenberg's the encoding, too ("1234-8.txt").
        language: code of the language expected, for guessing an encoding, or null.

    Raises:
        ReadError: with the reason not_a_book, unknown_encoding, malformed_xml, malformed_epub, forbidden_xml,
            truncated, too_large or unreadable.
    """
    return READERS[kind_of_file(name) or "text"](data, name, language)


def read_plain(data: bytes, name: str, strip: bool = True) -> str:
    """Return a book as the one text that the recipe `papers` reads (Csáky & Recski, 2021, Section 3.1): as the authors'
    code does, bytes that are no UTF-8 are left out.

    Of what is no plain text each block is a paragraph, with a blank line behind it.

    Args:
        data: content of the file, unpacked.
        name: of the file.
        strip: take off Project Gutenberg's header and licence.

    Raises:
        ReadError: as `read_book`.
    """
    if kind_of_file(name) not in ("text", None):
        return "\n\n".join(block.text for block in read_book(data, name, None).blocks) + "\n"
    if data.count(0) > len(data) // 1000:
        raise ReadError(NOT_A_BOOK, f"binary data: {data.count(0):,} zero bytes")
    text = data.decode("utf-8", "ignore").replace("\r\n", "\n").replace("\r", "\n")
    refuse_endless(text)
    return unwrap(text).text if strip else text
