"""Which words mark a label: log-odds with an informative prior (Monroe, Colaresi and Quinn, 2008, Section 3.5.1)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Bools, Ints

PRIOR = 1_000.0
"""Words that the prior weighs in all, shared as all texts share them: a word must be said some times before it counts.
"""
_BETWEEN = r"[^\p{L}\p{M}\p{N}'’]+"
_EDGES = "'’"


class Marking(NamedTuple):
    """A word that marks a label.

    Attributes:
        word: in lower case.
        z: log-odds against all other labels, in standard deviations.
        times: that turns of the label say it.
        share: of all its occurrences, those in turns of the label, 0 to 1.
    """

    word: str
    z: float
    times: int
    share: float


@dataclass
class WordCounts:
    """How often each word comes in turns of each label. Memory: 4 bytes a word and label, and the words.

    Attributes:
        labels: number of labels.
        index: word → its row in `counts`.
        counts: [at least as many as there are words, labels].
    """

    labels: int
    index: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the table, with no words yet."""
        self.counts: npt.NDArray[np.int32] = np.zeros((0, self.labels), np.int32)

    def add(self, texts: pa.Array, labels: Ints, wanted: Bools) -> None:
        """Count the words of turns.

        Args:
            texts: of the turns.
            labels: [turns] ids, -1 for none.
            wanted: [turns], which to count.
        """
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
        """Add what another one has counted."""
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
    """Return the words that mark each label against all others, the most marking first.

    The log-odds of a word in a label and in the rest, each with the prior α_w = `prior` × the word's share of all
    words, divided by their standard deviation.

    Args:
        words: [words].
        counts: [words, labels], how often each comes in turns of each label.
        most: words a label.
        prior: words that the prior weighs.
        least: occurrences in turns of the label that a word must have.

    Returns:
        For each label its words with z above 1.96.
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
