"""Fountain 1.1, screenplays in plain text with few marks (https://fountain.io/syntax)."""

import re
from collections.abc import Sequence

from edos_dataset.sources.scripts.speeches import Script, cue_of

_BONEYARD = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_NOTE_MARK = re.compile(r"\[\[|\]\]|\n[^\S\n]*\n")
_TITLE = re.compile(r"[^\W\d_][\w ]{0,40}:(?!\S)")
_HEADING = re.compile(r"(?:int|ext|est|i/e|int\.?/ext)[. ]", re.IGNORECASE)
_TRANSITION = re.compile(r"[^a-zß-öø-ÿ]*TO:")
_EMPHASIS = re.compile(r"(?<!\\)(\*{1,3}|_)(?=\S)((?:(?!\1)[^\n\\]|\\.){1,2000}?)(?<=\S)\1")
_ESCAPED = re.compile(r"\\([*_\\!@>.~#=\[\]/^])")
_SPLIT = re.compile(r"\r\n?|[\n\x0b\x0c\x85\u2028\u2029]")


def read_fountain_text(text: str) -> Script:
    """Return the speeches of a screenplay in Fountain.

    Forced elements (`@McCLANE`, `!BANG`, `.SNIPER SCOPE`), notes, the boneyard, lyrics and both speakers of a dual
    dialogue are read as the specification says.
    """
    lines = _SPLIT.split(_without_notes(_BONEYARD.sub("", "\n".join(_SPLIT.split(text.removeprefix("\ufeff"))))))
    script, place = Script(), _after_title(lines)
    while place < len(lines):
        line = lines[place].strip()
        before = lines[place - 1].strip() if place else ""
        if is_fountain_heading(line, before):
            script.new_scene()
        elif line.startswith("@") or _is_name(line, before, lines[place + 1] if place + 1 < len(lines) else ""):
            said, stop = _speech(lines, place + 1)
            script.add(cue_of(_plain(line.removeprefix("@"))), said)
            place = stop
            continue
        place += 1
    return script


def _without_notes(text: str) -> str:
    """Return a text without notes, `[[...]]`, none of which goes beyond a blank line."""
    kept, start, begin = [], 0, -1
    for match in _NOTE_MARK.finditer(text):
        if match[0] == "]]" and begin >= 0:
            kept.append(text[start:begin])
            start, begin = match.end(), -1
        elif match[0] == "[[":
            begin = begin if begin >= 0 else match.start()
        elif match[0] != "]]":
            begin = -1
    return "".join([*kept, text[start:]])


def is_fountain_heading(line: str, before: str) -> bool:
    """Return whether a line is the heading of a scene, given the line before."""
    if line.startswith("."):
        return line[1:2].isalnum()
    return not before and _HEADING.match(line) is not None


def _after_title(lines: Sequence[str]) -> int:
    """Return the place after the title page: lines "Key: value" before the first blank one."""
    place = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if not lines or not _TITLE.match(lines[place]) or _TRANSITION.fullmatch(lines[place].strip()):
        return 0
    if lines[place].strip().upper().startswith(("FADE ", "CUT ")):
        return 0
    return next((number for number, line in enumerate(lines) if number > place and not line.strip()), len(lines))


def _is_name(line: str, before: str, after: str) -> bool:
    """Return whether a line names the speaker of the lines below: capitals after a blank line, and none below."""
    if before or not after.strip() or not line or line[0] in "!>.#=~(":
        return False
    name = _plain(line).split("(", 1)[0].rstrip(" ^")
    if not name.isupper() or _HEADING.match(name) or _TRANSITION.fullmatch(name):
        return False
    return len(name) <= 80


def _speech(lines: Sequence[str], place: int) -> tuple[list[str], int]:
    """Return the lines of a speech, and the place after it. A line of two spaces goes on with it."""
    said: list[str] = []
    while place < len(lines):
        line = lines[place].strip()
        if not line and not (len(lines[place]) >= 2 and set(lines[place]) == {" "}):
            break
        if line.startswith(("!", "@", ">")) or (line.startswith(("#", "===")) and not said):
            break
        said += [_plain(line.removeprefix("~").strip())] if line else []
        place += 1
    return said, place


def _plain(text: str) -> str:
    """Return a text without the marks of emphasis and the backslashes that keep marks."""
    for _ in range(3):  # bold in italics in underlined
        plain = _EMPHASIS.sub(r"\2", text)
        if plain == text:
            break
        text = plain
    return _ESCAPED.sub(r"\1", text)
