"""Who speaks in a play: names in capitals, in italics or before a colon, beside their speech or on a line above it."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from edos_dataset.sources.books.kinds import is_title

_CAPITAL = "A-ZÀ-ÖØ-ÞŐŰŒŠŽ"
_STAGE = r"(?:\s*(?:\([^()]{0,300}\)|\[[^\[\]]{0,300}\]))"
_CUE = re.compile(
    rf"[ \t]*(?:_(?P<italic>[{_CAPITAL}][\w'’. -]{{1,30}}?)(?:[.:]_|_(?=[.:\n]|$|{_STAGE})|(?= \[)|(?=[.:] ))"
    rf"|(?P<capitals>[{_CAPITAL}][{_CAPITAL}'’.\t ,-]{{0,45}}[{_CAPITAL}])(?![\w'’])"
    rf"|(?P<plain>[{_CAPITAL}]\w{{1,15}}(?: [{_CAPITAL}]\w{{1,15}})?)(?=:\s))"
    rf"(?P<stage>{_STAGE}|,? [^\n.:]{{3,60}}(?=[.:]?\n))?"
    r"(?P<end>[.:_]*(?=\s*\n|$)|[._]*[.:]_?(?=\s)|(?<=[.:]_)(?=\s)|(?<=\])_?(?=\s))[ \t]*"
)
_DIRECTION = re.compile(r"\[_?[^\[\]]{0,600}?_?\]\.?|\(_[^()]{0,600}_\)\.?")
_NO_NAMES = frozenset(
    {"enter", "exit", "exeunt", "scene", "scena", "szene", "finis", "ende", "note", "mr", "mrs", "dr"}
)
_NUMERAL = re.compile(r"[IVXLC]+")
_LEAST_CUES = 12
_LEAST_OF_NAME = 3
_LEAST_OF_PLAIN = 8
_NEAR = 5
"""Paragraphs within which the next cue follows in a scene."""


class Cue(NamedTuple):
    """The beginning of a speech."""

    name: str
    said: str  # what of it stands in the same paragraph, stage directions left out; may be empty


def find_cues(paragraphs: Sequence[str]) -> dict[int, Cue]:
    """Find the paragraphs of a book that begin a speech of a play; none where it is not written as one.

    A name counts if it stands so at least three times (eight, where neither capitals nor italics set it apart), and the
    book, or a scene in it, if two such names alternate closely.

    Args:
        paragraphs: with their lines.

    Returns:
        The cues by the number of their paragraph.
    """
    found = {}
    for number, text in enumerate(paragraphs):
        start = text.lstrip()[:2]
        if not (start.isupper() or start[:1] == "_" or (":" in text[:36] and start[:1].isupper())):
            continue  # most paragraphs: no look at the pattern
        match = _CUE.match(text)
        if match and (name := _name_of(match)):
            found[number] = (match, name)
    plain = Counter(name.casefold() for match, name in found.values() if match["plain"])
    counts = Counter(name.casefold() for match, name in found.values() if not match["plain"])
    known = {name for name, count in counts.items() if count >= _LEAST_OF_NAME}
    known |= {name for name, count in plain.items() if count >= _LEAST_OF_PLAIN}
    sure = [number for number, (_, name) in found.items() if name.casefold() in known]
    close = {
        place for one, other in zip(sure, sure[1:], strict=False) if other - one <= _NEAR for place in (one, other)
    }
    speakers = {found[number][1].casefold() for number in close}
    if len(close) < _LEAST_CUES or 2 * len(close) < len(sure) or len(speakers) < 2:
        return {}
    spelling: dict[str, str] = {}
    for _, name in found.values():
        spelling.setdefault(name.casefold(), name)
    cues: dict[int, Cue] = {}
    last = -_NEAR
    for number, (match, name) in found.items():
        said = without_directions(paragraphs[number][match.end() :])
        if said.isupper():
            continue  # a title page: "OF" and the title below it
        if number in close or (not match["plain"] and number - last <= _NEAR and said.strip()):
            cues[number] = Cue(spelling[name.casefold()], said)
            last = number
    return cues


def is_direction(text: str) -> bool:
    """Whether a paragraph is a stage direction: all of it in brackets, or in italics."""
    text = text.strip()
    return (
        (text[:1], text[-1:]) in {("[", "]"), ("(", ")"), ("_", "_")} or text[-2:] in {"].", "_."} and text[0] in "[_"
    )


def without_directions(speech: str) -> str:
    """Return a speech without the stage directions in it."""
    if speech.lstrip().startswith("("):
        speech = re.sub(r"^\s*\([^()]{0,600}\)\.?", "", speech)
    return _DIRECTION.sub(" ", speech) if "[" in speech or "(_" in speech else speech


def _name_of(match: re.Match[str]) -> str | None:
    name = " ".join((match["italic"] or match["capitals"] or match["plain"]).split()).strip("._ ")
    if len(name) < 2 or _NUMERAL.fullmatch(name) or name.split()[0].casefold() in _NO_NAMES or len(name.split()) > 6:
        return None
    return None if match["capitals"] and _titled(name) else name


def _titled(name: str) -> bool:
    """Whether a name in capitals is that of a chapter."""
    return is_title(name.capitalize())
