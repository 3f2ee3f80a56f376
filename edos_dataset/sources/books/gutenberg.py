"""What Project Gutenberg puts around a book: the header with its facts, the licence, old and new forms of both."""

import re
from typing import NamedTuple

from edos_dataset.languages.codes import code_of_language

_REACH = 60_000  # characters at either end in which a header or a licence lies; the longest has 20,000
# A literal comes first and flags behind it: so they are found ten times as fast.
_START = re.compile(
    r"\*(?:\*\* ?(?i:START OF TH(?:E|IS) PROJECT GUTENBERG)(?:[^*]{0,400}\*\*\*|[^\n]*)"
    r"|(?i:END[* ]+(?:OF )?THE SMALL PRINT!)[^\n]*)"
)
_END = re.compile(
    r"\n[ \t]*(?i:\*\*\* ?END OF TH(?:E|IS) PROJECT GUTENBERG|End of (?:the |this )?Project Gutenberg"
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
_DECLARED = re.compile(rb"Character set encoding: *(?:Unicode )?([A-Za-z0-9][A-Za-z0-9 _-]{1,30})", re.IGNORECASE)
_BY_NAME = re.compile(r"\d-([08])(?:\.|$)")
_YEAR = re.compile(r"\b(1[4-9]\d\d|20\d\d)\b")


class Wrapped(NamedTuple):
    """A book out of its wrapping; what the header does not say is null."""

    text: str
    title: str | None = None
    author: str | None = None
    language: str | None = None  # code
    year: int | None = None  # of the book in print


def declared_encoding(data: bytes, name: str) -> str | None:
    """Return the encoding that a header declares, or else the name of the file ("1234-8.txt": ISO-8859-1, "1234-0.txt":
    UTF-8), or null.
    """
    if found := _DECLARED.search(data[:_REACH]):
        stated = found[1].decode("ascii").strip().lower().replace("iso latin", "latin").replace(" ", "-")
        return stated
    by_name = _BY_NAME.search(name)
    return {"0": "utf-8", "8": "iso8859-1"}[by_name[1]] if by_name else None


def unwrap(text: str) -> Wrapped:
    """Take header and licence off a text and read what the header says; a text without them stays as it is.

    Known are the lines "*** START OF …" and "*** END OF …" in their several forms, the "small print" of the nineties,
    which stood before or behind the book, and files that are cut at these lines.

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
