"""The evidence at a boundary between two sentences besides the words: blocks, times, dashes, marks, lengths, and how
the two respond to each other, each as a small whole number.

Missing values, positions beyond the ends of the document, and pauses within a block (whose sentences share its times)
have numbers of their own.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Bools, Doubles, Floats, Hashes, Ints, flags, unnest
from edos_dataset.segmentation.turns.tokens import MARK, NAME, WORD, Tokens, hash_tokens, mask_names
from edos_dataset.text import hash64

Bins = Ints

UNKNOWN, OUTSIDE, INSIDE = 99, 98, 97
"""The numbers for the special cases; all other values are smaller."""

# Seconds; subtitlers separate consecutive blocks by 0 to 6 frames, which is less than 0.3.
_GAPS = (0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
_DURATIONS = (0.8, 1.2, 1.6, 2.0, 2.5, 3.0, 4.0, 6.0)  # seconds
_RATES = (6.0, 9.0, 12.0, 15.0, 18.0, 22.0)  # letters a second
_DENSITIES = (4.0, 8.0, 12.0, 16.0, 20.0, 25.0, 30.0)  # sentences a minute
_SHARES = (0.001, 0.03, 0.15, 0.4)
_WORDS = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 11.0, 16.0)
_ROUNDING = 0.0025  # seconds by which the halves of a block may differ


@dataclass(frozen=True, eq=False)
class Reading:
    """Documents as input of the learned scorers, read once for all of them.

    Attributes:
        table: SENTENCES.
        offsets: int64 [documents + 1] positions at which each document begins.
        tokens: tokens of all sentences, names masked.
        evidence: the result of `evidence` for all sentences.
    """

    table: pa.Table
    offsets: Bins
    tokens: Tokens
    evidence: dict[str, Bins | Hashes]


def read(table: pa.Table, language: str, rounded: bool = True) -> Reading:
    """Read the documents of SENTENCES, all in one language (ISO 639-1); `rounded` is that of `evidence`."""
    sentences, offsets = unnest(table, "sentences")
    tokens = hash_tokens(sentences.field("text"), language)
    masked = mask_names(tokens, tokens.offsets[offsets])
    document = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    columns = {**evidence(sentences, tokens, offsets, rounded), **talk(tokens, masked, offsets, document)}
    return Reading(table, offsets, masked, columns)


def probabilities(log_odds: Doubles) -> Floats:
    """Convert log-odds (natural logarithm) to probabilities; NaN stays NaN."""
    probability: Floats = (1 / (1 + np.exp(-log_odds))).astype(np.float32)
    return probability


def evidence(
    sentences: pa.StructArray, tokens: Tokens, offsets: Bins, rounded: bool = True
) -> dict[str, Bins | Hashes]:
    """Return columns [sentences] by `group.what`; value i describes the boundary before sentence i.

    Args:
        sentences: structs of LINE, document after document.
        tokens: tokens of the sentences.
        offsets: [documents + 1] positions at which each document begins.
        rounded: whether pauses are rounded to milliseconds, so that one of 0.3 s is that at any time of day and not
            0.2999999 s or 0.3000001 s.
    """
    document = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    first = first_sentences(offsets)
    relation = np.where(first, OUTSIDE, _blocks(sentences))
    gap, duration, rate = _times(sentences)
    gap = gap.round(3) if rounded else gap
    gap[first] = np.nan  # otherwise it would depend on the previous document in the table
    gaps = np.where(first, OUTSIDE, np.where(relation == 0, INSIDE, _bin(gap, _GAPS)))
    spans, rates = _bin(duration, _DURATIONS), _bin(rate, _RATES)
    split = np.where(first, OUTSIDE, _split_blocks(gap, duration, offsets))
    dash = flags(sentences.field("dash")).astype(np.int64)
    words = _bin(np.diff(np.r_[0, np.cumsum(tokens.kind == WORD)][tokens.offsets]).astype(np.float64), _WORDS)
    head, tail = _marks(tokens)
    return {
        "block.relation": relation,
        "timing.gap": gaps,
        "timing.split": split,
        "timing.duration_before": beside(spans, -1, document),
        "timing.duration": spans,
        "timing.rate_before": beside(rates, -1, document),
        "timing.rate": rates,
        "dash.before": beside(dash, -1, document),
        "dash.here": dash,
        "dash.after": beside(dash, 1, document),
        "dash.share": _bin(_shares(dash, offsets), _SHARES)[document],
        "density.sentences": _bin(_densities(sentences, offsets), _DENSITIES)[document],
        "punctuation.last_before": beside(tail, -1, document),
        "punctuation.first": head,
        "punctuation.last": tail,
        "lengths.before": beside(words, -1, document),
        "lengths.here": words,
        "neighbours.gap_before": beside(gaps, -1, document),
        "neighbours.gap_after": beside(gaps, 1, document),
        "neighbours.block_before": beside(relation, -1, document),
        "neighbours.block_after": beside(relation, 1, document),
        "neighbours.split_before": beside(split, -1, document),
        "neighbours.split_after": beside(split, 1, document),
        "neighbours.mark_two_before": beside(tail, -2, document),
        "neighbours.words_two_before": beside(words, -2, document),
        "neighbours.words_after": beside(words, 1, document),
    }


def first_sentences(offsets: Bins) -> Bools:
    """Return which sentences are the first of a document, [sentences], given the documents' offsets [documents + 1]."""
    first = np.zeros(offsets[-1], bool)
    first[offsets[:-1][np.diff(offsets) > 0]] = True
    return first


def beside(values: Bins | Hashes, step: int, document: Bins) -> Bins | Hashes:
    """Return the value of the sentence `step` places ahead (back if negative); OUTSIDE beyond the document's ends.

    Args:
        values: [sentences].
        step: any number but 0.
        document: [sentences], the index of each sentence's document, ascending.
    """
    moved = np.full_like(values, OUTSIDE)
    here, there = (slice(step, None), slice(None, -step)) if step > 0 else (slice(None, step), slice(-step, None))
    moved[there] = np.where(document[here] == document[there], values[here], moved[there])
    return moved


def _blocks(sentences: pa.StructArray) -> Bins:
    """Return how many blocks after the previous sentence's last block each sentence begins: 0, 1, or 2 for more."""
    first, last = (_floats(sentences, name) for name in ("first_block", "last_block"))
    step = first - np.roll(last, 1)
    return np.where(np.isnan(step), UNKNOWN, np.clip(np.nan_to_num(step), 0, 2)).astype(np.int64)


def _times(sentences: pa.StructArray) -> tuple[Doubles, Doubles, Doubles]:
    """Return each sentence's preceding pause and duration, in seconds, and its letters per second; NaN if unknown."""
    start, end = (_floats(sentences, name) for name in ("start", "end"))
    letters = pc.utf8_length(sentences.field("text")).to_numpy(zero_copy_only=False)
    duration = end - start
    return start - np.roll(end, 1), duration, letters / np.maximum(duration, 0.1)


def _split_blocks(gap: Doubles, duration: Doubles, offsets: Bins) -> Bins:
    """Return where one block of two speakers was probably split in two when its dashes were dropped.

    Returns:
        1 where the second of two sentences follows at once and lasts as long; 2 where it only follows at once, in a
        document where this occurs at splits (a sentence that continues in the next block hides the duration of its
        first block); 0 elsewhere.
    """
    before = np.roll(duration, 1)
    at_once = np.abs(gap) < _ROUNDING
    even = at_once & (np.abs(duration - before) < _ROUNDING)
    splits = _shares(even, offsets) > 0.7 * _shares(at_once, offsets)
    kind = np.where(even, 1, np.where(at_once & np.repeat(splits, np.diff(offsets)), 2, 0))
    return np.where(np.isnan(gap) | np.isnan(duration) | np.isnan(before), UNKNOWN, kind)


def _marks(tokens: Tokens) -> tuple[Hashes, Hashes]:
    """Return how each sentence begins (its first mark, or the case of its first word) and the mark at its end, 0 for a
    word.
    """
    begin, end = tokens.offsets[:-1], tokens.offsets[1:]
    is_mark, nothing = tokens.kind == MARK, np.uint64(UNKNOWN)
    head = np.r_[np.where(is_mark, tokens.surface, tokens.case.astype(np.uint64)), nothing]
    tail = np.r_[nothing, np.where(is_mark, tokens.surface, np.uint64(0))]
    return np.where(begin == end, nothing, head[begin]), np.where(begin == end, nothing, tail[end])


def _shares(holds: Bins | Bools, offsets: Bins) -> Doubles:
    shares: Doubles = np.diff(np.r_[0, np.cumsum(holds)][offsets]) / np.maximum(np.diff(offsets), 1)
    return shares


def _densities(sentences: pa.StructArray, offsets: Bins) -> Doubles:
    start, end = (_floats(sentences, name) for name in ("start", "end"))
    spans = [
        np.nanmax(end[a:b]) - np.nanmin(start[a:b]) if np.isfinite(end[a:b] - start[a:b]).any() else np.nan
        for a, b in pairwise(offsets.tolist())
    ]
    return np.diff(offsets) / np.maximum(np.array(spans, np.float64) / 60, 1 / 60)


def _floats(sentences: pa.StructArray, name: str) -> Doubles:
    values: Doubles = sentences.field(name).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return values


def _bin(values: Doubles, edges: tuple[float, ...]) -> Bins:
    bins = np.searchsorted(np.array(edges), values, side="right")
    return np.where(np.isnan(values), UNKNOWN, bins)


_COMMA = np.uint64(hash64(","))
_SPEAKER = tuple(hash64(word) for word in ("i", "i'm", "i've", "i'll", "i'd", "me", "my", "mine", "myself"))
_HEARER = tuple(hash64(word) for word in ("you", "you're", "you've", "you'll", "you'd", "your", "yours", "yourself"))
_FREQUENT = 0.003
"""The repetition of a word that is a larger fraction of a document's words means nothing."""

_OFTEN = 4
"""A word counts as frequent from this number of occurrences on; otherwise all words of a short document would."""

_ECHO_SHARES = (1e-6, 0.3, 0.6)


def talk(tokens: Tokens, masked: Tokens, offsets: Ints, document: Ints) -> dict[str, Ints]:
    """Return columns [sentences] by `talk.what`; value i describes the boundary before sentence i.

    Args:
        tokens: tokens of the sentences.
        masked: the same with names masked.
        offsets: [documents + 1] positions at which each document begins.
        document: [sentences], the index of each sentence's document, ascending.
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
        "talk.echo": np.where(
            first, 0, np.searchsorted(np.array(_ECHO_SHARES), echo / np.maximum(of, 1), side="right")
        ),
        "talk.person": np.where(first, 0, 4 * np.r_[0, person[:-1]] + person),
    }


@dataclass(frozen=True, eq=False)
class _Said:
    """The pairs of a word and a sentence that contains it.

    Attributes:
        word: int64 [pairs], numbers of words, ascending.
        sentence: int64 [pairs], sentences that contain the word, ascending for each word.
        times: int64 [pairs], how often each does.
        again: bool [pairs], whether the sentence before contains it too.
        sentences: the number of sentences.
    """

    word: Ints
    sentence: Ints
    times: Ints
    again: Bools
    sentences: int

    @classmethod
    def of(cls, tokens: Tokens, chosen: Bools) -> "_Said":
        """Return the pairs of the chosen tokens, bool [tokens]."""
        sentences = len(tokens.offsets) - 1
        sentence = np.repeat(np.arange(sentences), np.diff(tokens.offsets))
        step = sentences + 1  # keeps the last sentence of a word apart from the first of the next word
        keys, times = np.unique(tokens.word[chosen] * step + sentence[chosen], return_counts=True)
        again = np.r_[False, keys[1:] == keys[:-1] + 1][: len(keys)]
        return cls(keys // step, keys % step, times, again, sentences)

    def counted(self, these: Bools) -> Ints:
        """Return how many words each sentence has in the given pairs, with repetitions, int64 [sentences]."""
        counts: Ints = np.bincount(self.sentence, self.times * these, self.sentences).astype(np.int64)
        return counts


def _holds(tokens: Tokens, words: tuple[int, ...]) -> Ints:
    """Return for each sentence whether it contains any of the words, 0 or 1."""
    total = np.r_[0, np.cumsum(np.isin(tokens.surface, np.array(words, np.uint64)))]
    there: Ints = (total[tokens.offsets[1:]] > total[tokens.offsets[:-1]]).astype(np.int64)
    return there


def _called(tokens: Tokens, name: Bools) -> Ints:
    """Return how each sentence addresses somebody: 0 not at all, 1 at its beginning, 2 at its end, 3 only by names."""
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
    """Return how many rare words each sentence shares with the one before, and how many it has."""
    place = document[words.sentence]
    begins = np.r_[True, (words.word[1:] != words.word[:-1]) | (place[1:] != place[:-1])][: len(place)]
    run = np.cumsum(begins) - 1  # the sentences of one document that have the word
    most = np.maximum(_FREQUENT * np.diff(tokens.offsets[offsets]), _OFTEN)
    rare = np.bincount(run, words.times)[run] < most[place]
    return words.counted(rare & words.again), words.counted(rare)
