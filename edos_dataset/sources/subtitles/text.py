"""SubRip, WebVTT, ASS and SSA, read with pysubs2: physical lines with the times of their blocks.

pysubs2 is lenient and keeps what it does not understand as text: a block with a broken time becomes part of the
previous block, as do the comments and block names of WebVTT; one broken event of ASS loses the whole file. So files are
cleaned before pysubs2 reads them, and the blocks are checked afterwards.
"""

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pysubs2

from edos_dataset.sources.encodings import decode
from edos_dataset.sources.parsed import MOST_LINES, Parsed, ReadError, refuse_longer, refuse_more
from edos_dataset.sources.subtitles.captions import read_captions
from edos_dataset.sources.subtitles.cue import Cue
from edos_dataset.sources.subtitles.cues import arrange
from edos_dataset.sources.subtitles.times import LATEST, check_times, parse_time
from edos_dataset.sources.xml_trees import declared_in_xml
from edos_dataset.text import normal_form

VOICE = re.compile(r"<v(?:\.[^\s<>]*)?\s+([^\s<>][^<>]*)>")
"""The WebVTT tag that names the speaker."""

_LINES_A_BLOCK = 5  # maximum average number of lines of the file per block, with blank lines and numbers
_CONTROLS = {code: None for code in range(0x20) if chr(code) not in "\t\n"} | {0xFEFF: None}
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\u2028\u2029]")
_BLANK_LINES = re.compile(r"\n[ \t\n]*\n")
# A byte order mark before the number of a block, in UTF-8 or UTF-16.
_JOINT = re.compile(rb"\xef\xbb\xbf(?=\d)|\xff\xfe(?=\d\0)|\xfe\xff(?=\0\d)")
_MAYBE_ODD = re.compile(r"-\d|\d{3}:")
_ODD_TIME = re.compile(
    r"^[^\S\n]*(?:-|\d+:?-|\d{3,}:)[^\n]*-->[^\n]*$|^[^\n]*-->[^\S\n]*(?:-|\d+:?-|\d{3,}:)[^\n]*$", re.MULTILINE
)
_LEADING_COLON = re.compile(r"(?<!\d):(?=\d\d:\d\d[.,])")  # pysubs2 takes it for an hour
_INNER_TIME = re.compile(r"<[\d:.,]+>")
_ARROW = "-->"
_FIRST_BLOCK = "00:00:00,000 --> 00:00:00,000\n"
_SYLLABLES = re.compile(r"\\[kK][fo]?\d")
_OF_SONGS = ("karaoke", "fx")
_EVENT = re.compile(
    r"^Dialogue:[^,\n]*,(?:[^\S\n]*\d{1,2}:(?:\d{1,2}:\d{1,2}[.,]\d{1,3}|\d\d:\d\d)[^\S\n]*,){2}(?:[^,\n]*,){6}",
    re.MULTILINE,
)


def parse_subtitles(data: bytes, language: str = "en") -> Parsed:
    """Read a subtitle file; the content decides the format, not the suffix.

    Blocks are in the order of their times, without what they repeat of earlier blocks (`cues.arrange`). Each line that
    is not blank becomes a line of the document, numbered from 1, with its markup. Speakers are those that ASS and
    WebVTT (`<v NAME>`) name.

    Args:
        data: content of the file.
        language: code of the language, for encoding detection.

    Raises:
        ReadError: with the reason not_subtitles or unknown_encoding.
    """
    text, encoding, confidence = _decode(data, language)
    text = _BLANK_LINES.sub("\n\n", _LINE_ENDS.sub("\n", text).translate(_CONTROLS))
    refuse_more("lines", sum(map(text.count, ("\n", "\\N", "\\n"))), _LINES_A_BLOCK * MOST_LINES)
    blocks = arrange([block for block in _read_blocks(normal_form(text), language) if block.lines])
    if not blocks:
        raise ReadError(
            "not_subtitles",
            f"no block with a time in {text.count(chr(10)) + 1:,} lines ({encoding})",
        )
    starts, ends = np.array([(block.start, block.end) for block in blocks]).T
    starts, ends = check_times(starts, ends, LATEST + _earliest(starts))
    index = np.repeat(np.arange(len(blocks), dtype=np.int32), [len(block.lines) for block in blocks])
    speakers = [voice for block in blocks for voice in block.voices or [block.speaker] * len(block.lines)]
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
        speakers=speakers if any(speakers) else None,
    )


def _decode(data: bytes, language: str) -> tuple[str, str, float]:
    """Decode a file, or several concatenated files, each in its encoding."""
    joints = (
        [match.start() for match in _JOINT.finditer(data)]
        if data.find(b"\xff\xfe") > 0 or data.find(b"\xfe\xff") > 0 or b"\xef\xbb\xbf" in data[3:]
        else []
    )
    ends = [0, *(joint for joint in joints if joint), len(data)]
    parts = [decode(data[start:end], declared_in_xml(data), language) for start, end in pairwise(ends)]
    if len(parts) == 1:
        return parts[0]
    return "\n\n".join(text for text, _, _ in parts), parts[0][1], min(sureness for _, _, sureness in parts)


def _earliest(starts: np.ndarray) -> float:
    """Return the hour, in seconds, before which few blocks of a file begin, since recordings may start at any time of
    day.
    """
    known = starts[~np.isnan(starts)]
    return float(np.quantile(known, 0.1) // 3600 * 3600) if len(known) else 0.0


def _read_blocks(text: str, language: str) -> Iterator[Cue]:
    if text.lstrip().startswith("WEBVTT"):
        return _read_cues(_tidy_webvtt(text), "vtt")
    if _EVENT.search(text):
        return _read_events(text)
    if (cues := read_captions(text, language)) is not None:
        return (replace(cue, start=round(cue.start, 3), end=round(cue.end, 3)) for cue in cues)
    return _read_cues(text, "srt")


def _read_cues(text: str, kind: str) -> Iterator[Cue]:
    """Read SubRip or WebVTT. Of blocks whose times pysubs2 could not read, yield what is readable."""
    refuse_more("times", text.count(_ARROW), MOST_LINES)
    refuse_longer(text.split("\n"))
    # pysubs2 would drop the text before the first readable time; a block inserted before it receives that text.
    first = _FIRST_BLOCK
    if kind == "vtt":
        first, text = first.replace(",", "."), _LEADING_COLON.sub(" ", text)
    text = first + _hide_odd_times(_INNER_TIME.sub("", text))
    events = pysubs2.SSAFile.from_string(text, format_=kind, keep_html_tags=True)
    for number, event in enumerate(events):
        block = Cue(event.start / 1000, event.end / 1000, [])
        lines = event.text.replace("\\N", "\n").split("\n")
        for line in (line.strip() for line in lines):
            if _ARROW in line:
                if block.lines and block.lines[-1].isdecimal():
                    block.lines.pop()
                if number or block.start:
                    yield _voiced(block)
                start, _, end = line.replace(";", ":").partition(_ARROW)
                block = Cue(parse_time(start), parse_time((end.split() or [""])[0]), [])
                number = number or 1
            elif line:
                block.lines.append(line)
        if number:
            yield _voiced(block)


def _hide_odd_times(text: str) -> str:
    """Hide times with a sign or many hours, of which pysubs2 would read only the digits."""
    return _ODD_TIME.sub(lambda times: times.group().replace(":", ";"), text) if _MAYBE_ODD.search(text) else text


def _voiced(block: Cue) -> Cue:
    """Move WebVTT voices out of the text, with a separate line for each voice."""
    if not any(map(VOICE.search, block.lines)):
        return block
    spoken: list[tuple[str, str | None]] = []
    voice = None
    for line in block.lines:
        pieces = VOICE.split(line)
        for number, piece in enumerate(pieces[::2]):
            voice = " ".join(html.unescape(pieces[2 * number - 1]).split()) if number else voice
            if text := piece.replace("</v>", "").strip():
                spoken.append((text, voice))
    block.lines, block.voices = [text for text, _ in spoken], [voice for _, voice in spoken]
    return block


def _tidy_webvtt(text: str) -> str:
    kept = []
    for part in text.split("\n\n"):
        lines = part.strip("\n").split("\n")
        if lines[0].startswith(("WEBVTT", "NOTE", "STYLE", "REGION")) and not any(_ARROW in line for line in lines):
            continue
        at = next((number for number, line in enumerate(lines) if _ARROW in line), 0)
        kept.append("\n".join(lines[at:]))
    return "\n\n".join(kept)


def _read_events(text: str) -> Iterator[Cue]:
    # pysubs2 gets only the events, without the styles, fonts and pictures around them.
    kind = "ssa" if "[v4 styles]" in text.lower() else "ass"
    events = [line for line in text.split("\n") if _EVENT.match(line)]
    refuse_more("events", len(events), MOST_LINES)
    refuse_longer(events)
    last = None
    read = pysubs2.SSAFile.from_string("\n".join(["[Events]", *events, ""]), format_=kind)
    is_sung = _songs_among(read)
    for event in sorted(read, key=lambda event: event.start):
        lines = [line.strip() for line in re.split(r"\\[Nn]", event.text.replace("\\h", " "))]
        if is_sung(event):
            lines = [f"♪ {line} ♪" for line in lines if line]
        block = Cue(event.start / 1000, event.end / 1000, [line for line in lines if line], event.name.strip() or None)
        if block != last:  # glow and shadow are made by showing a text twice
            yield block
        last = block


def _songs_among(events: pysubs2.SSAFile) -> Callable[[pysubs2.SSAEvent], bool]:
    """Return whether an event of a file is karaoke: by its effect, or by syllables with times, unless most events have
    them, as where each word lights up when it is spoken.
    """
    plain = [event for event in events if event.effect.strip().lower() not in _OF_SONGS]
    in_syllables = sum(_SYLLABLES.search(event.text) is not None for event in plain)
    few = in_syllables <= len(plain) / 2

    def is_sung(event: pysubs2.SSAEvent) -> bool:
        return event.effect.strip().lower() in _OF_SONGS or (few and _SYLLABLES.search(event.text) is not None)

    return is_sung
