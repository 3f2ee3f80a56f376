"""SubRip, WebVTT, ASS and SSA by way of pysubs2: physical lines with the times of their blocks.

pysubs2 forgives much, and what it forgives it leaves in the text: a block with a broken time becomes part of the block
before, as do the comments and block names of WebVTT; one broken event of ASS loses the file. So a file is tidied before
pysubs2 reads it, and its blocks are looked through afterwards.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pysubs2

from edos_dataset.sources.encodings import decode
from edos_dataset.sources.parsed import MOST_LINES, Parsed, ReadError, refuse_longer, refuse_more
from edos_dataset.sources.subtitles.times import check_times, parse_time
from edos_dataset.text import normal_form

VOICE = re.compile(r"<v(?:\.[^\s<>]*)?\s+([^\s<>][^<>]*)>")
"""The tag in which WebVTT names the speaker."""

_LINES_A_BLOCK = 5  # of the file, blank ones and numbers with them, so many at most on average
_CONTROLS = {code: None for code in range(0x20) if chr(code) not in "\t\n"} | {0xFEFF: None}
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\u2028\u2029]")
_BLANK_LINES = re.compile(r"\n[ \t\n]*\n")
_INNER_TIME = re.compile(r"<[\d:.,]+>")
_ARROW = "-->"
_FIRST_BLOCK = "00:00:00,000 --> 00:00:00,000\n"
_EVENT = re.compile(
    r"^Dialogue:[^,\n]*,(?:[^\S\n]*\d{1,2}:(?:\d{1,2}:\d{1,2}[.,]\d{1,3}|\d\d:\d\d)[^\S\n]*,){2}(?:[^,\n]*,){6}",
    re.MULTILINE,
)


@dataclass(slots=True)
class _Block:
    start: float
    end: float
    lines: list[str]
    speaker: str | None = None


def parse_subtitles(data: bytes, language: str = "en") -> Parsed:
    """Read a subtitle file; its format is told by its content, not by its suffix.

    Blocks stand in the order of the file, those of ASS in the order of their starts, as signs and second speakers are
    often kept apart in such files. Each line that is not blank becomes one line of the document, numbered from 1, and
    keeps its markup. The speaker is what ASS and WebVTT (`<v NAME>`) name.

    Args:
        data: content of the file.
        language: code of the language, for guessing an encoding.

    Raises:
        ReadError: with the reason not_subtitles or unknown_encoding.
    """
    text, encoding, confidence = decode(data, None, language)
    text = _BLANK_LINES.sub("\n\n", _LINE_ENDS.sub("\n", text).translate(_CONTROLS))
    refuse_more("lines", sum(map(text.count, ("\n", "\\N", "\\n"))), _LINES_A_BLOCK * MOST_LINES)
    blocks = [block for block in _read_blocks(normal_form(text)) if block.lines]
    if not blocks:
        raise ReadError(
            "not_subtitles",
            f"no block with a time in {text.count(chr(10)) + 1:,} lines ({encoding})",
        )
    starts, ends = check_times(np.array([block.start for block in blocks]), np.array([block.end for block in blocks]))
    index = np.repeat(np.arange(len(blocks), dtype=np.int32), [len(block.lines) for block in blocks])
    return Parsed(
        ids=np.arange(1, len(index) + 1, dtype=np.int32),
        texts=[line for block in blocks for line in block.lines],
        starts=starts[index],
        ends=ends[index],
        first_blocks=index,
        last_blocks=index,
        bad_times=int(np.isnan(starts).sum() + np.isnan(ends).sum()),
        encoding=encoding,
        encoding_confidence=confidence,
        speakers=[blocks[number].speaker for number in index] if any(block.speaker for block in blocks) else None,
    )


def _read_blocks(text: str) -> Iterator[_Block]:
    if text.lstrip().startswith("WEBVTT"):
        return _read_cues(_tidy_webvtt(text), "vtt")
    if _EVENT.search(text):
        return _read_events(text)
    return _read_cues(text, "srt")


def _read_cues(text: str, kind: str) -> Iterator[_Block]:
    """Read SubRip or WebVTT; blocks whose times pysubs2 could not read come out with what can be read of them."""
    refuse_more("times", text.count(_ARROW), MOST_LINES)
    refuse_longer(text.split("\n"))
    # The block put before the first takes up what pysubs2 would drop: the text before the first time that it can read.
    first = _FIRST_BLOCK.replace(",", ".") if kind == "vtt" else _FIRST_BLOCK
    events = pysubs2.SSAFile.from_string(first + _INNER_TIME.sub("", text), format_=kind, keep_html_tags=True)
    for number, event in enumerate(events):
        block = _Block(event.start / 1000, event.end / 1000, [])
        lines = event.text.replace("\\N", "\n").split("\n")
        for line in (line.strip() for line in lines):
            if _ARROW in line:
                if block.lines and block.lines[-1].isdecimal():
                    block.lines.pop()
                if number or block.start:
                    yield _voiced(block)
                start, _, end = line.partition(_ARROW)
                block = _Block(parse_time(start), parse_time((end.split() or [""])[0]), [])
                number = number or 1
            elif line:
                block.lines.append(line)
        if number:
            yield _voiced(block)


def _voiced(block: _Block) -> _Block:
    """Take the voice of WebVTT out of the text; of several voices in a block none can be said to speak it all."""
    voices = {voice for line in block.lines for voice in VOICE.findall(line)}
    if voices:
        block.speaker = voices.pop().strip() if len(voices) == 1 else None
        block.lines = [
            line for line in (VOICE.sub("", line).replace("</v>", "").strip() for line in block.lines) if line
        ]
    return block


def _tidy_webvtt(text: str) -> str:
    """Drop comments, styles and block names."""
    kept = []
    for part in text.split("\n\n"):
        lines = part.strip("\n").split("\n")
        if lines[0].startswith(("WEBVTT", "NOTE", "STYLE", "REGION")) and not any(_ARROW in line for line in lines):
            continue
        at = next((number for number, line in enumerate(lines) if _ARROW in line), 0)
        kept.append("\n".join(lines[at:]))
    return "\n\n".join(kept)


def _read_events(text: str) -> Iterator[_Block]:
    """Read the events of ASS or SSA without the styles, fonts and pictures around them."""
    kind = "ssa" if "[v4 styles]" in text.lower() else "ass"
    events = [line for line in text.split("\n") if _EVENT.match(line)]
    refuse_more("events", len(events), MOST_LINES)
    refuse_longer(events)
    last = None
    for event in sorted(
        pysubs2.SSAFile.from_string("\n".join(["[Events]", *events, ""]), format_=kind), key=lambda event: event.start
    ):
        lines = [line.strip() for line in re.split(r"\\[Nn]", event.text.replace("\\h", " "))]
        block = _Block(
            event.start / 1000, event.end / 1000, [line for line in lines if line], event.name.strip() or None
        )
        if block != last:  # glow and shadow are made by showing a text twice
            yield block
        last = block
