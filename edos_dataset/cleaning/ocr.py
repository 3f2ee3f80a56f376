"""Repairs English words that optical character recognition broke, in documents that show such damage.

There are four kinds of damage: a word with a space in it ("i n", "introducti on"), two words without their space
("ofyou"), "I" for "l" and the reverse ("Iooking", "lcy"), and lower-case letters at the beginning of sentences. The
dictionary is that of simplemma; doubtful cases stay as they are.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from string import ascii_letters
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import simplemma

from edos_dataset.arrays import Bools, Ints, flags

LEAST_SIGNS = 4
"""Number of distinct words that must be broken in one way before any is repaired: clean documents have fewer.
A confused letter needs no others, as no word of a clean document begins like that.
"""

SHORT = 2
"""Letters of a short piece: the dictionary has nearly all pairs of letters, so only function words count as words."""

SHORTEST_PAIR = 5
"""Least number of letters of two words without a space; a shorter piece is an abbreviation or a name."""

_FUNCTION = """\
a an the this that these those such each every all both any some no none few many much more most other another i me my
mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its
itself they them their theirs themselves one who whom whose which what when where why how am is are was were be been
being do does did done have has had having can could will would shall should may might must not and or but nor so yet
if then else than because as while until since though although unless whether of in on at by to for from with without
into onto upon out off over under up down about above below across after before again against along among around
behind beside between beyond during except inside near outside past through toward towards within via per here there
now never ever always often only also too very just even still almost already enough rather quite well back away once
twice perhaps maybe let go get got give take put see everyone everybody everything everywhere someone somebody
something somewhere anyone anybody anything anywhere nobody nothing nowhere however therefore thus hence"""

FUNCTION_WORDS: frozenset[str] = frozenset(_FUNCTION.split())
"""English function words, in lower case."""

PARTICLES = frozenset(("around", "back", "down", "in", "off", "on", "out", "over", "under", "up"))
"""Function words that form compounds, not all of which are in the dictionary ("underbite", "talkback")."""

_PIECE = re.compile(r"([\"“(\[¿¡-]*)([A-Za-z]+)([.,!?;:…\"”)\]-]*)")
_ONE_LETTER = frozenset("aio")  # English words of one letter, "o" as in "o Lord"
_LONGEST_WORD = 40  # characters that are looked up

_SLIPS = 2  # a word that occurs more often in the document is not an error
_LEAST_JOINED = 0.5  # least fraction of its occurrences in which a short piece must form a word with a neighbour
_WORD = re.compile(r"(?<![\w'’])[A-Za-z]+(?![\w'’])")
_SMALL_PRONOUN = r"(?:^|[\s\"'(-])i(?:['’](?:m|ll|ve|d)\b|[\s,?!])"
_LATER_OPENING = re.compile(r"((?:[?!]|[a-z]{3}\.) [\"“']?)([a-z])")
_ENDED = re.compile(r"(?:(?<!\.)[.!?][\"”']?|^)$")


@lru_cache(maxsize=1 << 14)
def is_word(word: str) -> bool:
    """Whether simplemma's English dictionary has a word, regardless of case.

    Of single letters, only a, i and o are words; of pairs of letters, only function words.
    """
    small = word.lower()
    if len(small) <= SHORT:
        return small in (_ONE_LETTER if len(small) == 1 else FUNCTION_WORDS)
    return len(small) <= _LONGEST_WORD and (small in FUNCTION_WORDS or simplemma.is_known(small, "en"))


@lru_cache(maxsize=1 << 14)
def is_doubtful(piece: str) -> bool:
    """Whether a text without spaces consists, apart from marks around it, of letters that are not an English word.

    Capitals inside suggest a name or an abbreviation, which is not doubtful.
    """
    match = _PIECE.fullmatch(piece)
    return match is not None and (match[2][1:].islower() or len(match[2]) == 1) and not is_word(match[2])


def parts_of(piece: str) -> tuple[str, str, str]:
    """Return the marks before the letters of a piece, the letters, and the marks after; all empty for other pieces."""
    match = _PIECE.fullmatch(piece)
    return (match[1], match[2], match[3]) if match else ("", "", "")


def core_of(piece: str) -> str:
    """Return the letters of a piece; empty for pieces that `parts_of` does not split."""
    return parts_of(piece)[1]


@lru_cache(maxsize=1 << 14)
def may_split(piece: str) -> bool:
    """Whether a piece may be two words, judged by itself."""
    small = core_of(piece).lower()
    cuts = range(1 if small[:1] == "i" else 2, len(small) - 1) if len(small) >= SHORTEST_PAIR else range(0)
    pairs = ((small[:cut], small[cut:]) for cut in cuts)
    return any(is_word(one) and is_word(other) and bool({one, other} & FUNCTION_WORDS) for one, other in pairs)


@lru_cache(maxsize=1 << 13)  # bounded, as there are too many pairs to keep
def may_join(left: str, right: str) -> bool:
    """Whether two pieces may be one word, judged by themselves."""
    (_, one, gap), (mark, other, _) = parts_of(left), parts_of(right)
    return bool(one and other) and not gap and not mark and other.islower() and is_word(one + other)


def other_letter(word: str) -> str | None:
    """Return the word with its first letter corrected, as in "Iooking" and "lcy", or None if that is no word."""
    letter = {"I": "l", "l": "I"}.get(word[0])
    return letter + word[1:] if letter and len(word) > 2 and is_word(letter + word[1:]) else None


def best_cut(word: str) -> tuple[int, int] | None:
    """Return the position that splits a piece into two words, and how many of them are function words.

    None if there is no such position, or several with equally many: "of fact" and "off act".
    """
    small = word.lower()
    cuts = range(1 if word[0] == "I" else 2, len(word) - 1)
    ways = {cut: number for cut in cuts if (number := _function_words(small[:cut], small[cut:]))}
    most = max(ways.values(), default=0)
    best = [cut for cut, number in ways.items() if number == most]
    return (best[0], most) if len(best) == 1 else None


def _function_words(one: str, other: str) -> int:
    """Return how many of two joined words are function words; 0 if they may be something else, such as a compound
    ("talkback").
    """
    number = sum(word in FUNCTION_WORDS or word == "i" for word in (one, other))
    is_compound = number == 1 and not PARTICLES.isdisjoint((one, other))
    return number if not is_compound and one != other and is_word(one) and is_word(other) else 0


class Pieces(NamedTuple):
    """The pieces of lines between spaces.

    Attributes:
        known: the distinct pieces.
        code: [pieces] position of each in `known`.
        starts: [lines + 1] positions at which each line begins.
        places: positions of the doubtful pieces.
        lines: their lines.
    """

    known: list[str]
    code: Ints
    starts: Ints
    places: Ints
    lines: Ints

    @classmethod
    def of(cls, texts: pa.StringArray) -> "Pieces":
        """Split lines at their spaces."""
        lists = pc.split_pattern(texts, " ")
        pieces = lists.flatten().dictionary_encode()
        known, code, starts = pieces.dictionary.to_pylist(), pieces.indices.to_numpy(), lists.offsets.to_numpy()
        places = np.flatnonzero(np.array([is_doubtful(piece) for piece in known], bool)[code])
        return cls(known, code, starts, places, np.searchsorted(starts, places, side="right") - 1)

    def doubtful(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Return line and position of the doubtful pieces of a document; nothing if there are too few for a repair."""
        first, last = np.searchsorted(self.lines, (begin, end)).tolist()
        words = {self.known[code] for code in self.code[self.places[first:last]].tolist()}
        lines, places = self.lines[first:last], self.places[first:last]
        if not any(other_letter(core_of(word)) for word in words) and sum(map(may_split, words)) < LEAST_SIGNS:
            inner, outer = places[places > self.starts[lines]] - 1, places[places + 1 < self.starts[lines + 1]]
            left = np.r_[inner, outer]
            pairs = set(zip(self.code[left].tolist(), self.code[left + 1].tolist(), strict=True))
            if sum(may_join(self.known[one], self.known[other]) for one, other in pairs) < LEAST_SIGNS:
                return []
        return list(zip((lines - begin).tolist(), (places - self.starts[lines]).tolist(), strict=True))


class Repair(NamedTuple):
    """A repair: the pieces of a line from `first` up to, but excluding, `stop`, and the text that replaces them."""

    kind: str
    line: int
    first: int
    stop: int
    text: str


def repair_words(texts: Sequence[str], doubtful: Sequence[tuple[int, int]]) -> dict[int, str]:
    """Repair the broken words of a document.

    Args:
        texts: the lines of the document, words separated by single spaces.
        doubtful: line and position of the pieces for which `is_doubtful` is true, in order.

    Returns:
        The new texts of the lines that change.
    """
    repairs = _certain(_Document(texts, doubtful).repairs())
    pieces = {repair.line: texts[repair.line].split(" ") for repair in repairs}
    for repair in reversed(repairs):
        pieces[repair.line][repair.first : repair.stop] = [repair.text]
    return {line: " ".join(words) for line, words in pieces.items()}


def _certain(repairs: Sequence[Repair]) -> list[Repair]:
    """Leave out the kinds of damage that occur too rarely in a document."""
    different: dict[str, set[str]] = {}
    for repair in repairs:
        different.setdefault(repair.kind, set()).add(repair.text.strip('"“”.,!?').lower())
    return [repair for repair in repairs if repair.kind == "letter" or len(different[repair.kind]) >= LEAST_SIGNS]


class _Document:
    def __init__(self, texts: Sequence[str], doubtful: Sequence[tuple[int, int]]) -> None:
        self._pieces = {line: texts[line].split(" ") for line, _ in doubtful}
        self._doubtful = doubtful
        self._counts = Counter(_WORD.findall("\n".join(texts)))

    def repairs(self) -> list[Repair]:
        """Return the repairs in order, without overlap."""
        habits = self._habits()
        repairs: list[Repair] = []
        for line, place in self._doubtful:
            for repair in self._repair(line, place, habits):
                if not repairs or (line, repair.first) >= (repairs[-1].line, repairs[-1].stop):
                    repairs.append(repair)
        return repairs

    def _habits(self) -> set[str]:
        """Return the short pieces that are mostly not part of a word, such as "u" for "you", or "ok"."""
        all_of, joined = Counter[str](), Counter[str]()
        for line, place in self._doubtful:
            word = core_of(self._pieces[line][place])
            if len(word) <= SHORT:
                all_of[word] += 1
                joined[word] += self._joined(self._pieces[line], place) is not None
        return {word for word, number in all_of.items() if joined[word] < _LEAST_JOINED * number}

    def _repair(self, line: int, place: int, habits: Set[str]) -> Iterator[Repair]:
        """Yield the repair of a doubtful piece, if any; a word that occurs three times is not an error."""
        pieces = self._pieces[line]
        before, word, after = parts_of(pieces[place])
        if word in habits:
            return
        often = len(word) > SHORT and self._counts[word] > _SLIPS
        if not often and (joined := self._joined(pieces, place)):
            yield Repair("joined", line, *joined)
        elif len(word) >= SHORTEST_PAIR and (pair := self._pair(word, often, self._opens(pieces, place))):
            yield Repair("split", line, place, place + 1, f"{before}{pair}{after}")
        elif not (often and word[0] == "I") and (letter := other_letter(word)):
            yield Repair("letter", line, place, place + 1, f"{before}{letter}{after}")

    def _opens(self, pieces: Sequence[str], place: int) -> bool:
        return place == 0 or pieces[place - 1].rstrip("\"”')").endswith((".", "!", "?", "-"))

    def _joined(self, pieces: Sequence[str], place: int) -> tuple[int, int, str] | None:
        """Return the only way in which a piece and a neighbour form a word; None if there is none, or several."""
        ways = []
        for first in (place - 1, place):
            if first < 0 or first + 1 >= len(pieces) or not may_join(pieces[first], pieces[first + 1]):
                continue
            (before, left, _), (_, right, after) = parts_of(pieces[first]), parts_of(pieces[first + 1])
            if left == "I" and not self._opens(pieces, first):
                left = "i"  # `repair_letters` read it as the pronoun
            if left.islower() or left[1:].islower() or (len(left) == 1 and self._opens(pieces, first)):
                ways.append((first, first + 2, f"{before}{left}{right}{after}"))
        return ways[0] if len(ways) == 1 else None

    def _pair(self, word: str, often: bool, opens: bool) -> str | None:
        """Return the two words in a doubtful one: both occur elsewhere in the document, and one is a function word.

        Both must be function words if the document often writes them so, or if the capital may be that of a name.
        """
        found = best_cut(word)
        if found is None:
            return None
        cut, function_words = found
        small = word.lower()
        if not all(self._counts[part] + self._counts[part.capitalize()] for part in (small[:cut], small[cut:])):
            return None
        may_be_name = not word.islower() and (not opens or (often and not self._counts[small]))
        suffices = function_words == 2 or (word.islower() and not often)
        return f"{word[:cut]} {word[cut:]}" if suffices and not may_be_name else None


def lost_capitals(texts: Sequence[str], dashes: Sequence[bool]) -> dict[int, str]:
    """Return the lines that begin a sentence with a lower-case letter, with a capital instead.

    Lines after a dash are included, but not lines in which the previous sentence may continue.
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


def repair_documents(
    raw: pa.StringArray, texts: pa.StringArray, offsets: Ints, english: Bools, dashes: Bools
) -> pa.Array:
    """Return the clean lines of documents with their damage repaired.

    Args:
        raw: the lines as they were read.
        texts: the cleaned lines; a rejected line is empty.
        offsets: [documents + 1] positions at which each document begins.
        english: [documents] whether the document is English; others stay as they are.
        dashes: [lines] whether the line began with a dash.
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
        new |= {begin + line: text for line, text in repair_words(known, doubtful).items()}
    if not new:
        return texts
    values = texts.to_pylist()
    for line, text in new.items():
        values[line] = text
    return pa.array(values, pa.string())
