"""The dialogues of a book: its blocks cut into turns, these into conversations."""

from collections.abc import Sequence

from edos_dataset.segmentation.books.certainty import certainty_of
from edos_dataset.segmentation.books.conversations import Speech, apart, dialogues_in, ended, kept, named
from edos_dataset.segmentation.books.parts import Parts, parts_of
from edos_dataset.segmentation.books.rules import Rules
from edos_dataset.segmentation.books.seams import Gap
from edos_dataset.segmentation.books.speakers import led_in
from edos_dataset.segmentation.books.speech import Extraction, Utterance
from edos_dataset.segmentation.books.styles import styles_of, told
from edos_dataset.segmentation.books.turns import Turn, differ, turns_of, unheard
from edos_dataset.segmentation.books.words import small_words
from edos_dataset.sources.books.book import CONTENTS, HEADING, PARAGRAPH, SPEECH, VERSE, Block

_DIRECTION = 80  # characters of a stage direction


class _Conversations:
    """Puts turn after turn into dialogues."""

    def __init__(self, rules: Rules, parameters: Speech) -> None:
        self.rules, self.parameters = rules, parameters
        self.dialogues: list[list[Utterance]] = []
        self.certainties: list[float] = []
        self.turns: list[Turn] = []
        self.gaps: list[Gap] = []
        self.gap = Gap()

    def add(self, turn: Turn) -> None:
        """Take in the next turn."""
        if self.turns and ended(self.turns[-1], self.gap, turn, self.rules, self.parameters):
            self.end()
        if not self.turns and self.gap.texts and not (turn.name or turn.verbs or turn.lead):
            turn.hear(led_in(self.gap.texts[-1], self.rules))
        self.turns.append(turn)
        self.gaps.append(self.gap)
        self.gap = Gap()

    def further(self, turn: Turn) -> None:
        """Take in a paragraph by which the last turn goes on."""
        last = self.turns[-1]
        last.texts += turn.texts
        last.paragraphs += turn.paragraphs
        last.narration += turn.narration
        last.name, last.person = last.name or turn.name, last.person or turn.person
        last.verbs += turn.verbs
        last.doubts += turn.doubts
        last.tail, last.open = turn.tail, turn.open

    def before_is_unheard(self) -> bool:
        """Say whether the paragraph before leads in what is thought or written, and said to nobody."""
        if self.gap.texts:
            return unheard(self.gap.texts[-1], self.rules)
        return bool(self.turns) and bool(self.turns[-1].tail) and unheard(self.turns[-1].tail, self.rules)

    def end(self) -> None:
        """End the conversation that is being gathered."""
        for turns in dialogues_in(self.turns, self.gaps, self.rules, self.parameters):
            if len(turns) >= self.parameters.min_turns:
                words = [turn.words(min(self.parameters.long, self.parameters.max_length)) for turn in turns]
                long = [number > self.parameters.long for number in words]
                parts = list(apart(long, self.parameters.min_turns))
                certainties = [self._certainty(part, turns, long) for part in parts]
                named(turns, self.rules)
                for part, certainty in zip(parts, certainties, strict=True):
                    self.dialogues += kept(turns[part], words[part], self.parameters)
                    self.certainties += [certainty] * (len(self.dialogues) - len(self.certainties))
        self.turns, self.gaps = [], []

    def _certainty(self, part: slice, turns: Sequence[Turn], long: Sequence[bool]) -> float:
        """Return how sure a part of a dialogue is, of whose ends those beside an utterance that is too long are."""
        short = [turn for turn, is_long in zip(turns[part], long[part], strict=True) if not is_long]
        if len(short) < self.parameters.min_turns:
            return certainty_of(turns[part], self.rules)
        return certainty_of(short, self.rules, (short[0] is not turns[0], short[-1] is not turns[-1]))


def extract(blocks: Sequence[Block], rules: Rules, parameters: Speech) -> Extraction:
    """Return the dialogues of a book.

    Quotes and dashes are found for the book and for each paragraph; a speech over several paragraphs is one utterance,
    and so is what one person says in a row; of a play every speech is a turn. A dialogue ends where a chapter or scene
    does, and where the narrator speaks for long without a sign that the conversation goes on.

    Args:
        blocks: of the book; verse, notes and contents hold no dialogue.
        rules: of its language.
        parameters: of the extraction.
    """
    styles = styles_of([text for text, kind, _, _ in blocks if kind == PARAGRAPH], rules)
    found = _Conversations(rules, parameters)
    speeches = 0
    for number, (text, kind, _, speaker) in enumerate(blocks):
        if kind == PARAGRAPH:
            _take(found, text, number, parts_of(text, styles, rules), rules)
            if speeches and _leaves(text, rules):
                found.gap.left = True
        elif kind == HEADING or (kind == CONTENTS and _parts(text)):
            found.gap.over = True
        elif kind == SPEECH:
            speeches += 1
            found.add(Turn([text], [number], name=speaker))
        elif kind == VERSE:
            found.gap.texts.append(text)
    found.end()
    pairs = [pair for pair in (styles.quotes, *styles.others) if pair]
    style = told(pairs, styles.dashes, speeches > 0)
    return Extraction(found.dialogues, style, _reason(found, blocks), found.certainties)


def _take(found: _Conversations, text: str, number: int, parts: Parts | None, rules: Rules) -> None:
    """Take in a paragraph."""
    turns = turns_of(parts, number, rules) if parts is not None else []
    if not turns:
        found.gap.texts.append(text)
        found.gap.over |= _parts(text)
        return
    assert parts is not None
    if not turns[0].lead and not turns[0].verbs and found.before_is_unheard():
        found.gap.texts.append(text)
        return
    last = found.turns[-1] if found.turns else None
    goes_on = last is not None and not found.gap.texts and not found.gap.over and not turns[0].lead
    if goes_on and last is not None and (parts.begins_open or (last.open and not _answers(turns[0], last, rules))):
        found.further(turns.pop(0))
    for turn in turns:
        found.add(turn)


def _parts(text: str) -> bool:
    """Say whether a paragraph is no more than a line or stars that part two scenes."""
    return not (text[:1].isalnum() or any(map(str.isalnum, text[:20])))


def _leaves(text: str, rules: Rules) -> bool:
    """Say whether a short paragraph between the speeches of a play tells that somebody leaves: "[Exit Anna.]"."""
    return len(text) <= _DIRECTION and rules.leaves.meet(small_words(text))


def _answers(turn: Turn, last: Turn, rules: Rules) -> bool:
    """Say whether a turn is another person's though the quote before is not closed: it has lost its closing mark."""
    return any(verb in rules.answers for verb in turn.verbs) or differ(last, turn, rules)


def _reason(found: _Conversations, blocks: Sequence[Block]) -> str | None:
    """Return why a book gives nothing."""
    if found.dialogues:
        return None
    prose = sum(len(block.text) for block in blocks if block.kind in (PARAGRAPH, SPEECH))
    verse = sum(len(block.text) for block in blocks if block.kind == VERSE)
    return "verse" if verse > prose else "no_dialogue"
