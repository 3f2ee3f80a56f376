"""What people say in a book: turns while it is read, and the result, utterances and dialogues."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import accumulate
from typing import NamedTuple

from edos_dataset.segmentation.books.rules import Rules
from edos_dataset.segmentation.books.speakers import Speaker, same_name

_ATTACHED = frozenset(".,;:!?…)")


class Doubt(Enum):
    """A guess where the text gives no certain evidence, in words."""

    __hash__ = object.__hash__  # a tenth of the time of one by name

    # of a turn
    TWO = "its paragraph holds turns of others, too"
    JOINED = "another sentence of narration stands between its quotes"
    LED = "a sentence of narration leads in its second quote, and names nobody who has spoken"
    WITHIN = "it stands behind narration that does not say who speaks"
    UNHEARD = "beside it somebody thinks, writes, or says to themselves"
    # of two turns with narration between
    OTHER = "by names another person answers"
    PROBABLY_OTHER = "something suggests that another person answers"
    TAIL = "there is much narration behind the last quote"
    QUOTED = "a quote in the narration is taken as nobody's speech"


@dataclass(slots=True)
class Turn:
    """What one person says, as far as its paragraphs show.

    Attributes:
        texts: speech, a text a quote.
        paragraphs: numbers of its blocks.
        narration: between and after its quotes.
        narrated: all narration in its paragraphs, each with the number of its quotes before it.
        name: of the speaker; None where unknown.
        person: as in `rules.Rules.pronouns`; None where unknown.
        verbs: of saying beside it.
        lead: narration before it in its paragraph.
        tail: narration after it in its paragraph.
        open: its last quote is not closed.
        further: the tag beside its first quote says that the speaker continues.
        doubts: what was guessed of it and of the narration before it.
        gap: paragraphs of narration before it.
        given: the book itself states its speaker, as a play does.
        character: number of its speaker; None where unknown.
        addressee: name of the person to whom it is said; None where unknown.
    """

    texts: list[str]
    paragraphs: list[int]
    narration: list[str] = field(default_factory=list)
    narrated: list[tuple[int, str]] = field(default_factory=list)
    name: str | None = None
    person: str | None = None
    verbs: list[str] = field(default_factory=list)
    lead: str = ""
    tail: str = ""
    open: bool = False
    further: bool = False
    doubts: list[Doubt] = field(default_factory=list)
    gap: Sequence[str] = ()
    given: bool = False
    character: int | None = None
    addressee: str | None = None

    def attribute(self, speaker: Speaker | None) -> None:
        """Add what a tag says of the speaker; what is known stays."""
        if speaker is None:
            return
        self.verbs.append(speaker.verb)
        if self.name is None and (self.person is None or speaker.person in (None, self.person)):
            self.name = speaker.name
        self.person = self.person or speaker.person

    def tell(self, narration: str) -> None:
        """Add narration behind its last quote."""
        self.narration.append(narration)
        self.narrated.append((len(self.texts), narration))

    def go_on(self, turn: "Turn") -> None:
        """Add what the same person says next."""
        self.narrated += [(len(self.texts) + quotes, text) for quotes, text in turn.narrated]
        self.narration += turn.narration
        self.texts += turn.texts
        self.paragraphs += [number for number in turn.paragraphs if number > self.paragraphs[-1]]
        self.name, self.person = self.name or turn.name, self.person or turn.person
        self.verbs += turn.verbs
        self.doubts += turn.doubts
        self.tail, self.open = turn.tail, turn.open

    def text(self) -> str:
        """Return its words: the quotes joined by spaces, marks attached."""
        return "".join(self._pieces())

    def ends(self) -> list[int]:
        """Return how many characters of its words are said with the first 0, 1, 2, … quotes."""
        return [0, *accumulate(map(len, self._pieces()))]

    def _pieces(self) -> Iterator[str]:
        first, *others = self.texts
        yield first
        for text in others:
            yield text if text[0] in _ATTACHED and text[:2] != ".." else f" {text}"

    def words(self, few: int) -> int:
        """Return how many words it has; 0, uncounted, where it can have no more than a few."""
        most = sum(map(len, self.texts)) + len(self.texts)
        return len(self.text().split()) if most > 2 * few else 0  # each has a letter and a space, if one is added


def differ(one: Turn | Speaker, other: Turn | Speaker, rules: Rules) -> bool:
    """Return whether two are certainly different people."""
    if (stated := _stated_same(one, other)) is not None:
        return not stated
    if one.name and other.name and not same_name(one.name, other.name, rules):
        return True
    if one.person and other.person and one.person != other.person:
        return True
    return (one.person == "i" and bool(other.name)) or (other.person == "i" and bool(one.name))


def same(one: Turn | Speaker, other: Turn | Speaker, rules: Rules) -> bool:
    """Return whether two are certainly one person: of one name, or both "I"."""
    if (stated := _stated_same(one, other)) is not None:
        return stated
    if one.name and other.name:
        return same_name(one.name, other.name, rules)
    return one.person == other.person == "i"


def _stated_same(one: Turn | Speaker, other: Turn | Speaker) -> bool | None:
    """Return whether a book states one speaker for two turns; None where it does not state both."""
    if isinstance(one, Turn) and isinstance(other, Turn) and one.given and other.given and one.name and other.name:
        return one.name.casefold() == other.name.casefold()
    return None


class Utterance(NamedTuple):
    """What one person says until another speaks.

    Attributes:
        text: the words, without quotes and dashes.
        paragraphs: numbers of its blocks of the book (recipe `papers`: of its paragraphs), ascending.
        speaker: name of who says it (`attribution`), the same throughout the book; None where unknown.
        character: number of the speaker in the book, from 0; None where unknown.
        addressee: name of the person to whom it is said; None where unknown.
        manner: how it is said, in the words of its dialogue tag; None if it does not say so.
        narration: in its paragraphs and in those between it and the turn before, a line each; None if there is none.
        narration_at: for each of these lines, the number of characters of the text that are said before it, or None.
        certainty: probability that it is one person's speech, and another's than the turn before, 0 to 1; None where it
            is not estimated.
    """

    text: str
    paragraphs: tuple[int, ...]
    speaker: str | None = None
    character: int | None = None
    addressee: str | None = None
    manner: str | None = None
    narration: str | None = None
    narration_at: tuple[int, ...] | None = None
    certainty: float | None = None


class Extraction(NamedTuple):
    """The dialogues of a book.

    Attributes:
        dialogues: each of two utterances or more, in the order of the book.
        style: the delimiters that were found, as '“ ”', '"', '— —', '« »' or 'NAME.'; several are joined by ", ".
        reason: why the book has none: "few_delimiters", "no_dialogue", "verse", …; None where it has some.
    """

    dialogues: list[list[Utterance]]
    style: str
    reason: str | None
