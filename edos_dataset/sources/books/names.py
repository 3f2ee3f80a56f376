"""What the path of a book's file says: which book it is of, and its language."""

import re
from typing import NamedTuple

from edos_dataset.sources.names import split_suffix

_NUMBERED = re.compile(
    r"(?:(?P<pg>pg)?(?P<number>\d{1,7})(?P<form>-(?:[058]|h|images(?:-3)?|h-images|noimages))?"
    r"(?:\.(?:txt|html|epub3?)(?:\.(?:utf-8|images|noimages))?)?)$"
)
_OLD = re.compile(r"(?:^|/)\d{1,7}/old/")
_CODES = frozenset({
    "af", "ca", "cs", "da", "de", "el", "en", "eo", "es", "et", "eu", "fi", "fr", "ga", "gl", "hr", "hu", "it", "la",
    "lt", "lv", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "tr",
})  # fmt: skip


class BookName(NamedTuple):
    """What a path says."""

    book: str  # key of the book
    number: int | None  # of Project Gutenberg
    sure: bool  # that it is a number of Project Gutenberg
    language: str | None  # code, by a folder named so: "hu/40715-0.txt"


def name_book(path: str) -> BookName:
    """Name the book that a file is of.

    Files that differ by suffix only are of one book, and so are all with one number of Project Gutenberg, wherever they
    lie: "pg11.txt", "11-8.txt", "1/1/11/11-h.htm". A bare number ("11.txt") is one where its folder has that name.

    Args:
        path: from the source's name on, "/" between parts.
    """
    stem = split_suffix(path)[0]
    folder, _, name = stem.rpartition("/")
    language = next((part for part in reversed(folder.split("/")) if part in _CODES), None)
    found = _NUMBERED.fullmatch(name.lower())
    if not found:
        return BookName(stem, None, False, language)
    number = int(found["number"])
    sure = bool(found["pg"] or found["form"]) or folder.rpartition("/")[2] in (found["number"], f"{number}-h")
    return BookName(gutenberg_key(number) if sure else stem, number, sure, language)


def gutenberg_key(number: int) -> str:
    """Return the key of a book of Project Gutenberg."""
    return f"gutenberg/{number}"


def is_superseded(path: str) -> bool:
    """Whether a file of a mirror lies in an "old" folder of its book, whose files the catalogue does not list."""
    return bool(_OLD.search(path))
