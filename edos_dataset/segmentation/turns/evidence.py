"""What a subtitle file says at the seam between two sentences beside its words: blocks, times, dashes, marks and
lengths, each as a small whole number.

What is not given, what lies beyond the ends of the document, and the pause between sentences of one block (which share
its times) are numbers of their own.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Bools, Doubles, Floats, Hashes, Ints, flags, unnest
from edos_dataset.segmentation.turns.talk import talk
from edos_dataset.segmentation.turns.tokens import MARK, WORD, Tokens, hash_tokens, mask_names

Bins = Ints

UNKNOWN, OUTSIDE, INSIDE = 99, 98, 97
"""The numbers of their own; all others are below."""

# Seconds; a pause below 0.3 is how a subtitler parts blocks that follow at once, by 0 to 6 frames.
_GAPS = (0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
_DURATIONS = (0.8, 1.2, 1.6, 2.0, 2.5, 3.0, 4.0, 6.0)  # seconds
_RATES = (6.0, 9.0, 12.0, 15.0, 18.0, 22.0)  # letters a second
_DENSITIES = (4.0, 8.0, 12.0, 16.0, 20.0, 25.0, 30.0)  # sentences a minute
_SHARES = (0.001, 0.03, 0.15, 0.4)
_WORDS = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 11.0, 16.0)
_ROUNDING = 0.0025  # seconds by which the halves of a block may differ


@dataclass(frozen=True, eq=False)
class Reading:
    """Documents as the learned scorers see them: read once for all of them.

    Attributes:
        table: SENTENCES.
        offsets: int64 [documents + 1] positions at which each document begins.
        tokens: of all sentences, names masked.
        evidence: what `evidence` says of all sentences.
    """

    table: pa.Table
    offsets: Bins
    tokens: Tokens
    evidence: dict[str, Bins | Hashes]


def read(table: pa.Table, language: str) -> Reading:
    """Read the documents of SENTENCES, all in one language (ISO 639-1)."""
    sentences, offsets = unnest(table, "sentences")
    tokens = hash_tokens(sentences.field("text"), language)
    masked = mask_names(tokens, tokens.offsets[offsets])
    document = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    columns = {**evidence(sentences, tokens, offsets), **talk(tokens, masked, offsets, document)}
    return Reading(table, offsets, masked, columns)


def probabilities(log_odds: Doubles) -> Floats:
    """Return what log-odds (natural logarithm) stand for; NaN stays."""
    probability: Floats = (1 / (1 + np.exp(-log_odds))).astype(np.float32)
    return probability


def evidence(sentences: pa.StructArray, tokens: Tokens, offsets: Bins) -> dict[str, Bins | Hashes]:
    """Return columns [sentences] by `group.what`; that of sentence i is of the seam before it.

    Args:
        sentences: structs of LINE, document after document.
        tokens: those of the sentences.
        offsets: [documents + 1] positions at which each document begins.
    """
    document = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    first = first_sentences(offsets)
    relation = np.where(first, OUTSIDE, _blocks(sentences))
    gap, duration, rate = _times(sentences)
    gap[first] = np.nan  # or a document's first sentence would be told by the document before it in the table
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
    """Return which sentences are the first of a document, [sentences], for the positions [documents + 1] at which
    documents begin.
    """
    first = np.zeros(offsets[-1], bool)
    first[offsets[:-1][np.diff(offsets) > 0]] = True
    return first


def beside(values: Bins | Hashes, step: int, document: Bins) -> Bins | Hashes:
    """Return the value of the sentence that is `step` further on (or back), OUTSIDE where that is in no or another
    document.

    Args:
        values: [sentences].
        step: any number but 0.
        document: [sentences], the number of each sentence's document, rising.
    """
    moved = np.full_like(values, OUTSIDE)
    here, there = (slice(step, None), slice(None, -step)) if step > 0 else (slice(None, step), slice(-step, None))
    moved[there] = np.where(document[here] == document[there], values[here], moved[there])
    return moved


def _blocks(sentences: pa.StructArray) -> Bins:
    """Return how many blocks further on a sentence begins than the one before ended: 0, 1, or 2 for more."""
    first, last = (_floats(sentences, name) for name in ("first_block", "last_block"))
    step = first - np.roll(last, 1)
    return np.where(np.isnan(step), UNKNOWN, np.clip(np.nan_to_num(step), 0, 2)).astype(np.int64)


def _times(sentences: pa.StructArray) -> tuple[Doubles, Doubles, Doubles]:
    """Return the pause before each sentence and its duration, in seconds, and its letters a second; NaN where not
    known.
    """
    start, end = (_floats(sentences, name) for name in ("start", "end"))
    letters = pc.utf8_length(sentences.field("text")).to_numpy(zero_copy_only=False)
    duration = end - start
    return start - np.roll(end, 1), duration, letters / np.maximum(duration, 0.1)


def _split_blocks(gap: Doubles, duration: Doubles, offsets: Bins) -> Bins:
    """Say where one block of two speakers was probably cut in two when its dashes were dropped.

    Returns:
        1 where two sentences follow each other at once and last equally long; 2 where they only follow at once, in a
        document in which this is seen at splits (a sentence that goes on in the next block hides how long its first one
        lasts); 0 elsewhere.
    """
    before = np.roll(duration, 1)
    at_once = np.abs(gap) < _ROUNDING
    even = at_once & (np.abs(duration - before) < _ROUNDING)
    splits = _shares(even, offsets) > 0.7 * _shares(at_once, offsets)
    kind = np.where(even, 1, np.where(at_once & np.repeat(splits, np.diff(offsets)), 2, 0))
    return np.where(np.isnan(gap) | np.isnan(duration) | np.isnan(before), UNKNOWN, kind)


def _marks(tokens: Tokens) -> tuple[Hashes, Hashes]:
    """Return how each sentence begins (its first mark, or the case of its first word) and the mark that it ends with,
    or 0 for a word.
    """
    begin, end = tokens.offsets[:-1], tokens.offsets[1:]
    is_mark, nothing = tokens.kind == MARK, np.uint64(UNKNOWN)
    head = np.r_[np.where(is_mark, tokens.surface, tokens.case.astype(np.uint64)), nothing]
    tail = np.r_[nothing, np.where(is_mark, tokens.surface, np.uint64(0))]
    return np.where(begin == end, nothing, head[begin]), np.where(begin == end, nothing, tail[end])


def _shares(holds: Bins | Bools, offsets: Bins) -> Doubles:
    """Return the share of each document's sentences for which something holds."""
    shares: Doubles = np.diff(np.r_[0, np.cumsum(holds)][offsets]) / np.maximum(np.diff(offsets), 1)
    return shares


def _densities(sentences: pa.StructArray, offsets: Bins) -> Doubles:
    """Return the sentences a minute of every document, NaN where no time is given."""
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
