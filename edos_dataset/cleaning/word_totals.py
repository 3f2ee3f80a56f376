"""What the corpus steps share that judge by the words of the whole corpus, in three rounds of all workers.

1. Each group of shards counts its words, parted by a hash of the word;
2. each partition adds up how often its words come in all, and lets each group know that of the group's words;
3. each group of shards is judged by it.

Memory: a worker holds the words of a group of shards, or the counts of a partition; the process that leads holds paths
alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.arrays import Bools
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.partitions import SharedStep
from edos_dataset.runs.passage import Group, Passage, carry_out, count_together, groups_of, partitions_for
from edos_dataset.runs.pipeline import REMOVALS
from edos_dataset.runs.removals import nothing_leaves
from edos_dataset.runs.shards import read_shard, write_shard
from edos_dataset.segmentation.books.papers_words import WordCounts, add_up

_BYTES_A_WORD = 64  # of a shard, for each of its different words: four novels have 60,000
_BYTES_OF_COUNT = 120  # that is taken for a word of a group
_SMALL = 4  # so many times as many partitions as memory allows: none takes more than a shard
_MEMORY = 1 << 30


@dataclass(frozen=True)
class VocabularyStep(SharedStep):
    """A step that judges rows by their words and those of all rows."""

    columns: ClassVar[tuple[str, ...]]
    """Parquet columns that it reads."""
    reason: ClassVar[str]
    asks: ClassVar[bool]
    """Whether it takes to judge how often the words of a row come in the corpus, or `known` alone."""

    @property
    def idle(self) -> bool:
        """Whether its parameters let all rows stay."""
        raise TypeError(f"{type(self).__name__} defines no idle")

    def words(self, table: pa.Table) -> pa.Array:
        """Return the words of a shard, a list a row."""
        raise TypeError(f"{type(self).__name__} defines no words")

    def known(self, counts: WordCounts) -> WordCounts:
        """Return what it takes to judge of a part of the corpus's words; or of what is known of all parts, together."""
        raise TypeError(f"{type(self).__name__} defines no known")

    def leave(self, words: pa.Array, total: WordCounts, known: WordCounts) -> Bools:
        """Tell which rows leave.

        Args:
            words: of a shard, a list a row, in a dictionary.
            total: how often they, and perhaps others, come in the corpus; empty where the step doesn't ask.
            known: of all words of the corpus.
        """
        raise TypeError(f"{type(self).__name__} defines no leave")

    def decide_together(self, shards: Sequence[Path], removals: Sequence[Path], folder: Path, engine: Engine) -> None:
        """Name the rows that leave."""
        if self.idle or not shards:
            nothing_leaves(removals, engine)
            return
        size = count_together(_bytes, shards, folder, engine)
        parts = partitions_for(size // _BYTES_A_WORD, _SMALL * _BYTES_OF_COUNT, _MEMORY)
        groups = groups_of(shards)
        job = _Job(parts, folder, self, Passage(len(groups), folder))
        carry_out(engine, job.count, groups)
        carry_out(engine, job.add_up, range(parts))
        carry_out(engine, job.conclude, [parts])
        carry_out(engine, job.judge, groups_of(removals))


@dataclass(frozen=True)
class _Job(Passage):
    """The tasks of a decision; each reads files that earlier ones wrote, and writes one or two.

    Attributes:
        told: what the partitions let the groups know.
    """

    step: VocabularyStep
    told: Passage

    def count(self, group: Group) -> None:
        """Part and count the words of a group of shards."""
        counts = add_up(self._count(number, path) for number, path in group.numbered())
        groups = pa.array(np.full(len(counts.words), group.number, np.uint32))
        table = _table(counts).append_column("group", groups).append_column("key", _keys(counts.words))
        self.write_parts("counts", group.number, [table])

    def add_up(self, part: int) -> None:
        """Add up how often the words of a partition come."""
        known: list[pa.Table] = []
        slices = self.read_slices("counts", part, self.told.parts, _BYTES_OF_COUNT)
        told = (self._add_up(counts, known) for counts in slices)
        if self.step.asks:
            self.told.write_parts("told", part, told)
        else:
            for _ in told:
                pass
        self._write_known(part, known)

    def conclude(self, parts: int) -> None:
        """Put what is known of all partitions together."""
        self._write_known(parts, [self.read("known", part) for part in range(parts)])

    def judge(self, removals: Group) -> None:
        """Write which rows of the shards of a group leave, given by where to."""
        total = self.told.read_part("told", removals.number, self.parts) if self.step.asks else _NONE
        known = self.read("known", self.parts)
        for number, path in removals.numbered():
            words = self.read("words", number)["words"].combine_chunks()
            rows = np.flatnonzero(self.step.leave(words, _counts(total), _counts(known)))
            columns = {"row": rows, "turn": pa.nulls(len(rows)), "reason": [self.step.reason] * len(rows)}
            write_shard(path, pa.table(columns).cast(REMOVALS))

    def _count(self, number: int, path: Path) -> WordCounts:
        """Count the words of a shard, and keep them."""
        words = self.step.words(read_shard(path, list(self.step.columns)))
        values = words.flatten().cast(pa.string()).dictionary_encode()
        ends = pa.array(np.r_[0, np.cumsum(pc.list_value_length(words).to_numpy(zero_copy_only=False))], pa.int64())
        self.write("words", number, pa.table({"words": pa.LargeListArray.from_arrays(ends, values)}))
        return counted(values)

    def _add_up(self, counts: pa.Table, known: list[pa.Table]) -> pa.Table:
        """Return how often the words of a table come, for each group that has them; add to what is known."""
        words = counts["word"].combine_chunks().dictionary_encode()
        places = words.indices.to_numpy()
        total = np.bincount(places, counts["count"].to_numpy(), len(words.dictionary))  # float64: whole below 2**53
        total = total.astype(np.int64)
        known.append(_table(self.step.known(WordCounts(words.dictionary, total))))
        return pa.table({"word": counts["word"], "count": total[places], "key": counts["group"]})

    def _write_known(self, number: int, tables: Sequence[pa.Table]) -> None:
        self.write("known", number, _table(self.step.known(_counts(pa.concat_tables(tables)))))


def counted(words: pa.DictionaryArray) -> WordCounts:
    """Return how often each word stands in an array; an empty one is none."""
    counts = np.bincount(words.indices.to_numpy(), minlength=len(words.dictionary))
    counts[pc.equal(words.dictionary, "").to_numpy(zero_copy_only=False)] = 0
    there = np.flatnonzero(counts)
    return WordCounts(words.dictionary.take(pa.array(there)), counts[there])


def _keys(words: pa.StringArray) -> pa.Array:
    return pa.array(map(crc32, words.cast(pa.binary()).to_pylist()), pa.uint32())


def _bytes(shard: Path) -> int:
    """Return the size of a shard before compression, from its footer alone."""
    metadata = pq.read_metadata(shard)
    return sum(int(metadata.row_group(group).total_byte_size) for group in range(metadata.num_row_groups))


def _table(counts: WordCounts) -> pa.Table:
    return pa.table({"word": counts.words.cast(pa.string()), "count": pa.array(counts.counts, pa.int64())})


_NONE = _table(WordCounts(pa.array([], pa.string()), np.zeros(0, np.int64)))


def _counts(table: pa.Table) -> WordCounts:
    return WordCounts(table["word"].combine_chunks(), table["count"].to_numpy())
