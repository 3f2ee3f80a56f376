"""Books by the rules of the Gutenberg Dialogue Dataset (Csaky and Recski, 2021; Section 3, Tables 2 and 3, Figure 9).

The intervals come from drawing books with replacement.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from edos_dataset.arrays import Doubles
from edos_dataset.downloads.catalogue import CATALOGUE, read_catalogue
from edos_dataset.metrics.resampling import interval, resampled
from edos_dataset.reproduction.results import Data, Estimate, Measured, MissingInputError
from edos_dataset.segmentation.books.papers import WEIGHTS, Papers, extract_as_papers
from edos_dataset.segmentation.books.papers_words import count_words
from edos_dataset.sources.formats import read_plain
from edos_dataset.sources.parsed import ReadError

GAPS = (50, 100, 150, 200, 300, 500)
"""Gaps between two utterances, in characters, of the curve."""
_NO_LIMIT = 10**9
_LONG = 20
"""Utterances from which the paper calls a dialogue long."""


@dataclass
class _Book:
    """What was found in a book: words of each utterance, by dialogue; why there is nothing."""

    dialogues: list[list[int]] = field(default_factory=list)
    reason: str | None = None


@cache
def _texts(folder: Path, language: str) -> tuple[str, ...]:
    return tuple(_read(folder / language))


def _read(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("*.txt")):
        try:
            yield read_plain(path.read_bytes(), path.name)
        except ReadError:
            continue


@cache
def _books(folder: Path, language: str, gap: int = 150, longest: int = 100) -> tuple[_Book, ...]:
    texts = _texts(folder, language)
    if not texts:
        raise MissingInputError(f"{folder / language} has no books: edos download gutenberg --language {language}")
    books = []
    for text in texts:
        found = extract_as_papers(text, language, Papers(dialog_gap=gap, max_length=longest))
        dialogues = [[count_words(turn.text) for turn in dialogue] for dialogue in found.dialogues]
        books.append(_Book([dialogue for dialogue in dialogues if dialogue], found.reason))
    return tuple(books)


def _ratio(parts: Sequence[float], wholes: Sequence[float], factor: float = 1.0, digits: int = 2) -> Estimate:
    """Return a ratio of sums over books, with its interval."""
    columns = np.array([parts, wholes], np.float64).T
    drawn: Doubles = resampled(columns, np.arange(len(columns)))
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = interval(factor * drawn[:, 0] / drawn[:, 1])
    value = factor * columns[:, 0].sum() / max(columns[:, 1].sum(), 1)
    return Estimate(round(float(value), digits), low, high, len(columns), 0)


def _sizes(books: Sequence[_Book]) -> tuple[Estimate, Estimate]:
    """Return the words of an utterance and the utterances of a dialogue, in the mean."""
    words = [float(sum(map(sum, book.dialogues))) for book in books]
    utterances = [float(sum(map(len, book.dialogues))) for book in books]
    return _ratio(words, utterances), _ratio(utterances, [float(len(book.dialogues)) for book in books])


def as_papers(data: Data) -> Mapping[str, Measured]:
    """Measure the English books (Tables 2 and 3; Appendix, Figure 9)."""
    books = _books(data.path("gutenberg"), "en")
    words, lengths = _sizes(books)
    found = [np.array([len(dialogue) for dialogue in book.dialogues], np.float64) for book in books]
    left = [float(book.reason == "few_delimiters") for book in books]
    every = np.concatenate(found)
    long = [float((own >= _LONG).sum()) for own in found]
    return {
        "words an utterance": Measured(ours=words),
        "utterances a dialogue": Measured(ours=lengths),
        "SD of a dialogue's utterances": Measured(ours=_spread(found)),
        "dialogues of 20 utterances and more, %": Measured(ours=_ratio(long, [float(len(own)) for own in found], 100)),
        "books left out by delimiters, %": Measured(ours=_ratio(left, [1.0] * len(left), 100)),
        "dialogues": Measured(ours=Estimate(len(every), number=len(books))),
    }


def _spread(lengths: Sequence[Doubles]) -> Estimate:
    """Return the standard deviation of the dialogues' lengths, with its interval."""
    columns = np.array([(len(own), own.sum(), (own**2).sum()) for own in lengths], np.float64)

    def deviation(sums: Doubles) -> Doubles:
        number, total, squares = sums.T
        found: Doubles = np.sqrt(squares / number - (total / number) ** 2)
        return found

    low, high = interval(deviation(resampled(columns, np.arange(len(columns)))))
    value = float(deviation(columns.sum(axis=0, keepdims=True))[0])
    return Estimate(round(value, 2), low, high, len(columns), 0)


def gaps(data: Data) -> Mapping[str, Measured]:
    """Measure how dialogues grow with the gap that ends them (the authors' workbook)."""
    folder = data.path("gutenberg")
    means = {gap: _sizes(_books(folder, "en", gap))[1] for gap in GAPS}
    straight = float(np.corrcoef(GAPS, [estimate.value for estimate in means.values()])[0, 1])
    return {f"gap {gap}, utterances a dialogue": Measured(ours=estimate) for gap, estimate in means.items()} | {
        "linear in the gap (r > 0.99)": Measured(ours=Estimate(straight > 0.99, number=len(GAPS)))
    }


def long(data: Data) -> Mapping[str, Measured]:
    """Count the utterances beyond 100 words (Table 2), by the authors' count with the book's name before each."""
    books = _books(data.path("gutenberg"), "en", longest=_NO_LIMIT)
    longer = [float(sum(words + 1 > 100 for dialogue in book.dialogues for words in dialogue)) for book in books]
    every = [float(sum(map(len, book.dialogues))) for book in books]
    return {"utterances over 100 words, %": Measured(ours=_ratio(longer, every, 100))}


def of_each_book(data: Data) -> Mapping[str, Measured]:
    """Relate the utterances of each book to its words (Figure 7)."""
    folder = data.path("gutenberg")
    words = np.array([len(text.split()) for text in _texts(folder, "en")], np.float64)
    utterances = np.array([sum(map(len, book.dialogues)) for book in _books(folder, "en")], np.float64)
    together = round(float(np.corrcoef(words, utterances)[0, 1]), 2)
    many = int((utterances > words / 100).sum())
    return {
        "correlation of a book's utterances with its words": Measured(ours=Estimate(together, number=len(words))),
        "books with more utterances than 1 in 100 words": Measured(ours=Estimate(many, number=len(words))),
    }


def catalogue(data: Data) -> Mapping[str, Measured]:
    """Count the books of each language in Project Gutenberg's catalogue (Figure 8, which has their words too)."""
    listed = read_catalogue(data.path("gutenberg", CATALOGUE)).books.values()
    counts = Counter(book.languages[0] for book in listed)
    total = sum(counts.values())
    english = round(100 * counts["en"] / max(total, 1), 2)
    return {
        "languages": Measured(ours=Estimate(len(counts), number=total)),
        "books": Measured(ours=Estimate(total, number=total)),
        "books in English, %": Measured(ours=Estimate(english, number=total)),
        "languages with 100 books and more": Measured(
            ours=Estimate(sum(number >= 100 for number in counts.values()), number=total)
        ),
    }


def languages(data: Data) -> Mapping[str, Measured]:
    """Measure the books of the other languages (Table 3), as far as there are any."""
    folder = data.path("gutenberg")
    measured: dict[str, Measured] = {}
    for language in sorted(WEIGHTS.keys() - {"en"}):
        if any((folder / language).glob("*.txt")) and any(book.dialogues for book in _books(folder, language)):
            words, lengths = _sizes(_books(folder, language))
            measured[f"{language}, words an utterance"] = Measured(ours=words)
            measured[f"{language}, utterances a dialogue"] = Measured(ours=lengths)
    if not measured:
        raise MissingInputError(f"{folder} has no books in other languages: edos download gutenberg --language de")
    return measured
