"""Lines of a plain screenplay that may be names of speakers, by their form alone."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from edos_dataset.sources.scripts.lines import Line
from edos_dataset.sources.scripts.marks import is_heading, is_transition, may_be_heading
from edos_dataset.sources.scripts.speeches import Cue, cue_of
from edos_dataset.sources.subtitles.speakers import key_of

_LONGEST_NAME, _MOST_WORDS = 42, 6
_LONGEST_LINE = 100
_MIXED_CAPITALS = re.compile(
    r"\b(?:Mc|Mac|De|Di|Du|La|Le|Van|Von|O['’]|[dl]['’]|St|M[rs]s?|Dr|[a-z]{2,3}(?= ))\.?(?=[A-Z\s])"
)
_NAME = re.compile(r"[^\W_].*[\w.'’\")]|[^\W_]")
_COLUMNS = re.compile(r"\s{4,}")
_OF_SENTENCES = re.compile(r"[!?;=…]|--|\.\.")
_SHORT_FORM = re.compile(r"\b(?:\w{1,3}|SGT|CAPT)\.$")
_TITLE_CASE = re.compile(r"[^\W\d_a-z][\w'’.-]*(?: (?:[^\W\d_a-z][\w'’.-]*|#?\d+|of|the|de|von|van)){0,3}")


class Candidate(NamedTuple):
    """A line that has the form of a name, with something below.

    Attributes:
        place: its place among the lines.
        line: the line.
        cue: who speaks by it.
        key: the name as names are compared.
        speech: place of the first line below that is not blank.
        tight: whether that is the next line.
    """

    place: int
    line: Line
    cue: Cue
    key: str
    speech: int
    tight: bool


def candidates(lines: Sequence[Line], title_case: bool) -> Iterator[Candidate]:
    """Yield the lines that have the form of a name with something below."""
    for place, line in enumerate(lines):
        name = _name_in(line.text, title_case)
        if name is None or place + 1 >= len(lines):
            continue
        tight = bool(lines[place + 1].text)
        speech = place + 1 if tight else place + 2
        if speech >= len(lines):
            continue
        below = lines[speech].text
        if is_heading(below) or is_transition(below) or (not tight and may_be_heading(below)):
            continue
        cue = cue_of(name)
        if cue.name:
            yield Candidate(place, line, cue, key_of(cue.name), speech, tight)


def _name_in(text: str, title_case: bool) -> str | None:
    """Return a line as a name, or null if it has not the form of one."""
    if not 0 < len(text) <= _LONGEST_LINE or text[0] in '([*-–—.…"“' or is_heading(text) or is_transition(text):
        return None
    bare = _without_notes(text)
    if len(bare) > _LONGEST_NAME or len(bare.split()) > _MOST_WORDS or not _NAME.fullmatch(bare):
        return None
    if text.count(")") != text.count("(") or ("(" in text and len(text) > _LONGEST_NAME + 30):
        return None
    return text if (_is_in_title_case(bare, text) if title_case else _is_in_capitals(bare)) else None


def _is_in_title_case(bare: str, text: str) -> bool:
    return _TITLE_CASE.fullmatch(bare) is not None and text[-1] != ":"


def _without_notes(text: str) -> str:
    return text.split("(", 1)[0].strip(' ^"”*_:') if text[-1] != ":" else text[:-1].rstrip()


def _is_in_capitals(bare: str) -> bool:
    """Return whether a line without its notes is a name in capitals, mostly of letters, rather than a sentence."""
    if not _MIXED_CAPITALS.sub("", bare).isupper() or _OF_SENTENCES.search(bare):
        return False
    if bare[-1] == "." and not _SHORT_FORM.search(bare):
        return False
    return not bare.endswith(",") and sum(map(str.isalpha, bare)) * 2 >= len(bare.replace(" ", ""))


def two_names(line: Line) -> tuple[list[Cue], int] | None:
    """Return two people whose speeches stand side by side, and the column of the second; null for one."""
    parts = _COLUMNS.split(line.text)
    if len(parts) != 2 or not all(_name_in(part, title_case=False) for part in parts):
        return None
    return [cue_of(part) for part in parts], line.indent + line.text.rindex(parts[1])


def two_columns(block: Sequence[Line], column: int) -> tuple[list[str], list[str]]:
    """Return the lines of two speeches that stand side by side."""
    left, right = [], []
    for line in block:
        parts = _COLUMNS.split(line.text, maxsplit=1)
        if len(parts) == 2:
            left.append(parts[0])
            right.append(parts[1])
        else:
            (right if line.indent > column - 12 else left).append(line.text)
    return left, right
