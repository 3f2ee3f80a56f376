"""Figures, tables and untrusted texts as Markdown.

Untrusted texts, such as names of models and files, genres and licences, enter a card through `plain`, `code` or
`fenced`, which show tags, links and headings in them literally.
"""

import re
from collections.abc import Sequence
from typing import Any

MISSING = "not stated"
MOST_SHOWN = 300
"""Largest number of characters of an untrusted text."""
MOST_LICENCES = 3_000
"""Largest number of characters of licences, limitations and commands."""

_ADDRESS = r":(?=//)|(?<=www)\.|(?<!\w)@|@(?=[\w.-]*\.\w)"
_SPECIAL = re.compile(rf"[\\`*\[\]<>&~$]|(?<![^\W_])_|_(?![^\W_])|{_ADDRESS}", re.IGNORECASE)
_LINK_OR_TAG = re.compile(rf"[\\<>&]|\](?=[(\[:])|{_ADDRESS}", re.IGNORECASE)
_OPENS_A_BLOCK = re.compile(r"[#+=-]|\d+[.)](?=\s|$)")
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]+"
)
"""Control characters, characters that change the direction of a line, and surrogates."""
_NOT_AS_CODE = re.compile(r"[`\\|]")


def one_line(text: object, most: int = MOST_SHOWN) -> str:
    """Return an untrusted text on one line, without invisible characters, and truncated if it is too long."""
    line = " ".join(_UNSEEN.sub(" ", str(text)).split())
    return line if len(line) <= most else f"{line[:most]} …"


def plain(text: object, most: int = MOST_SHOWN) -> str:
    """Return an untrusted text as Markdown that shows exactly that text, on one line.

    Vertical bars stay: `table` escapes those in its cells.
    """
    return _opened(_SPECIAL.sub(r"\\\g<0>", one_line(text, most)))


def prose(text: object, most: int = MOST_LICENCES) -> str:
    """Return an untrusted sentence as Markdown in which emphasis and code keep their effect, but not tags and links."""
    return _opened(_LINK_OR_TAG.sub(r"\\\g<0>", one_line(text, most)))


def _opened(line: str) -> str:
    """Escape a line so that it cannot begin a heading, list or rule."""
    opening = _OPENS_A_BLOCK.match(line)
    return f"{line[: opening.end() - 1]}\\{line[opening.end() - 1 :]}" if opening else line


def code(text: object, most: int = MOST_SHOWN) -> str:
    """Return an untrusted name between backticks, or without them if it contains characters that would end them."""
    line = one_line(text, most)
    return plain(line, most) if _NOT_AS_CODE.search(line) or not line else f"`{line}`"


def fenced(text: str, language: str = "") -> str:
    """Return untrusted lines of code as a block, with a fence longer than any in them."""
    lines = [_UNSEEN.sub(" ", line.replace("\t", "    ")) for line in text.rstrip("\n").split("\n")]
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return "\n".join([f"{fence}{language}", *lines, fence])


def percent(value: float | None) -> str:
    """Return a fraction as a percentage with one decimal."""
    return MISSING if value is None else f"{100 * value:.1f} %"


def interval(values: Sequence[float | None]) -> str:
    """Return an interval of fractions as percentages."""
    return MISSING if None in values else "[" + ", ".join(f"{100 * (value or 0):.1f}" for value in values) + "]"


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table whose heads and cells are Markdown; untrusted texts in them need `plain` or `code`."""
    cells = [[str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in (head, *rows)]
    lines = [cells[0], ["---"] * len(head), *cells[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
