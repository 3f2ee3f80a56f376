"""Cues that name their speakers, and the names by which one person goes."""

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
    """Text that a subtitle showed at once, said by one person.

    Attributes:
        start: seconds from the start of the film, or null.
        end: seconds, or null.
        lines: its physical lines, at least one.
        speaker: name as the source writes it, or null where none was named so far.
        named: the source names the speaker at this cue; otherwise the one of the cue before goes on.
        missed: who, by the source, spoke between the cue before and this one without a cue.
    """

    start: float | None
    end: float | None
    lines: tuple[str, ...]
    speaker: str | None
    named: bool = True
    missed: tuple[str, ...] = ()


@dataclass(slots=True)
class Cues:
    """The cues of a file in its order, and how many of its oddities of each kind were read over."""

    cues: list[Cue] = field(default_factory=list)
    problems: Counter[str] = field(default_factory=Counter)


def read_cues(text: str) -> Cues:
    """Read timed cues with speakers: lines "# NAME" where the speaker changes, the start in seconds, lines of text, the
    end.

    A time before "**LOL**" is that of a laugh, no cue. Of several names in a row the last is that of the cue.

    Returns:
        The cues. Counted are names without a cue (`missed`), cues without text (`empty`), without an end (`no_end`) or
        with one before the start (`backward`: the end is null), and lines outside of cues (`stray`).
    """
    track = Cues()
    text = _EVENT.sub("", text.removeprefix("\ufeff").replace("\r\n", "\n"))
    names: list[str] = []
    above: list[str] = []  # names whose lines end where the next line begins
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
    track.problems += Counter()  # drops the zeros
    return track


def _count_stray(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip() and not line.startswith("#"))


def unify_names(counts: Mapping[str, int]) -> dict[str, str | None]:
    """Say who is meant by each name in a film or show.

    A name is compared in capitals without marks. It is that of nobody in particular (null) if it is a group's ("ALL"),
    of two people, or no person's ("SCENE"). A rare name is a main one, of at least 2 % of all, if it abbreviates just
    one of them (its first four letters or more, or all but its inner vowels) or is one edit from just one: a letter
    more, less or other, or two swapped, of five or more, the first being the same.

    Args:
        counts: how often each name speaks, as the source writes it.

    Returns:
        For each name of `counts` the one that stands for the person, or null.
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
    pair = _PAIR.fullmatch(name)
    if (
        not joined
        or joined in _NOBODY
        or (
            pair
            and (
                " AND " in name or not pair[0].isalnum() or any(part.replace(" ", "") in main for part in pair.groups())
            )
        )
    ):
        return None
    matches = [other for other in main if _is_variant(joined, other)]
    return matches[0] if len(matches) == 1 else joined


def _is_variant(name: str, main: str) -> bool:
    short = len(name) >= 4 and main.startswith(name)
    return short or (len(name) >= 3 and name == _VOWELS.sub("", main)) or _is_misspelt(name, main)


def _is_misspelt(name: str, main: str) -> bool:
    """Return whether two names of the same first letter, the longer of five or more, are one edit apart."""
    return max(len(name), len(main)) >= 5 and name[0] == main[0] and one_edit(name, main)
