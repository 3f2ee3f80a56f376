"""The evidence that a new scene begins at a boundary between two turns.

Everything is computed within one document: how a pause compares with the other pauses of the film, how many words and
names continue across the boundary, and where in the document it is. Only `words` depends on a language; all else
carries over to others.

Lexical chains are those of Morris and Hirst (1991) in the plain form of Galley et al. (2003, LCseg): a word that recurs
soon ties the turns in between, and rarer words tie more strongly; where few ties cross, the topic changes, as in
TextTiling (Hearst, 1997).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Bools, Doubles, Floats, Hashes, Ints
from edos_dataset.text import hash64

_EDGES = re.compile(r"^[\W_]+|(?<=[^\W_])(?:['’][sS])?[\W_]*$")
_LOWER, _CAPITAL, _ENDS = 1, 2, 4
_NAME = np.uint64(hash64("<name>"))


@dataclass(frozen=True, eq=False)
class Words:
    """The words of consecutive turns; pieces without a letter or digit are left out.

    Attributes:
        hash: uint64 [words], hash of the word in lower case, without punctuation at its edges and without "'s".
        number: int64 [words], index of the hash among the distinct ones, from 0.
        lower: whether it begins with a lower-case letter.
        inner: whether it is capitalised inside a sentence.
        offsets: int64 [turns + 1], positions at which the words of each turn begin.
    """

    hash: Hashes
    number: Ints
    lower: Bools
    inner: Bools
    offsets: Ints

    def part(self, begin: int, end: int) -> "Words":
        """Return the words of the turns from `begin` up to `end`."""
        first, last = self.offsets[begin], self.offsets[end]
        here = slice(first, last)
        return Words(
            self.hash[here],
            self.number[here],
            self.lower[here],
            self.inner[here],
            self.offsets[begin : end + 1] - first,
        )

    def names(self) -> Bools:
        """Return which words [words] look like names: capitalised inside a sentence, and never in lower case."""
        named = np.zeros(int(self.number.max(initial=-1)) + 1, bool)
        named[self.number[self.inner]] = True
        named[self.number[self.lower]] = False
        found: Bools = named[self.number]
        return found

    def masked(self, names: Bools) -> Hashes:
        """Return the hashes with a single one for all names, since the names of one show mean nothing in another."""
        return np.where(names, _NAME, self.hash)


def read_words(texts: pa.StringArray) -> Words:
    """Split turns into words at spaces. Each distinct piece of text is processed once."""
    lists = pc.utf8_split_whitespace(texts)
    pieces = lists.flatten().dictionary_encode()
    rows = np.fromiter(chain.from_iterable(map(_describe, pieces.dictionary.to_pylist())), np.uint64).reshape(-1, 2)
    distinct, number = np.unique(rows[:, 0], return_inverse=True)
    empty = int(np.searchsorted(distinct, 0)) if len(distinct) and distinct[0] == 0 else -1
    piece = pieces.indices.to_numpy()
    marks = rows[:, 1].astype(np.int8)[piece]
    offsets = lists.offsets.to_numpy().astype(np.int64)
    offsets -= offsets[0]
    after_end = np.r_[True, (marks[:-1] & _ENDS) > 0] if len(marks) else np.zeros(0, bool)
    after_end[offsets[:-1][np.diff(offsets) > 0]] = True
    numbers = number[piece]
    kept = numbers != empty
    bounds = np.r_[0, np.cumsum(kept)][offsets]
    inner = ((marks & _CAPITAL) > 0) & ~after_end
    return Words(
        rows[:, 0][piece][kept], numbers[kept].astype(np.int64), ((marks & _LOWER) > 0)[kept], inner[kept], bounds
    )


@lru_cache(maxsize=1 << 14)
def _describe(piece: str) -> tuple[int, int]:
    """Return the hash of a word, 0 if it has no letter or digit, and flags for its capitals."""
    ends = _ENDS if piece.rstrip("\"'”’)]}»")[-1:] in {".", "!", "?", "…", ":"} else 0
    word = _EDGES.sub("", piece)
    if not word:
        return 0, ends
    capital = _CAPITAL if word[0].isupper() and word[1:2].islower() else 0
    return hash64(word.lower()), ends | capital | (_LOWER if word[0].islower() else 0)


GROUPS = ("pause", "rank", "chains", "names", "marks", "lengths", "place", "words")
"""Groups of features; `words` uses the learned weights of words (`scenes.SceneScorer`)."""

REACHES = (3, 10, 30)
"""Distances in turns within which a repeated word ties the turns between."""

_LONGEST = 60.0  # seconds; longer pauses count as this
_FASTEST = 12.0  # letters a second; the time that a block stays beyond what its words take is silence too
_SIDES = (3, 8, 25)  # turns on either side among which a pause may be the longest
_NEAR_HOUR = 12.0, 30.0, 60.0  # number of pauses an hour that count as "long" for distances to them
_QUOTES = "\"'”’»)]}"
_TAILS = ("question", "exclamation", "trail", "comma")
_HEADS = ("small", "dots")

Features = dict[str, Doubles]


def read_features(turns: pa.StructArray, offsets: Ints) -> Iterator[tuple[Features, Words, Bools]]:
    """Yield the features of each document, its words, and which of these are names.

    The features, [turns] each by `group.what`, describe the boundary before each turn.

    Args:
        turns: structs with `text`, `start` and `end` (seconds or null), document after document.
        offsets: [documents + 1] positions at which each document begins.
    """
    texts = turns.field("text")
    words = read_words(texts)
    start, end = (turns.field(name).to_numpy(zero_copy_only=False).astype(np.float64) for name in ("start", "end"))
    letters = pc.utf8_length(texts).to_numpy(zero_copy_only=False).astype(np.float64)
    marks = _read_marks(texts)
    for first, last in pairwise(offsets.tolist()):
        part = words.part(first, last)
        names = part.names()
        here = slice(first, last)
        yield (
            _pauses(start[here], end[here], letters[here])
            | _chains(part, names)
            | _marks({name: values[here] for name, values in marks.items()})
            | _lengths(part, letters[here], end[here] - start[here]),
            part,
            names,
        )


def matrix(features: Features, names: tuple[str, ...]) -> Floats:
    """Return the named features as columns, float32 [turns, names]."""
    if not names:
        return np.zeros((0, 0), np.float32)
    return np.stack([features[name] for name in names], axis=1).astype(np.float32)


def _pauses(start: Doubles, end: Doubles, letters: Doubles) -> Features:
    """Return features of the silence before each turn, absolute and relative to the document, and the distances to long
    ones.
    """
    size = len(start)
    pause = np.full(size, np.nan)
    pause[1:] = np.minimum(start[1:] - end[:-1], _LONGEST)
    known = ~np.isnan(pause)
    pause = np.where(known, np.maximum(pause, 0.0), 0.0)
    log = np.log1p(pause)
    some = known.any()
    hours = max(float(np.nanmax(end) - np.nanmin(start)) / 3600 if some else 0.0, 1 / 60)
    ordered = np.sort(pause[known])
    longer = (len(ordered) - np.searchsorted(ordered, pause, side="right")) / hours
    rank = np.where(known, np.log1p(longer), np.log1p(size / hours))
    median = float(np.median(log[known])) if some else 0.0
    spare = before(np.nan_to_num(np.maximum(end - start - 0.5 - letters / _FASTEST, 0.0)))
    slack = np.log1p(np.minimum(pause + spare, _LONGEST))
    features = {
        "pause.slack": slack,
        "rank.slack_8": slack - largest_beside(slack, 8),
        "rank.slack_25": slack - largest_beside(slack, 25),
        "pause.log": log,
        "pause.short": np.minimum(pause, 2.0),
        "pause.middle": np.clip(pause - 2.0, 0, 4.0),
        "pause.before": before(log),
        "pause.after": after(log),
        "rank.hour": rank,
        "rank.film": np.log1p(longer * hours),
        "rank.level": windows(log, 20, 21) / 41 - median,
        "place.turns": np.log1p(np.arange(size)),
        "place.left": np.log1p(np.arange(size)[::-1]),
    }
    for reach in _SIDES:
        features[f"rank.over_{reach}"] = log - largest_beside(log, reach)
    for often in _NEAR_HOUR:
        back, on = distances(rank < np.log1p(often))
        features[f"place.since_{often:g}"], features[f"place.until_{often:g}"] = back, on
    return features


def _chains(words: Words, names: Bools) -> Features:
    """Return how strongly words and names continue across the boundary before each turn, and how many begin after it or
    end before it.
    """
    size = len(words.offsets) - 1
    turn = np.repeat(np.arange(size), np.diff(words.offsets))
    order = np.argsort(words.number, kind="stable")
    same = words.number[order][1:] == words.number[order][:-1]
    one, next_one = order[:-1][same], order[1:][same]
    steps = turn[next_one] - turn[one]
    counts = np.bincount(words.number)
    # whole numbers, so that sums are exact in any order
    weight = np.rint(16 * np.maximum(np.log(max(size, 1) / np.maximum(counts, 1) / 4), 0))[words.number]
    until, since = np.full(len(turn), size), np.full(len(turn), size)
    until[one], since[next_one] = steps, steps
    features = {}
    for reach in REACHES:
        tied = (steps > 0) & (steps <= reach)
        ties = crossing(turn[one][tied], turn[next_one][tied], weight[one][tied], size)
        features[f"chains.level_{reach}"] = relative(ties, np.full(size, ties.mean() if size else 0.0))
        features[f"chains.depth_{reach}"] = relative(ties, windows(ties, 2 * reach, 2 * reach + 1) / (4 * reach + 1))
    tied = (steps > 0) & (steps <= 2 * REACHES[-1]) & names[one]
    ties = crossing(turn[one][tied], turn[next_one][tied], weight[one][tied], size)
    features["names.level"] = relative(ties, np.full(size, ties.mean() if size else 0.0))
    features["names.depth"] = relative(ties, windows(ties, 30, 31) / 61)
    for kind, of in (("chains", np.ones(len(turn), bool)), ("names", names)):
        fresh, spent = (
            np.bincount(turn, weight * of * (steps_away > REACHES[-1]), size).astype(np.float64)
            for steps_away in (since, until)
        )
        for ahead in (2, 8):
            features[f"{kind}.fresh_{ahead}"] = np.log1p(windows(fresh, 0, ahead) / 16)
            features[f"{kind}.spent_{ahead}"] = np.log1p(windows(spent, ahead, 0) / 16)
    return features


def _read_marks(texts: pa.StringArray) -> Features:
    """Return whether each turn begins and ends with certain marks; equal beginnings and ends are processed once."""
    features: Features = {"shout": _holds(pc.utf8_is_upper(texts))}
    for names, describe, bounds in ((_TAILS, _tail, (-4, None)), (_HEADS, _head, (0, 4))):
        edges = pc.utf8_slice_codeunits(texts, *bounds).dictionary_encode()
        known = np.array([describe(edge) for edge in edges.dictionary.to_pylist()], np.float64).reshape(-1, len(names))
        features |= dict(zip(names, known[edges.indices.to_numpy()].T, strict=True))
    return features


def _holds(flags: pa.BooleanArray) -> Doubles:
    held: Doubles = flags.to_numpy(zero_copy_only=False).astype(np.float64)
    return held


def _tail(end: str) -> tuple[bool, ...]:
    end = end.rstrip(_QUOTES)
    return end[-1:] == "?", end[-1:] == "!", end[-2:] == ".." or end[-1:] in {*"…-–—"}, end[-1:] in {*",;:"}


def _head(begin: str) -> tuple[bool, ...]:
    letters = [sign for sign in begin if sign.isalnum()]
    return bool(letters) and letters[0].islower(), ".." in begin or "…" in begin


def _marks(flags: Features) -> Features:
    """Return the marks that end the previous turn, begin and end this one, and begin the next."""
    features = {}
    for name, values in flags.items():
        features[f"marks.{name}_before"] = before(values)
        features[f"marks.{name}_here"] = values
    return features


def _lengths(words: Words, letters: Doubles, duration: Doubles) -> Features:
    count = np.log1p(np.diff(words.offsets).astype(np.float64))
    rate = np.log1p(np.where(np.isnan(duration), 12.0, letters / np.maximum(duration, 0.3)))
    return {
        "lengths.before": before(count),
        "lengths.here": count,
        "lengths.after": after(count),
        "lengths.five_before": windows(count, 5, 0) / 5,
        "lengths.five_after": windows(count, 0, 5) / 5,
        "lengths.rate_before": before(rate),
        "lengths.rate": rate,
    }


def word_codes(words: Words, hashes: Hashes, bits: int) -> tuple[Ints, Ints]:
    """Return codes below 2 ** bits of the words at the boundaries, and the turn after the boundary of each code.

    The same word has different codes in different places: first or second in the turn after the boundary, last or
    second last in the one before, first in the one after that, or anywhere in the two at the boundary.
    """
    size = len(words.offsets) - 1
    turn = np.repeat(np.arange(size), np.diff(words.offsets))
    place = np.arange(len(turn))
    from_begin, from_end = place - words.offsets[turn], words.offsets[turn + 1] - 1 - place
    slots = [
        (np.ones(len(turn), bool), 0),
        (np.ones(len(turn), bool), 1),
        (from_begin == 0, 0),
        (from_begin == 1, 0),
        (from_end == 0, 1),
        (from_end == 1, 1),
        (from_begin == 0, -1),
    ]
    codes, boundaries = [], []
    for slot, (chosen, step) in enumerate(slots):
        with np.errstate(over="ignore"):
            salted = (hashes[chosen] ^ np.uint64(slot * 0x9E3779B97F4A7C15 % 2**64)) * np.uint64(0xD6E8FEB86659FD93)
        codes.append((salted >> np.uint64(64 - bits)).astype(np.int64))
        boundaries.append(turn[chosen] + step)
    code, boundary = np.concatenate(codes), np.concatenate(boundaries)
    inside: npt.NDArray[np.bool_] = (boundary > 0) & (boundary < size)
    return code[inside], boundary[inside]


def windows(values: Doubles, before: int, after: int) -> Doubles:
    """Return the sum of the values from `before` places back up to, but excluding, `after` places ahead.

    At the ends the sums cover the values that exist.
    """
    size = len(values)
    if not size:
        return values
    total = np.zeros(before + size + after)
    np.cumsum(values, out=total[before : before + size])
    total[before + size :] = total[before + size - 1]
    sums: Doubles = total[before + after - 1 :][:size].copy()
    sums[1:] -= total[: size - 1]
    return sums


def before(values: Doubles) -> Doubles:
    """Return the value of the turn before each turn; 0 for the first."""
    moved = np.zeros(len(values))
    moved[1:] = values[:-1]
    return moved


def after(values: Doubles) -> Doubles:
    """Return the value of the turn after each turn; 0 for the last."""
    moved = np.zeros(len(values))
    moved[:-1] = values[1:]
    return moved


def largest_beside(values: Doubles, reach: int) -> Doubles:
    """Return the largest value among up to `reach` neighbours on each side, itself excluded; 0 if there are none."""
    size = len(values)
    ahead = np.zeros(size + 2 * reach)  # [i]: the largest of `reach` values that end before value i
    ahead[reach : reach + size] = values
    done = 1
    while done < reach:  # each pass doubles the window
        step = min(done, reach - done)
        ahead[: len(ahead) - step] = np.maximum(ahead[: len(ahead) - step], ahead[step:])
        done += step
    return np.maximum(ahead[:size], ahead[reach + 1 : reach + 1 + size])


def distances(marked: Bools) -> tuple[Doubles, Doubles]:
    """Return the logarithm of the distance in turns to the last marked turn before each, and to the next one."""
    size = len(marked)
    place = np.arange(size)
    last = np.maximum.accumulate(np.where(marked, place, 0))
    following = np.minimum.accumulate(np.where(marked, place, size)[::-1])[::-1]
    back, on = place.copy(), size - place
    back[1:] -= last[:-1]
    on[:-1] = following[1:] - place[:-1]
    return np.log1p(back), np.log1p(on)


def crossing(begin: Ints, end: Ints, weight: Doubles, size: int) -> Doubles:
    """Return the weight of the ties across the boundary before each turn."""
    steps = np.bincount(begin + 1, weight, size + 1) - np.bincount(end + 1, weight, size + 1)
    return np.cumsum(steps)[:size]


def relative(ties: Doubles, usual: Doubles) -> Doubles:
    """Return the logarithm of ties relative to their usual value, smoothed for small values."""
    relative: Doubles = np.log((ties + 32) / (usual + 32))
    return relative
