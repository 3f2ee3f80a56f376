"""Words characteristic of a label: log-odds with informative prior (Monroe, Colaresi and Quinn, 2008, 3.5.1)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Bools, Ints

PRIOR = 1_000.0
"""Total weight of the prior, in words, distributed as in all texts: a word needs several occurrences to count."""
_BETWEEN = r"[^\p{L}\p{M}\p{N}'’]+"
_EDGES = "'’"


class Marking(NamedTuple):
    """A word characteristic of a label.

    Attributes:
        word: The word in lower case.
        z: Log-odds against all other labels, in standard deviations.
        times: Occurrences in turns of the label.
        share: Fraction of all its occurrences that are in turns of the label.
    """

    word: str
    z: float
    times: int
    share: float


@dataclass
class WordCounts:
    """Occurrences of each word in turns of each label. Memory: 4 bytes per word and label, and the words.

    Attributes:
        labels: Number of labels.
        index: Word → its row in `counts`.
        counts: [words or more, labels].
    """

    labels: int
    index: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.counts: npt.NDArray[np.int32] = np.zeros((0, self.labels), np.int32)

    def add(self, texts: pa.Array, labels: Ints, wanted: Bools) -> None:
        """Count the words of the `wanted` turns; `labels` has their label ids, -1 for none."""
        chosen = np.flatnonzero(wanted & (labels >= 0))
        words = pc.split_pattern_regex(pc.utf8_lower(texts.take(pa.array(chosen))), _BETWEEN)
        flat = pc.utf8_trim(words.flatten(), _EDGES).dictionary_encode()
        of_turn = np.repeat(labels[chosen], np.diff(words.offsets.to_numpy()))
        size = len(flat.dictionary)
        cells = np.bincount(flat.indices.to_numpy() * self.labels + of_turn, minlength=size * self.labels)
        found = flat.dictionary.to_pylist()
        there = np.array([word != "" for word in found], bool)  # between two separators there is nothing
        self._put([word for word in found if word], cells.reshape(size, self.labels)[there])

    def merge(self, other: "WordCounts") -> None:
        """Add the counts of another object."""
        self._put(list(other.index), other.counts[: len(other.index)])

    def _put(self, words: Sequence[str], counts: npt.NDArray[np.integer]) -> None:
        places = np.fromiter((self.index.setdefault(word, len(self.index)) for word in words), np.int64, len(words))
        if len(self.index) > len(self.counts):
            grown = np.zeros((max(1024, 2 * len(self.index)), self.labels), np.int32)
            grown[: len(self.counts)] = self.counts
            self.counts = grown
        self.counts[places] += counts.astype(np.int32)


def marking_words(
    words: Sequence[str], counts: npt.ArrayLike, most: int = 12, prior: float = PRIOR, least: int = 5
) -> list[list[Marking]]:
    """Return the words most characteristic of each label, by descending z, as far as z is above 1.96.

    z is the log-odds ratio of a word between the label and all other labels, divided by its standard deviation; both
    odds include the prior α_w = `prior` × the word's fraction of all words.

    Args:
        words: [words].
        counts: [words, labels] occurrences in turns of each label.
        most: Largest number of words per label.
        prior: Total weight of the prior, in words.
        least: Smallest number of occurrences in turns of the label.
    """
    table = np.asarray(counts, np.float64)
    if not table.size or not table.sum():
        return [[] for _ in range(table.shape[1] if table.ndim == 2 else 0)]
    of_word, of_label = table.sum(axis=1), table.sum(axis=0)
    alpha = prior * of_word / of_word.sum()
    found = []
    for label in range(table.shape[1]):
        of_rest = of_word.sum() - of_label[label]
        own, rest = table[:, label] + alpha, of_word - table[:, label] + alpha
        other_words = (of_label[label] + prior - own).clip(min=1e-9), (of_rest + prior - rest).clip(min=1e-9)
        odds = np.log(own / other_words[0]) - np.log(rest / other_words[1])
        z = odds / np.sqrt(1 / own + 1 / rest)
        z[(table[:, label] < least) | (of_word == 0)] = -np.inf
        order = sorted(np.flatnonzero(z > 1.96).tolist(), key=lambda place: (-z[place], words[place]))[:most]
        found.append(
            [
                Marking(
                    words[place],
                    round(float(z[place]), 2),
                    int(table[place, label]),
                    round(float(table[place, label] / of_word[place]), 4),
                )
                for place in order
            ]
        )
    return found
