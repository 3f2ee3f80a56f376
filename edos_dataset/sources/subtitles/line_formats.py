"""Formats with times on the line of the text or on the line before it: SBV, SubViewer, MicroDVD, MPL2, TMPlayer, LRC.

They are recognised by their content, as several of them use `.sub` or `.txt`.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from edos_dataset.sources.parsed import MOST_LINES, refuse_more
from edos_dataset.sources.subtitles.cue import Cue, lines_of, with_ends
from edos_dataset.sources.subtitles.times import parse_time

FRAME_RATE = 24_000 / 1001
"""Frames per second of a MicroDVD file that states no rate: 23.976, as for films."""

_SLOWEST, _FASTEST = 1.0, 300.0  # range of frames per second that a file may state
_LOOKED_AT = 100  # lines with text examined at the beginning of a file

_FRAMES = re.compile(r"\{(\d{1,9})\}\{(\d{0,9})\}(.*)", re.ASCII)
_TENTHS = re.compile(r"\[(\d{1,9})\]\[(\d{0,9})\](.*)", re.ASCII)
_CLOCK = re.compile(r"(\d{1,2}:\d\d:\d\d)(?:,\d)?[:=](.*)", re.ASCII)
_PAIR = re.compile(r"^[ \t]*(\d[\d:.]{5,18})[ \t]*,[ \t]*(\d[\d:.]{5,18})[ \t]*$", re.ASCII | re.MULTILINE)
_STAMP = re.compile(r"\[(\d{1,4}):(\d{1,2})(?:[.:](\d{1,3}))?\]", re.ASCII)
_STAMPS = re.compile(r"(?<![ \t])(?:[ \t]*\[\d{1,4}:\d{1,2}(?:[.:]\d{1,3})?\]){1,100}", re.ASCII)
_WORD_STAMP = re.compile(r"<\d{1,4}:\d{1,2}(?:[.:]\d{1,3})?>", re.ASCII)
_OFFSET = re.compile(r"^\[offset:[ \t]*([+-]?\d{1,7})[ \t]*\]", re.ASCII | re.MULTILINE | re.IGNORECASE)
_CODE = re.compile(r"\{[A-Za-z]{1,2}:[^{}\n]*\}")


class LineFormat(NamedTuple):
    """A line format: its name, the shape of a line with times, and its reader."""

    name: str
    shape: re.Pattern[str]
    reader: Callable[[str], list[Cue]]


def line_format(text: str) -> LineFormat | None:
    """Return the line format of a file, or None.

    Most lines must match its shape; a fifth is enough for a format whose times have separate lines.

    Args:
        text: the file, with line feeds between lines.
    """
    lines = [line for line in text[:50_000].split("\n") if line.strip()][:_LOOKED_AT]
    for format in _FORMATS:
        found = sum(format.shape.match(line) is not None for line in lines)
        if found * (5 if format.shape is _PAIR else 2) >= len(lines) > 0:
            return format
    return None


def frame_rate(text: str) -> float | None:
    """Return the frames per second stated in the first line of a MicroDVD file, or None."""
    first = next(_matches(_FRAMES, text), None)
    if first is None or int(first[1]) > 1 or first[2] not in ("", "0", "1"):
        return None
    try:
        rate = float(first[3].strip().replace(",", "."))
    except ValueError:
        return None
    return rate if _SLOWEST <= rate <= _FASTEST else None


def _matches(shape: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    return filter(None, map(shape.match, (line.strip() for line in text.split("\n"))))


def _read_pairs(text: str) -> list[Cue]:
    pieces = _PAIR.split(text)
    refuse_more("times", len(pieces) // 3, MOST_LINES)
    times_and_texts = zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True)
    return [
        Cue(parse_time(start), parse_time(end), lines_of(re.sub(r"\[br\]", "\n", spoken, flags=re.IGNORECASE)))
        for start, end, spoken in times_and_texts
    ]


def _read_frames(text: str) -> list[Cue]:
    stated = frame_rate(text)
    rate = stated or FRAME_RATE
    cues = _bars(_FRAMES, text, rate)
    return cues[1:] if stated else cues


def _read_tenths(text: str) -> list[Cue]:
    cues = _bars(_TENTHS, text, 10.0)
    return [replace(cue, lines=[line.lstrip("/") for line in cue.lines if line.strip("/")]) for cue in cues]


def _bars(shape: re.Pattern[str], text: str, rate: float) -> list[Cue]:
    found = list(_matches(shape, text))
    refuse_more("times", len(found), MOST_LINES)
    return [
        Cue(int(start) / rate, int(end) / rate if end else math.nan, lines_of(_CODE.sub("", spoken).replace("|", "\n")))
        for start, end, spoken in (match.groups() for match in found)
    ]


def _read_clock(text: str) -> list[Cue]:
    found = list(_matches(_CLOCK, text))
    refuse_more("times", len(found), MOST_LINES)
    return with_ends([Cue(parse_time(match[1]), math.nan, lines_of(match[2].replace("|", "\n"))) for match in found])


def _read_lyrics(text: str) -> list[Cue]:
    """Read LRC: a line with several stamps is sung at each of them, and an offset moves all stamps."""
    offset = _OFFSET.search(text)
    earlier = int(offset[1]) / 1000 if offset else 0.0
    cues = []
    for stamps in _matches(_STAMPS, text):
        lines = lines_of(_WORD_STAMP.sub("", stamps.string[stamps.end() :]))
        for minutes, seconds, fraction in _STAMP.findall(stamps[0]):
            start = int(minutes) * 60 + int(seconds) + (int(fraction) / 10 ** len(fraction) if fraction else 0.0)
            cues.append(Cue(max(start - earlier, 0.0), math.nan, lines))
    refuse_more("times", len(cues), MOST_LINES)
    return with_ends(cues)


_FORMATS = (
    LineFormat("MicroDVD", _FRAMES, _read_frames),
    LineFormat("MPL2", _TENTHS, _read_tenths),
    LineFormat("LRC", _STAMPS, _read_lyrics),
    LineFormat("SBV or SubViewer", _PAIR, _read_pairs),
    LineFormat("TMPlayer", _CLOCK, _read_clock),
)
