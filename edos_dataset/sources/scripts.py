"""Transcripts and screenplays to speeches: who says what, and in which scene.

Two forms are told apart by which of them the text has more of. A transcript writes `Name: speech`, where what goes on is indented below ("hanging") or simply
follows; a screenplay writes the NAME in capitals on a line of its own, with the speech below it. Everything else is headings, stage directions and what
archivists put around a transcript, and none of it is speech.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Speech:
    """What one speaker says without another one coming between; any source that knows its speakers can be brought into this form.

    Attributes:
        speaker: the name, without what is said beside it ("(V.O.)"): "Ann"; of several who speak at once "Ann & Bob".
        text: words spoken, without stage directions, on one line.
        scene: number of the scene, from 0, growing along the text.
        line: number of the line at which the speech begins, from 1.
    """

    speaker: str
    text: str
    scene: int
    line: int


class _Line(NamedTuple):
    number: int
    indent: int
    text: str  # empty for a blank line


_NAME_WORD = r"(?:[A-ZÀ-Þ0-9#][\w.'’\-#]*|of|the|on|in|at|and|with|from|for|de|van|von|la|&|/)"
_NAMED = re.compile(rf"(?P<name>{_NAME_WORD}(?:[ /,]+{_NAME_WORD}){{0,4}}(?:'s?)?)(?P<aside>\s*[\[(][^\])]*[\])])?\s*:(?:\s+(?P<rest>.*))?$")
_CUE = re.compile(r"(?=.*[A-ZÀ-Þ]{2})(?P<name>[A-ZÀ-Þ0-9#][A-ZÀ-Þ0-9.'’\-#&/, ]{0,38}?)(?:\s*\([^)]*\))*\s*:?$")
_ASIDE = re.compile(r"\[[^\]]*\]|\([^)]*\)|\{[^}]*\}")
_SCENE = re.compile(
    r"[\[(]?\s*(?:(?:end\s+of\s+)?(?:act|scene|part|sc\.)\b(?:\s*:|\s+(?:\d|[ivx]+\b|[a-z]\b|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve))"
    r"|int(?:erior)?[.:/ ]|ext(?:erior)?[.:/ ]|i/e\b|fade[sd]?\s+(?:in|out|to|up)\b|(?:smash\s+|match\s+|jump\s+|quick\s+)?cut\s+(?:back\s+)?to\b"
    r"|dissolve\s+(?:back\s+)?to\b|reset\s+to\b|flashback\b|(?:opening|closing|end)?\s*(?:credits?|titles?)(?:\s+tag)?\s*[:\])]*$|time\s+(?:lapse|cut)\b"
    r"|commercial\s+break\b|(?:the\s+)?end\b\s*[.\])]*$)",
    re.IGNORECASE,
)
_CAPITALS = re.compile(r"(?=.*[A-ZÀ-Þ]{2})[^a-zß-ÿ]{3,60}$")
_FADES_AT_END = re.compile(r"\b(?:FADE (?:OUT|IN|TO)|CUT TO|DISSOLVE TO|RESET TO|SMASH CUT)\b")
_LEAST_HANG = 4  # columns; less is the slant of a heading
_SPOKE_OFTEN = 3


def read_script(text: str) -> list[Speech]:
    """Read a transcript or a screenplay.

    The scene number grows where a speech follows one or more of these marks: a heading ("Scene ...", "ACT ...", "INT. ...", "[Scene: ...]", "Credits:"), a
    transition ("FADE OUT", "CUT TO:", "DISSOLVE TO:", "Reset to:"), or a title in capitals on a line of its own. Directions in [], () and {} leave the speech;
    what is said before the first and after the last speaker who speaks often (fields of a header, reviews, a cast list) is no speech.

    Args:
        text: the whole file, decoded.

    Raises:
        ValueError: no speech was found.
    """
    lines = [_Line(number, len(line) - len(line.lstrip()), line.strip()) for number, line in enumerate(text.expandtabs().splitlines(), 1)]
    speeches = max((_read(lines, form) for form in (_named_form(lines), _cue_form(lines))), key=len)
    if not speeches:
        raise ValueError(
            f"no speech found in {len(lines):,} lines: expected a transcript (`Name: speech`) or a screenplay (NAME on its own line above the speech); "
            f"the text begins with {text.strip()[:40]!r}"
        )
    return speeches


class _Form(NamedTuple):
    """How speeches are written: where one begins, and which lines go on with it."""

    begins: Callable[[int], tuple[str, str] | None]  # index of a line → name and first words
    goes_on: Callable[[_Line, bool], bool]  # a line, and whether it stands behind a blank one


def _named_form(lines: list[_Line]) -> _Form:
    found = {index: match for index, line in enumerate(lines) if (match := _NAMED.match(line.text)) and not _SCENE.match(line.text)}
    body = _body({index: match["name"] for index, match in found.items() if match["rest"]})
    below = [lines[index + 1] for index in found if index in body and index + 1 < len(lines) and index + 1 not in found and lines[index + 1].text]
    hanging = sum(line.indent >= _LEAST_HANG for line in below) * 2 > len(below)
    usual = Counter(line.indent for line in below if line.indent >= _LEAST_HANG).most_common(1)
    hang = usual[0][0] if hanging else 0

    def begins(index: int) -> tuple[str, str] | None:
        match = found.get(index)
        if match is None or index not in body or (hanging and lines[index].indent >= hang):
            return None
        follows = index + 1 < len(lines) and lines[index + 1].indent >= _LEAST_HANG
        return (match["name"], match["rest"] or "") if match["rest"] or (hanging and follows) else None

    def goes_on(line: _Line, after_blank: bool) -> bool:
        return hang // 2 <= line.indent <= 2 * hang if hanging else not after_blank

    return _Form(begins, goes_on)


def _cue_form(lines: list[_Line]) -> _Form:
    found = {}
    for index, line in enumerate(lines[:-1]):
        alone = index == 0 or not lines[index - 1].text
        below = lines[index + 1]
        if alone and below.text and below.indent <= line.indent and not _SCENE.match(line.text) and not _CAPITALS.match(below.text):
            match = _CUE.match(line.text)
            if match:
                found[index] = match["name"]
    usual = Counter(lines[index].indent for index in found).most_common(1)
    least = usual[0][0] // 2 if usual else 0
    found = {index: name for index, name in found.items() if lines[index].indent >= least}
    body = _body(found)

    def begins(index: int) -> tuple[str, str] | None:
        return (found[index], "") if index in found and index in body else None

    return _Form(begins, lambda line, after_blank: not after_blank)


def _body(names: dict[int, str]) -> range:
    """Return the lines between the first and the last speech of those who speak often, or all lines if none does."""
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
        begun = form.begins(index)
        if begun:
            speaking = True
            yield "speech", line, begun[0]
            yield "words", line, begun[1]
        elif _SCENE.match(line.text) or (_CAPITALS.match(line.text) and not (speaking and form.goes_on(line, after_blank))):
            speaking = False
            yield "scene", line, ""
        elif speaking and form.goes_on(line, after_blank):
            yield "words", line, line.text
        else:
            speaking = False
            if _FADES_AT_END.search(line.text):
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
            yield Speech(name, _spoken(words), scene, begun)
        scene += changed
        changed, spoken = False, True
        name, words, begun = _speaker(text), [], line.number
    if name:
        yield Speech(name, _spoken(words), scene, begun)


def _spoken(words: list[str]) -> str:
    return " ".join(_ASIDE.sub(" ", " ".join(words)).split())


def _speaker(name: str) -> str:
    """Write a name in one way: `ANN/BOB (CONT'D)` is "Ann & Bob"."""
    parts = re.split(r"\s*(?:[/&,]|\band\b|\bAND\b)\s*", " ".join(_ASIDE.sub(" ", name).split()).strip(" .,:"))
    return " & ".join(part.title().replace("'S", "'s").replace("’S", "’s") if part.isupper() else part for part in parts if part)
