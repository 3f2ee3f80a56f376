"""Lines that only the blocks around them show not to be speech: songs left open, and text that a speech recogniser
heard in silence.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Bools, Doubles, Ints
from edos_dataset.cleaning.captions import is_film_credit

_TOUCH = 0.1  # maximum seconds between two blocks without a break
_SPOKEN_RATE = 25.0  # letters per second; nobody repeats a text faster
_REPEATS, _REPEATS_OF_WORDS, _PHRASE = 3, 5, 3  # blocks of one text; of one or two words; words of a phrase
_LONG, _SLOW, _SLOWEST = 10.0, 3.0, 8.0  # seconds, letters a second of silence, and of a phrase that is heard in it
_EDGE = 20  # blocks at the beginning and the end of a film, where its makers are named
_FARTHEST = 4  # blocks without a note inside a song
_NOTE = "♩♪♫♬¶#*~"
_AGAIN = re.compile(r"(\S.{1,200}?)(?: \1){2,}")  # where each space is one
_HEARD_IN_SILENCE = re.compile(
    r"(?i)\b(?:thanks?(?: you)?(?: \w+){0,3} for (?:watching|listening|viewing)|subscribe|see you (?:\w+ ){0,3}next"
    r" (?:video|time|episode))\b"
)


def find_loops(texts: Sequence[str], lines: pa.StructArray, rows: Ints) -> Ints:
    """Return the lines that a speech recogniser repeated in a loop, or wrote over silence.

    These are a text in three touching blocks, each long enough to say it; a block of ten seconds or more that repeats
    itself or has a phrase such as "Thank you for watching"; and touching blocks of ten seconds or more with hardly a
    word.

    Args:
        texts: texts of the lines.
        lines: structs with the times and blocks of the texts.
        rows: [lines] the document of each line.
    """
    start, end = (lines.field(name).to_numpy(zero_copy_only=False).astype(float) for name in ("start", "end"))
    lasting: Doubles = end - start
    touching = (rows[1:] == rows[:-1]) & (np.abs(start[1:] - end[:-1]) <= _TOUCH)
    alike = touching & np.fromiter((a == b for a, b in zip(texts[1:], texts[:-1], strict=True)), bool, len(touching))
    found = np.zeros(len(texts), bool)
    for first, last in _runs(alike):
        text = texts[first]
        least = _REPEATS if text.count(" ") + 1 >= _PHRASE or text.isdecimal() else _REPEATS_OF_WORDS
        spoken = len(text) < _SPOKEN_RATE * lasting[first:last]
        found[first:last] = last - first >= least and bool(spoken.all())
    long = lasting >= _LONG
    slow = np.zeros(len(texts), bool)
    for place in np.flatnonzero(long).tolist():
        text, rate = texts[place], len(texts[place]) / lasting[place]
        slow[place] = rate < _SLOW
        found[place] |= rate < _SLOWEST and _is_heard_in_silence(text)
    pairs = touching & slow[1:] & slow[:-1]
    found[1:] |= pairs
    found[:-1] |= pairs
    return np.flatnonzero(found)


def _is_heard_in_silence(text: str) -> bool:
    return bool(_HEARD_IN_SILENCE.search(text) or _AGAIN.fullmatch(" ".join(text.split())))


def find_edge_credits(texts: Sequence[str], blocks: Ints, rows: Ints, credit: Bools, spoken: Bools) -> Iterator[int]:
    """Yield the lines of whole blocks of credits among the first and last blocks of a document: of blocks that name the
    film's makers, or have a line that is a credit, all but what a dash or a name marks as speech.

    Args:
        texts: texts of the lines.
        blocks: [lines] the block of each line.
        rows: [lines] the document of each line.
        credit: which lines are known to be credits.
        spoken: which lines a dash or a name marks as speech.
    """
    if not len(rows):
        return
    begins = np.flatnonzero(np.r_[True, (rows[1:] != rows[:-1]) | (blocks[1:] != blocks[:-1])])
    ends = np.r_[begins[1:], len(rows)]
    of = rows[begins]
    documents = np.flatnonzero(np.r_[True, of[1:] != of[:-1]])
    for first, last in zip(documents.tolist(), [*documents[1:].tolist(), len(of)], strict=True):
        for place in {*range(first, min(first + _EDGE, last)), *range(max(first, last - _EDGE), last)}:
            lines = range(int(begins[place]), int(ends[place]))
            if credit[lines.start : lines.stop].any() or is_film_credit(" ".join(texts[line] for line in lines)):
                yield from (line for line in lines if not spoken[line])


def _runs(alike: Bools) -> Iterator[tuple[int, int]]:
    """Yield the start and end (last + 1) of each run of members that are like their predecessors."""
    edges = np.flatnonzero(np.diff(np.r_[0, alike.astype(np.int8), 0]))
    for first, last in edges.reshape(-1, 2).tolist():
        yield first, last + 1


def continue_songs(texts: Sequence[str], sung: Bools, marked: Bools, blocks: Ints, rows: Ints) -> Iterator[int]:
    """Yield the lines without a note that continue a song left open by the previous block.

    The song continues up to the block that closes it, or else as long as lines begin with a lower-case letter.

    Args:
        texts: texts of the lines, with their notes if sung.
        sung: which lines are known to be sung.
        marked: which lines a dash or a name marks as speech.
        blocks: [lines] the block of each line.
        rows: [lines] the document of each line.
    """
    for place in np.flatnonzero(sung).tolist():
        if place + 1 < len(texts) and not sung[place + 1] and _is_open(texts[place]):
            yield from _rest_of_song(texts, sung, marked, blocks, rows, place)


def _rest_of_song(texts: Sequence[str], sung: Bools, marked: Bools, blocks: Ints, rows: Ints, place: int) -> list[int]:
    small: list[int] = []
    inside: list[int] = []
    for after in range(place + 1, len(texts)):
        if rows[after] != rows[place] or blocks[after] > blocks[place] + _FARTHEST or marked[after]:
            break
        if sung[after]:
            return inside if _closes(texts[after]) else small
        if len(small) == len(inside) and (texts[after][:1].islower() or blocks[after] == blocks[after - 1]):
            small.append(after)
        inside.append(after)
    return small


def _is_open(text: str) -> bool:
    bare = text.strip(" \"'“”")
    return bare[:1] in _NOTE and bare[-1:] not in _NOTE


def _closes(text: str) -> bool:
    bare = text.strip(" \"'“”")
    return bare[-1:] in _NOTE and bare[:1] not in _NOTE
