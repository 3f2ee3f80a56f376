"""Which turn each line of a subtitle belongs to: one said at its time, and with its words."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import product

from edos_dataset.exports.records import Turn

_MARKUP = re.compile(r"<[^<>]*>|\{[^{}]*\}")
_WORD = re.compile(r"\w+")
_DASH = re.compile(r"(?:<[^<>]*>|\{[^{}]*\}|\s)*[-–—]")
_NAMED = re.compile(r"\s*(?:[-–—]\s*)?(?:[\[(][^\])]*[\])]\s*)*(?:[^:]{1,60}:(?=\s|$))?")
_APART = 0.5  # seconds between a line and a turn that has it: times of turns are those of sentences, part of a block
_LONGEST = 300.0  # seconds of a turn; a longer one is looked for only near its beginning
_ALIKE = 0.6  # fraction of a line's words that a turn must have if it does not have them in a row, as after OCR repairs


def words_of(text: str) -> str:
    """Return the words of a text without markup, each between blanks."""
    return f" {' '.join(_WORD.findall(_MARKUP.sub(' ', text).casefold()))} "


def said_of(line: str) -> str:
    """Return the words of a line without the name of the speaker and what is in brackets before them."""
    plain = _MARKUP.sub(" ", line)
    named = _NAMED.match(plain)
    return words_of(plain[named.end() :] if named else plain)


class Turns:
    """The turns of a film that have times.

    Args:
        turns: All of its turns, in any order.
    """

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.timed = sorted((turn for turn in turns if turn.start is not None), key=lambda turn: turn.start or 0.0)
        self._starts = [turn.start or 0.0 for turn in self.timed]
        self._words = [words_of(turn.text) for turn in self.timed]
        self._bags: dict[int, Counter[str]] = {}
        self._read = [0] * len(self.timed)

    def of_lines(self, start: float, end: float, lines: Sequence[str]) -> list[Turn | None]:
        """Return the turn to which each line of a block belongs, None for what no turn has: sounds, songs, credits.

        Args:
            start: Of the block, in seconds.
            end: Of the block.
            lines: With their markup. Blocks are asked for in their order.
        """
        if not start <= end:  # a time that cannot be read
            return [None] * len(lines)
        first = bisect_left(self._starts, start - _LONGEST)
        last = bisect_left(self._starts, end + _APART)
        near = [place for place in range(first, last) if self._end(place) > start - _APART]
        found: list[Turn | None] = []
        at: int | None = None
        for line in lines:
            forms = [words for words in dict.fromkeys((words_of(line), said_of(line))) if words.strip()]
            next_first = at is not None and _DASH.match(line)
            order = sorted(near, key=lambda place: (place == at) == bool(next_first))
            place = self._with(forms, order)
            at = at if place is None else place
            found.append(None if place is None else self.timed[place])
        return found

    def _end(self, place: int) -> float:
        turn = self.timed[place]
        return turn.end if turn.end is not None else (turn.start or 0.0)

    def _with(self, forms: Sequence[str], order: Sequence[int]) -> int | None:
        """Return the first turn that has some words in a row, in one of their forms, behind those found before if
        possible; else the one that has most of those of the last form.
        """
        for words, again in product(forms, (False, True)):
            for place in order:
                at = self._words[place].find(words, 0 if again else self._read[place])
                if at >= 0:
                    self._read[place] = at + len(words) - 1
                    return place
        wanted = Counter(forms[-1].split() if forms else ())
        best, most = None, max(_ALIKE * wanted.total(), 1.0)
        for place in order:
            bag = self._bags.setdefault(place, Counter(self._words[place].split()))
            if (number := (wanted & bag).total()) >= most and (best is None or number > most):
                best, most = place, number
        return best
