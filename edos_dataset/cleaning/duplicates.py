"""What must be seen over the whole corpus: utterances that come too often, and dialogues that come twice.

How such a decision is parted and what memory it takes, `runs.partitions` says.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.arrays import Hashes, nest, unnest
from edos_dataset.cleaning.rejects import AfterRemoved, check_after_removed, cut_turns
from edos_dataset.cleaning.shingles import sketch
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.likeness import BYTES_A_HASH, Likeness, decide_alike
from edos_dataset.runs.partitions import PartitionedStep
from edos_dataset.runs.passage import count_rows, count_together
from edos_dataset.runs.pipeline import REMOVALS, Stage, Unit, check_ranges
from edos_dataset.schema.tables import KEY, REASON, keyed
from edos_dataset.text import hash64, normalise

DUPLICATE = "duplicate_dialogue"
"""Reason of a dialogue that says what another one says."""

_HASHES = 256
_LEAST = 8
_COLUMNS = ("dialogue_id", "turns.list.element.key")


@dataclass(frozen=True)
class KeyTurns(Stage):
    """Add to each turn the 64-bit hash of its normalised text, so that the corpus steps read 8 bytes a turn instead of
    the text.
    """

    name: ClassVar[str] = "keys"
    unit: ClassVar[Unit] = "turns"
    needs, gives = ("dialogue_id", "turns"), ("turns.key",)

    def __call__(self, table: pa.Table) -> pa.Table:
        """Give the turns of DIALOGUES their keys."""
        turns, offsets = unnest(table, "turns")
        keys = _hashes(normalise(text).encode() for text in turns.field("text").to_pylist()).view(np.int64)
        kind = keyed(turns.type)
        columns = {**{field.name: turns.field(field.name) for field in kind if field.name != KEY}, KEY: pa.array(keys)}
        return table.set_column(table.column_names.index("turns"), "turns", nest(offsets, kind, columns))


@dataclass(frozen=True)
class CapUtterances(PartitionedStep):
    """Keep at most `limit` occurrences of one utterance in the corpus (EDOS, Section 3; Xie & Pu, Appendix A).

    Utterances are compared after normalisation. Which occurrences stay is decided by a hash of the dialogue id and the
    place in it, so it depends neither on the order of the input nor on the shards. A removed turn ends its dialogue, as
    in cleaning.

    Args:
        limit: occurrences that stay, from 1 to 2,147,483,648.
        memory: bytes for a partition of the keys, from 88 to 1 TiB.
        after_removed: what becomes of what follows a removed turn, as in cleaning: "split" or "drop".
    """

    limit: int = 100
    memory: int = 1 << 30
    after_removed: AfterRemoved = "split"

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
        """Return key, order, row and turn of the turns that say one of the frequent utterances."""
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
        return cut_turns(table, codes, after_removed=self.after_removed)


@dataclass(frozen=True)
class DropDuplicates(PartitionedStep):
    """Keep one of the dialogues that say nearly the same.

    Compared are the different runs of four words that a dialogue says, whatever its turns are. Two are the same if they
    share `share` of what the shorter one says, and at least 8 runs; or all, where they have fewer. Dialogues of more
    than 259 words are judged by about 256 of their runs, those with the least hashes. The one stays that repeats more
    of its own words: the longer.

    Without `share` the first by dialogue id stays of dialogues whose turns are all the same after normalisation (OSED,
    Section 3).

    Args:
        share: of the shorter dialogue's runs that the other one must have, above 0 to 1; null compares turns (the
            papers).
        memory: bytes for a partition of the keys, from 1,500 to 1 TiB, beside about 400 bytes for each dialogue that
            has a copy and 100 for each copy.
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
        """Name the dialogues that leave."""
        if self.share is None:
            super().decide_together(shards, removals, folder, engine)
            return
        columns = ("dialogue_id", "language", "turns.list.element.text")
        likeness = Likeness(_sketches, columns, self.share, _LEAST, DUPLICATE, self.memory)
        decide_alike(likeness, count_together(_count_words, shards, folder, engine), shards, removals, folder, engine)

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
        """Return key, turns' keys, id and row of the dialogues whose hash comes again."""
        keys, (turn_keys, offsets) = _dialogue_keys(table), _turn_keys(table)
        rows = np.flatnonzero(np.isin(keys, frequent))
        exact = [turn_keys[offsets[row] : offsets[row + 1]].tobytes() for row in rows.tolist()]
        ids = table["dialogue_id"].take(pa.array(rows)).cast(pa.string()).combine_chunks()
        columns = {"key": keys[rows], "exact": pa.array(exact, pa.large_binary()), "dialogue_id": ids, "row": rows}
        return pa.table(columns)

    def surplus(self, occurrences: pa.Table) -> pa.Table:
        """Return the repeated dialogues, with the reason "duplicate_dialogue"."""
        exact = occurrences["exact"].to_pylist()  # equal 64 bits are not yet equal dialogues
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
    """Return the turns of a shard, from the Parquet footer alone."""
    return sum(chunk.num_values for chunk in _chunks(shard, "turns.list.element.key"))


def _count_words(shard: Path) -> int:
    """Return about how many words a shard has, from the footer alone."""
    return sum(int(chunk.total_uncompressed_size) for chunk in _chunks(shard, "turns.list.element.text")) // 5


def _chunks(shard: Path, path: str) -> Iterator[pq.ColumnChunkMetaData]:
    metadata = pq.read_metadata(shard)
    columns = [index for index in range(metadata.num_columns) if metadata.schema.column(index).path == path]
    for group in range(metadata.num_row_groups):
        yield metadata.row_group(group).column(columns[0])


def _hashes(texts: Iterable[bytes]) -> np.ndarray:
    return np.fromiter(map(hash64, texts), np.uint64)


def _turn_keys(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys of all turns, and the offsets of the dialogues in them."""
    turns, offsets = unnest(table, "turns")
    return turns.field("key").to_numpy().view(np.uint64), offsets


def _dialogue_keys(table: pa.Table) -> np.ndarray:
    keys, offsets = _turn_keys(table)
    return _hashes(keys[start:stop].tobytes() for start, stop in zip(offsets[:-1], offsets[1:], strict=True))


def _sketches(table: pa.Table) -> pa.Table:
    turns, offsets = unnest(table, "turns")
    texts = turns.field("text").to_pylist()
    dialogues = [" ".join(texts[start:stop]) for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]
    return sketch(dialogues, table["language"].to_pylist(), table["dialogue_id"].to_pylist(), _HASHES)
