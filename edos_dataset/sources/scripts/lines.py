"""The lines of a plain screenplay: their indents, without what belongs to the page rather than to the text."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from edos_dataset.sources.parsed import refuse_more
from edos_dataset.sources.scripts.marks import is_of_page

_TAB = 8
_DOUBLE_SPACED = 0.9  # fraction of the lines that have a blank one after them
_SPLIT = re.compile(r"\r\n?|[\n\x0b\x85\u2028\u2029]")
_CONTROL = re.compile("[\0-\x08\x0e-\x1f\x7f\xa0\u2007\u202f]")
_INVISIBLE = re.compile("[\xad\u200b\u200e\u200f\ufeff]")
_MISREAD = re.compile("\u00c2?([\x80-\x84\x86-\x9f])")  # Windows-1252 in UTF-8, read once too often
_DIGITS = re.compile(r"\d+")
_MOST_LINES = 500_000  # ten times as many as the longest screenplay has
_OF_HEADER = 8  # numbers that a running header has at least, one a page


class Line(NamedTuple):
    """A line.

    Attributes:
        indent: columns before its text.
        text: the text without spaces around it; "" for a blank line.
    """

    indent: int
    text: str


BLANK = Line(0, "")


def lines_of(text: str) -> list[Line]:
    """Return the lines of a plain screenplay with at most one blank line between two, without page numbers, running
    headers, and marks that a speech or a scene goes on. Where a page ends within a sentence, no blank line remains.

    Raises:
        ReadError: with the reason not_subtitles for more lines than any screenplay has.
    """
    text = _MISREAD.sub(lambda match: match[1].encode("latin-1").decode("cp1252", "ignore"), text)
    raw = [_line(line) for line in _SPLIT.split(_INVISIBLE.sub("", _CONTROL.sub(" ", text)).replace("\f", "\n"))]
    refuse_more("lines", len(raw), _MOST_LINES)
    header = _headers(raw)
    lines: list[Line] = []
    blanks = paged = 0
    least = 1 if _is_double_spaced(raw) else 0
    for line in raw:
        if not line.text:
            blanks += 1
        elif (is_of_page(line.text) and not _is_answer(line, lines, blanks)) or _DIGITS.sub("#", line.text) in header:
            paged, blanks = 1, max(blanks, least + 1)
        else:
            if blanks > least and lines and not (paged and _goes_on(lines[-1].text, line.text)):
                lines.append(BLANK)
            lines.append(line)
            blanks = paged = 0
    return lines


def _goes_on(above: str, text: str) -> bool:
    """Return whether a sentence goes on over the end of a page."""
    return above[-1:].isalnum() and not above.isupper() and not text.isupper()


def _is_answer(line: Line, lines: Sequence[Line], blanks: int) -> bool:
    """Return whether a number that stands right below a name is said."""
    above = lines[-1] if lines and not blanks else BLANK
    return line.text[0].isdigit() and above.text.isupper() and len(above.text) < 40 and above.indent < line.indent + 40


def _line(raw: str) -> Line:
    text = raw.expandtabs(_TAB) if "\t" in raw else raw
    bare = text.strip()
    return Line(len(text) - len(text.lstrip()), bare) if bare else BLANK


def _is_double_spaced(lines: Sequence[Line]) -> bool:
    """Return whether single blank lines between lines mean nothing, as more of them separate paragraphs."""
    runs: Counter[int] = Counter()
    blanks = 0
    for line in lines:
        if line.text:
            runs[blanks] += 1
            blanks = 0
        else:
            blanks += 1
    total = sum(runs.values())
    return runs[0] < (1 - _DOUBLE_SPACED) * total and runs[1] > 0.4 * total


def _headers(lines: Sequence[Line]) -> frozenset[str]:
    """Return running headers, with # for their numbers: lines that occur with many numbers, mostly in order."""
    numbers: dict[str, list[int]] = {}
    for line in lines:
        found = _DIGITS.findall(line.text) if 3 < len(line.text) < 100 else []
        if found:
            numbers.setdefault(_DIGITS.sub("#", line.text), []).append(int(found[-1][:9]))
    return frozenset(key for key, values in numbers.items() if _is_of_pages(values) and "#" in key[:1] + key[-2:])


def _is_of_pages(values: Sequence[int]) -> bool:
    if len(set(values)) < _OF_HEADER:
        return False
    rising = sum(before < after for before, after in zip(values, values[1:], strict=False))
    return rising > 0.9 * (len(values) - 1)
