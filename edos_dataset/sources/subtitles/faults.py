"""Faults of a whole subtitle file that leave its dialogues unreliable, although each of its cues looks sound.

Whoever makes subtitles shows a longer text for a longer time, ends sentences by marks, and begins a new cue after one
or two of them. Where a file does none of this, its times or its sentences were lost, and nothing in a single dialogue
shows it. `segmentation.dialogues.JudgeDialogues` lowers the certainty of such files' dialogues.
"""

import math
import re

import numpy as np

from edos_dataset.languages import primary_language
from edos_dataset.sources.parsed import Parsed

GARBLED_TIMES, NO_PUNCTUATION, LONG_CUES = "garbled times", "no punctuation", "cues of many sentences"
"""The faults."""

_RELATED = 0.35  # least rank correlation of length and duration of cues; of 271 sound files the least is 0.35
_ERROR = 1.5  # standard errors of the correlation
_FEWEST_CUES, _FEWEST_WORDS = 12, 60  # with fewer, nothing is concluded
_MARKS = 0.025  # least number of sentence ends a word; of sound files the least is 0.13
_LONG, _LONG_SHARE = 300, 0.3  # letters of a cue that takes over 20 s to say, and the fraction of letters in such cues
_END = re.compile(r"[.!?…。！？؟।](?!\w)")
_UNMARKED = frozenset({"zh", "ja", "ko", "th", "lo", "km", "my", "bo"})
"""Languages whose subtitles are written without marks or without spaces."""


def faults_of(parsed: Parsed, language: str) -> list[str]:
    """Return the faults of a file.

    Args:
        parsed: its lines as on a screen, not whole sentences or messages.
        language: code of its language.
    """
    blocks = parsed.first_blocks
    if not len(blocks):
        return []
    letters = np.bincount(blocks, [sum(map(str.isalnum, text)) for text in parsed.texts])
    durations = np.full(len(letters), np.nan)
    durations[blocks] = parsed.ends - parsed.starts
    found = []
    if _is_garbled(letters, durations):
        found.append(GARBLED_TIMES)
    if primary_language(language) not in _UNMARKED and _has_no_marks(parsed.texts):
        found.append(NO_PUNCTUATION)
    if letters[letters > _LONG].sum() > _LONG_SHARE * letters.sum():
        found.append(LONG_CUES)
    return found


def _is_garbled(letters: np.ndarray, durations: np.ndarray) -> bool:
    known = ~np.isnan(durations) & (letters > 0)
    number = int(known.sum())
    if number < _FEWEST_CUES:
        return False
    return _correlation(letters[known], durations[known]) + _ERROR / math.sqrt(number) < _RELATED


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Return the rank correlation of two columns, 0 if one of them is constant."""
    ranks = [_ranks(column) for column in (one, other)]
    if not all(np.ptp(rank) for rank in ranks):
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: np.ndarray = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return ranks


def _has_no_marks(texts: list[str]) -> bool:
    words = sum(len(text.split()) for text in texts)
    return words >= _FEWEST_WORDS and sum(len(_END.findall(text)) for text in texts) < _MARKS * words
