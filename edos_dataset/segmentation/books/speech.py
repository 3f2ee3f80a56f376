"""The result of an extraction: utterances, and the dialogues of a book."""

from enum import Enum
from typing import NamedTuple


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


class Utterance(NamedTuple):
    """What one person says until another speaks.

    Attributes:
        text: the words, without quotes and dashes.
        paragraphs: numbers of its blocks of the book (recipe `papers`: of its paragraphs), ascending.
        speaker: name of who says it (`attribution`), the same throughout the book; None where unknown.
        character: number of the speaker in the book, from 0; None where unknown.
        addressee: name of the person to whom it is said; None where unknown.
        manner: how it is said, in the words of its dialogue tag; None if it does not say so.
        narration: between its quotes and after them, joined by spaces; None if there is none.
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
