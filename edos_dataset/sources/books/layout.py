"""Where the paragraphs of a plain text begin and end, by the way it is set: blank lines, indents, or neither."""

import re
import statistics
from typing import NamedTuple

import numpy as np

_BLANK = re.compile(r"\n([ \t\xa0\n]*\n)")
_SAMPLE = 50_000  # lines whose widths are looked at
_LONG = 40  # lines; prose in a text with blank lines seldom has longer paragraphs
_WRAPPED = 120  # columns; a text with longer lines is not wrapped
_TERMINAL = frozenset(".!?…:»”\"'’*)")
_OPENING = frozenset("-–—―«“„\"'‘¿¡(")


class Laid(NamedTuple):
    """The paragraphs of a text as they stand: the lines of each, with their indents, joined by line feeds."""

    paragraphs: list[str]
    blanks: list[int]  # blank lines before each
    width: int  # columns that lines are wrapped at; 0 where they are not


def lay_out(text: str) -> Laid:
    """Part a text into paragraphs.

    Blank lines part paragraphs wherever there are any. Where most lines stand in blocks of more than 40, a line is a
    paragraph if lines are long, an indented one begins a paragraph if some are, and otherwise one does before which
    there was room for its first word, if a sentence ends there.

    Args:
        text: its lines end with line feeds.
    """
    pieces = _BLANK.split("\n\n" + text.strip("\n") + "\n\n")
    blocks, blanks = pieces[2:-2:2], [blank.count("\n") for blank in pieces[1:-2:2]]
    sample = "\n".join(blocks[: _SAMPLE // 4])
    width = _width(sample)
    wrapped = width if width <= _WRAPPED else 0
    sizes = [block.count("\n") + 1 for block in blocks]
    if 2 * sum(size for size in sizes if size > _LONG) <= sum(sizes):
        return Laid(blocks, blanks, wrapped)
    indented = statistics.fmean(line[:1] in (" ", "\t") for line in sample.split("\n")[:_SAMPLE])
    laid = Laid([], [], wrapped)
    for block, before in zip(blocks, blanks, strict=True):
        lines = block.split("\n")
        if not wrapped:
            begins = [True] * len(lines)
        elif 0.02 <= indented <= 0.6:
            begins = [line[0] in " \t" for line in lines]
        else:
            begins = [True, *(_begins(one, other, width) for one, other in zip(lines, lines[1:], strict=False))]
        paragraphs = _cut(lines, begins)
        laid.paragraphs.extend(paragraphs)
        laid.blanks.extend([before, *[0] * (len(paragraphs) - 1)])
    return laid


def _width(text: str) -> int:
    """Return the width that a hundredth of the first lines of a text reach or exceed."""
    signs = np.frombuffer(f"\n{text}\n".encode("utf-32-le", "surrogatepass"), "<u4")
    widths = np.diff(np.flatnonzero(signs == ord("\n")))[:_SAMPLE] - 1
    return int(np.sort(widths)[len(widths) * 99 // 100])


def _begins(before: str, line: str, width: int) -> bool:
    """Whether a paragraph begins with a line, by the one before it."""
    before, line = before.rstrip(), line.lstrip()
    if not before or not line or before[-1] not in _TERMINAL:
        return False
    if line[0] in _OPENING and line[0] not in "'\"(":
        return True
    room = len(before) + 1 + len(line.partition(" ")[0]) < width
    return room and (line[0].isupper() or line[0] in _OPENING)


def _cut(lines: list[str], begins: list[bool]) -> list[str]:
    starts = [0, *(place for place, begin in enumerate(begins) if begin and place)]
    ends = [*starts[1:], len(lines)]
    return ["\n".join(lines[start:end]) for start, end in zip(starts, ends, strict=True)]
