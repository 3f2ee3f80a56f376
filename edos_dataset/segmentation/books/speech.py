"""The result of an extraction: utterances, and the dialogues of a book."""

from collections.abc import Sequence
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
    CONFIRMED = "one of these, but those who are named before and after it take turns accordingly"
    QUOTED = "a quote in the narration is taken as nobody's speech"
    # of the dialogue's ends
    BACK = "somebody who is named in it speaks before or after it, behind narration"
    CUT_NEAR = "somebody speaks before or after it, behind a paragraph at most, none of those who are named in it"
    CUT = "somebody speaks before or after it, behind more narration"
    EDGE = "narration stands in its first paragraph before the speech, or at length behind it in the last one"
    ASKED = "it ends with a question"
    LATER = "time or place changes"
    # of the whole
    THIRD = "three are named, perhaps one in two ways"
    FOURTH = "three have a proper name, or four are named"
    SEVERAL = "several speak at once"
    CROSSED = "those who are named do not take turns"


class Utterance(NamedTuple):
    """What one person says until another speaks.

    Attributes:
        text: the words, without quotes and dashes.
        paragraphs: numbers of its blocks of the book (recipe `papers`: of its paragraphs), ascending.
        speaker: named by a dialogue tag or a play, or by turns where that is certain; None where unknown.
        narration: between its quotes and after them, joined by spaces; None if there is none.
    """

    text: str
    paragraphs: tuple[int, ...]
    speaker: str | None = None
    narration: str | None = None


class Extraction(NamedTuple):
    """The dialogues of a book.

    Attributes:
        dialogues: each of two utterances or more, in the order of the book.
        style: the delimiters that were found, as '“ ”', '"', '— —', '« »' or 'NAME.'; several are joined by ", ".
        reason: why the book has none: "few_delimiters", "no_dialogue", "verse", …; None where it has some.
        certainties: of the dialogues, 0 to 1 (`certainty.certainty_of`); empty where they are not judged.
    """

    dialogues: list[list[Utterance]]
    style: str
    reason: str | None
    certainties: Sequence[float] = ()

    def at_least(self, certainty: float) -> list[list[Utterance]]:
        """Return the dialogues of at least a certainty."""
        return [dialogue for dialogue, own in zip(self.dialogues, self.certainties, strict=True) if own >= certainty]
