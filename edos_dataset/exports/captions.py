"""Subtitle files with the speaker and the label of each block: the file that came in, or one made of turns."""

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
import pysubs2

from edos_dataset.exports.colours import colour_of
from edos_dataset.exports.matching import Turns, words_of
from edos_dataset.exports.records import Turn
from edos_dataset.label_sets.label_set import LabelSet
from edos_dataset.sources.encodings import decode
from edos_dataset.sources.parsed import Parsed
from edos_dataset.sources.subtitles.text import VOICE
from edos_dataset.sources.subtitles.times import parse_time

SUBTITLES = ("srt", "vtt", "ass")
"""The formats that are written."""

_READ = {"srt": "srt", "vtt": "vtt", "ass": "ass", "ssa": "ssa"}
_ARROW = "-->"
_LINE = re.compile(r"[^\n]*\n|[^\n]+$")
_BEGINNING = re.compile(r"(?:\s|<[^<>]*>|\{[^{}]*\}|[-–—](?=\s|\w|<|\"|'|“))*")
_NUMBER = re.compile(r"\s*\d+\s*$")
_WIDTH = 42  # characters of a line that is made of a turn
_SHORTEST = 1.0  # seconds for which a turn without an end is shown


@dataclass
class Marks:
    """What is written beside each block.

    Attributes:
        speaker: Whether to write speakers.
        label: Whether to write labels.
        labels: The label set, for colours; None where labels are any texts.
        used: The labels that were written.
    """

    speaker: bool = True
    label: bool = True
    labels: LabelSet | None = None
    used: dict[str, None] = field(default_factory=dict)

    def of(self, turn: Turn) -> tuple[str | None, str | None]:
        """Return the speaker and the label of a turn, as far as they are wanted."""
        label = turn.label if self.label else None
        if label is not None:
            self.used[label] = None
        return turn.speaker if self.speaker else None, label

    def colour(self, label: str) -> tuple[int, int, int]:
        """Return the colour of a label."""
        return colour_of(label, self.labels)


class Run(NamedTuple):
    """Successive lines of a block that belong to one turn, or to none."""

    turn: Turn | None
    lines: list[str]


def runs_of(turns: Turns, start: float, end: float, lines: Sequence[str]) -> list[Run]:
    """Return the lines of a block by the turn that they belong to; the name of a speaker belongs to what follows."""
    owners = turns.of_lines(start, end, lines)
    for place, (owner, after) in enumerate(pairwise(owners)):
        if owner is None and after is not None and after.speaker and _names(lines[place], after.speaker):
            owners[place] = after
    pairs = groupby(zip(owners, lines, strict=True), key=lambda pair: id(pair[0]))
    return [Run(group[0][0], [line for _, line in group]) for group in (list(pairs_of) for _, pairs_of in pairs)]


def _names(line: str, speaker: str) -> bool:
    """Return whether a line has nothing but the name of a speaker, as "BEN [OVER RADIO]:"."""
    words, name = words_of(line), words_of(speaker)
    return words == name or (words.startswith(name) and line.rstrip().endswith(":"))


def annotated(data: bytes, suffix: str, to: str, turns: Turns, marks: Marks, read: Callable[[], Parsed]) -> str:
    """Return a subtitle file in the form `to`, with the speaker and label of each of its blocks.

    Every block of the file is kept, with its times and markup. A file that already has the form stays as it is but for
    the marks.

    Args:
        data: Content of the file.
        suffix: Suffix of its name, such as ".srt".
        to: One of SUBTITLES.
        turns: The turns of the film.
        marks: What is written.
        read: Reads the file with the readers of `edos curate`, for the formats that only these know.

    Raises:
        ReadError: It cannot be read.
    """
    text, _, _ = decode(data)
    kind = _kind_of(text, suffix)
    if kind == to and kind in ("srt", "vtt"):
        return _in_place(text, kind, turns, marks)
    events = _events_of(text, kind) if kind else _events_of_parsed(read())
    return _written(
        events, to, lambda event: runs_of(turns, event.start / 1000, event.end / 1000, _lines(event)), marks
    )


def made_of(turns: Turns, to: str, marks: Marks) -> str:
    """Return a subtitle file with a block for each turn that has a time."""
    file = pysubs2.SSAFile()
    owners: dict[int, Turn] = {}
    for turn in turns.timed:
        start = turn.start or 0.0
        end = turn.end if turn.end is not None else start + _SHORTEST
        lines = [part for line in turn.text.splitlines() for part in textwrap.wrap(line, _WIDTH)]
        event = pysubs2.SSAEvent(round(start * 1000), round(end * 1000), "\\N".join(map(_escaped, lines)))
        owners[id(event)] = turn
        file.append(event)
    return _written(file, to, lambda event: [Run(owners[id(event)], _lines(event))], marks)


def _kind_of(text: str, suffix: str) -> str | None:
    """Return the format of a file that pysubs2 reads as it is, None for all others."""
    head = text.lstrip("\ufeff \t\r\n")
    if head.startswith("WEBVTT"):
        return "vtt"
    if "[Events]" in text or "[events]" in text:
        return "ssa" if "[v4 styles]" in text.lower() else "ass"
    return "srt" if suffix in (".srt", ".txt", "") and _ARROW in text else None


def _lines(event: pysubs2.SSAEvent) -> list[str]:
    return re.split(r"\\[Nn]", event.text)


def _escaped(line: str) -> str:
    """Return a line without what ASS takes for markup."""
    return line.replace("\\", "/").replace("{", "(").replace("}", ")")


def _events_of(text: str, kind: str) -> pysubs2.SSAFile:
    return pysubs2.SSAFile.from_string(text, format_=_READ[kind], keep_unknown_html_tags=kind == "srt")


def _events_of_parsed(parsed: Parsed) -> pysubs2.SSAFile:
    """Return the blocks of a file that our own readers know."""
    file = pysubs2.SSAFile()
    for block in np.unique(parsed.first_blocks).tolist():
        places = np.flatnonzero(parsed.first_blocks == block).tolist()
        start, end = parsed.starts[places[0]], parsed.ends[places[-1]]
        if not np.isnan(start):
            end = start + _SHORTEST if np.isnan(end) else end
            lines = "\\N".join(_escaped(parsed.texts[place]) for place in places)
            file.append(pysubs2.SSAEvent(round(start * 1000), round(end * 1000), lines))
    return file


def _written(file: pysubs2.SSAFile, to: str, runs: Callable[[pysubs2.SSAEvent], list[Run]], marks: Marks) -> str:
    for event in file.events:
        if event.is_comment or event.is_drawing:
            continue
        parts = runs(event)
        if to == "ass":
            _mark_event(file, event, parts, marks)
        else:
            mark = _voiced if to == "vtt" else _prefixed
            event.text = "\\N".join(line for run in parts for line in mark(run, marks))
    if to == "ass":
        return str(file.to_string("ass"))
    text = str(file.to_string(to, **({"keep_ssa_tags": False} if to == "srt" else {})))
    return _styled(text, marks) if to == "vtt" else text


def _prefixed(run: Run, marks: Marks) -> list[str]:
    """Return lines with "[label] Name: " before the first, behind its markup and dash."""
    if run.turn is None:
        return run.lines
    speaker, label = marks.of(run.turn)
    first = run.lines[0]
    at = _end_of_markup(first)
    named = speaker is not None and first[at:].lstrip("[(").casefold().startswith(speaker.casefold())
    prefix = f"[{label}] " * (label is not None) + f"{speaker}: " * (speaker is not None and not named)
    return [first[:at] + prefix + first[at:], *run.lines[1:]]


def _end_of_markup(line: str) -> int:
    match = _BEGINNING.match(line)
    return match.end() if match else 0


def _voiced(run: Run, marks: Marks) -> list[str]:
    """Return lines within a voice or class of WebVTT; voices that the file has get the label as their class."""
    if run.turn is None:
        return run.lines
    speaker, label = marks.of(run.turn)
    of_label = f".{_class_of(label)}" if label is not None else ""
    if any(VOICE.search(line) for line in run.lines):
        return [VOICE.sub(lambda tag: f"<v{of_label}{tag.group()[2:]}", line) for line in run.lines]
    if speaker is None and label is None:
        return run.lines
    name = f" {escape(' '.join(speaker.split()), quote=False)}" if speaker is not None else ""
    tag = "v" if speaker is not None else "c"
    lines = list(run.lines)
    lines[0] = f"<{tag}{of_label}{name}>{lines[0]}"
    lines[-1] += f"</{tag}>"
    return lines


def _class_of(label: str) -> str:
    return re.sub(r"[^\w-]", "_", label)


def _styled(text: str, marks: Marks) -> str:
    """Return WebVTT with the colours of its labels, before its first block."""
    if not marks.used:
        return text
    rules = [
        "::cue(.{}) {{ color: #{:02x}{:02x}{:02x} }}".format(_class_of(label), *marks.colour(label))
        for label in sorted(marks.used)
    ]
    head, blank, rest = text.partition("\n\n")
    style = "\n".join(["STYLE", *rules])
    return f"{head}\n\n{style}\n\n{rest}" if blank else f"{text}\n\n{style}\n"


def _mark_event(file: pysubs2.SSAFile, event: pysubs2.SSAEvent, runs: Sequence[Run], marks: Marks) -> None:
    """Give an event of ASS the names of its speakers and the styles of its labels."""
    base = event.style
    texts: list[str] = []
    names: list[str] = []
    before = base
    for run in runs:
        speaker, label = marks.of(run.turn) if run.turn is not None else (None, None)
        style = _style_of(file, base, label, marks) if label is not None else base
        if speaker is not None and speaker not in names:
            names.append(speaker)
        text = "\\N".join(run.lines)
        if not texts:
            event.style = style
        elif style != before:
            text = f"{{\\r{style}}}{text}"
        texts.append(text)
        before = style
    event.text = "\\N".join(texts)
    event.name = event.name or " / ".join(names).replace(",", ";")


def _style_of(file: pysubs2.SSAFile, base: str, label: str, marks: Marks) -> str:
    """Return the name of the style of a label: that of the event in the colour of the label."""
    name = (label if base == "Default" else f"{base} {label}").replace(",", ";")
    if name not in file.styles:
        style = file.styles.get(base, pysubs2.SSAStyle()).copy()
        style.primarycolor = pysubs2.Color(*marks.colour(label))
        file.styles[name] = style
    return name


@dataclass
class _Block:
    """A block of a file of lines: its times in seconds, and the numbers of its lines in the file."""

    start: float
    end: float
    lines: list[int] = field(default_factory=list)


def _in_place(text: str, kind: str, turns: Turns, marks: Marks) -> str:
    """Return a SubRip or WebVTT file whose blocks are marked, and which is otherwise the same."""
    lines = _LINE.findall(text.replace("\r\n", "\n").replace("\r", "\n"))
    mark = _voiced if kind == "vtt" else _prefixed
    for block in _blocks(lines, kind):
        shown = [lines[at].rstrip("\n") for at in block.lines]
        new = [line for run in runs_of(turns, block.start, block.end, shown) for line in mark(run, marks)]
        for at, line in zip(block.lines, new, strict=True):
            lines[at] = line + "\n" * lines[at].endswith("\n")
    result = "".join(lines).lstrip("\ufeff")
    result = _styled(result, marks) if kind == "vtt" else result
    return result.replace("\n", "\r\n") if "\r\n" in text else result


def _blocks(lines: Sequence[str], kind: str) -> Iterator[_Block]:
    """Yield the blocks of a file of lines."""
    block: _Block | None = None
    for at, line in enumerate(lines):
        if _ARROW in line:
            if block is not None:
                yield _without_number(block, lines)
            start, _, end = line.partition(_ARROW)
            block = _Block(_time(start.strip()), _time((end.split() or [""])[0]))
        elif not line.strip():
            if kind == "vtt" and block is not None:  # the next may be a note or the name of a block
                yield block
                block = None
        elif block is not None:
            block.lines.append(at)
    if block is not None:
        yield block


def _time(text: str) -> float:
    return parse_time(text if text.count(":") != 1 else f"0:{text}")


def _without_number(block: _Block, lines: Sequence[str]) -> _Block:
    """Return a block without the number of the one after it, which stands before its times."""
    if block.lines and _NUMBER.match(lines[block.lines[-1]]):
        block.lines.pop()
    return block
