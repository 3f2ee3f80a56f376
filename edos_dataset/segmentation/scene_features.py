"""What tells at a border between two turns whether a new scene begins behind it.

Everything is reckoned within one document: how long a pause is among the pauses of this film, how many of its words
and names go on across the border, where it stands. Only `words` are of a language; all else carries over to others.

Lexical chains are those of Morris and Hirst (1991) in the plain form of Galley et al. (2003, LCseg): a word that comes
again soon ties the turns between, the more the rarer it is; where few ties go across, the topic changes, as in
TextTiling (Hearst, 1997).
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Bools, Doubles, Floats, Hashes, Ints
from edos_dataset.segmentation.scene_series import after, before, crossing, distances, largest_beside, relative, windows
from edos_dataset.segmentation.scene_words import Words, read_words

GROUPS = ("pause", "rank", "chains", "names", "marks", "lengths", "place", "words")
"""Of features, by what they look at; `words` is made of what was learned about words (`scenes.SceneScorer`)."""

REACHES = (3, 10, 30)
"""Turns over which a word may come again, and still tie them."""

_LONGEST = 60.0  # seconds; a longer pause is as good
_FASTEST = 12.0  # letters a second; what a block stands for longer than its words take is silence too
_SIDES = (3, 8, 25)  # turns on either side among which a pause may be the longest
_NEAR_HOUR = 12.0, 30.0, 60.0  # pauses an hour that are "long" when places are reckoned from one long pause to the next
_QUOTES = "\"'”’»)]}"
_TAILS = ("question", "exclamation", "trail", "comma")
_HEADS = ("small", "dots")

Features = dict[str, Doubles]


def read_features(turns: pa.StructArray, offsets: Ints) -> Iterator[tuple[Features, Words, Bools]]:
    """Yield what is to be known of each document: features [turns] by `group.what`, of the border before each turn; its
    words; and which of these are names.

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
    """Return features of these names as columns, float32 [turns, names]."""
    if not names:
        return np.zeros((0, 0), np.float32)
    return np.stack([features[name] for name in names], axis=1).astype(np.float32)


def _pauses(start: Doubles, end: Doubles, letters: Doubles) -> Features:
    """Return what the silence before each turn says, by itself and among those of the document, and how far the long
    ones are.
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
    """Return how strongly words and names go on across the border before each turn, and how much is new behind it and
    ended before it.
    """
    size = len(words.offsets) - 1
    turn = np.repeat(np.arange(size), np.diff(words.offsets))
    order = np.argsort(words.number, kind="stable")
    same = words.number[order][1:] == words.number[order][:-1]
    one, next_one = order[:-1][same], order[1:][same]
    steps = turn[next_one] - turn[one]
    counts = np.bincount(words.number)
    # whole numbers, so that the sums are exact in whatever order they are taken
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
    """Return whether each turn begins and ends with certain marks, told once for each distinct beginning and end."""
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
    """Say whether a text that ends so asks, exclaims, trails off or goes on."""
    end = end.rstrip(_QUOTES)
    return end[-1:] == "?", end[-1:] == "!", end[-2:] == ".." or end[-1:] in {*"…-–—"}, end[-1:] in {*",;:"}


def _head(begin: str) -> tuple[bool, ...]:
    """Say whether a text that begins so is small-lettered, and whether dots open it."""
    letters = [sign for sign in begin if sign.isalnum()]
    return bool(letters) and letters[0].islower(), ".." in begin or "…" in begin


def _marks(flags: Features) -> Features:
    """Return the marks at which the turn before ends and with which this one begins and ends, and the next begins."""
    features = {}
    for name, values in flags.items():
        features[f"marks.{name}_before"] = before(values)
        features[f"marks.{name}_here"] = values
    return features


def _lengths(words: Words, letters: Doubles, duration: Doubles) -> Features:
    """Return how long the turns at the border are, and those around it."""
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
    """Return the learned words at each border: codes below 2 ** bits, and the turn of the border that each is of.

    A word is told apart by where it stands: first or second in the turn behind the border, last or second last in the
    one before, first in the one after, or anywhere in the two at the border.
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
    codes, borders = [], []
    for slot, (chosen, step) in enumerate(slots):
        with np.errstate(over="ignore"):
            salted = (hashes[chosen] ^ np.uint64(slot * 0x9E3779B97F4A7C15 % 2**64)) * np.uint64(0xD6E8FEB86659FD93)
        codes.append((salted >> np.uint64(64 - bits)).astype(np.int64))
        borders.append(turn[chosen] + step)
    code, border = np.concatenate(codes), np.concatenate(borders)
    inside: npt.NDArray[np.bool_] = (border > 0) & (border < size)
    return code[inside], border[inside]
