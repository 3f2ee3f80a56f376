"""What is known of words before a response is seen: which there are, their vectors, and how likely they are.

What dialog-eval calls vocabulary is the words of the vector file and those of the vocabulary file; the latter have
vectors of zeros. All other words are one, `<unk>`. Probabilities of words and bigrams are those of one text alone, the
contexts of the training set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edos_dataset.arrays import Bools, Doubles, Ints
from edos_dataset.metrics.responses.texts import cut, new_lexicon

UNKNOWN = "<unk>"


@dataclass(frozen=True)
class Frequencies:
    """A distribution over n-grams, which are numbers.

    Attributes:
        codes: [n-grams], sorted, each once.
        counts: [n-grams], how often each was seen.
    """

    codes: Ints
    counts: Ints

    @classmethod
    def of(cls, codes: Ints) -> "Frequencies":
        """Count n-grams."""
        found, counts = np.unique(codes, return_counts=True)
        return cls(found, counts.astype(np.int64))

    def places(self, codes: Ints) -> tuple[Ints, Bools]:
        """Return where each n-gram of `codes` stands in these, and whether it does."""
        if not len(self.codes):
            return np.zeros(len(codes), dtype=np.int64), np.zeros(len(codes), dtype=np.bool_)
        places = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return places, self.codes[places] == codes

    def probabilities(self, codes: Ints) -> Doubles:
        """Return the probability of each n-gram of `codes`, 0 of those that were never seen."""
        places, there = self.places(codes)
        shares = np.append(self.counts / max(1, int(self.counts.sum())), 0.0)
        return shares[np.where(there, places, len(self.counts))]


@dataclass(frozen=True)
class Words:
    """What is known of words.

    Attributes:
        numbers: word → its number, 0 and up; None if every word is one of its own and none unknown.
        vectors: [words, dimensions], zeros for words without one; None where no vectors were given.
        unigrams, bigrams: distributions in the training text, of numbers and of `bigram_codes`; None without it.
    """

    numbers: Mapping[str, int] | None = None
    vectors: Doubles | None = None
    unigrams: Frequencies | None = None
    bigrams: Frequencies | None = None

    @classmethod
    def of(
        cls,
        vectors: Mapping[str, Doubles] | None = None,
        vocabulary: Sequence[str] | None = None,
        train: Sequence[str] | None = None,
    ) -> "Words":
        """Put together what is given.

        Args:
            vectors: word → its vector, all of one length.
            vocabulary: more words; where it is None, the words of `train` stand for it, as in dialog-eval. With vectors
                alone only the words that have one are known, and with nothing every word is.
            train: texts by which words and bigrams have probabilities.
        """
        lexicon = new_lexicon()
        texts = None if train is None else cut(train, lexicon)
        if vocabulary is None and texts is None:  # no words are excluded
            numbers = None if vectors is None else {word: row for row, word in enumerate(vectors)}
            return cls(numbers, _matrix(vectors, len(vectors or ())))
        there = dict.fromkeys([*(vectors or ()), *(lexicon if vocabulary is None else vocabulary)])
        numbers = {word: row for row, word in enumerate(there)}
        words = cls(numbers, _matrix(vectors, len(numbers)))
        if texts is None:
            return words
        shared = words.find(list(lexicon))[0][texts.ids]
        return cls(
            numbers, words.vectors, Frequencies.of(shared), Frequencies.of(words.bigram_codes(shared, texts.pairs))
        )

    def find(self, words: Sequence[str]) -> tuple[Ints, Bools]:
        """Return the number of each of these words, that of `<unk>` for unknown ones, and which are known.

        Args:
            words: those of a lexicon, each once.
        """
        if self.numbers is None:
            return np.arange(len(words)), np.ones(len(words), dtype=np.bool_)
        numbers = self.numbers
        found = np.fromiter((numbers.get(word, -1) for word in words), dtype=np.int64, count=len(words))
        return np.where(found < 0, numbers.get(UNKNOWN, len(numbers)), found), found >= 0

    def bigram_codes(self, shared: Ints, pairs: Ints) -> Ints:
        """Return a number for each bigram.

        Args:
            shared: [words], as `find` numbers them.
            pairs: where in it the first words stand, as `Texts.pairs`.
        """
        base = 1 << 31 if self.numbers is None else len(self.numbers) + 1
        return shared[pairs] * base + shared[pairs + 1]


def _matrix(vectors: Mapping[str, Doubles] | None, rows: int) -> Doubles | None:
    """Return the vectors, which come first, over zeros."""
    if vectors is None:
        return None
    dimensions = len(next(iter(vectors.values()))) if vectors else 0
    matrix = np.zeros((rows, dimensions))
    if vectors:
        matrix[: len(vectors)] = np.stack(list(vectors.values()))
    return matrix
