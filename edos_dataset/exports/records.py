"""What an export reads of a source: dialogues and their turns, with what is known about them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

NARRATOR = "narrator"
"""The speaker of what the narrator of a book says."""


class Piece(NamedTuple):
    """A part of a turn that one voice says.

    Attributes:
        text: What is said.
        narrated: Whether the narrator says it, and not the speaker of the turn.
    """

    text: str
    narrated: bool


@dataclass(slots=True)
class Turn:
    """A turn; what the source does not tell is None.

    Attributes:
        text: What is said.
        speaker: Who says it.
        start: In seconds.
        end: In seconds.
        label: Name of its label.
        confidence: Of the label, 0 to 1.
        top: The most probable labels by name with their probabilities, the most probable first.
        narration: What the narrator of a book says before, between and after its parts, a line each.
        narration_at: For each of these lines, the number of characters of the text before it; without it, all are
            behind the text.
        certainty: Probability that the boundary before it is right, 0 to 1.
        extra: Other values that a table has beside it.
        manner: How it is said, in the author's words.
        addressee: To whom it is said.
    """

    text: str
    speaker: str | None = None
    start: float | None = None
    end: float | None = None
    label: str | None = None
    confidence: float | None = None
    top: Sequence[tuple[str, float]] = ()
    narration: str | None = None
    certainty: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    manner: str | None = None
    addressee: str | None = None
    narration_at: Sequence[int] | None = None

    def pieces(self) -> Iterator[Piece]:
        """Yield what is said and what is narrated, in the order of the book."""
        lines = self.narration.split("\n") if self.narration else []
        places = self.narration_at or ()
        if len(places) != len(lines):
            places = [len(self.text)] * len(lines)
        begin = 0
        for place, line in zip(places, lines, strict=True):
            yield Piece(self.text[begin:place].strip(), False)
            yield Piece(line.strip(), True)
            begin = max(begin, place)
        yield Piece(self.text[begin:].strip(), False)


@dataclass(slots=True)
class Dialogue:
    """A dialogue; what the source does not tell is None.

    Attributes:
        id: Its id.
        turns: Its turns.
        split: Its split.
        document: Id of its film or book.
        path: Path of the file that it is from, from the name of the source that was read on.
        language: Code of its language.
        certainty: Probability that it has no error, 0 to 1.
        extra: Other values that a table has beside it.
    """

    id: str
    turns: list[Turn]
    split: str | None = None
    document: str | None = None
    path: str | None = None
    language: str | None = None
    certainty: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
