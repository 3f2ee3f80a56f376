"""BLEU of single responses (Papineni et al., 2002) with smoothing for short ones: method 4 of Chen and Cherry (2014).

NLTK, by which dialog-eval measures, changed that method in 3.6, and published figures have either form:

* `nltk-3.10`, as of 3.6: the k-th order without a match counts ln(words) / (5 · 2^k) matches.
* `nltk-3.5`: the order n without a match counts n - 1 + 5 / ln(words) matches, more than there are n-grams in short
  responses, so that BLEU grows with the order and a perfect answer can pass 1; a response of one word has 0.

The weights of BLEU-3 are dialog-eval's, and sum to 0.99.
"""

from typing import Literal, get_args

import numpy as np

from edos_dataset.arrays import Doubles, Ints
from edos_dataset.metrics.responses.texts import Texts, chunks

Form = Literal["nltk-3.10", "nltk-3.5"]
WEIGHTS = np.array([[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.33, 0.33, 0.33, 0], [0.25, 0.25, 0.25, 0.25]])
"""[BLEU-1 to -4, orders]."""

_K = 5.0  # of Chen and Cherry
_ROWS = 4096  # at once


def bleu(responses: Texts, references: Texts, form: Form = "nltk-3.10") -> Doubles:
    """Return BLEU-1 to -4 of responses with one reference each: [responses, 4], 0 to 1 (`nltk-3.5`: and above).

    Args:
        responses: their words.
        references: as many, numbered by the same lexicon.
        form: of the smoothing.

    Raises:
        ValueError: the form is unknown.
    """
    return scores(*matches(responses, references), responses.lengths, references.lengths, form)


def matches(responses: Texts, references: Texts) -> tuple[Ints, Ints]:
    """Return, for n-grams of 1 to 4 words, how many of a response's are in its reference, each as often as it is there
    at most, and how many the response has: two of [responses, 4].
    """
    orders = np.arange(4)
    total = np.maximum(responses.lengths[:, None] - orders, 0)
    parts = [_matches(responses.part(*rows), references.part(*rows)) for rows in chunks(len(responses), _ROWS)]
    return np.concatenate([np.zeros((0, 4), dtype=np.int64), *parts]), total


def _matches(responses: Texts, references: Texts) -> Ints:
    words = np.concatenate([responses.ids, references.ids])
    rows = np.concatenate([responses.rows, references.rows])
    left = np.concatenate([_left(responses), _left(references)])  # words from here to the end of the text
    given = np.arange(len(words)) < len(responses.ids)  # by a response
    base = int(words.max(initial=0)) + 1
    found = np.zeros((len(responses), 4), dtype=np.int64)
    place, gram = np.arange(len(words)), rows  # where n-grams begin; their numbers, different in different rows
    for order in range(4):
        longer = left[place] > order
        place = place[longer]
        _, gram = np.unique(gram[longer] * base + words[place + order], return_inverse=True)
        mine, number = given[place], int(gram.max(initial=-1)) + 1
        shared = np.minimum(np.bincount(gram[mine], minlength=number), np.bincount(gram[~mine], minlength=number))
        row = np.zeros(number, dtype=np.int64)
        row[gram] = rows[place]
        found[:, order] = np.bincount(row, weights=shared, minlength=len(responses))
        longer_too = shared[gram] > 0  # an n-gram that isn't on both sides begins no longer one that is
        place, gram = place[longer_too], gram[longer_too]
    return found


def _left(texts: Texts) -> Ints:
    return np.repeat(texts.starts + texts.lengths, texts.lengths) - np.arange(len(texts.ids))


def scores(found: Ints, total: Ints, words: Ints, expected: Ints, form: Form = "nltk-3.10") -> Doubles:
    """Return BLEU-1 to -4, [responses, 4], from the counts of `matches`.

    Args:
        found: [responses, 4].
        total: [responses, 4].
        words: [responses], of each response.
        expected: [responses], of each reference.
        form: of the smoothing.

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
    # of one word, NLTK leaves out what has no match
    logarithm = np.where(none & (words < 2)[:, None], 0.0, np.log(precision))
    brevity = np.exp(np.minimum(0.0, 1.0 - expected / np.maximum(words, 1)))
    result = brevity[:, None] * np.exp(logarithm @ WEIGHTS.T)
    wrong = none[:, 0] | (old & (words < 2))
    return np.where(wrong[:, None], 0.0, result)
