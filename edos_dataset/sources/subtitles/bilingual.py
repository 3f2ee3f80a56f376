"""Bilingual subtitles: keeps the lines in the wanted language."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edos_dataset.languages.detection import LEAST_LETTERS, contradict_language
from edos_dataset.sources.parsed import Parsed

OTHER_LINES = "lines in another language"
"""The name under which removed lines are counted."""

_LEAST_WORDS = 12
"""Different words of each half from which on the dictionary is believed; fewer than of a whole file, as the other half
must be in the wanted language.
"""
_LEAST_SHARE = 0.5
"""Minimum fraction of moments with several lines for a file to be examined."""


def one_language(parsed: Parsed, language: str) -> Parsed:
    """Return a bilingual file without the lines in the other language, and any other file unchanged.

    A moment is the lines shown at one time. A file is bilingual if most moments have several lines, and either all
    their first lines together are in the wanted language and all their last lines are not, or the reverse. Of each
    moment the first or last half of the lines is kept; the middle line of an odd number goes to the half with which it
    shares more words.

    Args:
        parsed: lines in the order of the file.
        language: code of the wanted language.
    """
    moments = _moments(parsed)
    several = [places for places in moments if len(places) > 1]
    if len(several) < max(_LEAST_SHARE * len(moments), 2):
        return parsed
    halves = [
        [parsed.texts[place] for places in several for place in half(places)] for half in (_first_half, _last_half)
    ]
    if min(sum(map(str.isalpha, "".join(half))) for half in halves) < LEAST_LETTERS:
        return parsed
    other = [contradict_language(half, language, _LEAST_WORDS) for half in halves]
    if (other[0] is None) == (other[1] is None):
        return parsed
    is_first = other[0] is None
    kept = [
        place
        for places in moments
        for place in (places if len(places) == 1 else _kept(parsed.texts, places, is_first, halves))
    ]
    taken = parsed.take(np.array(kept, np.int64))
    left = len(parsed.texts) - len(kept)
    return replace(taken, left_out=parsed.left_out | {OTHER_LINES: left})


def _moments(parsed: Parsed) -> list[list[int]]:
    """Return the indices of the lines of each moment: those of a block and of adjacent blocks with the same times."""
    found: list[list[int]] = []
    for place, (start, end, block) in enumerate(
        zip(parsed.starts.tolist(), parsed.ends.tolist(), parsed.first_blocks.tolist(), strict=True)
    ):
        last = found[-1][-1] if found else -1
        together = last >= 0 and (
            block == parsed.first_blocks[last] or (start == parsed.starts[last] and end == parsed.ends[last])
        )
        if together:
            found[-1].append(place)
        else:
            found.append([place])
    return found


def _first_half(places: Sequence[int]) -> Sequence[int]:
    return places[: len(places) // 2]


def _last_half(places: Sequence[int]) -> Sequence[int]:
    return places[-(len(places) // 2) :]


def _kept(texts: Sequence[str], places: Sequence[int], is_first: bool, halves: Sequence[Sequence[str]]) -> list[int]:
    half = list(_first_half(places) if is_first else _last_half(places))
    if len(places) % 2 == 0:
        return half
    middle = places[len(places) // 2]
    words = set(texts[middle].casefold().split())
    shared = [len(words & set(" ".join(texts_of).casefold().split())) for texts_of in halves]
    if shared[0 if is_first else 1] > shared[1 if is_first else 0]:
        return sorted([*half, middle])
    return half
