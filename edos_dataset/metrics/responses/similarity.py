"""Similarity of responses to references: BLEU, word vectors, and sentence embeddings.

BLEU of single responses (Papineni et al., 2002) is smoothed by method 4 of Chen and Cherry (2014). NLTK, which
dialog-eval uses, changed that method in 3.6, and published figures have either form:

* `nltk-3.10`, from 3.6 on: the k-th order without a match counts ln(words) / (5 · 2^k) matches.
* `nltk-3.5`: the order n without a match counts n - 1 + 5 / ln(words) matches, more than there are n-grams in short
  responses, so that BLEU grows with the order and a perfect answer can exceed 1; a response of one word has 0.

The weights of BLEU-3 are dialog-eval's and sum to 0.99. Word vectors are compared after Liu et al. (2016).
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from edos_dataset.arrays import Bools, Doubles, Ints
from edos_dataset.metrics.responses.words import Texts, chunks

Form = Literal["nltk-3.10", "nltk-3.5"]
WEIGHTS = np.array([[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.33, 0.33, 0.33, 0], [0.25, 0.25, 0.25, 0.25]])
"""[BLEU-1 to -4, orders]."""

_K = 5.0  # constant K of Chen and Cherry
_BLEU_ROWS = 4096  # rows at once


def bleu(responses: Texts, references: Texts, form: Form = "nltk-3.10") -> Doubles:
    """Return BLEU-1 to -4 of responses with one reference each: [responses, 4], 0 to 1 (`nltk-3.5` can exceed 1).

    Args:
        responses: their words.
        references: as many, numbered by the same lexicon.
        form: form of the smoothing.

    Raises:
        ValueError: the form is unknown.
    """
    return scores(*matches(responses, references), responses.lengths, references.lengths, form)


def matches(responses: Texts, references: Texts) -> tuple[Ints, Ints]:
    """Return the clipped number of each response's n-grams that match its reference, and the number of all its n-grams.

    Both are [responses, 4], for n-grams of 1 to 4 words.
    """
    orders = np.arange(4)
    total = np.maximum(responses.lengths[:, None] - orders, 0)
    parts = [_matches(responses.part(*rows), references.part(*rows)) for rows in chunks(len(responses), _BLEU_ROWS)]
    return np.concatenate([np.zeros((0, 4), dtype=np.int64), *parts]), total


def _matches(responses: Texts, references: Texts) -> Ints:
    words = np.concatenate([responses.ids, references.ids])
    rows = np.concatenate([responses.rows, references.rows])
    left = np.concatenate([_left(responses), _left(references)])  # words from here to the end of the text
    given = np.arange(len(words)) < len(responses.ids)  # in a response
    base = int(words.max(initial=0)) + 1
    found = np.zeros((len(responses), 4), dtype=np.int64)
    place, gram = np.arange(len(words)), rows  # starts of n-grams; their numbers, distinct between rows
    for order in range(4):
        longer = left[place] > order
        place = place[longer]
        _, gram = np.unique(gram[longer] * base + words[place + order], return_inverse=True)
        mine, number = given[place], int(gram.max(initial=-1)) + 1
        shared = np.minimum(np.bincount(gram[mine], minlength=number), np.bincount(gram[~mine], minlength=number))
        row = np.zeros(number, dtype=np.int64)
        row[gram] = rows[place]
        found[:, order] = np.bincount(row, weights=shared, minlength=len(responses))
        longer_too = shared[gram] > 0  # only n-grams on both sides can be extended to longer ones on both sides
        place, gram = place[longer_too], gram[longer_too]
    return found


def _left(texts: Texts) -> Ints:
    return np.repeat(texts.starts + texts.lengths, texts.lengths) - np.arange(len(texts.ids))


def scores(found: Ints, total: Ints, words: Ints, expected: Ints, form: Form = "nltk-3.10") -> Doubles:
    """Return BLEU-1 to -4, [responses, 4], from the counts of `matches`.

    Args:
        found: [responses, 4].
        total: [responses, 4].
        words: [responses], length of each response.
        expected: [responses], length of each reference.
        form: form of the smoothing.

    Raises:
        ValueError: the form is unknown.
    """
    if form not in get_args(Form):
        raise ValueError(f"unknown form of BLEU {form!r}: give one of {', '.join(get_args(Form))}")
    none = found == 0
    length = np.log(np.maximum(words, 2))[:, None]
    old = form == "nltk-3.5"
    instead = np.arange(4) + _K / length if old else length / (_K * 2.0 ** np.cumsum(none, axis=1))
    precision = np.where(none, instead, found) / np.maximum(total, 1)
    # for a single word NLTK leaves out orders without a match
    logarithm = np.where(none & (words < 2)[:, None], 0.0, np.log(precision))
    brevity = np.exp(np.minimum(0.0, 1.0 - expected / np.maximum(words, 1)))
    result = brevity[:, None] * np.exp(logarithm @ WEIGHTS.T)
    wrong = none[:, 0] | (old & (words < 2))
    return np.where(wrong[:, None], 0.0, result)


_SMOOTHING = 0.001
_ROWS = 16  # texts of similar length compared at once, so that they fit the cache
_AVERAGED = 4096


def averages(texts: Texts, vectors: Doubles, known: Bools, probabilities: Doubles) -> Doubles:
    """Return the mean vector of each text, [texts, dimensions], with less weight for frequent words (Arora et al.,
    2017, without removal of the common component); zeros where no word is known.

    Args:
        texts: their words.
        vectors: [words of the lexicon, dimensions].
        known: [words of the lexicon], whether in the vocabulary; other words don't count.
        probabilities: [words of the lexicon], their probabilities in the training text.
    """
    weighted = vectors * (known * _SMOOTHING / (_SMOOTHING + probabilities))[:, None]
    sums = [np.zeros((0, vectors.shape[1]))]
    for rows in chunks(len(texts), _AVERAGED):
        part = texts.part(*rows)
        bounds = np.append(part.starts, len(part.ids))
        counts = csr_array((np.ones(len(part.ids)), part.ids, bounds), shape=(len(part), len(vectors)))
        sums.append(counts @ weighted)
    used = np.bincount(texts.rows[known[texts.ids]], minlength=len(texts))
    return np.concatenate(sums) / np.maximum(used, 1)[:, None]


def cosines(one: Doubles, other: Doubles) -> Doubles:
    """Return the cosine between corresponding rows of two matrices, -1 to 1; NaN where a row is zeros."""
    lengths = np.sqrt(np.einsum("ij,ij->i", one, one) * np.einsum("ij,ij->i", other, other))
    found: Doubles = np.einsum("ij,ij->i", one, other) / np.where(lengths > 0, lengths, np.nan)
    return found


def extrema_and_greedy(responses: Texts, references: Texts, vectors: Doubles) -> tuple[Doubles, Doubles]:
    """Return two similarities by word vectors.

    Extrema: the cosine of the texts' vectors, which have in every dimension the words' value farthest from 0, the first
    one among ties. Greedy: the cosine of every word with its nearest in the other text, at least 0, averaged over words
    with a vector and over both directions.

    Args:
        responses: their words.
        references: as many.
        vectors: [words of the lexicon, dimensions], zeros for words that are unknown or have no vector.

    Returns:
        Both [responses]; NaN where a side has no word with a vector, and for greedy also where no cosine is above 0.
    """
    fill = len(vectors)
    vectors = np.concatenate([vectors, np.zeros((1, vectors.shape[1]))])
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    inverse = 1 / np.where(norms > 0, norms, 1.0)
    extrema, greedy = np.full(len(responses), np.nan), np.full(len(responses), np.nan)
    order = np.lexsort([references.lengths, responses.lengths])
    for first, end in chunks(len(order), _ROWS):
        rows = order[first:end]
        given, true = responses.padded(rows, fill), references.padded(rows, fill)
        here, there = vectors.take(given, axis=0), vectors.take(true, axis=0)
        extrema[rows] = cosines(_farthest(here), _farthest(there))
        near = np.matmul(here, there.transpose(0, 2, 1))
        near *= inverse[given][:, :, None] * inverse[true][:, None, :]
        sides = [_mean(near.max(axis=2), norms[given]), _mean(near.max(axis=1), norms[true])]
        both = (sides[0] > 0) & (sides[1] > 0)
        greedy[rows] = np.where(both, (sides[0] + sides[1]) / 2, np.nan)
    return extrema, greedy


def _farthest(vectors: Doubles) -> Doubles:
    high, low = vectors.max(axis=1), vectors.min(axis=1)
    if not ((high == -low) & (high > 0)).any():
        values: Doubles = np.where(high > -low, high, low)
        return values
    place = np.abs(vectors).argmax(axis=1)  # slower, but finds the first among ties
    found: Doubles = np.take_along_axis(vectors, place[:, None], axis=1)[:, 0]
    return found


def _mean(nearest: Doubles, norms: Doubles) -> Doubles:
    mean: Doubles = np.maximum(nearest, 0).sum(axis=1) / np.maximum((norms > 0).sum(axis=1), 1)
    return mean


def ses(
    responses: Sequence[str],
    references: Sequence[str],
    encode: Callable[[Sequence[str]], npt.NDArray[np.floating[Any]]],
) -> Doubles:
    """Return the semantic similarity of Xie and Pu: the cosine of the sentence embeddings of response and reference.

    Args:
        responses: texts.
        references: texts, as many.
        encode: texts → [texts, dimensions], such as `edos_dataset.encoders.encoder.Encoder().encode`.

    Returns:
        -1 to 1, [responses]; NaN where an embedding is zero.

    Raises:
        ValueError: there are not as many references as responses.
    """
    if len(responses) != len(references):
        raise ValueError(f"{len(responses)} responses but {len(references)} references: give one for each response")
    vectors = np.asarray(encode([*responses, *references]), dtype=np.float64)
    return cosines(vectors[: len(responses)], vectors[len(responses) :])


def label_accuracy(labels: Sequence[int] | npt.NDArray[Any], wanted: Sequence[int] | npt.NDArray[Any]) -> Doubles:
    """Return which responses have the label that they were conditioned on.

    Args:
        labels: [responses], ids from a labeler.
        wanted: [responses], ids; negative where no label was wanted.

    Returns:
        1 or 0, [responses]; NaN where no label was wanted.

    Raises:
        ValueError: the two differ in length.
    """
    found, expected = np.asarray(labels), np.asarray(wanted)
    if found.shape != expected.shape:
        raise ValueError(f"{len(found)} labels but {len(expected)} wanted ones: give one of each for each response")
    return np.where(expected < 0, np.nan, (found == expected).astype(np.float64))
