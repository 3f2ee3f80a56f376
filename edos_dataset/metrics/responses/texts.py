"""Texts as runs of numbers: what every measure of responses works on.

Words are what white space parts, as the texts have them: whoever wants them lower-cased or their marks apart does that
before.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count

import numpy as np

from edos_dataset.arrays import Ints


def new_lexicon() -> defaultdict[str, int]:
    """Return an empty lexicon: it numbers words from 0 in the order in which they are asked for."""
    number: Callable[[], int] = count().__next__
    return defaultdict(number)


@dataclass(frozen=True)
class Texts:
    """Texts, cut into words.

    Attributes:
        ids: [words of all texts], their numbers in a lexicon, text after text.
        lengths: [texts], words of each; 0 is allowed.
    """

    ids: Ints
    lengths: Ints

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def starts(self) -> Ints:
        """[texts], where each begins in `ids`."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def rows(self) -> Ints:
        """[words], the number of the text that each stands in."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @cached_property
    def pairs(self) -> Ints:
        """[bigrams], where the first word of each bigram stands in `ids`: every word but the last of its text."""
        return np.flatnonzero(self.rows[1:] == self.rows[:-1])

    def part(self, first: int, end: int) -> "Texts":
        """Return the texts from `first` to before `end`."""
        lengths = self.lengths[first:end]
        start = int(self.starts[first]) if len(lengths) else 0
        return Texts(self.ids[start : start + int(lengths.sum())], lengths)

    def padded(self, rows: Ints, fill: int) -> Ints:
        """Return the words of some texts as [rows, words of the longest, at least 1]; short ones end in `fill`."""
        lengths = self.lengths[rows]
        columns = np.arange(max(1, int(lengths.max(initial=0))))
        there = columns < lengths[:, None]
        words = np.full(there.shape, fill, dtype=np.int64)
        words[there] = self.ids[(self.starts[rows][:, None] + columns)[there]]
        return words


def cut(texts: Sequence[str], lexicon: defaultdict[str, int]) -> Texts:
    """Cut texts at white space; words that the lexicon doesn't hold are added to it."""
    words = [text.split() for text in texts]
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    numbers = map(lexicon.__getitem__, chain.from_iterable(words))
    return Texts(np.fromiter(numbers, dtype=np.int64, count=int(lengths.sum())), lengths)


def chunks(number: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield (first, end) of successive parts of `number` rows, `size` each; the last may be shorter."""
    for first in range(0, number, size):
        yield first, min(first + size, number)
