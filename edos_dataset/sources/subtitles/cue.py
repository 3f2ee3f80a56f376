"""What every reader of captions and transcripts returns: cues with times, lines and speaker."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from edos_dataset.text import normal_form

_LINE_ENDS = re.compile(r"\r\n?|[\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_UNFIT = re.compile("[\x00-\x08\x0e-\x1f\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SECONDS_A_CHARACTER = 1 / 12  # slow speech


@dataclass(slots=True)
class Cue:
    """A text that is shown or spoken at a certain time: a block of subtitles, or a segment of a transcript.

    Attributes:
        start: in seconds, NaN if unknown.
        end: in seconds, NaN if unknown.
        lines: non-empty lines in NFC, with markup.
        speaker: as named in the file, or None.
        voices: the speaker of each line, if it has several.
    """

    start: float
    end: float
    lines: list[str]
    speaker: str | None = None
    voices: list[str | None] = field(default_factory=list)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text that are not blank, in NFC, with single spaces and without control characters."""
    text = _SURROGATE.sub("\ufffd", _UNFIT.sub("", text)) if not text.isprintable() else text
    lines = (" ".join(line.split()) for line in _LINE_ENDS.split(normal_form(text)))
    return [line for line in lines if line]


def with_ends(cues: Sequence[Cue]) -> list[Cue]:
    """Return the cues of a file that states no ends, in the order of their starts, with ends.

    A cue ends where the next one begins, or earlier, when even slow speech would be over. Cues without lines only end
    the ones before them.
    """
    cues = sorted(cues, key=lambda cue: cue.start)
    ended = []
    for number, cue in enumerate(cues):
        if cue.lines:
            spoken = spoken_until(cue.start, cue.lines)
            later = (other.start for other in cues[number + 1 : number + 20] if other.start > cue.start)
            ended.append(replace(cue, end=min(spoken, next(later, spoken))))
    return ended


def spoken_until(start: float, lines: Sequence[str]) -> float:
    """Return when lines that are spoken from `start` on are over, in seconds, even if they are spoken slowly."""
    return start + 1 + _SECONDS_A_CHARACTER * sum(map(len, lines))


def number_of(value: object, scale: float = 1.0) -> float:
    """Return a number in JSON or in an attribute times a scale; NaN if it is not a finite number."""
    try:
        number = float(value) * scale if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        return math.nan
    return number if math.isfinite(number) else math.nan
