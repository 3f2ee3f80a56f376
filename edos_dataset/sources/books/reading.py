"""A book by the form of its file."""

from edos_dataset.sources.books.book import Book
from edos_dataset.sources.books.plain import read_text


def read_book(data: bytes, name: str, language: str | None) -> Book:
    """Read a book."""
    return read_text(data, name, language)
