"""English words that optical character recognition broke, put right in the documents that show such damage.

Four kinds: a word with a space in it ("i n", "introducti on"), two words without theirs ("ofyou"), "I" for "l" and the
other way round ("Iooking", "lcy"), and small letters where a sentence begins. The dictionary is that of simplemma; what
stays doubtful stays as it is.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from string import ascii_letters
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Bools, Ints, flags
from edos_dataset.cleaning.words import (
    FUNCTION_WORDS,
    LEAST_SIGNS,
    PARTICLES,
    SHORT,
    SHORTEST_PAIR,
    Pieces,
    core_of,
    is_word,
    may_join,
    other_letter,
    parts_of,
)

_SLIPS = 2  # a word that the document writes more often is no slip
_PART = 0.5  # of its appearances in which a short piece makes a word with its neighbour, if it is part of one
_WORD = re.compile(r"(?<![\w'’])[A-Za-z]+(?![\w'’])")
_SMALL_PRONOUN = r"(?:^|[\s\"'(-])i(?:['’](?:m|ll|ve|d)\b|[\s,?!])"
_LATER_OPENING = re.compile(r"((?:[?!]|[a-z]{3}\.) [\"“']?)([a-z])")
_ENDED = re.compile(r"(?:(?<!\.)[.!?][\"”']?|^)$")


class Mend(NamedTuple):
    """A repair: the pieces of a line, from `first` up to before `stop`, and what stands in their place."""

    kind: str
    line: int
    first: int
    stop: int
    text: str


def mend_words(texts: Sequence[str], doubtful: Sequence[tuple[int, int]]) -> dict[int, str]:
    """Put the broken words of a document right.

    Args:
        texts: the lines of the document, words parted by single spaces.
        doubtful: line and number of the pieces of which `is_doubtful` is true, in order.

    Returns:
        The new texts of the lines that change.
    """
    mends = _certain(_Document(texts, doubtful).mends())
    pieces = {mend.line: texts[mend.line].split(" ") for mend in mends}
    for mend in reversed(mends):
        pieces[mend.line][mend.first : mend.stop] = [mend.text]
    return {line: " ".join(words) for line, words in pieces.items()}


def _certain(mends: Sequence[Mend]) -> list[Mend]:
    """Leave out what a document shows too seldom."""
    different: dict[str, set[str]] = {}
    for mend in mends:
        different.setdefault(mend.kind, set()).add(mend.text.strip('"“”.,!?').lower())
    return [mend for mend in mends if mend.kind == "letter" or len(different[mend.kind]) >= LEAST_SIGNS]


class _Document:
    """The lines of a document, their doubtful pieces, and how often it writes each word."""

    def __init__(self, texts: Sequence[str], doubtful: Sequence[tuple[int, int]]) -> None:
        self._pieces = {line: texts[line].split(" ") for line, _ in doubtful}
        self._doubtful = doubtful
        self._counts = Counter(_WORD.findall("\n".join(texts)))

    def mends(self) -> list[Mend]:
        """Return the repairs in order, which don't overlap."""
        habits = self._habits()
        mends: list[Mend] = []
        for line, place in self._doubtful:
            for mend in self._mend(line, place, habits):
                if not mends or (line, mend.first) >= (mends[-1].line, mends[-1].stop):
                    mends.append(mend)
        return mends

    def _habits(self) -> set[str]:
        """Return the short pieces that are mostly no part of a word: "u" for "you", "ok"."""
        all_of, joined = Counter[str](), Counter[str]()
        for line, place in self._doubtful:
            word = core_of(self._pieces[line][place])
            if len(word) <= SHORT:
                all_of[word] += 1
                joined[word] += self._joined(self._pieces[line], place) is not None
        return {word for word, number in all_of.items() if joined[word] < _PART * number}

    def _mend(self, line: int, place: int, habits: Set[str]) -> Iterator[Mend]:
        """Yield the repair of a doubtful piece, or nothing; what the document writes three times is no slip."""
        pieces = self._pieces[line]
        before, word, after = parts_of(pieces[place])
        if word in habits:
            return
        often = len(word) > SHORT and self._counts[word] > _SLIPS
        if not often and (joined := self._joined(pieces, place)):
            yield Mend("joined", line, *joined)
        elif len(word) >= SHORTEST_PAIR and (pair := self._pair(word, often, self._opens(pieces, place))):
            yield Mend("parted", line, place, place + 1, f"{before}{pair}{after}")
        elif not (often and word[0] == "I") and (letter := other_letter(word)):
            yield Mend("letter", line, place, place + 1, f"{before}{letter}{after}")

    def _opens(self, pieces: Sequence[str], place: int) -> bool:
        return place == 0 or pieces[place - 1].rstrip("\"”')").endswith((".", "!", "?", "-"))

    def _joined(self, pieces: Sequence[str], place: int) -> tuple[int, int, str] | None:
        """Return the one way in which a piece and a neighbour are a word, if there is just one."""
        ways = []
        for first in (place - 1, place):
            if first < 0 or first + 1 >= len(pieces) or not may_join(pieces[first], pieces[first + 1]):
                continue
            (before, left, _), (_, right, after) = parts_of(pieces[first]), parts_of(pieces[first + 1])
            if left == "I" and not self._opens(pieces, first):
                left = "i"  # `repair_letters` took it for the pronoun
            if left.islower() or left[1:].islower() or (len(left) == 1 and self._opens(pieces, first)):
                ways.append((first, first + 2, f"{before}{left}{right}{after}"))
        return ways[0] if len(ways) == 1 else None

    def _pair(self, word: str, often: bool, opens: bool) -> str | None:
        """Return the two words that a doubtful one is made of: both known from elsewhere in the document, one a
        function word. Both must be where the document often writes it so, or where its capital may be that of a name.
        """
        small, ways = word.lower(), []
        for cut in range(1 if word[0] == "I" else 2, len(word) - 1):
            parts = small[:cut], small[cut:]
            common = sum(part in FUNCTION_WORDS or part == "i" for part in parts)
            compound = common == 1 and not PARTICLES.isdisjoint(parts)
            if common and not compound and parts[0] != parts[1] and all(map(is_word, parts)):
                ways.append((common, cut))
        best = [cut for common, cut in ways if common == max(ways)[0]]
        if len(best) != 1:  # "of fact" and "off act"
            return None
        cut, common = best[0], max(ways)[0]
        if not all(self._counts[part] + self._counts[part.capitalize()] for part in (small[:cut], small[cut:])):
            return None
        named = not word.islower() and (not opens or (often and not self._counts[small]))
        return f"{word[:cut]} {word[cut:]}" if not named and (common == 2 or (word.islower() and not often)) else None


def lost_capitals(texts: Sequence[str], dashes: Sequence[bool]) -> dict[int, str]:
    """Return the lines of a document that begin a sentence by a small letter, with a capital; behind a dash, too, but
    not where the sentence before may go on there.
    """
    changed = {}
    before = ""
    for line, text in enumerate(texts):
        opens = _ENDED.search(before) is not None or (dashes[line] and not before.endswith((*ascii_letters, ",")))
        new = text[:1].upper() + text[1:] if opens else text
        new = _LATER_OPENING.sub(lambda match: match[1] + match[2].upper(), new)
        if new != text:
            changed[line] = new
        before = text or before
    return changed


def mend_documents(
    raw: pa.StringArray, texts: pa.StringArray, offsets: Ints, english: Bools, dashes: Bools
) -> pa.Array:
    """Return the clean lines of documents with their damage put right.

    Args:
        raw: the lines as they were read.
        texts: the lines as they are cleaned, empty where a line leaves.
        offsets: [documents + 1] positions at which each document begins.
        english: [documents] those that are looked at.
        dashes: [lines] whether a dash opened the line.
    """
    rows = np.repeat(english, np.diff(offsets))
    if not rows.any():
        return texts
    pieces = Pieces.of(texts)
    small = np.r_[0, np.cumsum(flags(pc.match_substring_regex(raw, _SMALL_PRONOUN)))]
    small_cased = small[offsets[1:]] - small[offsets[:-1]] >= LEAST_SIGNS
    new: dict[int, str] = {}
    for row in np.flatnonzero(english).tolist():
        begin, end = int(offsets[row]), int(offsets[row + 1])
        doubtful = pieces.doubtful(begin, end)
        if not small_cased[row] and not doubtful:
            continue
        known = texts[begin:end].to_pylist()
        if small_cased[row]:
            capital = lost_capitals(known, dashes[begin:end].tolist())
            new |= {begin + line: text for line, text in capital.items()}
            known = [capital.get(line, text) for line, text in enumerate(known)]
        new |= {begin + line: text for line, text in mend_words(known, doubtful).items()}
    if not new:
        return texts
    values = texts.to_pylist()
    for line, text in new.items():
        values[line] = text
    return pa.array(values, pa.string())
