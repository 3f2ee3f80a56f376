"""Turns → dialogues: where a conversation ends, which turns are one person's, and what is kept of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from edos_dataset.segmentation.books.doubts import Doubt
from edos_dataset.segmentation.books.rules import Rules
from edos_dataset.segmentation.books.seams import Gap, Seam, length_between, seam_at
from edos_dataset.segmentation.books.speakers import same_name, told_before
from edos_dataset.segmentation.books.speech import Utterance
from edos_dataset.segmentation.books.turns import Turn, differ, same

_REACH = 4  # turns before and behind an end that tell who speaks there
_PARTING = 2  # paragraphs of the narrator's that part two conversations more often than not
_SHORT_TAIL = 60  # characters of "said X, and sat down"
_CROSSED = {
    Seam.SAME: Doubt.SAME,
    Seam.PROBABLY_SAME: Doubt.PROBABLY_SAME,
    Seam.OTHER: Doubt.OTHER,
    Seam.PROBABLY_OTHER: Doubt.PROBABLY_OTHER,
    Seam.UNSURE: Doubt.UNSURE,
}


@dataclass(frozen=True)
class Speech:
    """Parameters of the extraction.

    A conversation goes on over narration as far as it is told who speaks before and after it (`seams.Seam`).

    Attributes:
        unsure_gap: characters of narration over which it goes on where nothing is told, 0 or more, no more than `gap`
            counts (the paper: 150, from the last quote to the end of its paragraph and over paragraphs without speech).
        gap: the same where something tells that another person speaks, a new name or a verb of answering, 0 or more;
            twice as many where a pronoun tells that the same person speaks on.
        most_gap: the same where names tell that people of it speak again, `gap` or more.
        max_length: words of an utterance, 1 or more; a longer one is left out and cuts the dialogue in two (the paper:
            100).
        min_turns: utterances of a dialogue, 2 or more.
        long: words of an utterance, 1 or more, beyond which it parts what stands before it from what stands behind:
            each is as sure as its own guesses are (the stage `length` leaves such an utterance out).
    """

    unsure_gap: int = 150
    gap: int = 350
    most_gap: int = 1200
    max_length: int = 100
    min_turns: int = 2
    long: int = 100

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        least = {"unsure_gap": 0, "gap": 0, "most_gap": self.gap, "max_length": 1, "min_turns": 2, "long": 1}
        for name, lowest in least.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < lowest:
                raise ValueError(f"{name} must be a whole number of {lowest} or more, got {value!r}")

    def most_over(self, seam: Seam) -> int:
        """Return the characters of narration over which a conversation goes on, by what is known of who speaks."""
        return self._most[seam]

    @cached_property
    def _most(self) -> dict[Seam, int]:
        return {
            Seam.SAME: self.most_gap,
            Seam.OTHER: self.most_gap,
            Seam.PROBABLY_SAME: min(2 * self.gap, self.most_gap),
            Seam.PROBABLY_OTHER: self.gap,
            Seam.UNSURE: min(self.unsure_gap, self.gap),
            Seam.NEW: -1,
        }


def ended(before: Turn, gap: Gap, turn: Turn, rules: Rules, parameters: Speech) -> bool:
    """Say whether a conversation is over for sure between two turns: a chapter or scene ends, a paragraph in between
    begins with another time or place, or there is more than `most_gap` of narration.
    """
    if gap.over or length_between(before, gap, turn) > parameters.most_gap:
        return True
    if not (gap.texts or turn.lead) or rules.later is None:
        return False
    if not any(map(rules.later.begins_in, (*gap.texts, turn.lead))):
        return False
    before.doubts.append(Doubt.LATER)
    turn.doubts.append(Doubt.LATER)
    return True


def dialogues_in(turns: Sequence[Turn], gaps: Sequence[Gap], rules: Rules, parameters: Speech) -> Iterator[list[Turn]]:
    """Yield the dialogues of a conversation: turns in a row that one person says are one, and where it is not sure
    enough that it goes on, another dialogue begins.

    Args:
        turns: of the conversation.
        gaps: before each.
        rules: of the language.
        parameters: of the extraction.
    """
    turns, gaps = _joined(turns, gaps, rules)
    dialogue = list(turns[:1])
    for place in range(1, len(turns)):
        turn, gap = turns[place], gaps[place]
        length = length_between(turns[place - 1], gap, turn)
        if gap.texts and rules.holds_marks(gap.texts):
            turn.doubts.append(Doubt.QUOTED)
        if gap.left and place == len(turns) - 1:  # who is left alone on the stage speaks to nobody
            yield dialogue
            dialogue = [turn]
            continue
        if not gap.texts and length <= parameters.unsure_gap:
            if len(turns[place - 1].tail) > _SHORT_TAIL:
                turn.doubts.append(Doubt.TAIL)
            dialogue.append(turn)
            continue
        seam = seam_at(turns, gaps, place, rules)
        if length > parameters.most_over(seam):
            doubt = _of_cut(turns, place, len(gap.texts) < _PARTING or length <= parameters.gap, rules)
            dialogue[-1].doubts.append(doubt)
            yield dialogue
            dialogue = [turn]
            turn.doubts = [each for each in turn.doubts if each is not Doubt.QUOTED] + [doubt]
            continue
        turn.doubts.append(_CROSSED[seam])
        if seam in (Seam.SAME, Seam.PROBABLY_SAME):
            _go_on(dialogue[-1], gap, turn)
        else:
            dialogue.append(turn)
    yield dialogue


def _of_cut(turns: Sequence[Turn], place: int, near: bool, rules: Rules) -> Doubt:
    """Return how doubtful an end is: whether those who speak before and behind it are the same."""
    before, behind = turns[max(0, place - _REACH) : place], turns[place : place + _REACH]
    known = [[turn for turn in side if turn.name] for side in (before, behind)]
    if any(same(one, other, rules) for one in known[0] for other in known[1]):
        return Doubt.BACK
    return Doubt.CUT_NEAR if near else Doubt.CUT


def _joined(turns: Sequence[Turn], gaps: Sequence[Gap], rules: Rules) -> tuple[list[Turn], list[Gap]]:
    """Join turns in a row of which it is told right there that one person says them."""
    found: list[Turn] = []
    between: list[Gap] = []
    for turn, gap in zip(turns, gaps, strict=True):
        if found and _one_person(found[-1], gap, turn, rules):
            if not same(found[-1], turn, rules):
                turn.doubts.append(Doubt.PROBABLY_SAME if gap.texts else Doubt.JOINED)
            _go_on(found[-1], gap, turn)
        else:
            found.append(turn)
            between.append(gap)
    return found, between


def _go_on(before: Turn, gap: Gap, turn: Turn) -> None:
    """Add what somebody says further."""
    before.narration += gap.texts
    before.texts += turn.texts
    before.narration += turn.narration
    before.paragraphs += [number for number in turn.paragraphs if number not in before.paragraphs]
    before.name, before.person = before.name or turn.name, before.person or turn.person
    before.tail, before.verbs = turn.tail, before.verbs + turn.verbs
    before.doubts += turn.doubts


def _one_person(before: Turn, gap: Gap, turn: Turn, rules: Rules) -> bool:
    """Say whether the turns before and after a gap are one person's."""
    if differ(before, turn, rules):
        return False
    if same(before, turn, rules):
        return True
    silent = bool(gap.texts) and rules.silent.within(gap.texts[-1])
    if silent and not (turn.verbs or turn.lead):
        return True
    last = gap.texts[-1] if gap.texts else before.tail
    told = told_before(last, rules) if last and (gap.texts or last.endswith((":", ":--", ":—"))) else None
    if told is not None:
        if not turn.verbs:
            turn.hear(told)
        if same(before, turn, rules) or (
            not gap.texts and told.name is None and (told.verb in rules.goes_on or told.person in (None, before.person))
        ):
            return True
    if gap.texts and not (before.name or turn.name or turn.lead) and before.person and before.person == turn.person:
        return True
    return turn.further and (turn.name is None or silent) and (silent or bool(before.tail or before.verbs))


def apart(long: Sequence[bool], min_turns: int) -> Iterator[slice]:
    """Yield where the parts of a dialogue stand, each but the first behind an utterance that is too long, which ends a
    part.

    Args:
        long: which of its turns are too long.
        min_turns: turns of a part.
    """
    begin = 0
    for place in range(1, len(long)):
        if long[place - 1] and not long[place] and min(place - begin, len(long) - place) >= min_turns:
            yield slice(begin, place)
            begin = place
    yield slice(begin, len(long))


def named(turns: Sequence[Turn], rules: Rules) -> None:
    """Name the speakers between whom two people alternate: A, B, ?, B, ? and no third is heard of."""
    sides: tuple[str | None, str | None] = (None, None)
    for place, turn in enumerate(turns):
        if turn.name is None:
            continue
        own, other = sides[place % 2], sides[1 - place % 2]
        if (own and not same_name(own, turn.name, rules)) or (other and same_name(other, turn.name, rules)):
            return
        sides = (own or turn.name, other) if place % 2 == 0 else (other, own or turn.name)
    if None in sides:
        return
    for place, turn in enumerate(turns):
        turn.name = turn.name or sides[place % 2]


def kept(turns: Sequence[Turn], words: Sequence[int], parameters: Speech) -> Iterator[list[Utterance]]:
    """Yield the dialogues that are left of one without the utterances that are too long, by the words of each."""
    dialogue: list[Utterance] = []
    for turn, number in zip(turns, words, strict=True):
        if number > parameters.max_length:
            if len(dialogue) >= parameters.min_turns:
                yield dialogue
            dialogue = []
        else:
            narration = " ".join(filter(None, turn.narration)) or None
            dialogue.append(Utterance(turn.text(), tuple(turn.paragraphs), turn.name, narration))
    if len(dialogue) >= parameters.min_turns:
        yield dialogue
