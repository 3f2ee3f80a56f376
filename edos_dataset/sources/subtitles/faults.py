"""Faults of a whole subtitle file that leave its dialogues unreliable, although each of its cues looks sound.

In subtitles a longer text is shown for a longer time, sentences end in marks, and a new cue begins after one or two of
them. Where this does not hold for a file, its times or its sentences were lost, and nothing in a single dialogue shows
it. `segmentation.dialogues.JudgeDialogues` lowers the certainty of such files' dialogues.
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
    if not parsed.texts:
        return []
    found = []
    relation, number = relation_of_times(parsed)
    if number >= _FEWEST_CUES and relation + _ERROR / math.sqrt(number) < _RELATED:
        found.append(GARBLED_TIMES)
    ends, words = sentence_ends(parsed)
    if primary_language(language) not in _UNMARKED and words >= _FEWEST_WORDS and ends < _MARKS:
        found.append(NO_PUNCTUATION)
    letters = _letters(parsed)
    if letters[letters > _LONG].sum() > _LONG_SHARE * letters.sum():
        found.append(LONG_CUES)
    return found


def relation_of_times(parsed: Parsed) -> tuple[float, int]:
    """Return the rank correlation of letters and duration of the cues, 0 if one is constant, and the number of cues
    with both.
    """
    letters = _letters(parsed)
    durations = np.full(len(letters), np.nan)
    durations[parsed.first_blocks] = parsed.ends - parsed.starts
    known = ~np.isnan(durations) & (letters > 0)
    ranks = [_ranks(column[known]) for column in (letters, durations)]
    if not known.any() or not all(np.ptp(rank) for rank in ranks):
        return 0.0, int(known.sum())
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1]), int(known.sum())


def sentence_ends(parsed: Parsed) -> tuple[float, int]:
    """Return the number of ends of sentences a word, and the number of words."""
    words = sum(len(text.split()) for text in parsed.texts)
    return sum(len(_END.findall(text)) for text in parsed.texts) / max(words, 1), words


def _letters(parsed: Parsed) -> np.ndarray:
    """Return the number of letters of each cue."""
    return np.bincount(parsed.first_blocks, [sum(map(str.isalnum, text)) for text in parsed.texts])


def _ranks(values: np.ndarray) -> np.ndarray:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: np.ndarray = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return ranks
