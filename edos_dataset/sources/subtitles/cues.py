"""Order and repetitions of subtitle blocks.

Live captions roll up word by word or line by line; karaoke and highlighted words show a line once for each word;
streams repeat a block in each segment. In every format, a text that stays on the screen is read once, at the time at
which it first appeared.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import isnan

import numpy as np

from edos_dataset.sources.subtitles.cue import Cue, spoken_until
from edos_dataset.sources.subtitles.times import BACKWARD

DAY, HOUR = 24 * 3600.0, 3600.0
_BETWEEN_DISCS = 60.0  # seconds inserted between two discs, longer than any silence in a scene
_TOUCH = 0.1  # seconds at most between two blocks that show one text without a break
_ROLL = 0.5  # the same for rolling text
_PAUSE = 5.0  # the same where the screen is empty while nobody speaks, in files that always repeat
_LEAST_RUN = 3  # minimum number of blocks that can be another disc
_OVERLAP = 0.3  # minimum fraction of blocks overlapping others that makes them another disc
_NEAR = 60.0  # seconds by which a single misplaced block may differ; a wrong digit makes it more
_MANY = 0.02  # fraction of misplaced blocks above which the file counts as unordered
_LEAST_REPEATS, _REPEATS = 3, 0.15  # minimum number and fraction of repeated blocks in files that always repeat
_DASHES = ("-", "–", "—")
_PHRASE = 5  # words; a phrase this long is not repeated by chance without a pause
_WORDS, _FEW = 0.6, 10  # minimum fraction and number of one-word blocks in files with one word per block
_LONGEST_RUN = 60  # words
_AT_ONCE, _LONGEST_CUE = 0.02, 80  # seconds between the words of one cue, and its characters
_PAUSES = 0.05  # least fraction of words after a pause in files that were cut from cues
_SPOKEN_RATE = 25.0  # letters per second; a text shown for less time was not spoken again
_MARKUP = re.compile(r"<[^<>]*>|\{[^{}]*\}")
_ENDS = re.compile(r"[.!?…][\"'”’»)\]]*$")


def arrange(blocks: list[Cue]) -> list[Cue]:
    """Return blocks in the order of their times, without what they repeat of earlier blocks.

    Times that restart, on another disc or after midnight, are moved behind the others. A single block far from its
    neighbours has a wrong time and keeps its position.
    """
    if any(after.start < before.start - BACKWARD for before, after in pairwise(blocks)):
        _pass_midnight(blocks)
        blocks = [block for disc in _split_discs(blocks) for block in _in_order(disc)]
    return _join_words(_without_repeats(blocks))


def _pass_midnight(blocks: list[Cue]) -> None:
    days, before = 0, 0.0
    for block in blocks:
        if before > DAY - HOUR and block.start < HOUR:
            days += 1
        before = block.start if not isnan(block.start) else before
        block.start += days * DAY
        block.end += days * DAY + (DAY if block.end < HOUR and before > DAY - HOUR else 0)


def _split_discs(blocks: list[Cue]) -> Iterator[list[Cue]]:
    """Yield the blocks of each disc, moved behind those of the previous disc."""
    steps = [
        place for place, (before, after) in enumerate(pairwise(blocks), 1) if after.start < before.start - BACKWARD
    ]
    disc: list[Cue] = []
    moved = 0.0
    for first, last in pairwise([0, *steps, len(blocks)]):
        run = blocks[first:last]
        _move(run, moved)
        if disc and len(run) >= _LEAST_RUN and _overlap(disc, run) >= _OVERLAP:
            yield disc
            further = max(block.end for block in disc if not isnan(block.end)) + _BETWEEN_DISCS - run[0].start
            _move(run, further)
            moved += further
            disc = []
        disc += run
    yield disc


def _move(blocks: list[Cue], seconds: float) -> None:
    for block in blocks if seconds else ():
        block.start = round(block.start + seconds, 3)
        block.end = round(block.end + seconds, 3)


def _overlap(blocks: Sequence[Cue], others: Sequence[Cue]) -> float:
    """Return the fraction of the other blocks that are shown at the same time as one of the blocks."""
    times = np.array([(block.start, block.end) for block in blocks if block.start <= block.end])
    if not len(times):
        return 0.0
    times = times[np.argsort(times[:, 0])]
    shown = np.maximum.accumulate(times[:, 1])
    places = np.searchsorted(times[:, 0], [block.end - _TOUCH for block in others], side="left")
    starts = np.array([block.start + _TOUCH for block in others])
    return float(np.mean((places > 0) & (shown[np.maximum(places - 1, 0)] > starts)))


def _in_order(blocks: list[Cue]) -> list[Cue]:
    spine = set(_longest_rise([block.start for block in blocks]))
    if len(spine) == len(blocks):
        return blocks
    # a block that ends before it begins tells no time, so it stays where it is
    timed = {place for place, block in enumerate(blocks) if block.start < block.end}
    strays = timed - spine
    fixed = [blocks[place] for place in sorted(spine)]
    few = len(strays) <= _MANY * len(blocks)
    keys: list[float] = []
    for place, block in enumerate(blocks):
        before = keys[-1] if keys else -np.inf
        near = not few or abs(block.start - before) <= _NEAR
        known = place in spine or (place in strays and near and not _overlap(fixed, [block]))
        keys.append(block.start if known else before)
    return [blocks[place] for place in sorted(range(len(blocks)), key=keys.__getitem__)]


def _longest_rise(values: Sequence[float]) -> list[int]:
    """Return the indices of a longest non-decreasing subsequence; NaN is skipped."""
    tops: list[float] = []
    places: list[int] = []
    before: list[int] = [-1] * len(values)
    for place, value in enumerate(values):
        if isnan(value):
            continue
        at = bisect_right(tops, value)
        before[place] = places[at - 1] if at else -1
        tops[at:] = [value, *tops[at + 1 :]]
        places[at:] = [place, *places[at + 1 :]]
    found: list[int] = []
    place = places[-1] if places else -1
    while place >= 0:
        found.append(place)
        place = before[place]
    return found[::-1]


def _without_repeats(blocks: list[Cue]) -> list[Cue]:
    shown = [list(map(_shown, block.lines)) for block in blocks]
    shared = _shared_lines(blocks, shown)
    number = sum(map(bool, shared))
    if not number:
        return blocks
    always = number >= max(_LEAST_REPEATS, _REPEATS * len(blocks))
    if always:
        shared = _with_pauses(blocks, shown, shared)
    result = blocks[:1]
    loop = False
    for place, (before, after) in enumerate(pairwise(blocks), 1):
        lines, pair = shared[place], (shown[place - 1], shown[place])
        loop = pair[0] == pair[1] and (loop or _begins_loop(blocks, place))
        if loop or not (lines and (always or _is_certain(before, after, *pair))):
            result.append(after)
            continue
        _go_on(result[-1], after, *pair, lines)
        if after.lines[lines:]:
            result.append(Cue(after.start, after.end, after.lines[lines:], after.speaker, after.voices[lines:]))
    _end_when_spoken(result if always else ())
    return result


def _end_when_spoken(blocks: Iterable[Cue]) -> None:
    """End the blocks of rolling captions when they are spoken: the last line before a silence stays to its end."""
    for block in blocks:
        block.end = min(block.end, round(spoken_until(block.start, block.lines), 3))


def _shared_lines(blocks: Sequence[Cue], shown: Sequence[list[str]]) -> list[int]:
    """Return how many of the first lines of each block the previous block also shows."""
    shared = [0] * len(blocks)
    for place in range(1, len(blocks)):
        before, after = shown[place - 1], shown[place]
        again = after[0] in before or after[0].startswith(before[-1])
        if again and _touch(blocks[place - 1], blocks[place]):
            shared[place] = _shared(before, after)
    return shared


def _with_pauses(blocks: Sequence[Cue], shown: Sequence[list[str]], shared: Sequence[int]) -> list[int]:
    """Return the numbers of shared lines, also for blocks after a pause that show old lines above a new one."""
    return [
        _shared(shown[place - 1], shown[place]) % len(shown[place])
        if place and not lines and blocks[place].start - blocks[place - 1].end <= _PAUSE
        else lines
        for place, lines in enumerate(shared)
    ]


def _shown(line: str) -> str:
    return _plain(line) if "<" in line or "{" in line else line


def _plain(line: str) -> str:
    return " ".join(_MARKUP.sub("", line).split())


def _touch(before: Cue, after: Cue) -> bool:
    return after.start - before.end <= _ROLL or after.start == before.start


def _shared(before: list[str], after: list[str]) -> int:
    """Return how many of the last lines of a block begin the next one; the last of them may have grown."""
    for number in range(min(len(before), len(after)), 0, -1):
        last, now = before[-1], after[number - 1]
        grows = last != "" and now.startswith(last) and not now[len(last) :][:1].isalnum()
        if grows and before[-number:-1] == after[: number - 1]:
            return number
    length = len(after)  # some of the text stays
    return length if any(before[at : at + length] == after for at in range(len(before) - length + 1)) else 0


def _is_certain(before: Cue, after: Cue, shown: list[str], now: list[str]) -> bool:
    """Return whether two blocks certainly show one text, in a file whose blocks rarely repeat."""
    if after.start - before.end > _TOUCH:
        return False
    if shown == now and (before.lines != after.lines or (before.start, before.end) == (after.start, after.end)):
        return True
    if now[0].startswith(_DASHES):  # another speaker may say the same: "- How do you do?" "- How do you do?"
        return False
    return now[0].count(" ") + 1 >= _PHRASE and now[0] in shown


def _begins_loop(blocks: Sequence[Cue], place: int) -> bool:
    """Return whether a text is shown three times, each time for as long as it takes to say.

    Speech recognition produces such loops where nothing is said. `cleaning.lines` rejects these lines.
    """
    first = blocks[place - 1]
    repeats = blocks[place - 1 : place + 2]
    letters = sum(map(len, first.lines))
    return (
        len(repeats) == 3
        and repeats[0].start < repeats[1].start < repeats[2].start
        and all(block.lines == first.lines and letters < _SPOKEN_RATE * (block.end - block.start) for block in repeats)
    )


def _go_on(last: Cue, block: Cue, before: list[str], now: list[str], lines: int) -> None:
    """Extend the last block by the words and the time that the next block adds to it."""
    grown = now[lines - 1]
    if last.lines and before[-1] != grown and grown.startswith(before[-1]):
        last.lines[-1] = block.lines[lines - 1]
        last.end = max(last.end, block.end)
    elif before == now:
        last.end = max(last.end, block.end)


def _is_one_cue(last: Cue, block: Cue) -> bool:
    """Return whether a word follows without any pause, as where the cues of a file were cut into words."""
    return abs(block.start - last.end) <= _AT_ONCE and len(last.lines[-1]) + len(block.lines[0]) < _LONGEST_CUE


def _join_words(blocks: list[Cue]) -> list[Cue]:
    """Join the blocks of a file with one word per block, up to the end of a sentence or a pause."""
    alone = sum(len(block.lines) == 1 and " " not in block.lines[0] for block in blocks)
    if alone < _FEW or alone < _WORDS * len(blocks):
        return blocks
    pauses = sum(after.start - before.end > _AT_ONCE for before, after in pairwise(blocks)) >= _PAUSES * len(blocks)
    result: list[Cue] = []
    for block in blocks:
        last = result[-1] if result else None
        if last and _goes_on(last, block) and (not _ends(last) or (pauses and _is_one_cue(last, block))):
            last.lines[-1] += " " + block.lines[0]
            last.end = block.end
        else:
            result.append(Cue(block.start, block.end, list(block.lines), block.speaker, block.voices))
    return result


def _ends(block: Cue) -> bool:
    return _ENDS.search(_plain(block.lines[-1])) is not None


def _goes_on(last: Cue, block: Cue) -> bool:
    """Return whether the same person goes on with a word, without a pause of more than a second."""
    return (
        len(block.lines) == 1
        and len(last.lines) > 0
        and block.start - last.end <= 1
        and last.lines[-1].count(" ") < _LONGEST_RUN
        and (last.speaker, last.voices[-1:]) == (block.speaker, block.voices[-1:])
    )
