"""Stages and corpus steps that remove books with unusual language, dialogues with rare words, and utterances that are
too long for speech (Csaky and Recski, 2021, Section 3).

The corpus steps judge by the words of the whole corpus, in three rounds of all workers:

1. each group of shards counts its words, split by a hash of the word;
2. each partition adds up the occurrences of its words, and returns to each group the totals of the group's words;
3. each group of shards is judged by these totals.

Memory: a worker holds the words of a group of shards, or the counts of a partition; the main process holds only paths.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.arrays import Bools, unnest
from edos_dataset.cleaning.rejects import cut_turns
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.partitions import SharedStep
from edos_dataset.runs.pipeline import REMOVALS, Stage, Unit, check_ranges
from edos_dataset.runs.shards import read_shard, write_shard
from edos_dataset.runs.shuffle import (
    Group,
    Shuffle,
    count_together,
    groups_of,
    partitions_for,
    remove_nothing,
    run_tasks,
)
from edos_dataset.schema.tables import REASON
from edos_dataset.segmentation.books.extraction import LONGEST
from edos_dataset.segmentation.books.papers_words import (
    WordCounts,
    add_up,
    are_rare,
    are_strange,
    divergences,
    most_frequent,
    sizes_of,
    tokens_of,
    unknown_shares,
)
from edos_dataset.sources.documents import rejected_books

STRANGE, RARE = "strange_words", "rare_words"
"""Reasons for books and for dialogues."""

_MARKS = r"([^\p{L}\p{M}\p{N}_\s'’-]+)"
_BYTES_A_WORD = 64  # for each distinct word of a shard: four novels have 60,000
_BYTES_OF_COUNT = 120  # for each word of a group
_SMALL = 4  # factor on the number of partitions that memory allows, so that none takes more than a shard
_MEMORY = 1 << 30


@dataclass(frozen=True)
class LimitUtterances(Stage):
    """End a dialogue before an utterance that is too long; the turns after it become another dialogue, and a turn left
    alone is rejected.

    Args:
        max_words: maximum number of words of an utterance, separated by spaces, from 1.
    """

    max_words: int = LONGEST

    name: ClassVar[str] = "length"
    unit: ClassVar[Unit] = "turns"
    needs, gives = ("dialogue_id", "turns"), ()

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_ranges(self, max_words=(1, 1 << 31))

    def __call__(self, table: pa.Table) -> pa.Table:
        """Cut BOOK_DIALOGUES at their long utterances."""
        turns, _ = unnest(table, "turns")
        words = pc.add(pc.count_substring_regex(turns.field("text"), r"\s+"), 1)
        reasons = ["too_long" if number > self.max_words else None for number in words.to_pylist()]
        return _with_unique_ids(cut_turns(table, reasons))


def _with_unique_ids(table: pa.Table) -> pa.Table:
    """Append a number to the id of each dialogue that stays and begins in the same paragraph as an earlier one."""
    ids: list[str] = table["dialogue_id"].to_pylist()
    stay = pc.is_null(table[REASON]).to_pylist()
    if len(set(ids)) == len(ids):
        return table
    seen: set[str] = set()
    for row, (name, stays) in enumerate(zip(ids, stay, strict=True)):
        number = 0
        while stays and ids[row] in seen:
            number += 1
            ids[row] = f"{name}+{number}"
        if stays:
            seen.add(ids[row])
    return table.set_column(table.column_names.index("dialogue_id"), "dialogue_id", pa.array(ids, pa.string()))


@dataclass(frozen=True)
class VocabularyStep(SharedStep):
    """A step that judges rows by their words and the words of all rows."""

    columns: ClassVar[tuple[str, ...]]
    """Parquet columns that the step reads."""
    reason: ClassVar[str]
    needs_totals: ClassVar[bool]
    """Whether judging a row needs the totals of its words in the corpus, or `known` alone."""

    @property
    @abstractmethod
    def idle(self) -> bool:
        """Whether its parameters keep all rows."""

    @abstractmethod
    def words(self, table: pa.Table) -> pa.Array:
        """Return the words of a shard, one list per row."""

    @abstractmethod
    def known(self, counts: WordCounts) -> WordCounts:
        """Reduce the counts of some words, or the joined results of all parts, to the counts that `leave` needs."""

    @abstractmethod
    def leave(self, words: pa.Array, total: WordCounts, known: WordCounts) -> Bools:
        """Return for each row whether it is removed.

        Args:
            words: words of a shard, one list per row, dictionary-encoded.
            total: how often these words, and perhaps others, occur in the corpus; empty unless `needs_totals`.
            known: result of `known` for the whole corpus.
        """

    def decide_together(self, shards: Sequence[Path], removals: Sequence[Path], folder: Path, engine: Engine) -> None:
        """Write which rows are removed."""
        if self.idle or not shards:
            remove_nothing(removals, engine)
            return
        size = count_together(_bytes, shards, folder, engine)
        parts = partitions_for(size // _BYTES_A_WORD, _SMALL * _BYTES_OF_COUNT, _MEMORY)
        groups = groups_of(shards)
        job = _Job(parts, folder, self, Shuffle(len(groups), folder))
        run_tasks(engine, job.count, groups)
        run_tasks(engine, job.add_up, range(parts))
        run_tasks(engine, job.conclude, [parts])
        run_tasks(engine, job.judge, groups_of(removals))


@dataclass(frozen=True)
class FilterBooks(VocabularyStep):
    """Remove books whose words are unlike those of the others: old language, dictionaries, noise.

    Word frequencies are compared by the Kullback-Leibler divergence of the book from all books of the run; words are
    separated by spaces, with case and punctuation.

    Args:
        divergence: divergence in nats at or above which a book is removed, above 0; null keeps all.
        min_words: books of fewer words stay, as little is known about them; from 0.
    """

    divergence: float | None = 2.0
    min_words: int = 20_000

    name: ClassVar[str] = "books"
    unit: ClassVar[Unit] = "books"
    needs, gives = ("book",), ()
    columns: ClassVar[tuple[str, ...]] = ("text", "blocks.list.element.text")
    reason: ClassVar[str] = STRANGE
    needs_totals: ClassVar[bool] = True

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
        """Return the number of all words, as the count of the empty string, which is not a word."""
        return WordCounts(pa.array([""]), np.array([counts.counts.sum()], np.int64))

    def leave(self, words: pa.Array, total: WordCounts, known: WordCounts) -> Bools:
        """Return for each book whether it is removed."""
        assert self.divergence is not None, "the step is idle"
        books = [counted(words[row].values) for row in range(len(words))]
        sizes = np.fromiter(sizes_of(books), np.int64)
        return are_strange(divergences(books, total, int(known.counts[0])), sizes, self.divergence, self.min_words)

    def notes(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Return the books that were removed."""
        return rejected_books(rejected)


@dataclass(frozen=True)
class DropRareWords(VocabularyStep):
    """Remove dialogues of words that are rare in the corpus: other languages, tables, broken letters.

    Words are compared without case; punctuation marks are words, as in `text.tokenize`.

    Args:
        share: fraction of a dialogue's words that must be rare for it to be removed, above 0 to 1; null keeps all.
        vocabulary: number of the corpus's most frequent words, which are not rare; from 1. A corpus of fewer words has
            no rare ones, except those of an utterance without any.
        as_papers: split words as the authors' code does (`segmentation.books.papers_words`), at a tenth of the speed.
    """

    share: float | None = 0.2
    vocabulary: int = 100_000
    as_papers: bool = False

    name: ClassVar[str] = "rare_words"
    unit: ClassVar[Unit] = "dialogues"
    needs, gives = ("turns",), ()
    columns: ClassVar[tuple[str, ...]] = ("language", "turns.list.element.text")
    reason: ClassVar[str] = RARE
    needs_totals: ClassVar[bool] = False

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
            dialogues = zip(languages, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
            return pa.concat_arrays(
                [tokens_of([said[start:stop]], language) for language, start, stop in dialogues]
                or [pa.array([], pa.list_(pa.string()))]
            )
        spaced = pc.replace_substring_regex(pc.utf8_lower(texts), _MARKS, r" \1 ")
        words = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(spaced))
        ends = (words.offsets.to_numpy() - words.offsets[0].as_py())[offsets]
        return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), words.flatten())

    def known(self, counts: WordCounts) -> WordCounts:
        """Return the words that are not rare."""
        return most_frequent(counts, self.vocabulary)

    def leave(self, words: pa.Array, total: WordCounts, known: WordCounts) -> Bools:
        """Return for each dialogue whether it is removed."""
        assert self.share is not None, "the step is idle"
        return are_rare(unknown_shares(words, known.words), self.share)


@dataclass(frozen=True)
class _Job(Shuffle):
    """The tasks of a step; each reads files that earlier ones wrote, and writes one or two.

    Attributes:
        totals: shuffle that returns the totals from the partitions to the groups.
    """

    step: VocabularyStep
    totals: Shuffle

    def count(self, group: Group) -> None:
        """Count the words of a group of shards, and split them into partitions."""
        counts = add_up(self._count(number, path) for number, path in group.numbered())
        groups = pa.array(np.full(len(counts.words), group.number, np.uint32))
        table = _table(counts).append_column("group", groups).append_column("key", _keys(counts.words))
        self.write_parts("counts", group.number, [table])

    def add_up(self, part: int) -> None:
        """Add up how often the words of a partition occur."""
        known: list[pa.Table] = []
        slices = self.read_slices("counts", part, self.totals.parts, _BYTES_OF_COUNT)
        totals = (self._add_up(counts, known) for counts in slices)
        if self.step.needs_totals:
            self.totals.write_parts("totals", part, totals)
        else:
            for _ in totals:
                pass
        self._write_known(part, known)

    def conclude(self, parts: int) -> None:
        """Combine the results of all partitions."""
        self._write_known(parts, [self.read("known", part) for part in range(parts)])

    def judge(self, removals: Group) -> None:
        """Write which rows of a group of shards are removed; `removals` are the files to write."""
        needs_totals = self.step.needs_totals
        total = self.totals.read_part("totals", removals.number, self.parts) if needs_totals else _NONE
        known = self.read("known", self.parts)
        for number, path in removals.numbered():
            words = self.read("words", number)["words"].combine_chunks()
            rows = np.flatnonzero(self.step.leave(words, _counts(total), _counts(known)))
            columns = {"row": rows, "turn": pa.nulls(len(rows)), "reason": [self.step.reason] * len(rows)}
            write_shard(path, pa.table(columns).cast(REMOVALS))

    def _count(self, number: int, path: Path) -> WordCounts:
        words = self.step.words(read_shard(path, list(self.step.columns)))
        values = words.flatten().cast(pa.string()).dictionary_encode()
        ends = pa.array(np.r_[0, np.cumsum(pc.list_value_length(words).to_numpy(zero_copy_only=False))], pa.int64())
        self.write("words", number, pa.table({"words": pa.LargeListArray.from_arrays(ends, values)}))
        return counted(values)

    def _add_up(self, counts: pa.Table, known: list[pa.Table]) -> pa.Table:
        """Return how often the words of a table occur, for each group that has them; extend `known`."""
        words = counts["word"].combine_chunks().dictionary_encode()
        places = words.indices.to_numpy()
        total = np.bincount(places, counts["count"].to_numpy(), len(words.dictionary))  # float64 is exact below 2**53
        total = total.astype(np.int64)
        known.append(_table(self.step.known(WordCounts(words.dictionary, total))))
        return pa.table({"word": counts["word"], "count": total[places], "key": counts["group"]})

    def _write_known(self, number: int, tables: Sequence[pa.Table]) -> None:
        self.write("known", number, _table(self.step.known(_counts(pa.concat_tables(tables)))))


def counted(words: pa.DictionaryArray) -> WordCounts:
    """Return how often each word occurs in an array; an empty string is not a word."""
    counts = np.bincount(words.indices.to_numpy(), minlength=len(words.dictionary))
    counts[pc.equal(words.dictionary, "").to_numpy(zero_copy_only=False)] = 0
    there = np.flatnonzero(counts)
    return WordCounts(words.dictionary.take(pa.array(there)), counts[there])


def _keys(words: pa.StringArray) -> pa.Array:
    return pa.array(map(crc32, words.cast(pa.binary()).to_pylist()), pa.uint32())


def _bytes(shard: Path) -> int:
    metadata = pq.read_metadata(shard)
    return sum(int(metadata.row_group(group).total_byte_size) for group in range(metadata.num_row_groups))


def _table(counts: WordCounts) -> pa.Table:
    return pa.table({"word": counts.words.cast(pa.string()), "count": pa.array(counts.counts, pa.int64())})


_NONE = _table(WordCounts(pa.array([], pa.string()), np.zeros(0, np.int64)))


def _counts(table: pa.Table) -> WordCounts:
    return WordCounts(table["word"].combine_chunks(), table["count"].to_numpy())
