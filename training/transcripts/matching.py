"""Monotonic matching of the words of two versions of a text.

Subtitles shorten and scripts differ from what was filmed, so gaps cost by their number, not by their length; common
words match by chance everywhere, so opening a run of matches costs more than one common word is worth. The best chain
of runs is found exactly, row by row over the positions of equal words (Hunt & Szymanski, "A fast algorithm for
computing longest common subsequences", 1977, with an opening cost added). Only runs that were the best for some prefix
are kept, so memory grows with the number of words rather than with the product. Long texts are first cut at phrases
that occur once in both texts and do not cross (as in Cohen's patience diff).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from edos_dataset.text import normal_form

UNMATCHED = -1
"""Position of a word without a match."""

_COMMON, _RARE = 20, 100  # worth of the most common word, and of a word that occurs once in both texts
_OPENING = 90  # cost of opening a run: one very rare word or several common ones outweigh it
_OPENING_IN_GAP = 10  # the same in a narrow gap between two runs, where chance matches are rare
_NARROW = 40  # total words of a narrow gap, in both texts
_PHRASE = 8  # words
_PIECE = 1500  # words of the first text between two cuts


def match_words(ours: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Match the words of two versions of a text.

    Args:
        ours: int64 [n], word ids.
        theirs: int64 [m], word ids of the same numbering.

    Returns:
        int64 [n], the increasing positions in `theirs` of each word's match, or UNMATCHED; and int64 [n], the worth of
        a match of each word: from 20 for the most common word to 100 for one that occurs once in both texts.
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
    """Return int64 [word ids]: the worth of a match of each word, lower for frequent words."""
    counts = np.maximum(np.bincount(words), 2) / 2
    rarity = 1 - np.log(counts) / np.log(max(counts.max(initial=0), 2))
    worth: np.ndarray = np.round(_COMMON + (_RARE - _COMMON) * rarity).astype(np.int64)
    return worth


def _cuts(ours: np.ndarray, theirs: np.ndarray) -> list[tuple[int, int]]:
    """Return increasing positions in both texts at which they can be cut so that the pieces are matched separately."""
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
    """Yield start and end, in both texts, of the gaps between two matches that have few words."""
    matched = np.flatnonzero(place >= 0)
    before, after = matched[:-1], matched[1:]
    mine, other = after - before - 1, place[after] - place[before] - 1
    for k in np.flatnonzero((mine > 0) & (other > 0) & (mine + other <= _NARROW)):
        yield int(before[k]) + 1, int(after[k]), int(place[before[k]]) + 1, int(place[after[k]])


def _shift(place: np.ndarray, by: int) -> np.ndarray:
    return np.where(place >= 0, place + by, UNMATCHED)


@dataclass(slots=True)
class _Chains:
    """The best chain for each prefix of the second text.

    Attributes:
        score: int64 [words + 1], score of the best chain within the first j words; non-decreasing.
        by: int64 [words + 1], the last run of that chain, or -1.
        runs: first word in ours, first word in theirs, length, previous run.
    """

    score: np.ndarray
    by: np.ndarray
    runs: list[tuple[int, int, int, int]] = field(default_factory=list)

    def add(self, run: tuple[int, int, int, int], score: int) -> None:
        """Make a chain the best of all prefixes that it improves."""
        end = run[1] + run[2]
        if score > self.score[end]:
            upto = end + int(self.score[end:].searchsorted(score))
            self.score[end:upto] = score
            self.by[end:upto] = len(self.runs)
            self.runs.append(run)

    def place(self, length: int) -> np.ndarray:
        """Backtrack the best chain of all; return the positions of `length` words."""
        place: np.ndarray = np.full(length, UNMATCHED)
        run = int(self.by[-1])
        while run >= 0:
            first, low, count, run = self.runs[run]
            place[first : first + count] = np.arange(low, low + count)
        return place


def _best_chain(ours: np.ndarray, theirs: np.ndarray, worth: np.ndarray, opening: int) -> np.ndarray:
    """Return the positions of the chain of runs with the highest total worth minus `opening` per run; of equal chains,
    the one found first.
    """
    order = np.argsort(theirs, kind="stable")
    low, high = (np.searchsorted(theirs[order], ours, side) for side in ("left", "right"))
    chains = _Chains(np.zeros(len(theirs) + 1, np.int64), np.full(len(theirs) + 1, -1))
    ends = scores = lengths = befores = np.zeros(0, np.int64)  # of the runs that the previous word belonged to
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


_SPELLINGS = {
    "gonna": "going to", "wanna": "want to", "gotta": "got to", "kinda": "kind of", "sorta": "sort of",
    "outta": "out of", "lemme": "let me", "gimme": "give me", "dunno": "do not know", "cause": "because",
    "cuz": "because", "em": "them", "til": "until", "till": "until", "ya": "you", "y'all": "you all", "ma'am": "madam",
    "c'mon": "come on", "ok": "okay", "yeah": "yes", "yep": "yes", "yup": "yes", "dr": "doctor", "mr": "mister",
    "mrs": "missus", "prof": "professor", "sgt": "sergeant", "lt": "lieutenant", "vs": "versus", "alright": "all right",
    "cannot": "can not", "won't": "will not", "can't": "can not", "shan't": "shall not", "let's": "let us", "&": "and",
    "%": "percent", "um": "uh", "er": "uh", "erm": "uh", "ah": "oh", "mum": "mom",
}  # fmt: skip
_ENDINGS = {"n't": "not", "'m": "am", "'re": "are", "'ll": "will", "'ve": "have", "'s": "is", "'d": "would"}
_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORD = re.compile(r"\n|[^\W_]+(?:'[^\W_]+)*(?:(?<=in)')?|[&%]")
_CONTRACTED = re.compile(r"(.+?)(n't|'m|'re|'ll|'ve|'s|'d)$")
_DROPPED = re.compile("[\u0300-\u036f]+|(?<=[0-9]),(?=[0-9]{3})")  # and the thousands separators of numbers
_BREAK = "\n"
_LONGEST_WORD = 40  # characters; a longer word is not interpreted


def number_words(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Number the words of all texts.

    Args:
        texts: any texts.

    Returns:
        int64 [words], the id of each word, consecutive from 0 and the same for all spellings of a word; and int64
        [words], the index of its text.
    """
    whole = normal_form(_BREAK.join(text.replace(_BREAK, " ") for text in texts), "NFKD")
    words = pa.array(
        _WORD.findall(_DROPPED.sub("", whole).casefold().translate({ord("’"): "'", ord("‘"): "'"})), pa.string()
    ).dictionary_encode()
    spelled = [_spell(word) for word in words.dictionary.to_pylist()]
    known: dict[str, int] = {}
    flat = np.array([known.setdefault(part, len(known)) for parts in spelled for part in parts], np.int64)
    lengths = np.array([len(parts) for parts in spelled], np.int64)
    forms = words.indices.to_numpy()
    counts = lengths[forms]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    numbers = flat[np.repeat((np.cumsum(lengths) - lengths)[forms], counts) + within]
    breaks = numbers == known.get(_BREAK, -1)
    _, numbers = np.unique(numbers[~breaks], return_inverse=True)
    return numbers, np.cumsum(breaks)[~breaks]


def _spell(word: str) -> list[str]:
    if len(word) > _LONGEST_WORD:
        return [word]
    if word in _SPELLINGS:
        return _SPELLINGS[word].split()
    if word.isascii() and word.isdecimal() and len(word) <= 4:
        return _spell_number(int(word)) or [word]
    if word.endswith("in'"):
        return [word[:-1] + "g"]
    parts = _CONTRACTED.match(word)
    return [*_spell(parts[1]), _ENDINGS[parts[2]]] if parts else [word]


def _spell_number(number: int) -> list[str]:
    """Return the words of a number up to 99, or of whole hundreds or thousands up to 9900; other numbers have several
    readings.
    """
    if number < len(_UNITS):
        return [_UNITS[number]]
    if number < 100:
        return [_TENS[number // 10 - 2], *_UNITS[number % 10 : number % 10 + 1] * (number % 10 > 0)]
    name, size = ("thousand", 1000) if number % 1000 == 0 else ("hundred", 100)
    return [*_spell_number(number // size), name] if number % size == 0 else []
