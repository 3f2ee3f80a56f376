"""The paragraphs of a book around a dialogue of it, read again from the book itself."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from edos_dataset.audits.documents import Item
from edos_dataset.sources.books.gutenberg import unwrap
from edos_dataset.sources.books.reading import read_book
from edos_dataset.sources.files import read_bytes
from edos_dataset.sources.parsed import ReadError
from edos_dataset.text import tokenize

LEAST_FOUND = 0.8
"""Share of the words of turns that their paragraphs must have; below, the book is another one or was read otherwise."""

_MAX_BYTES = 1 << 28


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of a book.

    Attributes:
        number: in the book, as the data set counts.
        text: of it.
        turns: numbers, from 1, of the turns to judge that stand in it.
        other: whether turns around those do.
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
    """Return the paragraphs that dialogues of books, or pairs, stand in.

    How a data set counts paragraphs depends on its recipe. Those that hold the words of the turns are taken, so that a
    book of another edition shows none rather than wrong ones.

    Args:
        items: of a data set of books.
        books: the file or folder that the data set was made of, or one in it or around it.
        around: paragraphs before and after.

    Returns:
        Item → passage; items whose book is not there, cannot be read or has other text are left out.

    Raises:
        ValueError: that is so for every item.
    """
    by_book: dict[str, list[Item]] = {}
    for item in items:
        by_book.setdefault(_path_of(item), []).append(item)
    passages: dict[str, Passage] = {}
    for path, own in by_book.items():
        paragraphs = _best(_readings(path, books, own[0].facts.get("language")), own)
        passages |= {item.item: _passage(item, paragraphs, around) for item in own if paragraphs}
    if not passages:
        missed = next(iter(by_book))
        raise ValueError(
            f"{books} holds none of the books of these dialogues with their text, such as {missed}: give the folder "
            "that the data set was made of, or leave out --books"
        )
    return passages


def _path_of(item: Item) -> str:
    source: Mapping[str, str] = item.facts.get("source") or {}
    return source.get("path") or str(item.facts["document_id"])


def _readings(path: str, books: Path, language: str | None) -> Iterator[list[str]]:
    """Yield the paragraphs of a book, in each way in which data sets count them; nothing where it cannot be read."""
    place = _located(path, books)
    if place is None:
        return
    try:
        data = read_bytes(*place, _MAX_BYTES)
    except ReadError:
        return
    with suppress(ReadError):
        yield [block.text for block in read_book(data, place[1] or place[0].name, language).blocks]
    text = data.decode("utf-8", errors="ignore").replace("\r\n", "\n")
    ways: tuple[Callable[[], str], ...] = (lambda: unwrap(text).text, lambda: text)
    for way in ways:  # as recipe `papers` counts: what stands between empty lines
        yield [paragraph for piece in way().split("\n\n") if (paragraph := piece.strip("\n"))]


def _located(path: str, books: Path) -> tuple[Path, str | None] | None:
    """Return where a book lies, and its name if that is in an archive: the path in the data set begins with the name of
    the source, and `books` may be that, a folder in it, or the one around it.
    """
    parts = PurePosixPath(path).parts
    if ".." in parts or path.startswith("/"):  # a data set of others says what is opened here
        return None
    if books.is_file():
        inner = "/".join(parts[parts.index(books.name) + 1 :]) if books.name in parts else ""
        return (books, inner or None) if books.name in parts else None
    for start in range(len(parts)):
        place = books
        for end, part in enumerate(parts[start:], start + 1):
            place = place / part
            if place.is_file():
                return place, "/".join(parts[end:]) or None
    return None


def _best(readings: Iterator[list[str]], items: Sequence[Item]) -> list[str]:
    """Return the paragraphs that hold the words of the turns which are said to stand in them; none where none do."""
    for paragraphs in readings:
        words = [_found(line.text, line.sentences, paragraphs) for item in items for line in item.judged]
        if sum(found for found, _ in words) >= LEAST_FOUND * sum(all_of for _, all_of in words):
            return paragraphs
    return []


def _found(text: str, numbers: Sequence[int], paragraphs: Sequence[str]) -> tuple[int, int]:
    """Return how many words of a turn its paragraphs have, and how many it has."""
    words = tokenize(text)
    held = {word for number in numbers if 0 <= number < len(paragraphs) for word in tokenize(paragraphs[number])}
    return sum(word in held for word in words), len(words)


def _passage(item: Item, paragraphs: Sequence[str], around: int) -> Passage:
    own: dict[int, list[int]] = {}
    other: set[int] = set()
    for line in item.lines:
        for number in line.sentences:
            if line.judged:
                own.setdefault(number, []).append(line.number)
            else:
                other.add(number)
    first, last = max(0, min(own, default=0) - around), max(own, default=0) + around
    return Passage(
        tuple(
            Paragraph(number, paragraphs[number], tuple(own.get(number, ())), number in other)
            for number in range(first, min(last + 1, len(paragraphs)))
        )
    )
