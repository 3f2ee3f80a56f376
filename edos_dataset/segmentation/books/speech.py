"""What a book gives: utterances, and the dialogues that they make."""

from collections.abc import Sequence
from typing import NamedTuple


class Utterance(NamedTuple):
    """What somebody says until somebody else speaks.

    Attributes:
        text: the words, without quotes and dashes.
        paragraphs: numbers of the blocks of the book (recipe `papers`: of its paragraphs) it stands in, ascending.
        speaker: named by the narrator or by a play, or by turns where that is sure; None where unknown.
        narration: what the narrator says between its quotes and after them, joined by a space; None if nothing.
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
        reason: why the book gives nothing: "few_delimiters", "no_dialogue", "verse", …; None where it gives something.
        certainties: how sure each dialogue is, 0 to 1 (`certainty.certainty_of`); empty where that is not judged.
    """

    dialogues: list[list[Utterance]]
    style: str
    reason: str | None
    certainties: Sequence[float] = ()

    def at_least(self, certainty: float) -> list[list[Utterance]]:
        """Return the dialogues that are so sure."""
        return [dialogue for dialogue, own in zip(self.dialogues, self.certainties, strict=True) if own >= certainty]
