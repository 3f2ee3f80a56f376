"""Where the narrator speaks between two turns: whether the same person goes on, somebody answers, or the talk is over.

Of two turns with nothing between, the second is another person's. Behind a paragraph of the narrator's it is the same
person's about every other time, and often enough it is a conversation of others. So who speaks on both sides is looked
for, in what the narrator says of them and of those with whom they take turns; the less is known, the less narration
a conversation goes on over (`conversations.Speech`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from edos_dataset.segmentation.books.rules import Rules
from edos_dataset.segmentation.books.speakers import Speaker, mentions, subject_of, told_before
from edos_dataset.segmentation.books.turns import Turn, differ, same
from edos_dataset.segmentation.books.words import small_words

_SHORT = 150  # characters of a paragraph that tells no more than an answer
_REACH = 4  # turns on each side of a seam between which two people are taken to alternate


@dataclass(slots=True)
class Gap:
    """What stands between two turns.

    Attributes:
        texts: the narrator's paragraphs.
        over: a chapter or a scene ends in it.
        left: somebody leaves the stage in it.
    """

    texts: list[str] = field(default_factory=list)
    over: bool = False
    left: bool = False


class Seam(Enum):
    """What is known of who speaks before and after a gap."""

    __hash__ = object.__hash__  # a tenth of the time of one by name

    SAME = "one person"
    PROBABLY_SAME = "one person, as far as pronouns and silence tell"
    OTHER = "two people who talk with each other"
    PROBABLY_OTHER = "two people"
    NEW = "somebody who has had no part in it"
    UNSURE = "nothing"


class _Side(NamedTuple):
    """Who speaks next to a seam, and who takes turns with them, as far as it is told nearby."""

    own: Turn | Speaker | None
    other: Turn | Speaker | None


def length_between(before: Turn, gap: Gap, turn: Turn) -> int:
    """Return the characters of narration between two turns."""
    beside = len(before.tail) + len(turn.lead)
    return beside + sum(map(len, gap.texts)) if gap.texts else beside


def seam_at(turns: Sequence[Turn], gaps: Sequence[Gap], place: int, rules: Rules) -> Seam:
    """Return what is known of the people before and at a place.

    Args:
        turns: of a conversation.
        gaps: before each.
        place: of the turn after the gap, 1 or more.
        rules: of the language.
    """
    gap, turn = gaps[place], turns[place]
    before = _side(turns, gaps, place - 1, -1, rules)
    after = _meant(_side(turns, gaps, place, 1, rules), gap, rules)
    found = _compared(before, after, _same, rules)
    if found is not None:
        return Seam.SAME if found else Seam.OTHER
    found = _compared(before, after, _alike, rules) if _apart(before, rules) or _apart(after, rules) else None
    if found is not None:
        return Seam.PROBABLY_SAME if found and gap.texts else Seam.PROBABLY_OTHER
    if _comes_in(turn, turns[max(0, place - _REACH) : place], rules):
        return Seam.NEW
    if _differ(before.own, after.own, rules) or any(verb in rules.answers for verb in turn.verbs):
        return Seam.PROBABLY_OTHER
    if _answered(gap, rules):
        return Seam.PROBABLY_SAME
    if gap.texts and _alike(before.own, after.own, rules) and ((about := _about(gap, rules)) is None or not about.name):
        return Seam.PROBABLY_SAME
    told = told_before(gap.texts[-1], rules) if gap.texts else None
    short = len(gap.texts) == 1 and len(gap.texts[0]) <= _SHORT
    if told is not None and not (told.name or told.person) and short:  # "y añadió:"
        return Seam.PROBABLY_SAME
    leads_in = not gap.texts or told is not None or gap.texts[-1].rstrip("—–- ").endswith(":")
    if leads_in or turns[place - 1].texts[-1].endswith("?"):
        return Seam.PROBABLY_OTHER
    return Seam.UNSURE


def _about(gap: Gap, rules: Rules) -> Speaker | None:
    """Return whom the last of the narrator's paragraphs is about."""
    return subject_of(gap.texts[-1], rules) if gap.texts else None


def _meant(after: _Side, gap: Gap, rules: Rules) -> _Side:
    """Return who speaks after a gap, where "he" is whom the narrator has told of."""
    if after.own is None or after.own.name or (about := _about(gap, rules)) is None or differ(about, after.own, rules):
        return after
    return _Side(Speaker("", about.name, about.person or after.own.person), after.other)


def _compared(
    before: _Side,
    after: _Side,
    alike: Callable[[Turn | Speaker | None, Turn | Speaker | None, Rules], bool],
    rules: Rules,
) -> bool | None:
    """Say whether one person speaks on both sides of a gap, as far as it is told; None where it is not."""
    one = alike(before.own, after.own, rules) or (
        alike(before.other, after.other, rules) and not _differ(before.own, after.own, rules)
    )
    two = alike(before.own, after.other, rules) or alike(before.other, after.own, rules)
    return one if one != two else None


def _side(turns: Sequence[Turn], gaps: Sequence[Gap], place: int, step: int, rules: Rules) -> _Side:
    """Return the nearest turns of which it is told who speaks, going from a place as far as nothing stands between."""
    found: list[Turn | None] = [None, None]
    for far in range(_REACH):
        at = place + far * step
        if at < 0 or at >= len(turns) or (far and gaps[max(at, at - step)].texts):
            break
        turn, known = turns[at], found[far % 2]
        if (known is None and turn.person) or (turn.name and (known is None or _names(turn, known, rules))):
            found[far % 2] = turn
    return _Side(*found)


def _names(turn: Turn, known: Turn, rules: Rules) -> bool:
    """Say whether a turn tells the name of somebody of whom no more than "he" is known."""
    return known.name is None and not differ(turn, known, rules)


def _same(one: Turn | Speaker | None, other: Turn | Speaker | None, rules: Rules) -> bool:
    return one is not None and other is not None and same(one, other, rules)


def _alike(one: Turn | Speaker | None, other: Turn | Speaker | None, rules: Rules) -> bool:
    """Say whether two may be one person: he and he, she and she."""
    return (
        one is not None
        and other is not None
        and one.person is not None
        and one.person == other.person
        and not differ(one, other, rules)
    )


def _apart(side: _Side, rules: Rules) -> bool:
    return _differ(side.own, side.other, rules)


def _differ(one: Turn | Speaker | None, other: Turn | Speaker | None, rules: Rules) -> bool:
    return one is not None and other is not None and differ(one, other, rules)


def _answered(gap: Gap, rules: Rules) -> bool:
    """Say whether the narrator tells that who was spoken to said nothing, or says it in other words."""
    if not gap.texts or gap.texts[-1][-1] in ":,-–—":
        return False
    text = gap.texts[-1]
    return rules.silent.within(text) or (len(text) <= _SHORT and rules.answers.meet(small_words(text)))


def _comes_in(turn: Turn, before: Sequence[Turn], rules: Rules) -> bool:
    """Say whether somebody named speaks who has not spoken before, and of whom two others have not, either."""
    known = [other for other in before if other.name or other.person]
    if turn.name is None or not known or any(not differ(turn, other, rules) for other in known):
        return False
    if all(not differ(known[-1], other, rules) for other in known):
        return False  # one of the two is not known yet
    return not any(mentions(turn.name, text, rules) for other in before[-2:] for text in other.texts)
