"""What two sentences say to each other: who is called by name, what comes again, how "I" and "you" turn round."""

from dataclasses import dataclass

import numpy as np

from edos_dataset.arrays import Bools, Ints
from edos_dataset.segmentation.turns.tokens import MARK, NAME, WORD, Tokens
from edos_dataset.text import hash64

_COMMA = np.uint64(hash64(","))
_SPEAKER = tuple(hash64(word) for word in ("i", "i'm", "i've", "i'll", "i'd", "me", "my", "mine", "myself"))
_HEARER = tuple(hash64(word) for word in ("you", "you're", "you've", "you'll", "you'd", "your", "yours", "yourself"))
_FREQUENT = 0.003
"""A word that is a larger share of a document's words says nothing when it comes again."""

_OFTEN = 4
"""Nor does one that it has as often; in a short document all else would be frequent."""

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
    called = _called(tokens, name)
    person = _holds(tokens, _SPEAKER) + 2 * _holds(tokens, _HEARER)
    echo, of = _echo(tokens, _Said.of(tokens, tokens.kind == WORD), offsets, document)
    names = _Said.of(tokens, name)
    same = names.counted(names.again)
    first = np.r_[True, document[1:] != document[:-1]][: len(document)]
    before = np.r_[0, called[:-1]]
    return {
        "talk.called_before": np.where(first, 0, before),
        "talk.called": called,
        "talk.same_name": np.where(first, 0, np.where(same > 0, 1 + (called > 0) + 2 * (before > 0), 0)),
        "talk.echo": np.where(first, 0, np.searchsorted(np.array(_SHARES), echo / np.maximum(of, 1), side="right")),
        "talk.person": np.where(first, 0, 4 * np.r_[0, person[:-1]] + person),
    }


@dataclass(frozen=True, eq=False)
class _Said:
    """Which sentence has which word.

    Attributes:
        word: int64 [pairs], numbers of words, rising.
        sentence: int64 [pairs], sentences that have the word, rising for each word.
        times: int64 [pairs], how often.
        again: bool [pairs], whether the sentence before has it, too.
        sentences: how many there are.
    """

    word: Ints
    sentence: Ints
    times: Ints
    again: Bools
    sentences: int

    @classmethod
    def of(cls, tokens: Tokens, chosen: Bools) -> "_Said":
        """Look at some of the tokens, bool [tokens]."""
        sentences = len(tokens.offsets) - 1
        sentence = np.repeat(np.arange(sentences), np.diff(tokens.offsets))
        step = sentences + 1  # so that the last sentence with a word is not next to the first with another
        keys, times = np.unique(tokens.word[chosen] * step + sentence[chosen], return_counts=True)
        again = np.r_[False, keys[1:] == keys[:-1] + 1][: len(keys)]
        return cls(keys // step, keys % step, times, again, sentences)

    def counted(self, these: Bools) -> Ints:
        """Return of each sentence how many words the pairs say that it has, int64 [sentences]."""
        counts: Ints = np.bincount(self.sentence, self.times * these, self.sentences).astype(np.int64)
        return counts


def _holds(tokens: Tokens, words: tuple[int, ...]) -> Ints:
    """Say of each sentence whether it has one of the words, 0 or 1."""
    total = np.r_[0, np.cumsum(np.isin(tokens.surface, np.array(words, np.uint64)))]
    there: Ints = (total[tokens.offsets[1:]] > total[tokens.offsets[:-1]]).astype(np.int64)
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


def _echo(tokens: Tokens, words: _Said, offsets: Ints, document: Ints) -> tuple[Ints, Ints]:
    """Return of each sentence how many of its rare words the sentence before has, too, and how many it has."""
    place = document[words.sentence]
    begins = np.r_[True, (words.word[1:] != words.word[:-1]) | (place[1:] != place[:-1])][: len(place)]
    run = np.cumsum(begins) - 1  # the sentences of one document that have the word
    most = np.maximum(_FREQUENT * np.diff(tokens.offsets[offsets]), _OFTEN)
    rare = np.bincount(run, words.times)[run] < most[place]
    return words.counted(rare & words.again), words.counted(rare)
