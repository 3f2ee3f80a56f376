"""The result of a subtitle reader, and the error with which any reader refuses a file."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

LONGEST_LINE = 20_000
"""Maximum characters per line; a file with a longer one is not a subtitle, and would slow down every later stage."""

MOST_LINES = 100_000
"""Maximum number of lines, cues or sentences per file; a day with a new line every second has fewer."""


GIVEN = ("speakers", "scenes", "manners", "voices")
"""The columns of `Parsed` that a file may give or not."""


class ReadError(Exception):
    """A file cannot be read: it is quarantined, and the run continues.

    Attributes:
        reason: code under which the file is counted, such as "malformed_xml".
        detail: what is wrong and where (line, byte), in words.
    """

    def __init__(self, reason: str, detail: str) -> None:
        """Refuse a file for a reason."""
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def refuse_more(what: str, number: int, most: int) -> None:
    """Refuse a file that has more of something than any film has, before it takes time and memory.

    Raises:
        ReadError: with the reason not_subtitles.
    """
    if number > most:
        raise ReadError("not_subtitles", f"{number:,} {what}, and no film has more than {most:,}")


def refuse_longer(lines: list[str]) -> None:
    """Refuse a file with a line of more than `LONGEST_LINE` characters; there must be at least one line.

    Raises:
        ReadError: with the reason not_subtitles.
    """
    longest = max(map(len, lines))
    if longest > LONGEST_LINE:
        raise ReadError("not_subtitles", f"a line of {longest:,} characters")


@dataclass(slots=True)
class Facts:
    """What a file states about itself and its film; null or empty if not stated.

    Attributes:
        language: name of the language in English ("English").
        is_part: whether the file holds one of several discs of the film.
        confidence: how well the subtitle fits its language according to OPUS, 0 to 1.
        doubtful: fraction of words that OPUS found unknown or corrected, 0 to 1.
    """

    year: int | None = None
    genres: list[str] = field(default_factory=list)
    original_language: str | None = None
    language: str | None = None
    is_part: bool = False
    confidence: float | None = None
    doubtful: float | None = None

    def __post_init__(self) -> None:
        """Check the numbers, which are used to compare files."""
        for name, least, most in (("year", 1, 9999), ("confidence", 0, 1), ("doubtful", 0, 1)):
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise ValueError(f"{name} is {value!r}; expected null or {least} to {most}")


@dataclass(slots=True)
class Parsed:
    """The lines of a file as flat columns of equal length, and its facts.

    Attributes:
        ids: int32, number of each line in the file.
        texts: the lines in NFC, none empty.
        starts: float64 seconds, NaN where unknown.
        ends: the same.
        first_blocks: int32, number of the block in which the line begins, from 0.
        last_blocks: int32, number of the block in which it ends.
        bad_times: times dropped as missing, backward or absurd.
        encoding: how the bytes were decoded.
        encoding_confidence: 0 to 1.
        facts: what the file states about itself.
        speakers: speaker of each line, if the file names any.
        scenes: of a screenplay, number of the scene of each line, from 1; 0 before the first heading.
        manners: of a screenplay, the writer's note on each line ("furious"), or null.
        voices: of a screenplay, "voice-over" or "off-screen" for a speaker who is not seen, or null.
        kind: kind of the format found in the content; null for the one given by the file's name.
        left_out: kind of what was not said, such as notices and pictures in a chat → number.
        faults: of the whole file (`subtitles.faults`).
    """

    ids: np.ndarray
    texts: list[str]
    starts: np.ndarray
    ends: np.ndarray
    first_blocks: np.ndarray
    last_blocks: np.ndarray
    bad_times: int
    encoding: str
    encoding_confidence: float
    facts: Facts = field(default_factory=Facts)
    speakers: list[str | None] | None = None
    scenes: list[int] | None = None
    manners: list[str | None] | None = None
    voices: list[str | None] | None = None
    kind: str | None = None
    left_out: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Check that the columns have equal length; a reader that gets this wrong must not affect other files."""
        names = ("ids", "texts", "starts", "ends", "first_blocks", "last_blocks")
        lengths = {name: len(getattr(self, name)) for name in names}
        given = {name: getattr(self, name) for name in GIVEN}
        lengths |= {name: len(values) for name, values in given.items() if values is not None}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns of a parsed file must be of one length, got {lengths}")

    def take(self, places: np.ndarray) -> "Parsed":
        """Return the lines at given positions, in that order; positions may repeat."""
        given: dict[str, Any] = {
            name: [values[place] for place in places.tolist()]
            for name in GIVEN
            if (values := getattr(self, name)) is not None
        }
        return replace(
            self,
            texts=[self.texts[place] for place in places.tolist()],
            **given,
            **{name: getattr(self, name)[places] for name in ("ids", "starts", "ends", "first_blocks", "last_blocks")},
        )

    @property
    def timed_share(self) -> float:
        """Fraction of the lines that have both times, 0 to 1."""
        return float(np.mean(~np.isnan(self.starts) & ~np.isnan(self.ends))) if self.texts else 0.0
