"""Figures, tables and the texts of others as the cards show them.

Names of models and files, genres, licences and whatever else somebody else wrote come into a card by `plain`, `code` or
`fenced`: what looks like a tag, a link or a heading in them is shown, not obeyed.
"""

import re
from collections.abc import Sequence
from typing import Any

MISSING = "not stated"
MOST_SHOWN = 300
"""Characters of a text of others that a card shows."""
MOST_LICENCES = 3_000
"""Likewise, of licences, limits and commands."""

_ADDRESS = r":(?=//)|(?<=www)\.|(?<!\w)@|@(?=[\w.-]*\.\w)"
_SPECIAL = re.compile(rf"[\\`*\[\]<>&~$]|(?<![^\W_])_|_(?![^\W_])|{_ADDRESS}", re.IGNORECASE)
_LINK_OR_TAG = re.compile(rf"[\\<>&]|\](?=[(\[:])|{_ADDRESS}", re.IGNORECASE)
_OPENS_A_BLOCK = re.compile(r"[#+=-]|\d+[.)](?=\s|$)")
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]+"
)
"""Controls, what turns the direction of a line, and halves of characters."""
_NOT_AS_CODE = re.compile(r"[`\\|]")


def one_line(text: object, most: int = MOST_SHOWN) -> str:
    """Return a text of others on one line, without what cannot be seen, and cut where it is too long."""
    line = " ".join(_UNSEEN.sub(" ", str(text)).split())
    return line if len(line) <= most else f"{line[:most]} …"


def plain(text: object, most: int = MOST_SHOWN) -> str:
    """Return a text of others as Markdown that shows just that text, on one line.

    A vertical bar stays: `table` takes care of those in its cells.
    """
    return _opened(_SPECIAL.sub(r"\\\g<0>", one_line(text, most)))


def prose(text: object, most: int = MOST_LICENCES) -> str:
    """Return a sentence of others that may stress words and name code, as Markdown without their tags and links."""
    return _opened(_LINK_OR_TAG.sub(r"\\\g<0>", one_line(text, most)))


def _opened(line: str) -> str:
    """Return a line that begins no heading, list or rule, wherever it stands."""
    opening = _OPENS_A_BLOCK.match(line)
    return f"{line[: opening.end() - 1]}\\{line[opening.end() - 1 :]}" if opening else line


def code(text: object, most: int = MOST_SHOWN) -> str:
    """Return a name, that others may have given, between backticks; without, if it holds what would end them."""
    line = one_line(text, most)
    return plain(line, most) if _NOT_AS_CODE.search(line) or not line else f"`{line}`"


def fenced(text: str, language: str = "") -> str:
    """Return lines of code, that others may have written, as a block: its fence is longer than any in them."""
    lines = [_UNSEEN.sub(" ", line.replace("\t", "    ")) for line in text.rstrip("\n").split("\n")]
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return "\n".join([f"{fence}{language}", *lines, fence])


def percent(value: float | None) -> str:
    """Return a share as percent with one decimal."""
    return MISSING if value is None else f"{100 * value:.1f} %"


def interval(values: Sequence[float | None]) -> str:
    """Return an interval of shares in percent."""
    return MISSING if None in values else "[" + ", ".join(f"{100 * (value or 0):.1f}" for value in values) + "]"


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table whose heads and cells are Markdown; texts of others among them come by `plain` or `code`."""
    cells = [[str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in (head, *rows)]
    lines = [cells[0], ["---"] * len(head), *cells[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
