"""What is known at a boundary between two turns with narration between them: whether the same person continues,
somebody answers, or the conversation is over.

Of two turns with nothing between, the second is another person's. Behind a paragraph of narration it is the same
person's about every other time, and often enough it is a conversation of others. So the speakers on both sides are
looked for, in what the narration says of them and of those with whom they take turns: only where another person answers
does the conversation continue, over the more narration the more is known (`extraction.Speech`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from edos_dataset.segmentation.books.rules import Rule, Rules, Table, small_words
from edos_dataset.segmentation.books.speakers import Speaker, mentions, subject_of, tag_before
from edos_dataset.segmentation.books.speech import Turn, differ, same

_SHORT = 150  # characters of a paragraph that says no more than an answer
_REACH = 4  # turns on each side of a boundary between which two people are assumed to alternate


@dataclass(slots=True)
class Gap:
    """What stands between two turns.

    Attributes:
        texts: the paragraphs of narration.
        over: a chapter or a scene ends in it.
        left: somebody leaves the stage in it.
    """

    texts: list[str] = field(default_factory=list)
    over: bool = False
    left: bool = False


class Boundary(Enum):
    """What is known of the speakers before and after a gap."""

    __hash__ = object.__hash__  # a tenth of the time of one by name

    OTHER = "two people who talk with each other"
    PROBABLY_OTHER = "two people"
    END = "one person, somebody who has had no part in the conversation, or nothing: the dialogue ends"


Person = Turn | Speaker


class _Side(NamedTuple):
    """The speaker next to a boundary, and who takes turns with them, as far as the narration nearby says."""

    own: Person | None
    other: Person | None


class Sides:
    """A boundary, with what is known on both sides of it.

    Attributes:
        turn: the turn behind it.
        earlier: the turns before it within reach, the nearest last.
        gap: between the two turns.
        before: the speaker before it, and the other one.
        after: the speaker behind it, and the other one.
        by_names: whether by names the same person speaks on both sides; None where that is not known.
        by_pronouns: the same by pronouns, where by names it is not known.
        rules: of the language.
    """

    def __init__(self, turns: Sequence[Turn], gaps: Sequence[Gap], place: int, rules: Rules) -> None:
        self.turn, self.gap, self.rules = turns[place], gaps[place], rules
        self.earlier = turns[max(0, place - _REACH) : place]
        self.before = _side(turns, gaps, place - 1, -1, rules)
        self.after = _resolved(_side(turns, gaps, place, 1, rules), self.gap, rules)
        self.by_names = _compare(self.before, self.after, _same, rules)
        self.by_pronouns = None
        if self.by_names is None and (_distinct(self.before, rules) or _distinct(self.after, rules)):
            self.by_pronouns = _compare(self.before, self.after, _alike, rules)

    @cached_property
    def lead_in(self) -> Speaker | None:
        """The speaker whom the last paragraph of narration announces."""
        return tag_before(self.gap.texts[-1], self.rules) if self.gap.texts else None


def length_between(before: Turn, gap: Gap, turn: Turn) -> int:
    """Return the characters of narration between two turns."""
    beside = len(before.tail) + len(turn.lead)
    return beside + sum(map(len, gap.texts)) if gap.texts else beside


def _names_agree(sides: Sides) -> bool:
    return sides.by_names is True


def _names_alternate(sides: Sides) -> bool:
    return sides.by_names is False


def _pronouns_agree(sides: Sides) -> bool:
    return sides.by_pronouns is True and bool(sides.gap.texts)


def _pronouns_alternate(sides: Sides) -> bool:
    return sides.by_pronouns is not None


def _newcomer_speaks(sides: Sides) -> bool:
    turn, rules = sides.turn, sides.rules
    known = [other for other in sides.earlier if other.name or other.person]
    if turn.name is None or not known or any(not differ(turn, other, rules) for other in known):
        return False
    if all(not differ(known[-1], other, rules) for other in known):
        return False  # one of the two is not known yet
    return not any(mentions(turn.name, text, rules) for other in sides.earlier[-2:] for text in other.texts)


def _speakers_differ(sides: Sides) -> bool:
    return _differ(sides.before.own, sides.after.own, sides.rules)


def _tag_answers(sides: Sides) -> bool:
    return any(verb in sides.rules.answers for verb in sides.turn.verbs)


def _answer_is_narrated(sides: Sides) -> bool:
    """Return whether the person addressed was silent, or the narration gives the answer in other words."""
    if not sides.gap.texts or sides.gap.texts[-1][-1] in ":,-–—":
        return False
    text = sides.gap.texts[-1]
    return sides.rules.silent.within(text) or (len(text) <= _SHORT and sides.rules.answers.meet(small_words(text)))


def _pronoun_repeats(sides: Sides) -> bool:
    if not sides.gap.texts or not _alike(sides.before.own, sides.after.own, sides.rules):
        return False
    subject = _subject(sides.gap, sides.rules)
    return subject is None or not subject.name


def _lead_in_names_nobody(sides: Sides) -> bool:
    if len(sides.gap.texts) != 1 or len(sides.gap.texts[0]) > _SHORT:
        return False
    lead = sides.lead_in
    return lead is not None and not (lead.name or lead.person)


def _speech_is_led_in(sides: Sides) -> bool:
    texts = sides.gap.texts
    return not texts or texts[-1].rstrip("—–- ").endswith(":") or sides.lead_in is not None


def _question_was_asked(sides: Sides) -> bool:
    return sides.earlier[-1].texts[-1].endswith("?")


_TALK = "“Will you come?” asked Tom.\n“I will,” said Ann.\n"

BOUNDARIES = Table[Sides, Boundary](
    Rule(
        "by names one person speaks on both sides",
        _names_agree,
        Boundary.END,
        "“Will you come?” asked Tom.\n“I will.”\nIt was cold.\n“Now?”\n“Now,” said Tom.",
    ),
    Rule("by names two people alternate", _names_alternate, Boundary.OTHER, f"{_TALK}It was cold.\n“Good,” said Tom."),
    Rule(
        "by pronouns one person speaks on both sides",
        _pronouns_agree,
        Boundary.END,
        "“Come!” he said.\n“Where?” she asked.\n“To bed.”\nIt was cold.\n“Now!” he said.",
    ),
    Rule(
        "by pronouns two people alternate",
        _pronouns_alternate,
        Boundary.PROBABLY_OTHER,
        "“Come!” he said.\n“Where?” she asked.\nIt was cold.\n“To bed,” he said.",
    ),
    Rule(
        "somebody speaks who has had no part in it",
        _newcomer_speaks,
        Boundary.END,
        f"{_TALK}The door opened.\n“Good day,” said Mr. Hill.",
    ),
    Rule(
        "different people are next to it",
        _speakers_differ,
        Boundary.PROBABLY_OTHER,
        "“Will you come?” asked Tom.\nIt was cold.\n“I will,” said Ann.",
    ),
    Rule(
        "the tag has a verb of answering",
        _tag_answers,
        Boundary.PROBABLY_OTHER,
        "“Come!”\nIt was cold.\n“No,” he replied.",
    ),
    Rule(
        "the narration says that the person addressed was silent, or answered",
        _answer_is_narrated,
        Boundary.END,
        "“Is she at home?”\nThe porter nodded.\n“And alone?” asked Tom.",
    ),
    Rule(
        "the same pronoun stands on both sides",
        _pronoun_repeats,
        Boundary.END,
        "“I am tired,” she said.\nIt was cold.\nShe rose. “Good night,” she said.",
    ),
    Rule(
        "a short lead-in names nobody",
        _lead_in_names_nobody,
        Boundary.END,
        "“It is late.”\nAnd cried:\n“I am tired.”",
    ),
    Rule(
        "a colon or a tag leads in the speech",
        _speech_is_led_in,
        Boundary.PROBABLY_OTHER,
        "“Late!”\nThen a voice:\n“Yes.”",
    ),
    Rule("a question was asked", _question_was_asked, Boundary.PROBABLY_OTHER, "“Is it late?”\nIt was cold.\n“It is.”"),
)
"""What is known of the speakers on both sides of a boundary; if no rule holds nothing is, and the dialogue ends."""


def boundary_at(turns: Sequence[Turn], gaps: Sequence[Gap], place: int, rules: Rules) -> Boundary:
    """Return what is known of the speakers before and at a place.

    Args:
        turns: of a conversation.
        gaps: before each.
        place: of the turn after the gap, 1 or more.
        rules: of the language.
    """
    return BOUNDARIES.decide(Sides(turns, gaps, place, rules)) or Boundary.END


def _subject(gap: Gap, rules: Rules) -> Speaker | None:
    return subject_of(gap.texts[-1], rules) if gap.texts else None


def _resolved(after: _Side, gap: Gap, rules: Rules) -> _Side:
    """Return the speaker after a gap, where "he" is the last subject of the narration."""
    if after.own is None or after.own.name or (subject := _subject(gap, rules)) is None:
        return after
    if differ(subject, after.own, rules):
        return after
    return _Side(Speaker("", subject.name, subject.person or after.own.person), after.other)


def _compare(
    before: _Side, after: _Side, alike: Callable[[Person | None, Person | None, Rules], bool], rules: Rules
) -> bool | None:
    """Return whether one person speaks on both sides of a gap; None where nothing says so, or both yes and no."""
    one = alike(before.own, after.own, rules) or (
        alike(before.other, after.other, rules) and not _differ(before.own, after.own, rules)
    )
    two = alike(before.own, after.other, rules) or alike(before.other, after.own, rules)
    return one if one != two else None


def _side(turns: Sequence[Turn], gaps: Sequence[Gap], place: int, step: int, rules: Rules) -> _Side:
    """Return the nearest turns whose speakers are known, from a place as far as there is no narration between."""
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
    """Return whether a turn names somebody of whom no more than "he" is known."""
    return known.name is None and not differ(turn, known, rules)


def _same(one: Person | None, other: Person | None, rules: Rules) -> bool:
    return one is not None and other is not None and same(one, other, rules)


def _alike(one: Person | None, other: Person | None, rules: Rules) -> bool:
    """Return whether two may be one person: he and he, she and she."""
    if one is None or other is None or one.person is None:
        return False
    return one.person == other.person and not differ(one, other, rules)


def _distinct(side: _Side, rules: Rules) -> bool:
    return _differ(side.own, side.other, rules)


def _differ(one: Person | None, other: Person | None, rules: Rules) -> bool:
    return one is not None and other is not None and differ(one, other, rules)
