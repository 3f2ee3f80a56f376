"""The 17 metrics of dialog-eval, one response at a time: the reference for `edos_dataset.metrics.responses`, for its
speed in `benchmarks/response_metrics.py` and for its values in the tests.

It works like that code (dictionaries of words, numpy on one vector at a time, NLTK's `sentence_bleu` if installed),
reimplemented. It shares nothing with the module that it checks.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
Gram = Any
UNKNOWN = "<unk>"
WEIGHTS = ((1.0,), (0.5, 0.5), (0.33, 0.33, 0.33), (0.25,) * 4)


@dataclass
class Peer:
    """The word statistics that are computed before any response.

    Args:
        vectors: word → vector.
        vocabulary: further words, which get zero vectors.
        train: the text for the word probabilities.
        nltk: whether to use NLTK's BLEU; by default if it is installed.
    """

    vectors: Mapping[str, Vector]
    vocabulary: Sequence[str]
    train: Sequence[str]
    nltk: bool = field(default_factory=lambda: find_spec("nltk") is not None)

    def __post_init__(self) -> None:
        """Build the vocabulary and the distributions."""
        self.dim = len(next(iter(self.vectors.values())))
        self.vocab = {**{word: np.zeros(self.dim) for word in self.vocabulary}, **self.vectors}
        self.p1, self.p2 = (shares(counts) for counts in self.count(self.train))

    def name(self, word: str) -> str:
        """Return a word, or the symbol for unknown words."""
        return word if word in self.vocab else UNKNOWN

    def count(self, texts: Sequence[str]) -> tuple[Counter[Gram], Counter[Gram]]:
        """Count words and bigrams."""
        words: Counter[Gram] = Counter()
        bigrams: Counter[Gram] = Counter()
        for text in texts:
            names = [self.name(word) for word in text.split()]
            for place, word in enumerate(names):
                words[word] += 1
                if place + 1 < len(names):
                    bigrams[word, names[place + 1]] += 1
        return words, bigrams

    def run(
        self, responses: Sequence[str], references: Sequence[str], contexts: Sequence[str]
    ) -> dict[str, list[float]]:
        """Return the values of every metric; responses without a value are left out."""
        mine, true = self.count(responses), self.count(references)
        q1, p1 = common(mine[0], true[0])
        q2, p2 = common(mine[1], true[1])
        found: dict[str, list[float]] = {"distinct-1": [diversity(mine[0])], "distinct-2": [diversity(mine[1])]}
        for text, reference, context in zip(responses, references, contexts, strict=True):
            words, expected, asked = text.split(), reference.split(), context.split()
            values = {"length": len(words), **self.entropies(words), **self.nearness(words, expected, asked)}
            values |= self.divergences(expected, q1, p1, q2, p2)
            bleu = sentence_bleus if self.nltk else plain_bleus
            values |= {f"BLEU-{order}": value for order, value in enumerate(bleu(words, expected), 1)}
            values |= {f"BLEU-{order}-nltk-3.5": value for order, value in enumerate(old_bleus(words, expected), 1)}
            for name, value in values.items():
                found.setdefault(name, []).append(value)
        return found

    def entropies(self, words: Sequence[str]) -> dict[str, float]:
        """Return the four entropies of a response, where defined."""
        names = [self.name(word) for word in words]
        values: dict[str, float] = {}
        for kind, grams, train in (
            ("unigram", names, self.p1),
            ("bigram", list(zip(names, names[1:], strict=False)), self.p2),
        ):
            bits = [-math.log2(train[gram]) for gram in grams if gram in train]
            if bits:
                values |= {f"per-{kind}-entropy": sum(bits) / len(bits), f"utterance-{kind}": sum(bits)}
        return values

    def divergences(self, expected: Sequence[str], *shared: Mapping[Gram, float]) -> dict[str, float]:
        """Return the two divergences of a reference."""
        q1, p1, q2, p2 = shared
        ones, twos = [], []
        for place, word in enumerate(expected):
            if word in q1:  # as in the original, unknown words are skipped
                ones.append(math.log2(p1[word] / q1[word]))
            if place + 1 < len(expected) and (word, self.name(expected[place + 1])) in q2:
                bigram = (word, self.name(expected[place + 1]))
                twos.append(math.log2(p2[bigram] / q2[bigram]))
        values = {"unigram-kl-div": ones, "bigram-kl-div": twos}
        return {name: sum(bits) / len(bits) for name, bits in values.items() if bits}

    def nearness(self, words: Sequence[str], expected: Sequence[str], asked: Sequence[str]) -> dict[str, float]:
        """Return the metrics of word vectors."""
        values: dict[str, float] = {}
        mean, true, context = self.average(words), self.average(expected), self.average(asked)
        pairs = {
            "embedding-average": (mean, true),
            "embedding-extrema": (self.extreme(words), self.extreme(expected)),
            "coherence": (mean, context),
        }
        for name, (one, other) in pairs.items():
            if np.count_nonzero(one) and np.count_nonzero(other):
                values[name] = float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))
        sides = self.greedy(expected, words), self.greedy(words, expected)
        if all(sides):
            values["embedding-greedy"] = sum(sides) / 2
        return values

    def average(self, words: Sequence[str]) -> Vector:
        """Return the weighted mean of the words' vectors."""
        vectors = [self.vocab[word] * 0.001 / (0.001 + self.p1.get(word, 0.0)) for word in words if word in self.vocab]
        total: Vector = np.sum(np.array(vectors), axis=0) / len(vectors) if vectors else np.zeros(self.dim)
        return total

    def extreme(self, words: Sequence[str]) -> Vector:
        """Return the value farthest from 0 in each dimension."""
        farthest = np.zeros(self.dim)
        for word in words:
            if word in self.vocab:
                vector = self.vocab[word]
                for place in range(self.dim):
                    if abs(vector[place]) > abs(farthest[place]):
                        farthest[place] = vector[place]
        return farthest

    def greedy(self, words: Sequence[str], others: Sequence[str]) -> float:
        """Return the mean cosine of each word with the most similar of the others; 0 if there are none."""
        columns = [np.zeros(self.dim)]
        for word in others:
            if word in self.vocab:
                vector = self.vocab[word]
                columns.append(vector / (np.linalg.norm(vector) or 1.0))
        matrix = np.stack(columns, axis=1)
        nearest = []
        for word in words:
            norm = np.linalg.norm(self.vocab[word]) if word in self.vocab else 0.0
            if norm:
                nearest.append(float(np.max((self.vocab[word] / norm) @ matrix)))
        return sum(nearest) / len(nearest) if nearest and len(columns) > 1 else 0.0


def shares(counts: Mapping[Gram, int]) -> dict[Gram, float]:
    """Return counts as probabilities."""
    total = sum(counts.values())
    return {gram: count / total for gram, count in counts.items()}


def common(one: Counter[Gram], other: Counter[Gram]) -> tuple[dict[Gram, float], dict[Gram, float]]:
    """Return two distributions over their common n-grams."""
    both = one.keys() & other.keys()
    return shares({gram: one[gram] for gram in both}), shares({gram: other[gram] for gram in both})


def diversity(counts: Counter[Gram]) -> float:
    """Return the fraction of distinct n-grams."""
    return len(counts) / sum(counts.values()) if counts else math.nan


def sentence_bleus(words: Sequence[str], expected: Sequence[str]) -> list[float]:
    """Return BLEU-1 to BLEU-4 with the installed NLTK."""
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    smoothing = SmoothingFunction().method4
    return [float(sentence_bleu([expected], words, weights, smoothing)) for weights in WEIGHTS]


def _precisions(words: Sequence[str], expected: Sequence[str]) -> list[tuple[int, int]]:
    found = []
    for order in range(1, 5):
        mine, true = (
            Counter(tuple(text[place : place + order]) for place in range(len(text) - order + 1))
            for text in (words, expected)
        )
        found.append((sum((mine & true).values()), max(1, sum(mine.values()))))
    return found


def _bleus(words: Sequence[str], expected: Sequence[str], precisions: Sequence[float]) -> list[float]:
    brevity = min(1.0, math.exp(1 - len(expected) / len(words)))
    return [
        brevity * math.exp(sum(w * math.log(p) for w, p in zip(weights, precisions, strict=False) if p))
        for weights in WEIGHTS
    ]


def plain_bleus(words: Sequence[str], expected: Sequence[str]) -> list[float]:
    """Return what `sentence_bleus` returns with NLTK 3.6 and later."""
    precisions, misses = [], 0
    for found, total in _precisions(words, expected):
        misses += not found
        share = found / total
        precisions.append(share if found or len(words) < 2 else math.log(len(words)) / (5 * 2**misses) / total)
    return _bleus(words, expected, precisions) if set(words) & set(expected) else [0.0] * 4


def old_bleus(words: Sequence[str], expected: Sequence[str]) -> list[float]:
    """Return what `sentence_bleus` returned with NLTK 3.5, and 0 where it failed."""
    if len(words) < 2 or not set(words) & set(expected):
        return [0.0] * 4
    instead = [order + 5 / math.log(len(words)) for order in range(4)]
    counts = _precisions(words, expected)
    return _bleus(words, expected, [(n or instead[order]) / total for order, (n, total) in enumerate(counts)])
