"""Nearness of responses to references by word vectors (Liu et al., 2016), as dialog-eval measures it."""

import numpy as np
from scipy.sparse import csr_array

from edos_dataset.arrays import Bools, Doubles
from edos_dataset.metrics.responses.texts import Texts, chunks

_SMOOTHING = 0.001
_ROWS = 16  # texts of like length that are compared at once: what fits the cache
_AVERAGED = 4096


def averages(texts: Texts, vectors: Doubles, known: Bools, probabilities: Doubles) -> Doubles:
    """Return the mean vector of each text, frequent words counting less (Arora et al., 2017, without the removal of a
    common part): [texts, dimensions]; zeros where no word is known.

    Args:
        texts: their words.
        vectors: [words of the lexicon, dimensions].
        known: [words of the lexicon], which are in the vocabulary; the others don't count.
        probabilities: [words of the lexicon], in the training text.
    """
    weighted = vectors * (known * _SMOOTHING / (_SMOOTHING + probabilities))[:, None]
    sums = [np.zeros((0, vectors.shape[1]))]
    for rows in chunks(len(texts), _AVERAGED):
        part = texts.part(*rows)
        borders = np.append(part.starts, len(part.ids))
        counts = csr_array((np.ones(len(part.ids)), part.ids, borders), shape=(len(part), len(vectors)))
        sums.append(counts @ weighted)
    used = np.bincount(texts.rows[known[texts.ids]], minlength=len(texts))
    return np.concatenate(sums) / np.maximum(used, 1)[:, None]


def cosines(one: Doubles, other: Doubles) -> Doubles:
    """Return the cosine of each row of one matrix with that of another, -1 to 1; NaN where one is zeros."""
    lengths = np.sqrt(np.einsum("ij,ij->i", one, one) * np.einsum("ij,ij->i", other, other))
    found: Doubles = np.einsum("ij,ij->i", one, other) / np.where(lengths > 0, lengths, np.nan)
    return found


def extrema_and_greedy(responses: Texts, references: Texts, vectors: Doubles) -> tuple[Doubles, Doubles]:
    """Return two measures of nearness.

    Extrema: each text is in every dimension the value farthest from 0 among its words, the first of equal ones; their
    cosine. Greedy: every word, that has a vector, finds its nearest on the other side by cosine, at least 0; the mean
    over the words, and of both directions.

    Args:
        responses: their words.
        references: as many.
        vectors: [words of the lexicon, dimensions], zeros for words that are unknown or have none.

    Returns:
        Two of [responses]; NaN where a side has no word with a vector, and for greedy also where nothing is near.
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
    """Return, of [texts, words, dimensions], the values farthest from 0, the first of equally far ones: [texts,
    dimensions].
    """
    high, low = vectors.max(axis=1), vectors.min(axis=1)
    if not ((high == -low) & (high > 0)).any():
        values: Doubles = np.where(high > -low, high, low)
        return values
    place = np.abs(vectors).argmax(axis=1)  # slower, but it knows which came first
    found: Doubles = np.take_along_axis(vectors, place[:, None], axis=1)[:, 0]
    return found


def _mean(nearest: Doubles, norms: Doubles) -> Doubles:
    """Return the mean, over the words with a vector, of their nearness: [texts]; 0 where there is no such word."""
    mean: Doubles = np.maximum(nearest, 0).sum(axis=1) / np.maximum((norms > 0).sum(axis=1), 1)
    return mean
