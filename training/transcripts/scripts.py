"""Parses transcripts and screenplays into speeches: who says what, and in which scene.

A text is parsed in the form that yields more speeches. A transcript has `Name: speech`, continued on indented
("hanging") or plain lines below; a screenplay has the NAME in capitals on its own line, with the speech below it.
Everything else (headings, stage directions, text that archivists added) is not speech.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from edos_dataset.releases.raw import Reject, read_csv


@dataclass(frozen=True)
class Speech:
    """What one speaker says up to the next name; consecutive speeches can have the same speaker.

    Attributes:
        speaker: the name without remarks such as "(V.O.)": "Ann"; "Ann & Bob" if several speak at once.
        text: the spoken words, without stage directions, on one line.
        scene: number of the scene, from 0, never decreasing.
        line: number of the line at which the speech begins, from 1.
    """

    speaker: str
    text: str
    scene: int
    line: int


_COLUMNS = ("season", "episode", "speaker", "words")


class _Line(NamedTuple):
    number: int
    indent: int
    text: str  # empty for a blank line


_NAME_WORD = r"(?:[A-ZÀ-Þ0-9#][\w.'’\-#]*|of|the|on|in|at|and|with|from|for|de|van|von|la|&)"
_NAMED = re.compile(
    rf"(?P<name>{_NAME_WORD}(?:[ /,]+{_NAME_WORD}){{0,4}}(?:'s?)?)"
    r"(?P<aside>\s*[\[(][^\])]*[\])])?\s*:(?:\s+(?P<rest>.*))?$"
)
_CUE = re.compile(
    r"(?=.*[A-ZÀ-Þ]{2})(?!CONTINUED\b|THE END\b)"
    r"(?P<name>[A-ZÀ-Þ0-9#][A-ZÀ-Þ0-9.'’\-#&/, ]{0,38}?)(?:\s*\([^)]*\))*\s*:?$"
)
_CLOSING = {"[": "]", "(": ")", "{": "}"}
_OPENING = re.compile(r"[\[({]")
_NEVER_CLOSED = re.compile(r"[\[(][^\])]{0,80}$")
_SCENE = re.compile(
    r"[\[(]?\s*(?-i:(?=[A-Z]))(?:(?:end\s+of\s+)?(?:act|scene|part|sc\.)\b"
    r"(?:\s*:|\s+(?:\d|[ivx]+\b|[a-z]\b|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve))"
    r"|int(?:erior)?[.:/ ]|ext(?:erior)?[.:/ ]|i/e\b|fade[sd]?\s+(?:in|out|to|up)\b"
    r"|(?:smash\s+|match\s+|jump\s+|quick\s+)?cut\s+(?:back\s+)?to\b"
    r"|dissolve\s+(?:back\s+)?to\b|reset\s+to\b|flashback\b"
    r"|(?:opening|closing|end)?\s*(?:credits?|titles?)(?:\s+tag)?\s*[:\])]*$|time\s+(?:lapse|cut)\b"
    r"|commercial\s+break\b|(?:the\s+)?end\b\s*[.\])]*$)",
    re.IGNORECASE,
)
_CAPITALS = re.compile(r"(?=.*[A-ZÀ-Þ]{2})[^a-zß-ÿ]{3,60}$")
_TRANSITION = re.compile(r"\b(?:FADE (?:OUT|IN|TO)|CUT TO|DISSOLVE TO|RESET TO|SMASH CUT)\b")
_LEAST_HANG = 4  # columns; a smaller indentation is that of a slanted heading
_SPOKE_OFTEN = 3


def read_lines(path: Path) -> dict[str, list[Speech]]:
    """Return the speeches of each episode, by season and episode ("2x11"), in a table (`.csv`) with season, episode,
    speaker and words, a line a row; other rows are left out.
    """
    rows = [row for _, row in read_csv(path, _COLUMNS) if not isinstance(row, Reject)]
    return {
        f"{season}x{episode}": [Speech(row["speaker"], row["words"], 0, 0) for row in said]
        for (season, episode), said in groupby(rows, key=lambda row: (row["season"], row["episode"]))
    }


def read_script(text: str) -> list[Speech]:
    """Read a transcript or a screenplay.

    The scene number increases if a speech follows one or more of these marks: a heading ("Scene ...", "ACT ...", "INT.
    ...", "[Scene: ...]", "Credits:"), a transition ("FADE OUT", "CUT TO:", "DISSOLVE TO:", "Reset to:"), or a title in
    capitals on its own line. Directions in [], () and {} are removed from the speech. Lines before the first and after
    the last frequent speaker (header fields, reviews, a cast list) are not speech.

    Args:
        text: the whole file, decoded.

    Raises:
        ValueError: no speech was found.
    """
    lines = [
        _Line(number, len(line) - len(line.lstrip()), line.strip())
        for number, line in enumerate(text.expandtabs().splitlines(), 1)
    ]
    speeches = max((_read(lines, form) for form in (_transcript(lines), _screenplay(lines))), key=len)
    if not speeches:
        raise ValueError(
            f"no speech found in {len(lines):,} lines: expected a transcript (`Name: speech`) or a screenplay (NAME on "
            f"its own line above the speech); the text begins with {text.strip()[:40]!r}"
        )
    return speeches


class _Form(NamedTuple):
    """How speeches are laid out."""

    begins: dict[int, tuple[str, str]]  # index of the first line of a speech → name and first words
    continues: Callable[[_Line, bool], bool]  # whether a line, after a blank line or not, continues the speech above it
    titles: bool  # whether a line in capitals is the title of a scene


def _transcript(lines: list[_Line]) -> _Form:
    named = {
        index: match
        for index, line in enumerate(lines)
        if (match := _NAMED.match(line.text)) and not _is_mark(line.text, match["name"])
    }
    body = _body({index: match["name"] for index, match in named.items() if match["rest"]})
    hang = _hanging_indent(lines, named, body)

    def hangs_below(index: int) -> bool:
        return bool(hang) and index + 1 < len(lines) and lines[index + 1].indent >= _LEAST_HANG

    def begins(index: int, match: re.Match[str]) -> bool:
        if index not in body or (hang and lines[index].indent >= hang):
            return False
        return bool(match["rest"]) or hangs_below(index)

    def continues(line: _Line, after_blank: bool) -> bool:
        if hang:  # then a speech can continue after a blank line, at the end of a page
            return hang // 2 <= line.indent <= 2 * hang and not (after_blank and _SCENE.match(line.text))
        return not after_blank and not _SCENE.match(line.text)

    speeches = {index: (match["name"], match["rest"] or "") for index, match in named.items() if begins(index, match)}
    return _Form(speeches, continues, True)


def _hanging_indent(lines: list[_Line], named: Collection[int], body: range) -> int:
    """Return the indentation in columns of the lines below a name, 0 if most of them are not indented."""
    below = [
        lines[index + 1].indent
        for index in named
        if index in body and index + 1 not in named and index + 1 < len(lines) and lines[index + 1].text
    ]
    hanging = [indent for indent in below if indent >= _LEAST_HANG]
    return Counter(hanging).most_common(1)[0][0] if 2 * len(hanging) > len(below) else 0


def _is_mark(text: str, name: str) -> bool:
    return bool(_SCENE.match(text) or _TRANSITION.search(name))


def _screenplay(lines: list[_Line]) -> _Form:
    cues = {index: name for index in range(len(lines) - 1) if (name := _cue_at(lines, index))}
    name_column, speech_column = (
        Counter(lines[index + step].indent for index in cues).most_common(1)[0][0] if cues else 0 for step in (0, 1)
    )
    cues = {index: name for index, name in cues.items() if lines[index].indent >= name_column // 2}
    body = _body(cues)

    def continues(line: _Line, after_blank: bool) -> bool:
        # A line further right than the names is a transition or a page number.
        in_column = speech_column // 2 <= line.indent <= name_column
        return in_column and not after_blank and not _SCENE.match(line.text)

    return _Form({index: (name, "") for index, name in cues.items() if index in body}, continues, False)


def _cue_at(lines: list[_Line], index: int) -> str | None:
    """Return the name on its own line if there is a speech below it."""
    line, below = lines[index], lines[index + 1]
    follows_text = index > 0 and lines[index - 1].text
    match = _CUE.match(line.text)
    if not match or follows_text or not below.text or _SCENE.match(line.text):
        return None
    is_speech = below.indent < line.indent or (below.indent == line.indent and not _CAPITALS.match(below.text))
    return match["name"] if is_speech else None


def _body(names: dict[int, str]) -> range:
    """Return the lines between the first and the last speech of frequent speakers; empty without names."""
    counts = Counter(map(_speaker, names.values()))
    most = max(counts.values(), default=0)
    often = [index for index, name in names.items() if counts[_speaker(name)] >= min(most, _SPOKE_OFTEN)]
    return range(often[0], often[-1] + 1) if often else range(0)


def _read(lines: list[_Line], form: _Form) -> list[Speech]:
    return [speech for speech in _assemble(_mark(lines, form)) if speech.text]


def _mark(lines: list[_Line], form: _Form) -> Iterator[tuple[str, _Line, str]]:
    """Yield ("speech", line, name), ("words", line, words) and ("scene", line, "")."""
    speaking = after_blank = False
    for index, line in enumerate(lines):
        if not line.text:
            after_blank = True
            continue
        begun = form.begins.get(index)
        continues = speaking and form.continues(line, after_blank)
        if begun:
            speaking = True
            yield "speech", line, begun[0]
            yield "words", line, begun[1]
        elif continues:
            yield "words", line, line.text
        else:
            speaking = False
            if _SCENE.match(line.text) or _TRANSITION.search(line.text) or (form.titles and _CAPITALS.match(line.text)):
                yield "scene", line, ""
        after_blank = False


def _assemble(marks: Iterable[tuple[str, _Line, str]]) -> Iterator[Speech]:
    scene = 0
    changed = False
    name, words, begun = "", [""], 0
    spoken = False
    for kind, line, text in marks:
        if kind == "words":
            words.append(text)
            continue
        if kind == "scene":
            changed = spoken
            continue
        if name:
            yield Speech(name, _without_asides(" ".join(words)), scene, begun)
        scene += changed
        changed, spoken = False, True
        name, words, begun = _speaker(text), [], line.number
    if name:
        yield Speech(name, _without_asides(" ".join(words)), scene, begun)


def _without_asides(text: str) -> str:
    """Remove text in brackets, and collapse spaces."""
    last = {mark: text.rfind(mark) for mark in _CLOSING.values()}
    kept: list[str] = []
    done = place = 0
    while opening := _OPENING.search(text, place):
        begin, closing = opening.start(), _CLOSING[opening[0]]
        if last[closing] > begin:
            place = text.index(closing, begin) + 1
        elif _NEVER_CLOSED.match(text, begin):
            place = len(text)
        else:
            place = begin + 1
            continue
        kept.append(text[done:begin])
        done = place
    return " ".join(" ".join([*kept, text[done:]]).split())


def _speaker(name: str) -> str:
    """Normalise a name: `ANN/BOB (CONT'D)` becomes "Ann & Bob"."""
    parts = re.split(r" ?(?:[/&,]|\band\b|\bAND\b) ?", _without_asides(name).strip(" .,:"))
    return " & ".join(
        part.title().replace("'S", "'s").replace("’S", "’s") if part.isupper() else part for part in parts if part
    )
