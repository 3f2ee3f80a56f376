"""The dialogues of a book: its blocks → turns → conversations → dialogues."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from edos_dataset.segmentation.books.attribution import name_speakers
from edos_dataset.segmentation.books.boundaries import Boundary, Gap, boundary_at, length_between
from edos_dataset.segmentation.books.certainty import certainty_of_turn
from edos_dataset.segmentation.books.manner import manner_of
from edos_dataset.segmentation.books.marked import is_marked_throughout, marked_turns
from edos_dataset.segmentation.books.paragraphs import Parts, Styles, parts_of, style_names, styles_of
from edos_dataset.segmentation.books.rules import Rule, Rules, Table, small_words
from edos_dataset.segmentation.books.speakers import Speaker, lead_in, leads_in_unspoken, tag_before
from edos_dataset.segmentation.books.speech import Doubt, Extraction, Turn, Utterance, differ, same
from edos_dataset.segmentation.books.turns import turns_of
from edos_dataset.sources.books.book import CONTENTS, HEADING, PARAGRAPH, SPEECH, VERSE, Block

LONGEST = 400
"""Words of an utterance: a longer one is a tale or a letter rather than a turn."""

_DIRECTION = 80  # characters of a stage direction
_SHORT_TAIL = 60  # characters of "said X, and sat down"
_COLONS = (":", ":--", ":—")
_CROSSED = {Boundary.OTHER: Doubt.OTHER, Boundary.PROBABLY_OTHER: Doubt.PROBABLY_OTHER}


@dataclass(frozen=True)
class Speech:
    """Parameters of the extraction.

    A conversation continues over a paragraph of narration only where something says that another person answers
    (`boundaries.Boundary`): in 23 novels, one person speaks on both sides of half of the other ones
    (`evaluation/novels.py`).

    Attributes:
        unsure_gap: characters of narration in the paragraphs of two turns that touch, behind the one quote and before
            the other, over which it continues whatever is known of the speakers, 0 or more.
        gap: the same, and of paragraphs of narration, where something suggests that another person answers, 0 or more
            (the paper: 150, from the last quote to the end of its paragraph and over paragraphs without speech).
        most_gap: the same where by names two people of the conversation alternate, `gap` or more.
        min_turns: utterances of a dialogue, 2 or more.
    """

    unsure_gap: int = 150
    gap: int = 150
    most_gap: int = 1200
    min_turns: int = 2

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        least = {"unsure_gap": 0, "gap": 0, "most_gap": self.gap, "min_turns": 2}
        for name, lowest in least.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < lowest:
                raise ValueError(f"{name} must be a whole number of {lowest} or more, got {value!r}")

    def most_over(self, boundary: Boundary) -> int:
        """Return the characters of narration over which a conversation continues, by what is known of the speakers; -1
        where it never does.
        """
        if boundary is Boundary.OTHER:
            return self.most_gap
        return self.gap if boundary is Boundary.PROBABLY_OTHER else -1


def extract(blocks: Sequence[Block], rules: Rules, parameters: Speech) -> Extraction:
    """Return the dialogues of a book.

    Quotes and dashes are found for the book and for each paragraph; a speech over several paragraphs is one utterance,
    and so is what one person says in a row; of a play every speech is a turn. A dialogue ends where a chapter or scene
    does, and where there is much narration without a sign that the conversation continues.

    Args:
        blocks: of the book; verse, notes and contents hold no dialogue.
        rules: of its language.
        parameters: of the extraction.
    """
    styles = styles_of([block.text for block in blocks if block.kind == PARAGRAPH], rules)
    spoken = conversations(blocks, rules, parameters, styles)
    name_speakers(spoken, rules)
    dialogues = [
        [_utterance(turn, place, rules) for place, turn in enumerate(turns)]
        for turns in spoken
        if len(turns) >= parameters.min_turns
    ]
    reason = None if dialogues else _reason(blocks)
    plays = any(block.kind == SPEECH for block in blocks)
    return Extraction(dialogues, style_names(styles, plays), reason)


def conversations(
    blocks: Sequence[Block], rules: Rules, parameters: Speech, styles: Styles | None = None
) -> list[list[Turn]]:
    """Return the turns of a book by dialogues, also of those that are too short to be one.

    Args:
        blocks: of the book.
        rules: of its language.
        parameters: of the extraction.
        styles: its quotes and dashes, if they are known.
    """
    if styles is None:
        styles = styles_of([block.text for block in blocks if block.kind == PARAGRAPH], rules)
    found = _Conversations(rules, parameters)
    speeches, by_marks = 0, _marks_its_speech(blocks, styles, rules)
    for number, block in enumerate(blocks):
        text, kind, _, speaker, _ = block
        if kind == PARAGRAPH:
            found.add_paragraph(block, number, _parts(block, by_marks, styles, rules))
            if speeches and _leaves(text, rules):
                found.gap.left = True
        elif kind == HEADING or (kind == CONTENTS and _separates_scenes(text)):
            found.gap.over = True
        elif kind == SPEECH:
            speeches += 1
            found.add(Turn([text], [number], name=speaker, given=speaker is not None))
        elif kind == VERSE:
            found.gap.texts.append(text)
    found.end()
    return found.spoken


def _marks_its_speech(blocks: Sequence[Block], styles: Styles, rules: Rules) -> bool:
    """Return whether the file marks the speech of a book throughout."""
    if not any(block.said for block in blocks):
        return False
    texts = [block for block in blocks if block.kind == PARAGRAPH]
    heard = [parts_of(block.text, styles, rules) is not None for block in texts]
    return is_marked_throughout([bool(block.said) for block in texts], heard)


def _parts(block: Block, by_marks: bool, styles: Styles, rules: Rules) -> Parts | None:
    """Return a paragraph split at its quotes or dashes; None where marks say what is speech."""
    return None if by_marks or block.said else parts_of(block.text, styles, rules)


class _Conversations:
    """Collects turns into dialogues."""

    def __init__(self, rules: Rules, parameters: Speech) -> None:
        self.rules, self.parameters = rules, parameters
        self.spoken: list[list[Turn]] = []
        self.turns: list[Turn] = []
        self.gaps: list[Gap] = []
        self.gap = Gap()

    def add_paragraph(self, block: Block, number: int, parts: Parts | None) -> None:
        turns = marked_turns(block, number, self.rules) if block.said else self._heard(parts, number)
        if not turns:
            self.gap.texts.append(block.text)
            self.gap.over |= _separates_scenes(block.text)
            return
        if parts is not None and self._continues(turns[0], parts):
            self.turns[-1].go_on(turns.pop(0))
        for turn in turns:
            self.add(turn)

    def _heard(self, parts: Parts | None, number: int) -> list[Turn]:
        """Return the turns of a paragraph without marked speech."""
        turns = turns_of(parts, number, self.rules) if parts is not None else []
        if turns and not turns[0].lead and not turns[0].verbs and self._leads_in_unspoken():
            return []
        return turns

    def _leads_in_unspoken(self) -> bool:
        """Return whether the paragraph before leads in what is thought or written, and not spoken."""
        if self.gap.texts:
            return leads_in_unspoken(self.gap.texts[-1], self.rules)
        return bool(self.turns) and bool(self.turns[-1].tail) and leads_in_unspoken(self.turns[-1].tail, self.rules)

    def _continues(self, turn: Turn, parts: Parts) -> bool:
        if not self.turns or self.gap.texts or self.gap.over or turn.lead:
            return False
        last = self.turns[-1]
        return parts.begins_open or (last.open and not _answers(turn, last, self.rules))

    def add(self, turn: Turn) -> None:
        if self.turns and ended(self.turns[-1], self.gap, turn, self.rules, self.parameters):
            self.end()
        if not self.turns and self.gap.texts and not (turn.name or turn.verbs or turn.lead):
            turn.attribute(lead_in(self.gap.texts[-1], self.rules))
        self.turns.append(turn)
        self.gaps.append(self.gap)
        self.gap = Gap()

    def end(self) -> None:
        """End the conversation that is being collected."""
        for turns in dialogues_in(self.turns, self.gaps, self.rules, self.parameters):
            self.spoken.append(turns)
        self.turns, self.gaps = [], []


def _utterance(turn: Turn, place: int, rules: Rules) -> Utterance:
    ends = turn.ends()
    narrated = [*((0, text) for text in turn.gap if place), *turn.narrated]
    narration = "\n".join(text for _, text in narrated) or None
    certainty = certainty_of_turn(turn, place, rules.learned_speakers)
    manner = manner_of(turn.lead, turn.narration, turn.verbs, rules) if turn.verbs else None
    speaker = turn.name, turn.character, turn.addressee
    places = tuple(ends[quotes] for quotes, _ in narrated) or None
    return Utterance(turn.text(), tuple(turn.paragraphs), *speaker, manner, narration, places, certainty)


def _separates_scenes(text: str) -> bool:
    """Return whether a paragraph is no more than a line or stars between two scenes."""
    return not (text[:1].isalnum() or any(map(str.isalnum, text[:20])))


def _leaves(text: str, rules: Rules) -> bool:
    """Return whether a short paragraph between the speeches of a play says that somebody leaves: "[Exit Anna.]"."""
    return len(text) <= _DIRECTION and rules.leaves.meet(small_words(text))


def _answers(turn: Turn, last: Turn, rules: Rules) -> bool:
    """Return whether a turn is another person's though the quote before has lost its closing mark."""
    return any(verb in rules.answers for verb in turn.verbs) or differ(last, turn, rules)


def _reason(blocks: Sequence[Block]) -> str:
    prose = sum(len(block.text) for block in blocks if block.kind in (PARAGRAPH, SPEECH))
    verse = sum(len(block.text) for block in blocks if block.kind == VERSE)
    return "verse" if verse > prose else "no_dialogue"


def ended(before: Turn, gap: Gap, turn: Turn, rules: Rules, parameters: Speech) -> bool:
    """Return whether a conversation is certainly over between two turns: a chapter or scene ends, a paragraph in
    between begins with another time or place, or there is more than `most_gap` of narration.
    """
    if gap.over or length_between(before, gap, turn) > parameters.most_gap:
        return True
    if not (gap.texts or turn.lead) or rules.later is None:
        return False
    return any(map(rules.later.begins_in, (*gap.texts, turn.lead)))


def dialogues_in(turns: Sequence[Turn], gaps: Sequence[Gap], rules: Rules, parameters: Speech) -> Iterator[list[Turn]]:
    """Yield the dialogues of a conversation: turns in a row that one person says are one, and where nothing says that
    another person answers behind narration, another dialogue begins.

    Args:
        turns: of the conversation.
        gaps: before each.
        rules: of the language.
        parameters: of the extraction.
    """
    turns, gaps = _joined(turns, gaps, rules)
    for turn, gap in zip(turns, gaps, strict=True):
        turn.gap = gap.texts
    dialogue = list(turns[:1])
    for place in range(1, len(turns)):
        turn, gap = turns[place], gaps[place]
        length = length_between(turns[place - 1], gap, turn)
        if gap.texts and rules.holds_marks(gap.texts):
            turn.doubts.append(Doubt.QUOTED)
        if gap.left and place == len(turns) - 1:  # the only one left on the stage speaks to nobody
            yield dialogue
            dialogue = [turn]
            continue
        if not gap.texts and length <= parameters.unsure_gap:
            if len(turns[place - 1].tail) > _SHORT_TAIL:
                turn.doubts.append(Doubt.TAIL)
            dialogue.append(turn)
            continue
        boundary = boundary_at(turns, gaps, place, rules)
        if length > parameters.most_over(boundary):
            yield dialogue
            dialogue = [turn]
            continue
        turn.doubts.append(_CROSSED[boundary])
        dialogue.append(turn)
    yield dialogue


def _joined(turns: Sequence[Turn], gaps: Sequence[Gap], rules: Rules) -> tuple[list[Turn], list[Gap]]:
    """Join turns in a row that the narration between them makes one person's."""
    found: list[Turn] = []
    between: list[Gap] = []
    for turn, gap in zip(turns, gaps, strict=True):
        if found and _one_person(found[-1], gap, turn, rules):
            if not same(found[-1], turn, rules):
                turn.doubts.append(Doubt.JOINED)
            for text in gap.texts:
                found[-1].tell(text)
            found[-1].go_on(turn)
        else:
            found.append(turn)
            between.append(gap)
    return found, between


@dataclass(slots=True)
class Pair:
    """Two turns in a row.

    Attributes:
        before: the one.
        gap: between them.
        turn: the other.
        rules: of the language.
        lead: the speaker whom the narration before the second one announces, once that has been read.
    """

    before: Turn
    gap: Gap
    turn: Turn
    rules: Rules
    lead: Speaker | None = None

    def read_lead(self) -> Speaker | None:
        """Return the speaker whom the narration before the second turn announces."""
        if self.gap.texts:
            return tag_before(self.gap.texts[-1], self.rules) if self.gap.texts[-1] else None
        tail = self.before.tail
        return tag_before(tail, self.rules) if tail.endswith(_COLONS) else None


def _differ(pair: Pair) -> bool:
    return differ(pair.before, pair.turn, pair.rules)


def _same(pair: Pair) -> bool:
    return same(pair.before, pair.turn, pair.rules)


def _is_led_in_within_paragraph(pair: Pair) -> bool:
    lead = pair.lead
    if lead is None or pair.gap.texts or lead.name is not None:
        return False
    return lead.verb in pair.rules.goes_on or lead.person in (None, pair.before.person)


def _has_lead_of_same(pair: Pair) -> bool:
    return pair.lead is not None and _same(pair)


def _lead_continues(pair: Pair) -> bool:
    lead = pair.lead
    return lead is not None and lead.verb in pair.rules.goes_on and not differ(pair.before, lead, pair.rules)


def _tag_continues(pair: Pair) -> bool:
    if not pair.turn.further:
        return False
    return pair.turn.name is None and bool(pair.before.tail or pair.before.verbs)


BESIDE = Table[Pair, bool](
    Rule("the tags name different people", _differ, False, "“Will you come?” asked Tom.\n“I will,” said Ann."),
    Rule("the tags name one person", _same, True, "“I am tired,” said Ann.\n“And hungry,” said Ann."),
)
"""Whether two turns in a row are one person's, by the tags beside them."""

LED_IN = Table[Pair, bool](
    Rule(
        "a lead-in names the same person",
        _has_lead_of_same,
        True,
        "“I am tired,” said Ann.\nShe sat. Then Ann said:\n“And hungry.”",
    ),
    Rule(
        "a lead-in in the same paragraph names nobody",
        _is_led_in_within_paragraph,
        True,
        "“Well.” He sat down and continued:\n“It is late.”\n“It is,” said Ann.",
    ),
    Rule(
        "a lead-in says that the speaker continues",
        _lead_continues,
        True,
        "“Well,” said Tom.\nHe looked at the fire and continued:\n“So it is.”\n“So it is,” said Ann.",
    ),
    Rule(
        "a tag says that the speaker continues",
        _tag_continues,
        True,
        "“Well,” said Tom.\nHe looked at the fire.\n“Well,” he continued, “so it is.”\n“So it is,” said Ann.",
    ),
)
"""The same with what the narration before the second one announces; if no rule holds they are two people's."""


def _one_person(before: Turn, gap: Gap, turn: Turn, rules: Rules) -> bool:
    """Return whether two turns in a row are one person's; the second gets the speaker of its lead-in."""
    if not (gap.texts or before.tail or turn.name or turn.person or turn.further):
        return False  # nothing is known of the second
    pair = Pair(before, gap, turn, rules)
    decided = BESIDE.decide(pair)
    if decided is None and (gap.texts or before.tail or turn.further):
        lead = pair.read_lead()
        if lead is not None and not turn.verbs:
            turn.attribute(lead)
        pair.lead = lead
        decided = LED_IN.decide(pair)
    return bool(decided)
