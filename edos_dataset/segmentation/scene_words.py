"""The words of turns as numbers, for whatever asks which words come again: one number for all spellings of a word, and
whether it is written as a name.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Bools, Hashes, Ints
from edos_dataset.text import hash64

_EDGES = re.compile(r"^[\W_]+|(?<=[^\W_])(?:['’][sS])?[\W_]*$")
_LOWER, _CAPITAL, _ENDS = 1, 2, 4
_NAME = np.uint64(hash64("<name>"))


@dataclass(frozen=True, eq=False)
class Words:
    """The words of some turns, one turn behind the other; what holds no letter and no digit is none.

    Attributes:
        hash: uint64 [words], of the small-lettered word without marks at its edges and without "'s".
        number: int64 [words], the same for the same hash, from 0.
        lower: whether it is written small.
        inner: whether it has a capital and then small letters, though no sentence begins with it.
        offsets: int64 [turns + 1], where the words of each turn begin.
    """

    hash: Hashes
    number: Ints
    lower: Bools
    inner: Bools
    offsets: Ints

    def part(self, begin: int, end: int) -> "Words":
        """Return the words of the turns from `begin` up to `end`."""
        first, last = self.offsets[begin], self.offsets[end]
        here = slice(first, last)
        return Words(
            self.hash[here],
            self.number[here],
            self.lower[here],
            self.inner[here],
            self.offsets[begin : end + 1] - first,
        )

    def names(self) -> Bools:
        """Return which words [words] are written as names: with a capital inside a sentence, and nowhere small."""
        named = np.zeros(int(self.number.max(initial=-1)) + 1, bool)
        named[self.number[self.inner]] = True
        named[self.number[self.lower]] = False
        found: Bools = named[self.number]
        return found

    def masked(self, names: Bools) -> Hashes:
        """Return the hashes with one and the same for every name, since names of one show say nothing of another."""
        return np.where(names, _NAME, self.hash)


def read_words(texts: pa.StringArray) -> Words:
    """Split turns into words at spaces. All work on strings is done once for each distinct piece of text."""
    lists = pc.utf8_split_whitespace(texts)
    pieces = lists.flatten().dictionary_encode()
    rows = np.fromiter(chain.from_iterable(map(_describe, pieces.dictionary.to_pylist())), np.uint64).reshape(-1, 2)
    distinct, number = np.unique(rows[:, 0], return_inverse=True)
    empty = int(np.searchsorted(distinct, 0)) if len(distinct) and distinct[0] == 0 else -1
    piece = pieces.indices.to_numpy()
    marks = rows[:, 1].astype(np.int8)[piece]
    offsets = lists.offsets.to_numpy().astype(np.int64)
    offsets -= offsets[0]
    after_end = np.r_[True, (marks[:-1] & _ENDS) > 0] if len(marks) else np.zeros(0, bool)
    after_end[offsets[:-1][np.diff(offsets) > 0]] = True
    numbers = number[piece]
    kept = numbers != empty
    bounds = np.r_[0, np.cumsum(kept)][offsets]
    inner = ((marks & _CAPITAL) > 0) & ~after_end
    return Words(
        rows[:, 0][piece][kept], numbers[kept].astype(np.int64), ((marks & _LOWER) > 0)[kept], inner[kept], bounds
    )


@lru_cache(maxsize=1 << 14)
def _describe(piece: str) -> tuple[int, int]:
    """Return the hash of a word, 0 for none, and how it is written."""
    ends = _ENDS if piece.rstrip("\"'”’)]}»")[-1:] in {".", "!", "?", "…", ":"} else 0
    word = _EDGES.sub("", piece)
    if not word:
        return 0, ends
    capital = _CAPITAL if word[0].isupper() and word[1:2].islower() else 0
    return hash64(word.lower()), ends | capital | (_LOWER if word[0].islower() else 0)
