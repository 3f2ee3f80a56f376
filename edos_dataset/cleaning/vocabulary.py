"""Corpus steps that judge by the words of the corpus: books in another kind of language, dialogues of rare words."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Bools, unnest
from edos_dataset.cleaning.word_totals import VocabularyStep, counted
from edos_dataset.runs.pipeline import Unit, check_ranges
from edos_dataset.segmentation.books.papers_rare import are_rare, most_frequent, tokens_of, unknown_shares
from edos_dataset.segmentation.books.papers_words import WordCounts, are_strange, divergences, sizes_of
from edos_dataset.sources.books.leaving import books_that_left

STRANGE, RARE = "strange_words", "rare_words"
"""Reasons of books and of dialogues."""

_MARKS = r"([^\p{L}\p{M}\p{N}_\s'’-]+)"


@dataclass(frozen=True)
class FilterBooks(VocabularyStep):
    """Leave out books whose words are not those of the others: old language, dictionaries, noise (Csaky and Recski,
    2021, Section 3).

    Compared is how often each word comes, by the Kullback-Leibler divergence of the book from all books of the run;
    words are what stands between spaces, case and punctuation kept.

    Args:
        divergence: nats from which a book leaves, above 0; null keeps all.
        min_words: books of fewer words stay, as little is known of them; from 0.
    """

    divergence: float | None = 2.0
    min_words: int = 20_000

    name: ClassVar[str] = "books"
    unit: ClassVar[Unit] = "books"
    needs, gives = ("book",), ()
    columns: ClassVar[tuple[str, ...]] = ("text", "blocks.list.element.text")
    reason: ClassVar[str] = STRANGE
    asks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_ranges(self, divergence=(1e-3, 1e6), min_words=(0, 1 << 40))

    @property
    def idle(self) -> bool:
        """Whether all books stay."""
        return self.divergence is None

    def words(self, table: pa.Table) -> pa.Array:
        """Return the words of each book, read as a text or as blocks."""
        texts = table["text"].combine_chunks().cast(pa.large_string())
        if texts.null_count:
            blocks, offsets = unnest(table.set_column(1, "blocks", pc.fill_null(table["blocks"], [])), "blocks")
            lists = pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), blocks.field("text"))
            texts = pc.coalesce(texts, pc.binary_join(lists.cast(pa.list_(pa.string())), " ").cast(pa.large_string()))
        return pc.utf8_split_whitespace(texts)

    def known(self, counts: WordCounts) -> WordCounts:
        """Return how many words there are, as that of the empty one, which is none."""
        return WordCounts(pa.array([""]), np.array([counts.counts.sum()], np.int64))

    def leave(self, words: pa.Array, total: WordCounts, known: WordCounts) -> Bools:
        """Tell which books leave."""
        assert self.divergence is not None, "the step is idle"
        books = [counted(words[row].values) for row in range(len(words))]
        sizes = np.fromiter(sizes_of(books), np.int64)
        return are_strange(divergences(books, total, int(known.counts[0])), sizes, self.divergence, self.min_words)

    def notes(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Tell which books have left."""
        return books_that_left(rejected)


@dataclass(frozen=True)
class DropRareWords(VocabularyStep):
    """Leave out dialogues of words that are rare in the corpus: other languages, tables, broken letters (Csaky and
    Recski, 2021, Section 3).

    Words are compared without case; marks are words, as in `text.tokenize`.

    Args:
        share: of a dialogue's words from which on it leaves if so many are rare, above 0 to 1; null keeps all.
        vocabulary: how many of the corpus's words, the most frequent ones, are not rare; from 1. A corpus of fewer
            words has no rare ones, but for those of an utterance without any.
        as_papers: part words as the authors' code does (`segmentation.books.papers_rare`), at a tenth of the speed.
    """

    share: float | None = 0.2
    vocabulary: int = 100_000
    as_papers: bool = False

    name: ClassVar[str] = "rare_words"
    unit: ClassVar[Unit] = "dialogues"
    needs, gives = ("turns",), ()
    columns: ClassVar[tuple[str, ...]] = ("language", "turns.list.element.text")
    reason: ClassVar[str] = RARE
    asks: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_ranges(self, share=(1e-3, 1), vocabulary=(1, 1 << 31))

    @property
    def idle(self) -> bool:
        """Whether all dialogues stay."""
        return self.share is None

    def words(self, table: pa.Table) -> pa.Array:
        """Return the words of each dialogue."""
        turns, offsets = unnest(table, "turns")
        texts = turns.field("text")
        if self.as_papers:
            languages, said = table["language"].to_pylist(), texts.to_pylist()
            borders = zip(languages, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
            return pa.concat_arrays(
                [tokens_of([said[start:stop]], language) for language, start, stop in borders]
                or [pa.array([], pa.list_(pa.string()))]
            )
        parted = pc.replace_substring_regex(pc.utf8_lower(texts), _MARKS, r" \1 ")
        words = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(parted))
        ends = (words.offsets.to_numpy() - words.offsets[0].as_py())[offsets]
        return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), words.flatten())

    def known(self, counts: WordCounts) -> WordCounts:
        """Return the words that are not rare."""
        return most_frequent(counts, self.vocabulary)

    def leave(self, words: pa.Array, total: WordCounts, known: WordCounts) -> Bools:
        """Tell which dialogues leave."""
        assert self.share is not None, "the step is idle"
        return are_rare(unknown_shares(words, known.words), self.share)
