"""Timed cues with speakers, and the merging of name variants."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from edos_dataset.text import one_edit

_TIME = r"-?\d+\.\d+[ \t]*$"
_EVENT = re.compile(rf"^{_TIME}\n\*\*[^*\n]+\*\*\n?", re.MULTILINE)
_CUE = re.compile(
    rf"(?P<name>^#.*\n)|^(?P<start>{_TIME})\n(?P<lines>(?:^(?!#|{_TIME}).*\n)*)(?:^(?P<end>{_TIME})\n?)?",
    re.MULTILINE,
)
_NOBODYS_NAMES = """
ALL BOTH TOGETHER ALLTOGETHER EVERYONE EVERYBODY OTHERS VARIOUS GANG CROWD GUYS GIRLS BOYS THEGUYS THEGIRLS THEBOYS
THEGANG THEOTHERS UNKNOWN
SCENE CAPTION STORY TELEPLAY OPENINGCREDITS CLOSINGCREDITS ENDCREDITS CREDITS OPENINGTITLES CLOSINGTITLES
COMMERCIALBREAK
"""
_NOBODY = frozenset(_NOBODYS_NAMES.split())
_PAIR = re.compile(r"(.+?)(?: AND |AND|[&/,+])(.+)", re.DOTALL)
_NOT_NAME = re.compile(r"\(.{0,80}?\)|[^\w&/,+ ]|_")
_MAIN_SHARE = 0.02
_VOWELS = re.compile(r"(?<=.)[AEIOUY](?=.)")


@dataclass(frozen=True, slots=True)
class Cue:
    """Text that a subtitle showed at one time, said by one person.

    Attributes:
        start: seconds from the start of the film, or None.
        end: seconds, or None.
        lines: its physical lines, at least one.
        speaker: the name as in the source, or None if none was named so far.
        named: whether the source names the speaker at this cue; otherwise the previous speaker continues.
        missed: speakers that the source names between the previous cue and this one, without cues.
    """

    start: float | None
    end: float | None
    lines: tuple[str, ...]
    speaker: str | None
    named: bool = True
    missed: tuple[str, ...] = ()


@dataclass(slots=True)
class Cues:
    """The cues of a file in order, and the number of problems of each kind that were skipped."""

    cues: list[Cue] = field(default_factory=list)
    problems: Counter[str] = field(default_factory=Counter)


def read_cues(text: str) -> Cues:
    """Read timed cues with speakers: lines "# NAME" at a change of speaker, then the start in seconds, lines of text,
    and the end.

    A time before "**LOL**" marks a laugh, not a cue. Of several consecutive names, the last belongs to the cue.

    Returns:
        The cues. Counted are names without a cue (`missed`), cues without text (`empty`), without an end (`no_end`) or
        with an end before the start (`backward`: the end becomes None), and lines outside of cues (`stray`).
    """
    track = Cues()
    text = _EVENT.sub("", text.removeprefix("\ufeff").replace("\r\n", "\n"))
    names: list[str] = []
    above: list[str] = []  # names whose lines end at the next line
    speaker, last = None, 0
    for match in _CUE.finditer(text):
        track.problems["stray"] += _count_stray(text[last : match.start()])
        if match.start() > last:
            above = []
        last = match.end()
        if match["name"]:
            above.append(match["name"].lstrip("# ").rstrip())
            continue
        names += above
        above = []
        lines = tuple(line.strip() for line in match["lines"].splitlines() if line.strip())
        if not lines:
            track.problems["empty"] += 1
            continue
        speaker = names[-1] if names else speaker
        start, end = float(match["start"]), float(match["end"]) if match["end"] else None
        if end is None or end < start:
            track.problems["no_end" if end is None else "backward"] += 1
            end = None
        track.problems["missed"] += max(len(names) - 1, 0)
        track.cues.append(Cue(start, end, lines, speaker, bool(names), tuple(names[:-1])))
        names = []
    track.problems["stray"] += _count_stray(text[last:])
    track.problems += Counter()  # drops zero counts
    return track


def _count_stray(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip() and not line.startswith("#"))


def unify_names(counts: Mapping[str, int]) -> dict[str, str | None]:
    """Map each name of a film or show to the person's main name.

    Names are compared in capitals without punctuation. A group ("ALL"), two people, or a word that is not a person
    ("SCENE") maps to None. A rare name is mapped to a main name, which has at least 2 % of all speeches, if it
    abbreviates exactly one of them (at least its first four letters, or all letters but its inner vowels) or is one
    edit from exactly one: a letter inserted, deleted or replaced, or two swapped, in a name of at least five letters
    with the same first letter.

    Args:
        counts: name, as in the source → number of speeches.

    Returns:
        The main name, or None, for each name of `counts`.
    """
    plain = {name: " ".join(_NOT_NAME.sub("", name.upper()).split()) for name in counts}
    totals: Counter[str] = Counter()
    for name, count in counts.items():
        totals[plain[name].replace(" ", "")] += count
    main = {name for name, count in totals.items() if count >= _MAIN_SHARE * totals.total() and name not in _NOBODY}
    return {name: _person(plain[name], totals, main) for name in counts}


def _person(name: str, known: Mapping[str, int], main: set[str]) -> str | None:
    joined = name.replace(" ", "")
    if joined in main:
        return joined
    if not joined or joined in _NOBODY or _is_pair(name, main):
        return None
    matches = [other for other in main if _is_variant(joined, other)]
    return matches[0] if len(matches) == 1 else joined


def _is_pair(name: str, main: set[str]) -> bool:
    """Return whether a name is of two people: "ANN AND BOB", "ANN/BOB", or "ANNANDBOB" if either is a main name."""
    pair = _PAIR.fullmatch(name)
    if pair is None:
        return False
    return " AND " in name or not pair[0].isalnum() or any(part.replace(" ", "") in main for part in pair.groups())


def _is_variant(name: str, main: str) -> bool:
    is_beginning = len(name) >= 4 and main.startswith(name)
    lacks_vowels = len(name) >= 3 and name == _VOWELS.sub("", main)
    is_misspelt = max(len(name), len(main)) >= 5 and name[0] == main[0] and one_edit(name, main)
    return is_beginning or lacks_vowels or is_misspelt
