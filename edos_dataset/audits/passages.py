"""The paragraphs of a book around a dialogue of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of a book.

    Attributes:
        number: in the book, as the data set counts.
        text: of it.
        turns: numbers, from 1, of the turns of the dialogue that stand in it.
        other: whether turns of another dialogue of the data set do.
    """

    number: int
    text: str
    turns: tuple[int, ...]
    other: bool


@dataclass(frozen=True)
class Passage:
    """Paragraphs in their order, some before and after those of a dialogue."""

    paragraphs: tuple[Paragraph, ...]


def passages_of(items: Sequence[Item], books: Path, around: int) -> dict[str, Passage]:
    """Return, item by item, the paragraphs of its book, `around` more before and after.
    """
    raise NotImplementedError
