"""Transcripts and screenplays to speeches: who says what, and in which scene.

Two forms are told apart by which of them the text has more of. A transcript writes `Name: speech`, where what goes on
is indented below ("hanging") or simply follows; a screenplay writes the NAME in capitals on a line of its own, with the
speech below it. Everything else is headings, stage directions and what archivists put around a transcript, and none of
it is speech.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Speech:
    """What one speaker says up to the next name; two in a row may be the same speaker's. Any source that knows its
    speakers can be brought into this form.

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
_LEAST_HANG = 4  # columns; less is the slant of a heading
_SPOKE_OFTEN = 3


def read_script(text: str) -> list[Speech]:
    """Read a transcript or a screenplay.

    The scene number grows where a speech follows one or more of these marks: a heading ("Scene ...", "ACT ...", "INT.
    ...", "[Scene: ...]", "Credits:"), a transition ("FADE OUT", "CUT TO:", "DISSOLVE TO:", "Reset to:"), or a title in
    capitals on a line of its own. Directions in [], () and {} leave the speech; what is said before the first and after
    the last speaker who speaks often (fields of a header, reviews, a cast list) is no speech.

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
    """How speeches are written."""

    begins: dict[int, tuple[str, str]]  # index of the line at which a speech begins → name and first words
    # whether a line that stands below a speech, behind a blank one or not, goes on with it
    goes_on: Callable[[_Line, bool], bool]
    titles: bool  # whether a line in capitals is the title of a scene


def _transcript(lines: list[_Line]) -> _Form:
    named = {
        index: match
        for index, line in enumerate(lines)
        if (match := _NAMED.match(line.text)) and not _is_mark(line.text, match["name"])
    }
    body = _body({index: match["name"] for index, match in named.items() if match["rest"]})
    below = [
        lines[index + 1].indent
        for index in named
        if index in body and index + 1 not in named and lines[index + 1 : index + 2] and lines[index + 1].text
    ]
    hanging = [indent for indent in below if indent >= _LEAST_HANG]
    hang = Counter(hanging).most_common(1)[0][0] if 2 * len(hanging) > len(below) else 0
    begins = {}
    for index, match in named.items():
        hangs_below = bool(hang) and index + 1 < len(lines) and lines[index + 1].indent >= _LEAST_HANG
        if index in body and (match["rest"] or hangs_below) and (lines[index].indent < hang or not hang):
            begins[index] = match["name"], match["rest"] or ""

    def goes_on(line: _Line, after_blank: bool) -> bool:
        if hang:  # then a speech goes on even behind a blank line, where a page ended
            return hang // 2 <= line.indent <= 2 * hang and not (after_blank and _SCENE.match(line.text))
        return not after_blank and not _SCENE.match(line.text)

    return _Form(begins, goes_on, True)


def _is_mark(text: str, name: str) -> bool:
    return bool(_SCENE.match(text) or _TRANSITION.search(name))


def _screenplay(lines: list[_Line]) -> _Form:
    cues = {}
    for index, (line, below) in enumerate(zip(lines[:-1], lines[1:], strict=True)):
        alone = index == 0 or not lines[index - 1].text
        match = _CUE.match(line.text) if alone and below.text and not _SCENE.match(line.text) else None
        if match and (below.indent < line.indent or (below.indent == line.indent and not _CAPITALS.match(below.text))):
            cues[index] = match["name"]
    centre, column = (
        Counter(lines[index + step].indent for index in cues).most_common(1)[0][0] if cues else 0 for step in (0, 1)
    )
    cues = {index: name for index, name in cues.items() if lines[index].indent >= centre // 2}
    body = _body(cues)
    begins = {index: (name, "") for index, name in cues.items() if index in body}
    # What stands further to the right than the names is a transition or the number of a page.
    return _Form(
        begins,
        lambda line, after_blank: (
            not after_blank and column // 2 <= line.indent <= centre and not _SCENE.match(line.text)
        ),
        False,
    )


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
        begun = form.begins.get(index)
        goes_on = speaking and form.goes_on(line, after_blank)
        if begun:
            speaking = True
            yield "speech", line, begun[0]
            yield "words", line, begun[1]
        elif goes_on:
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
            yield Speech(name, _spoken(words), scene, begun)
        scene += changed
        changed, spoken = False, True
        name, words, begun = _speaker(text), [], line.number
    if name:
        yield Speech(name, _spoken(words), scene, begun)


def _spoken(words: list[str]) -> str:
    return _without_asides(" ".join(words))


def _without_asides(text: str) -> str:
    """Return a line without what stands in brackets, its spaces collapsed."""
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
    """Write a name in one way: `ANN/BOB (CONT'D)` is "Ann & Bob"."""
    parts = re.split(r" ?(?:[/&,]|\band\b|\bAND\b) ?", _without_asides(name).strip(" .,:"))
    return " & ".join(
        part.title().replace("'S", "'s").replace("’S", "’s") if part.isupper() else part for part in parts if part
    )
