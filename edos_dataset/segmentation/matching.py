"""Which words of two tellings of one text match, both read in order.

Subtitles shorten and scripts differ from what was filmed, so gaps cost by their number, not by their length; and as
common words meet by chance everywhere, opening a run of matches costs more than one common word earns. The best chain
of runs is found exactly, row by row over the places where equal words meet (Hunt & Szymanski, "A fast algorithm for
computing longest common subsequences", 1977, with the cost of opening added). Only runs that were the best of some
beginning are kept, so memory grows with the words, not with their product. Long texts are first cut where a phrase is
found once on either side and none crosses it (after Cohen's patience diff).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

UNMATCHED = -1
"""Place of a word that has no match."""

_COMMON, _RARE = 20, 100  # worth of the commonest word and of one that comes once on either side
_OPENING = 90  # cost of a run in the open: the rarest words alone, or some common ones together, pay for it
_OPENING_IN_GAP = 10  # and of one in a narrow gap between two runs, where chance has little room
_NARROW = 40  # words of a gap, on both sides together
_PHRASE = 8  # words
_PIECE = 1500  # words of ours between two cuts


def match_words(ours: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Match the words of two tellings.

    Args:
        ours: int64 [n], numbers of words.
        theirs: int64 [m], numbers of words, numbered alike.

    Returns:
        int64 [n], the place in `theirs` of each word's match, growing, or UNMATCHED; and int64 [n], what a match of
        each word is worth: 20 for the commonest word to 100 for one that comes once on either side.
    """
    worth = _worth(np.concatenate([ours, theirs]))
    place: np.ndarray = np.full(len(ours), UNMATCHED)
    cuts = [(0, 0), *_cuts(ours, theirs), (len(ours), len(theirs))]
    for (first, low), (last, high) in zip(cuts[:-1], cuts[1:], strict=True):
        place[first:last] = _shift(_best_chain(ours[first:last], theirs[low:high], worth, _OPENING), low)
    for first, last, low, high in _narrow_gaps(place, len(theirs)):
        place[first:last] = _shift(_best_chain(ours[first:last], theirs[low:high], worth, _OPENING_IN_GAP), low)
    return place, worth[ours]


def hash_phrases(words: np.ndarray, length: int) -> np.ndarray:
    """Return uint64 [max(words - length + 1, 0)]: a hash of the phrase of `length` words that begins at each word."""
    phrases = np.zeros(max(len(words) - length + 1, 0), np.uint64)
    for step in range(length):
        phrases = (phrases + words[step : step + len(phrases)].astype(np.uint64) + np.uint64(1)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        phrases ^= phrases >> np.uint64(29)
    return phrases


def _worth(words: np.ndarray) -> np.ndarray:
    """Return int64 [numbers]: what a match of each word is worth, the less the oftener it comes."""
    counts = np.maximum(np.bincount(words), 2) / 2
    rarity = 1 - np.log(counts) / np.log(max(counts.max(initial=0), 2))
    worth: np.ndarray = np.round(_COMMON + (_RARE - _COMMON) * rarity).astype(np.int64)
    return worth


def _cuts(ours: np.ndarray, theirs: np.ndarray) -> list[tuple[int, int]]:
    """Return places in both texts, growing, at which they may be cut and the pieces matched for themselves."""
    if len(ours) < 2 * _PIECE:
        return []
    once = [
        (phrases[counts == 1], at[counts == 1])
        for phrases, at, counts in (_count(hash_phrases(words, _PHRASE)) for words in (ours, theirs))
    ]
    _, mine, other = np.intersect1d(once[0][0], once[1][0], assume_unique=True, return_indices=True)
    pairs = np.stack([once[0][1][mine], once[1][1][other]])
    pairs = pairs[:, np.argsort(pairs[0])] + _PHRASE // 2
    uncrossed = (pairs[1] == np.maximum.accumulate(pairs[1])) & (
        pairs[1] == np.minimum.accumulate(pairs[1][::-1])[::-1]
    )
    cuts: list[tuple[int, int]] = []
    for at, place in pairs[:, uncrossed].T.tolist():
        if at - (cuts[-1][0] if cuts else 0) >= _PIECE:
            cuts.append((at, place))
    return cuts


def _count(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    distinct, at, counts = np.unique(values, return_index=True, return_counts=True)
    return distinct, at, counts


def _narrow_gaps(place: np.ndarray, length: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield begin and end, in both texts, of the passages between two matches that have few words on both sides."""
    matched = np.flatnonzero(place >= 0)
    before, after = matched[:-1], matched[1:]
    mine, other = after - before - 1, place[after] - place[before] - 1
    for k in np.flatnonzero((mine > 0) & (other > 0) & (mine + other <= _NARROW)):
        yield int(before[k]) + 1, int(after[k]), int(place[before[k]]) + 1, int(place[after[k]])


def _shift(place: np.ndarray, by: int) -> np.ndarray:
    return np.where(place >= 0, place + by, UNMATCHED)


@dataclass(slots=True)
class _Chains:
    """The best chain for each beginning of their text.

    Attributes:
        score: int64 [words + 1], score of the best chain within the first j words; grows with j.
        by: int64 [words + 1], the last run of that chain, or -1.
        runs: first word of ours, first of theirs, length, run before.
    """

    score: np.ndarray
    by: np.ndarray
    runs: list[tuple[int, int, int, int]] = field(default_factory=list)

    def add(self, run: tuple[int, int, int, int], score: int) -> None:
        """Let a chain be the best of all beginnings for which it is."""
        end = run[1] + run[2]
        if score > self.score[end]:
            upto = end + int(self.score[end:].searchsorted(score))
            self.score[end:upto] = score
            self.by[end:upto] = len(self.runs)
            self.runs.append(run)

    def place(self, length: int) -> np.ndarray:
        """Follow the best chain of all back; return the places of `length` words."""
        place: np.ndarray = np.full(length, UNMATCHED)
        run = int(self.by[-1])
        while run >= 0:
            first, low, count, run = self.runs[run]
            place[first : first + count] = np.arange(low, low + count)
        return place


def _best_chain(ours: np.ndarray, theirs: np.ndarray, worth: np.ndarray, opening: int) -> np.ndarray:
    """Return the places of the chain of runs with the highest sum of worths less `opening` a run; of two as good, the
    one found first.
    """
    order = np.argsort(theirs, kind="stable")
    low, high = (np.searchsorted(theirs[order], ours, side) for side in ("left", "right"))
    chains = _Chains(np.zeros(len(theirs) + 1, np.int64), np.full(len(theirs) + 1, -1))
    ends = scores = lengths = befores = np.zeros(0, np.int64)  # of the runs that the word before was part of
    for row in range(len(ours)):
        columns = order[low[row] : high[row]]
        new_scores, new_befores, new_lengths = (
            chains.score[columns] - opening,
            chains.by[columns],
            np.ones(len(columns), np.int64),
        )
        if len(ends) and len(columns):
            old = np.minimum(ends.searchsorted(columns), len(ends) - 1)
            goes_on = (ends[old] == columns) & (scores[old] >= new_scores)
            old = old[goes_on]
            new_scores[goes_on], new_befores[goes_on], new_lengths[goes_on] = (
                scores[old],
                befores[old],
                lengths[old] + 1,
            )
        ends, scores, befores, lengths = columns + 1, new_scores + worth[ours[row]], new_befores, new_lengths
        for k in np.flatnonzero(scores > chains.score[ends]).tolist():
            length = int(lengths[k])
            chains.add((row + 1 - length, int(ends[k]) - length, length, int(befores[k])), int(scores[k]))
    return chains.place(len(ours))
