"""What two sentences say to each other: who is called by name, what is taken up again, and how "I" and "you" turn round."""

import numpy as np

from edos_dataset.arrays import Bools, Hashes, Ints
from edos_dataset.segmentation.turns.tokens import MARK, NAME, WORD, Tokens
from edos_dataset.text import hash64

_COMMA = np.uint64(hash64(","))
_SPEAKER = tuple(hash64(word) for word in ("i", "i'm", "i've", "i'll", "i'd", "me", "my", "mine", "myself"))
_HEARER = tuple(
    hash64(word) for word in ("you", "you're", "you've", "you'll", "you'd", "your", "yours", "yourself")
)
_FREQUENT = 0.003
"""A word that is a larger share of a document's words says nothing when it comes again."""

_SHARES = (1e-6, 0.3, 0.6)


def talk(tokens: Tokens, masked: Tokens, offsets: Ints, document: Ints) -> dict[str, Ints]:
    """Return columns [sentences] by `talk.what`; that of sentence i is of the seam before it.

    Args:
        tokens: those of the sentences.
        masked: the same with names masked.
        offsets: [documents + 1] positions at which each document begins.
        document: [sentences], the number of each sentence's document, rising.
    """
    name = masked.surface == NAME
    sentence = np.repeat(np.arange(len(tokens.offsets) - 1), np.diff(tokens.offsets))
    called = _called(tokens, name)
    person = _holds(np.isin(tokens.surface, _SPEAKER), tokens.offsets) + 2 * _holds(
        np.isin(tokens.surface, _HEARER), tokens.offsets
    )
    rare = _rare(tokens, offsets) & (tokens.kind == WORD)
    echo, of = _shared(tokens, rare, sentence)
    same, _ = _shared(tokens, name, sentence)
    first = np.r_[True, document[1:] != document[:-1]][: len(document)]
    before = np.r_[0, called[:-1]]
    return {
        "talk.called_before": np.where(first, 0, before),
        "talk.called": called,
        "talk.same_name": np.where(first, 0, np.where(same > 0, 1 + (called > 0) + 2 * (before > 0), 0)),
        "talk.echo": np.where(first, 0, np.searchsorted(np.array(_SHARES), echo / np.maximum(of, 1), side="right")),
        "talk.person": np.where(first, 0, 4 * np.r_[0, person[:-1]] + person),
    }


def _holds(of: Bools, offsets: Ints) -> Ints:
    total = np.r_[0, np.cumsum(of)]
    there: Ints = (total[offsets[1:]] > total[offsets[:-1]]).astype(np.int64)
    return there


def _called(tokens: Tokens, name: Bools) -> Ints:
    """Say how each sentence calls somebody: 0 not, 1 at its beginning, 2 at its end, 3 by nothing but names."""
    begin, end = tokens.offsets[:-1], tokens.offsets[1:]
    size = len(name)
    mark = np.r_[tokens.kind == MARK, True, True]
    named = np.r_[name, False, False]
    comma = np.r_[tokens.surface == _COMMA, False, False]
    some = end > begin
    head = np.minimum(begin, size)
    tail = np.where(some & mark[np.maximum(end - 1, 0)], end - 2, end - 1)
    last = np.clip(tail, 0, size)
    opens = some & named[head] & comma[np.minimum(head + 1, size)]
    closes = some & (tail > begin) & named[last] & comma[np.clip(tail - 1, 0, size)]
    total, names = np.r_[0, np.cumsum(tokens.kind == WORD)], np.r_[0, np.cumsum(name)]
    only = some & (names[end] > names[begin]) & (names[end] - names[begin] == total[end] - total[begin])
    code: Ints = np.where(only, 3, np.where(closes, 2, np.where(opens, 1, 0)))
    return code


def _rare(tokens: Tokens, offsets: Ints) -> Bools:
    borders = tokens.offsets[offsets]
    document = np.repeat(np.arange(len(offsets) - 1), np.diff(borders))
    pairs = document * tokens.words + tokens.word
    _, place, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    sizes = np.maximum(np.diff(borders), 1)[document]
    rare: Bools = counts[place] < np.maximum(_FREQUENT * sizes, 4)
    return rare


def _shared(tokens: Tokens, chosen: Bools, sentence: Ints) -> tuple[Ints, Ints]:
    """Return of each sentence how many of its chosen words the sentence before has, too, and how many there are."""
    number = len(tokens.offsets) - 1
    here = sentence[chosen] * tokens.words + tokens.word[chosen]
    before = np.unique((sentence[chosen] + 1) * tokens.words + tokens.word[chosen])
    again = np.isin(here, before, assume_unique=False)
    return (
        np.bincount(sentence[chosen][again], minlength=number)[:number],
        np.bincount(sentence[chosen], minlength=number)[:number],
    )
