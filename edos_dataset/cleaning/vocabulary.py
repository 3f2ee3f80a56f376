"""Corpus steps that judge by the words of the whole corpus: books in another kind of language, dialogues of rare words.

In two rounds, shared by all workers: each shard counts its words; one process adds these up; each shard is judged by
the sum. Memory: about 100 bytes for each different word of the corpus, once in each worker, and the words of a shard.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Bools, unnest
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.partitions import SharedStep
from edos_dataset.runs.passage import Passage, carry_out
from edos_dataset.runs.pipeline import REMOVALS, Unit, check_ranges
from edos_dataset.runs.removals import nothing_leaves
from edos_dataset.runs.shards import read_shard, write_shard
from edos_dataset.segmentation.books.papers_rare import are_rare, tokens_of, unknown_shares, vocabulary
from edos_dataset.segmentation.books.papers_words import WordCounts, add_up, are_strange, divergences, sizes_of
from edos_dataset.sources.books.leaving import books_that_left

STRANGE, RARE = "strange_words", "rare_words"
"""Reasons of books and of dialogues."""

_MARKS = r"([^\p{L}\p{M}\p{N}_\s'’-]+)"


@dataclass(frozen=True)
class VocabularyStep(SharedStep):
    """A step that judges rows by their words and those of all rows."""

    columns: ClassVar[tuple[str, ...]]
    """Parquet columns that it reads."""
    reason: ClassVar[str]

    @property
    def idle(self) -> bool:
        """Whether its parameters let all rows stay."""
        raise TypeError(f"{type(self).__name__} defines no idle")

    def words(self, table: pa.Table) -> pa.Array:
        """Return the words of a shard, a list a row."""
        raise TypeError(f"{type(self).__name__} defines no words")

    def known(self, total: WordCounts) -> WordCounts:
        """Return what of the words of the whole corpus it takes to judge; by default all."""
        return total

    def leave(self, words: pa.Array, total: WordCounts) -> Bools:
        """Tell which rows leave, by their words, in a dictionary, and what `known` makes of those of all shards."""
        raise TypeError(f"{type(self).__name__} defines no leave")

    def decide_together(self, shards: Sequence[Path], removals: Sequence[Path], folder: Path, engine: Engine) -> None:
        """Name the rows that leave."""
        if self.idle or not shards:
            nothing_leaves(removals, engine)
            return
        job = _Job(1, folder, self)
        carry_out(engine, job.count, list(enumerate(shards)))
        if engine.leads:
            job.add_up(len(shards))
        engine.wait()
        carry_out(engine, job.judge, list(enumerate(removals)))


@dataclass(frozen=True)
class _Job(Passage):
    """The tasks of a decision; each reads files that earlier ones wrote, and writes one."""

    step: VocabularyStep

    def count(self, shard: tuple[int, Path]) -> None:
        """Part and count the words of a shard, given by its number and path."""
        number, path = shard
        words = self.step.words(read_shard(path, list(self.step.columns)))
        values = words.flatten().cast(pa.string()).dictionary_encode()
        self.write("counts", number, _table(_counted(values)))
        ends = pa.array(np.r_[0, np.cumsum(pc.list_value_length(words).to_numpy(zero_copy_only=False))], pa.int64())
        self.write("words", number, pa.table({"words": pa.LargeListArray.from_arrays(ends, values)}))

    def add_up(self, shards: int) -> None:
        """Add up the words of all shards."""
        total = add_up(_counts(self.read("counts", number)) for number in range(shards))
        self.write("total", 0, _table(self.step.known(total)))

    def judge(self, shard: tuple[int, Path]) -> None:
        """Write which rows of a shard leave, given by its number and where to."""
        number, path = shard
        words = self.read("words", number)["words"].combine_chunks()
        rows = np.flatnonzero(self.step.leave(words, _counts(self.read("total", 0))))
        columns = {"row": rows, "turn": pa.nulls(len(rows)), "reason": [self.step.reason] * len(rows)}
        write_shard(path, pa.table(columns).cast(REMOVALS))


def _counted(words: pa.DictionaryArray) -> WordCounts:
    """Return how often each word stands in an array; an empty one is none."""
    counts = np.bincount(words.indices.to_numpy(), minlength=len(words.dictionary))
    counts[pc.equal(words.dictionary, "").to_numpy(zero_copy_only=False)] = 0
    there = np.flatnonzero(counts)
    return WordCounts(words.dictionary.take(pa.array(there)), counts[there])


def _table(counts: WordCounts) -> pa.Table:
    return pa.table({"word": counts.words.cast(pa.string()), "count": counts.counts})


def _counts(table: pa.Table) -> WordCounts:
    return WordCounts(table["word"].combine_chunks(), table["count"].to_numpy())


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

    def leave(self, words: pa.Array, total: WordCounts) -> Bools:
        """Tell which books leave."""
        assert self.divergence is not None, "the step is idle"
        books = [_counted(words[row].values) for row in range(len(words))]
        sizes = np.fromiter(sizes_of(books), np.int64)
        return are_strange(divergences(books, total), sizes, self.divergence, self.min_words)

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

    def known(self, total: WordCounts) -> WordCounts:
        """Return the words that are not rare."""
        words = vocabulary(total, self.vocabulary)
        return WordCounts(words, np.zeros(len(words), np.int64))

    def leave(self, words: pa.Array, total: WordCounts) -> Bools:
        """Tell which dialogues leave."""
        assert self.share is not None, "the step is idle"
        return are_rare(unknown_shares(words, total.words), self.share)
