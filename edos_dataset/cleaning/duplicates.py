"""Corpus steps that remove too frequent utterances, and near-duplicate dialogues, films and books.

`runs.partitions` describes how such a step is split among workers, and how much memory it takes.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.arrays import Hashes, nest, unnest
from edos_dataset.cleaning.rejects import AfterRemoved, check_after_removed, cut_turns, shelter
from edos_dataset.cleaning.shingles import sketch
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.near_duplicates import BYTES_A_HASH, NearDuplicates, decide_near_duplicates
from edos_dataset.runs.partitions import PartitionedStep, SharedStep
from edos_dataset.runs.pipeline import REMOVALS, Stage, Unit, check_ranges
from edos_dataset.runs.shuffle import count_rows, count_together, remove_nothing
from edos_dataset.schema.tables import DETAIL, KEPT_FILE, KEY, REASON, keyed
from edos_dataset.sources.documents import left_out_files, rejected_books
from edos_dataset.text import hash64, normalise

DUPLICATE = "duplicate_dialogue"
"""Reason for a near-duplicate of another dialogue."""

SAME_FILM, SAME_BOOK = "same_film", "same_book"
"""Reasons for a film or a book that is a near-duplicate of a better one."""

_HASHES_OF_DIALOGUE, _LEAST_OF_DIALOGUE = 256, 8
_HASHES_OF_DOCUMENT, _LEAST_OF_DOCUMENT = 512, 50
_COLUMNS = ("dialogue_id", "turns.list.element.key")


@dataclass(frozen=True)
class KeyTurns(Stage):
    """Add the 64-bit hash of its normalised text to each turn, so that corpus steps read 8 bytes, not the text."""

    name: ClassVar[str] = "keys"
    unit: ClassVar[Unit] = "turns"
    needs, gives = ("dialogue_id", "turns"), ("turns.key",)

    def __call__(self, table: pa.Table) -> pa.Table:
        """Add the keys to the turns of DIALOGUES."""
        turns, offsets = unnest(table, "turns")
        keys = _hashes(normalise(text).encode() for text in turns.field("text").to_pylist()).view(np.int64)
        kind = keyed(turns.type)
        columns = {**{field.name: turns.field(field.name) for field in kind if field.name != KEY}, KEY: pa.array(keys)}
        return table.set_column(table.column_names.index("turns"), "turns", nest(offsets, kind, columns))


@dataclass(frozen=True)
class CapUtterances(PartitionedStep):
    """Keep at most `limit` occurrences of one utterance in the corpus (EDOS, Section 3; Xie & Pu, Appendix A).

    Utterances are compared after normalisation. A hash of the dialogue id and the position in it decides which
    occurrences stay, so the result depends neither on the order of the input nor on the shards. A removed turn ends its
    dialogue, as in cleaning.

    Args:
        limit: number of occurrences that stay, from 1 to 2,147,483,648.
        memory: bytes for a partition of the keys, from 88 to 1 TiB.
        after_removed: what happens to the turns after a removed one, as in cleaning: "split" or "drop".
        whole_blocks: whether a surplus occurrence stays if its block has another turn that stays: two people in a block
            answer each other. Such occurrences are then kept in addition to `limit`.
    """

    limit: int = 100
    memory: int = 1 << 30
    after_removed: AfterRemoved = "split"
    whole_blocks: bool = False

    name: ClassVar[str] = "cap"
    unit: ClassVar[Unit] = "turns"
    needs, gives = ("dialogue_id", "turns.key"), ()
    columns: ClassVar[tuple[str, ...]] = _COLUMNS
    bytes_a_unit: ClassVar[int] = 88  # if every turn is frequent: key, order, place, and the sorting of these

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_ranges(self, limit=(1, 1 << 31), memory=(self.bytes_a_unit, 1 << 40))
        check_after_removed(self.after_removed)

    @property
    def limit_of_key(self) -> int:
        """Occurrences of one utterance that stay."""
        return self.limit

    @property
    def partition_bytes(self) -> int:
        """Bytes for a partition."""
        return self.memory

    def count(self, shard: Path) -> int:
        """Return the number of turns."""
        return _count_turns(shard)

    def keys(self, table: pa.Table) -> Hashes:
        """Return the keys of the turns."""
        return _turn_keys(table)[0]

    def occurrences(self, table: pa.Table, frequent: Hashes) -> pa.Table:
        """Return key, order, row and turn of the occurrences of frequent utterances."""
        keys, offsets = _turn_keys(table)
        chosen = np.flatnonzero(np.isin(keys, frequent))
        rows = np.searchsorted(offsets, chosen, side="right") - 1
        turns = chosen - offsets[rows]
        ids = table["dialogue_id"].take(pa.array(rows)).to_pylist()
        orders = _hashes(
            f"{dialogue_id}/{turn}".encode() for dialogue_id, turn in zip(ids, turns.tolist(), strict=True)
        )
        return pa.table({"key": keys[chosen], "order": orders, "row": rows, "turn": turns})

    def surplus(self, occurrences: pa.Table) -> pa.Table:
        """Return the occurrences above the limit, with the reason "too_frequent"."""
        keys = occurrences["key"].to_numpy()
        ranking = np.lexsort((occurrences["order"].to_numpy(), keys))
        keys = keys[ranking]
        rank = np.arange(len(keys)) - np.searchsorted(keys, keys)  # among the occurrences of the same utterance
        return _with_reason(occurrences.take(pa.array(ranking[rank >= self.limit])), "too_frequent")

    def apply(self, table: pa.Table, removals: pa.Table) -> pa.Table:
        """Cut the dialogues at the surplus turns."""
        turns, offsets = unnest(table, "turns")
        codes: list[str | None] = [None] * len(turns)
        for row, turn, reason in zip(*(removals[column].to_pylist() for column in REMOVALS.names), strict=True):
            codes[offsets[row] + turn] = reason
        reasons = pa.array(codes, pa.string())
        return cut_turns(table, shelter(table, reasons) if self.whole_blocks else reasons, (), self.after_removed)


@dataclass(frozen=True)
class DropDuplicates(PartitionedStep):
    """Keep one of the dialogues that are near-duplicates of each other.

    Dialogues are compared by their distinct runs of four words, regardless of turns. Two are the same if they have the
    fraction `share` of the shorter one's runs in common, and at least 8 runs; or all, if they have fewer. Dialogues of
    more than 259 words are judged by about 256 of their runs, those with the smallest hashes. The one that repeats more
    of its own words stays, which is the longer one.

    Without `share`, of dialogues whose turns are all equal after normalisation, the first by dialogue id stays (OSED,
    Section 3).

    Args:
        share: fraction of the shorter dialogue's runs that the other one must have, above 0 to 1; null compares turns
            (the papers).
        memory: bytes for a partition of the keys, from 1,500 to 1 TiB, in addition to about 400 bytes for each dialogue
            with a copy and 100 for each copy.
    """

    share: float | None = 0.7
    memory: int = 1 << 30

    name: ClassVar[str] = "duplicates"
    unit: ClassVar[Unit] = "dialogues"
    needs, gives = ("dialogue_id", "turns.key"), ()
    columns: ClassVar[tuple[str, ...]] = _COLUMNS
    bytes_a_unit: ClassVar[int] = 49  # keys, their copies and counts

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_ranges(self, share=(1e-3, 1), memory=(BYTES_A_HASH, 1 << 40))

    def decide_together(self, shards: Sequence[Path], removals: Sequence[Path], folder: Path, engine: Engine) -> None:
        """Write which dialogues are removed."""
        if self.share is None:
            super().decide_together(shards, removals, folder, engine)
            return
        columns = ("dialogue_id", "language", "turns.list.element.text")
        comparison = NearDuplicates(_sketches, columns, self.share, _LEAST_OF_DIALOGUE, DUPLICATE, self.memory)
        decide_near_duplicates(
            comparison, count_together(_count_words, shards, folder, engine), shards, removals, folder, engine
        )

    @property
    def limit_of_key(self) -> int:
        """One of equal dialogues stays."""
        return 1

    @property
    def partition_bytes(self) -> int:
        """Bytes for a partition."""
        return self.memory

    def count(self, shard: Path) -> int:
        """Return the number of dialogues."""
        return count_rows(shard)

    def keys(self, table: pa.Table) -> Hashes:
        """Return a hash of each dialogue's keys."""
        return _dialogue_keys(table)

    def occurrences(self, table: pa.Table, frequent: Hashes) -> pa.Table:
        """Return key, turns' keys, id and row of the dialogues whose hash occurs again."""
        keys, (turn_keys, offsets) = _dialogue_keys(table), _turn_keys(table)
        rows = np.flatnonzero(np.isin(keys, frequent))
        exact = [turn_keys[offsets[row] : offsets[row + 1]].tobytes() for row in rows.tolist()]
        ids = table["dialogue_id"].take(pa.array(rows)).cast(pa.string()).combine_chunks()
        columns = {"key": keys[rows], "exact": pa.array(exact, pa.large_binary()), "dialogue_id": ids, "row": rows}
        return pa.table(columns)

    def surplus(self, occurrences: pa.Table) -> pa.Table:
        """Return the repeated dialogues, with the reason "duplicate_dialogue"."""
        exact = occurrences["exact"].to_pylist()  # equal 64-bit hashes do not guarantee equal dialogues
        places = list(zip(*(occurrences[name].to_pylist() for name in ("dialogue_id", "shard", "row")), strict=True))
        first: dict[bytes, int] = {}
        repeats = []
        for place in sorted(range(len(exact)), key=places.__getitem__):
            if first.setdefault(exact[place], place) != place:
                repeats.append(place)
        repeated = occurrences.take(pa.array(repeats, pa.int64()))
        return _with_reason(repeated.append_column("turn", pa.nulls(len(repeated), pa.int32())), DUPLICATE)


def _with_reason(places: pa.Table, reason: str) -> pa.Table:
    return places.append_column(REASON, pa.array([reason] * len(places), pa.string()))


def _count_turns(shard: Path) -> int:
    return sum(chunk.num_values for chunk in _chunks(shard, "turns.list.element.key"))


def _count_words(shard: Path) -> int:
    return sum(int(chunk.total_uncompressed_size) for chunk in _chunks(shard, "turns.list.element.text")) // 5


def _chunks(shard: Path, path: str) -> Iterator[pq.ColumnChunkMetaData]:
    metadata = pq.read_metadata(shard)
    columns = [index for index in range(metadata.num_columns) if metadata.schema.column(index).path == path]
    for group in range(metadata.num_row_groups):
        yield metadata.row_group(group).column(columns[0])


def _hashes(texts: Iterable[bytes]) -> np.ndarray:
    return np.fromiter(map(hash64, texts), np.uint64)


def _turn_keys(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    turns, offsets = unnest(table, "turns")
    return turns.field("key").to_numpy().view(np.uint64), offsets


def _dialogue_keys(table: pa.Table) -> np.ndarray:
    keys, offsets = _turn_keys(table)
    return _hashes(keys[start:stop].tobytes() for start, stop in zip(offsets[:-1], offsets[1:], strict=True))


def _sketches(table: pa.Table) -> pa.Table:
    turns, offsets = unnest(table, "turns")
    texts = turns.field("text").to_pylist()
    dialogues = [" ".join(texts[start:stop]) for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]
    return sketch(dialogues, table["language"].to_pylist(), table["dialogue_id"].to_pylist(), _HASHES_OF_DIALOGUE)


@dataclass(frozen=True)
class _DropSame(SharedStep):
    """Keep one of the documents that are near-duplicates of each other; see `DropSameFilms`."""

    share: float | None = 0.3
    memory: int = 1 << 30

    unit: ClassVar[Unit] = "files"
    gives: ClassVar[tuple[str, ...] | None] = ()
    reason: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_ranges(self, share=(1e-3, 1), memory=(BYTES_A_HASH, 1 << 40))

    @staticmethod
    @abstractmethod
    def texts(table: pa.Table) -> list[str]:
        """Return the text of each document."""

    def decide_together(self, shards: Sequence[Path], removals: Sequence[Path], folder: Path, engine: Engine) -> None:
        """Write which documents are removed."""
        if self.share is None:
            remove_nothing(removals, engine)
            return
        columns = ("document_id", "language", *self.columns)
        comparison = NearDuplicates(
            self.sketches, columns, self.share, _LEAST_OF_DOCUMENT, self.reason, self.memory, "source.path"
        )
        documents = count_together(count_rows, shards, folder, engine)
        decide_near_duplicates(comparison, documents * _HASHES_OF_DOCUMENT, shards, removals, folder, engine)

    def apply(self, table: pa.Table, removals: pa.Table) -> pa.Table:
        """Return the documents of a shard with the columns `reason`, `detail` and `kept_file`."""
        kept, details = (np.full(table.num_rows, None, dtype=object) for _ in range(2))
        if "kept" in removals.column_names:  # not if all stay
            rows = removals["row"].to_numpy()
            paths = pc.struct_field(table["source"], "path").take(removals["row"]).to_pylist()
            kept[rows] = removals["kept"].to_pylist()
            details[rows] = [f"{path}: near-duplicate of {kept[row]}" for path, row in zip(paths, rows, strict=True)]
        columns = {DETAIL: pa.array(details, pa.string()), KEPT_FILE: pa.array(kept, pa.string())}
        table = super().apply(table, removals)
        for name, values in columns.items():
            table = table.append_column(name, values)
        return table

    def left_out(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Return the documents that were removed."""
        return left_out_files(rejected, (self.reason,))

    def sketches(self, table: pa.Table) -> pa.Table:
        """Return the MinHash signatures of a shard's documents."""
        languages, ids = table["language"].to_pylist(), table["document_id"].to_pylist()
        return sketch(self.texts(table), languages, ids, _HASHES_OF_DOCUMENT)


@dataclass(frozen=True)
class DropSameFilms(_DropSame):
    """Keep one of the documents that are near-duplicates of each other: a film under two names, from two rips, or a
    part of it.

    Documents of one language are compared by their distinct runs of four words, so times, line breaks and turns don't
    matter, and damaged letters affect only the runs that contain them. Two documents are the same film if they have the
    fraction `share` of the shorter one's runs in common, and at least 50 runs, or all. They are judged by about 512
    runs of each, those with the smallest hashes, so a part of less than about a sixtieth of a film is not found. The
    document that repeats more of its own words stays: it is longer, or less damaged. The split of a film depends on its
    name, so without this step its copies could be in several splits.

    Args:
        share: fraction of the shorter document's runs that the other one must have, above 0 to 1; null keeps all films.
            Two rips have 0.98 or more in common, two independent transcripts of one episode 0.46 or more, two episodes
            of one show 0.02, an episode that shows scenes of others up to 0.2 (evaluation/same_films.json).
        memory: bytes for a partition of the hashes, from 1,500 to 1 TiB.
    """

    share: float | None = 0.3
    memory: int = 1 << 30

    name: ClassVar[str] = "films"
    needs: ClassVar[tuple[str, ...]] = ("sentences",)
    reason: ClassVar[str] = SAME_FILM
    columns: ClassVar[tuple[str, ...]] = ("sentences.list.element.text",)

    @staticmethod
    def texts(table: pa.Table) -> list[str]:
        """Return the text of each film."""
        return _joined(table, "sentences")


@dataclass(frozen=True)
class DropSameBooks(_DropSame):
    """Keep one of the books that are near-duplicates of each other: one under two names, in two editions, or a part of
    a collection.

    It works like `DropSameFilms`, over READ_BOOKS, which has texts for the recipe `papers` and blocks for the others.

    Args:
        share: fraction of the shorter book's runs that the other one must have, above 0 to 1; null keeps all books. Two
            editions of Alice have 0.998 in common; no two different books in seven languages have more than 0.04
            (evaluation/same_books.json).
        memory: bytes for a partition of the hashes, from 1,500 to 1 TiB.
    """

    name: ClassVar[str] = "same_books"
    needs: ClassVar[tuple[str, ...]] = ("blocks", "text")
    reason: ClassVar[str] = SAME_BOOK
    columns: ClassVar[tuple[str, ...]] = ("text", "blocks.list.element.text")

    def notes(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Return the books that were removed."""
        return rejected_books(rejected)

    @staticmethod
    def texts(table: pa.Table) -> list[str]:
        """Return the text of each book."""
        plain = table["text"].to_pylist()
        return [text or blocks for text, blocks in zip(plain, _joined(table, "blocks"), strict=True)]


def _joined(table: pa.Table, column: str) -> list[str]:
    parts, offsets = unnest(table, column)
    texts = parts.field("text").to_pylist()
    return [" ".join(texts[start:stop]) for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]
