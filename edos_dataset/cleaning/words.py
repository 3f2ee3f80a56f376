"""What a piece of an English line may be: a word, letters of a broken one, or two words without their space.

The dictionary is that of simplemma. All answers are kept by piece.
"""

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import simplemma

from edos_dataset.arrays import Ints

LEAST_SIGNS = 4
"""Different words that a document must show broken in one way before any is put right: clean ones have fewer, by
chance. A letter taken for its likeness needs no other: no word of a clean document begins so.
"""

SHORT = 2
"""Letters of a short piece: the dictionary has nearly all pairs of letters, so only function words count there."""

SHORTEST_PAIR = 5
"""Letters of two words without a space; what is shorter is an abbreviation or a name."""

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
"""Function words of English, in small letters."""

PARTICLES = frozenset(("around", "back", "down", "in", "off", "on", "out", "over", "under", "up"))
"""Function words that make compounds with any word, of which the dictionary has not all ("underbite", "talkback")."""

_PIECE = re.compile(r"([\"“(\[¿¡-]*)([A-Za-z]+)([.,!?;:…\"”)\]-]*)")
_ONE_LETTER = frozenset("aio")  # English words of one letter, "o" as in "o Lord"
_LONGEST_WORD = 40  # characters that are looked up


@lru_cache(maxsize=1 << 14)
def is_word(word: str) -> bool:
    """Return whether simplemma's English dictionary knows a word, its case aside. A letter is none but a, i and o, two
    letters are one if they are a function word.
    """
    small = word.lower()
    if len(small) <= SHORT:
        return small in (_ONE_LETTER if len(small) == 1 else FUNCTION_WORDS)
    return len(small) <= _LONGEST_WORD and (small in FUNCTION_WORDS or simplemma.is_known(small, "en"))


@lru_cache(maxsize=1 << 14)
def is_doubtful(piece: str) -> bool:
    """Return whether a text without spaces, marks around it aside, is letters that are no English word. Capitals inside
    speak for a name or an abbreviation.
    """
    match = _PIECE.fullmatch(piece)
    return match is not None and (match[2][1:].islower() or len(match[2]) == 1) and not is_word(match[2])


def parts_of(piece: str) -> tuple[str, str, str]:
    """Return the marks before the letters of a piece, the letters, and the marks behind; all empty for other pieces."""
    match = _PIECE.fullmatch(piece)
    return (match[1], match[2], match[3]) if match else ("", "", "")


def core_of(piece: str) -> str:
    """Return the letters of a piece; nothing where it has others than `parts_of` knows."""
    return parts_of(piece)[1]


@lru_cache(maxsize=1 << 14)
def may_part(piece: str) -> bool:
    """Return whether a piece may be two words, whatever its document says."""
    small = core_of(piece).lower()
    cuts = range(1 if small[:1] == "i" else 2, len(small) - 1) if len(small) >= SHORTEST_PAIR else range(0)
    pairs = ((small[:cut], small[cut:]) for cut in cuts)
    return any(is_word(one) and is_word(other) and bool({one, other} & FUNCTION_WORDS) for one, other in pairs)


@lru_cache(maxsize=1 << 13)  # pairs are too many to keep
def may_join(left: str, right: str) -> bool:
    """Return whether two pieces may be one word, whatever their document says."""
    (_, one, gap), (mark, other, _) = parts_of(left), parts_of(right)
    return bool(one and other) and not gap and not mark and other.islower() and is_word(one + other)


def other_letter(word: str) -> str | None:
    """Return the word that a doubtful one is if its first letter was taken for its likeness: "Iooking", "lcy"."""
    likeness = {"I": "l", "l": "I"}.get(word[0])
    return likeness + word[1:] if likeness and len(word) > 2 and is_word(likeness + word[1:]) else None


class Pieces(NamedTuple):
    """What stands between the spaces of lines.

    Attributes:
        known: the different pieces.
        code: [pieces] place of each in `known`.
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
        """Cut lines at their spaces."""
        lists = pc.split_pattern(texts, " ")
        pieces = lists.flatten().dictionary_encode()
        known, code, starts = pieces.dictionary.to_pylist(), pieces.indices.to_numpy(), lists.offsets.to_numpy()
        places = np.flatnonzero(np.array([is_doubtful(piece) for piece in known], bool)[code])
        return cls(known, code, starts, places, np.searchsorted(starts, places, side="right") - 1)

    def doubtful(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Return line and place of the doubtful pieces of a document, or nothing where they can't be signs enough."""
        first, last = np.searchsorted(self.lines, (begin, end)).tolist()
        words = {self.known[code] for code in self.code[self.places[first:last]].tolist()}
        lines, places = self.lines[first:last], self.places[first:last]
        if not any(other_letter(core_of(word)) for word in words) and sum(map(may_part, words)) < LEAST_SIGNS:
            inner, outer = places[places > self.starts[lines]] - 1, places[places + 1 < self.starts[lines + 1]]
            left = np.r_[inner, outer]
            pairs = set(zip(self.code[left].tolist(), self.code[left + 1].tolist(), strict=True))
            if sum(may_join(self.known[one], self.known[other]) for one, other in pairs) < LEAST_SIGNS:
                return []
        return list(zip((lines - begin).tolist(), (places - self.starts[lines]).tolist(), strict=True))
