"""Transcripts: "NAME: line", or the name with a colon in a line of its own."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from edos_dataset.sources.scripts.lines import Line
from edos_dataset.sources.scripts.marks import is_heading, is_transition, may_be_heading
from edos_dataset.sources.scripts.speeches import Cue, Script, cue_of
from edos_dataset.sources.subtitles.speakers import key_of

_WORD = r"(?:[^\W\d_a-zß-öø-ÿ][\w'’.#-]{0,30}|#?\d{1,3}|of|the|and|de|la|le|von|van|del|der|et|und|y|e)"
_NAME = rf"(?:[\w'’.]{{1,20}}\s)?{_WORD}(?:[ /&,]{{1,3}}{_WORD}){{0,6}}|[^\W\d_]"
_MARK = re.compile(
    rf"(?P<name>{_NAME})"
    r"(?P<note>\s{0,3}[(\[][^()\[\]:]{1,80}[)\]])?"
    r"(?::(?=\s|$|[\"“'(\[A-ZÀ-Þ¿¡])|\s{4,60}(?=\S))\s{0,60}"
)
_LONGEST = 200  # characters in which a name and its note stand
_LABEL_WORDS = """
note notes title titles author authors by writer writers director directed scene scenes act cut setting set time place
date cast episode season transcript transcribed teleplay story draft source url http https email subject from to cc re
chapter part page fade int ext super insert caption music sound sfx copyright version contact summary license licence
files file comment raises args returns attributes yields parameters name id type status description example examples
warning todo fixme usage output input
"""
_LABELS = frozenset(_LABEL_WORDS.split())
"""First words of what stands before a colon, but is no name."""
_CUT = re.compile(r"(?:cut|dissolve|fade|scene|diss\.)\b", re.IGNORECASE)
_SAYS = re.compile(r"""[.!?…][)"'”’»\]]*$|[-–—]$""")


def marked(lines: Sequence[Line]) -> dict[int, tuple[Cue, str]]:
    """Return place → speaker and rest of the line, for the lines that begin with a name that comes back."""
    found = {}
    for place, line in enumerate(lines):
        if (mark := _mark(line.text)) is not None:
            found[place] = mark
    times = Counter(key_of(cue.name) for cue, _ in found.values())
    return {place: each for place, each in found.items() if times[key_of(each[0].name)] > 1 or _is_sure(each[0])}


def _mark(text: str) -> tuple[Cue, str] | None:
    """Return the speaker whose name begins a line, and the rest of it; None if none does."""
    match = _MARK.match(text, 0, _LONGEST) if text and text[0] not in "([" else None
    if match is None or len(match["name"]) > 42 or is_heading(text) or is_transition(text):
        return None
    note = (match["note"] or "").strip()
    cue = cue_of(f"{match['name']} {note}" if note else match["name"])
    return (cue, text[match.end() :]) if cue.name and key_of(cue.name).split(" ")[0] not in _LABELS else None


def _is_sure(cue: Cue) -> bool:
    return cue.name.isupper() and len(cue.name) > 1


def read_transcript(lines: Sequence[Line], names: dict[int, tuple[Cue, str]]) -> Script:
    """Read a transcript.

    Args:
        lines: result of `lines_of`.
        names: result of `marked`.
    """
    script, place = Script(), 0
    cuts = sum(_is_scene(lines, number) for number in range(len(lines))) < 3
    while place < len(lines):
        if place in names:
            cue, rest = names[place]
            said = [rest] if rest else []
            place += 1
            for line in _further(lines, place, names, bool(rest)):
                place += 1
                said += [line.text] if line.text else []
            script.add(cue, said)
            continue
        if _is_scene(lines, place) or (cuts and is_transition(lines[place].text)):
            script.new_scene()
        place += 1
    return script


def _further(lines: Sequence[Line], place: int, names: dict[int, tuple[Cue, str]], begun: bool) -> Iterator[Line]:
    """Yield the lines of a speech from a place on."""
    is_open = False
    while place < len(lines) and place not in names:
        line = lines[place]
        if not line.text and begun and not is_open:
            return
        if is_heading(line.text) or is_transition(line.text) or _is_scene(lines, place):
            return
        if line.text[:1] in ("[", "(") and not is_open and begun and not line.indent:
            return
        yield line
        is_open = line.text.count("(") > line.text.count(")")
        begun |= bool(line.text)
        place += 1


def _is_scene(lines: Sequence[Line], place: int) -> bool:
    text = lines[place].text
    if not text:
        return False
    alone = not (place and lines[place - 1].text) and not (place + 1 < len(lines) and lines[place + 1].text)
    bare = text.strip("[]() ")
    return is_heading(bare) or (text[0] in "[(" and _CUT.match(bare) is not None) or (alone and may_be_heading(text))


def is_spoken(script: Script) -> bool:
    """Return whether enough of what follows the names ends like speech; the lines of a form do not."""
    said = [piece.text for piece in script.pieces]
    return sum(bool(_SAYS.search(text)) for text in said) > 0.5 * len(said)
