"""Whether the sentence of one line goes on in the next, by the marks, letters and times of both and by the habits of
their document.
"""

import re
from collections import Counter
from collections.abc import Sequence, Set
from itertools import pairwise
from typing import NamedTuple

AFTER_MARK = "\"'”’»)]*"
BEFORE_WORD = "\"'“„«»‘¿¡([*"
TAKEN_UP = re.compile(r"(?:\.\.+|…)\s*")
TITLE = re.compile(
    r"(?<![^\W_])(?:Mr|Mrs|Ms|Dr|Prof|St|Sgt|Capt|Lt|Col|Gen|Rev|Hon|Messrs|Mme|Mlle|vs|Hr|Fr|bzw|dr|ifj|özv|(?<!\w\.)[A-HJ-Z])\.$"
)
SHORT_FORM = re.compile(r"(?<![^\W_])(?:Jr|Sr|etc|approx|usw|ca|pl|stb|[ap]\.m|[A-Za-z]\.[A-Za-z])\.$")
NUMBER = re.compile(r"(?<![^\W_])(?:No|Nos|Nr)\.$")

_MARKS = (".", "!", "?", "…", ":", ";")
_TRAILS = ("..", "…", "--", "—", "–")
_SELF = re.compile(r"I(?:['’ ]|$)")
_CAPITALISED = re.compile(
    r"([^\W\d_a-zß-öø-ÿ][^\W\d_]*(?:['’][^\W\d_]+)*)(?![\w'’-])(?! [\"'“‘]?[^\W\d_a-zß-öø-ÿ](?!['’ ]))"
)
_UNUSUAL = 0.25  # what a larger share of a document does is its habit, and says nothing


class Line(NamedTuple):
    """A line or a sentence; the fields are those of `schema.tables.LINE`."""

    id: int
    text: str
    start: float | None
    end: float | None
    first_block: int
    last_block: int
    dash: bool
    speaker: str | None


class Habits(NamedTuple):
    """How a document writes.

    Attributes:
        marked: it marks the ends of its sentences.
        capitals: a capital counts: its language doesn't capitalise every noun.
        parted: blocks whose first dash may stand before a sentence that goes on (`parted_blocks`).
        openings: ids of lines that begin a sentence though the line before has no mark (`lost_ends`).
    """

    marked: bool
    capitals: bool
    parted: frozenset[int] = frozenset()
    openings: frozenset[int] = frozenset()


def parted_blocks(lines: Sequence[Line]) -> frozenset[int]:
    """Return the blocks that dashes part among several speakers; none of a document that writes small letters behind
    dashes also where a sentence has ended.
    """
    dashes = Counter(line.first_block for line in lines if line.dash)
    after_mark = [line.text for before, line in pairwise(lines) if line.dash and before.text.endswith((".", "!", "?"))]
    if sum(text[:1].islower() for text in after_mark) > _UNUSUAL * len(after_mark):
        return frozenset()
    return frozenset(block for block, number in dashes.items() if number > 1)


def goes_on_at_dash(before: Line, line: Line) -> bool:
    """Say whether the sentence of `before` goes on in `line`, the first of a later block that several dashes part.

    The dashes say that two people speak in the block; the first may be who spoke before. That is taken for sure where
    the line before has no mark at its end and this one begins with a small letter, where a comma is before an English
    "I", and where the dots at the end of the one are taken up by the other. How often it is true of series whose
    speakers are known is measured by evaluation/sentence_borders.py.
    """
    end = before.text.rstrip(AFTER_MARK)
    if TAKEN_UP.match(line.text):
        return end.endswith(_TRAILS)
    text = line.text.lstrip(BEFORE_WORD)
    comma = end.endswith(",")
    return (comma or end[-1:].isalnum()) and (text[:1].islower() or (comma and _SELF.match(text) is not None))


def lost_ends(lines: Sequence[Line]) -> frozenset[int]:
    """Return the ids of the lines that begin a sentence though the line before, of an earlier block, has no mark.

    They do so by a capital that the word has for no other reason: the document writes it with a small letter, and
    within sentences more often so; no capital follows, as in a title; and the lines around are no verses, of which one
    after the other has a capital. None are returned where many of the lines that follow one without a mark begin so:
    such a document capitalises lines, not sentences.
    """
    bare = [before.text[-1:].isalnum() and not line.dash for before, line in pairwise(lines)]
    capital = [is_bare and line.text[:1].isupper() for is_bare, line in zip(bare, lines[1:], strict=True)]
    found: dict[int, str] = {}
    for place, (before, line) in enumerate(pairwise(lines)):
        alone = (
            capital[place] and not any(capital[max(place - 1, 0) : place]) and not any(capital[place + 1 : place + 2])
        )
        if alone and line.speaker is None and line.first_block != before.last_block:
            word = _CAPITALISED.match(line.text)
            if word and not _SELF.match(line.text) and not word[1][1:].isupper():
                found[line.id] = word[1]
    if not found:
        return frozenset()
    ordinary = _usually_small(lines, set(found.values()))
    openings = frozenset(number for number, word in found.items() if word in ordinary)
    return openings if len(openings) <= _UNUSUAL * sum(bare) else frozenset()


def _usually_small(lines: Sequence[Line], words: Set[str]) -> set[str]:
    """Return which capitalised words a document writes more often with a small letter where no sentence begins."""
    text = "\n".join(line.text for line in lines)
    ends = "|".join(sorted({re.escape(word[1:]) for word in words}))
    inside = Counter(re.findall(rf"(?<=[\w,][ \n])\w(?:{ends})(?![\w'’])", text))
    inside.subtract(re.findall(rf"(?<=[\w,]\n)[^\W\d_a-zß-öø-ÿ](?:{ends})(?![\w'’])", text))
    return {word for word in words if inside[word[0].lower() + word[1:]] > inside[word]}


def weigh(before: Line, line: Line, habits: Habits) -> float:
    """Weigh whether the sentence of `before` goes on in `line`, of a later block: it does if the result is above 0."""
    end = before.text.rstrip(AFTER_MARK)
    trailed = end.endswith(_TRAILS)
    if trailed:
        score = 1.0
    elif not end.endswith(_MARKS) or TITLE.search(end):
        score = 2.0 if habits.marked else 0.0
    elif SHORT_FORM.search(end) or NUMBER.search(end):
        score = -1.0
    else:
        score = -4.0
    taken_up = TAKEN_UP.match(line.text)
    text = line.text[taken_up.end() :] if taken_up else line.text.lstrip(BEFORE_WORD)
    first = text[:1]
    if taken_up:
        score += 2.0
    if first.islower():
        score += 2.0
    elif first.isdigit():
        score += 0.5
    elif habits.capitals and first.isupper() and (trailed or not _SELF.match(text)):
        score -= 1.5
        if line.id in habits.openings:
            score -= 1.5
    if line.start is not None and before.end is not None:
        pause = line.start - before.end
        score -= 3.0 if pause > 3 else 1.0 if pause > 1 else 0.0
    return score
