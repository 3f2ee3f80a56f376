"""What must be seen over the whole corpus: utterances that come too often, and dialogues that come twice.

Both steps read the shards twice for each of `passes` ranges of the hash, so that a range fits in `memory` bytes; with
the default budget one pass holds about twelve million turns. Beside that they hold one shard's keys, 12 bytes for each
turn removed, and for dialogues about 400 bytes for each that has a copy and 100 for each copy.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.arrays import nest, unnest
from edos_dataset.cleaning.rules import cut_turns, normalise
from edos_dataset.runs.pipeline import REMOVALS, CorpusStep, Stage, Unit
from edos_dataset.runs.shards import read_shard
from edos_dataset.schema import KEYED_TURN, TURN

# measured: 49 for keys, their copies and counts; 88 if every turn is frequent: key, order, place, and the sorting of
# these
_BYTES_A_KEY = 88
_PLACE = np.dtype([("shard", np.int32), ("row", np.int32), ("turn", np.int32)])


def hash64(data: bytes) -> int:
    """Return a stable 64-bit hash, 0 to 2**64 - 1."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


@dataclass(frozen=True)
class KeyTurns(Stage):
    """Add to each turn the 64-bit hash of its normalised text, so that the corpus steps read 8 bytes a turn instead of
    the text.
    """

    name: ClassVar[str] = "keys"
    unit: ClassVar[Unit] = "turns"

    def __call__(self, table: pa.Table) -> pa.Table:
        """Give the turns of DIALOGUES their keys."""
        turns, offsets = unnest(table, "turns")
        keys = _hashes(normalise(text).encode() for text in turns.field("text").to_pylist()).view(np.int64)
        columns = {**{field.name: turns.field(field.name) for field in TURN}, "key": pa.array(keys)}
        return table.set_column(table.column_names.index("turns"), "turns", nest(offsets, KEYED_TURN, columns))


@dataclass(frozen=True)
class CapUtterances(CorpusStep):
    """Keep at most `limit` occurrences of one utterance in the corpus (EDOS, Section 3; Xie & Pu, Appendix A).

    Utterances are compared after normalisation. Which occurrences stay is decided by a hash of the dialogue id and the
    place in it, so it depends neither on the order of the input nor on the shards. A removed turn ends its dialogue, as
    in cleaning.

    Args:
        limit: occurrences that stay, from 1.
        memory: bytes for the keys of one pass.
    """

    limit: int = 100
    memory: int = 1 << 30

    name: ClassVar[str] = "cap"
    unit: ClassVar[Unit] = "turns"

    def decide(self, shards: Sequence[Path]) -> Iterator[pa.Table]:
        """Yield the surplus turns of each shard, with the reason "too_frequent"."""
        surplus = [np.zeros(0, _PLACE)]
        for frequent in _repeated(shards, lambda table: _turn_keys(table)[0], self.limit, self.memory):
            found = [(np.zeros(0, np.uint64), np.zeros(0, np.uint64), np.zeros(0, _PLACE))]
            found += [_occurrences(shard, index, frequent) for index, shard in enumerate(shards)]
            keys, orders, places = (np.concatenate(column) for column in zip(*found, strict=True))
            del found
            ranking = np.lexsort((orders, keys))
            keys = keys[ranking]
            rank = np.arange(len(keys)) - np.searchsorted(keys, keys)  # among the occurrences of the same utterance
            surplus.append(places[ranking[rank >= self.limit]])
        for places in _by_shard(np.concatenate(surplus), len(shards)):
            yield _removals(places["row"].tolist(), places["turn"].tolist(), "too_frequent")

    def apply(self, table: pa.Table, removals: pa.Table) -> pa.Table:
        """Cut the dialogues at the surplus turns."""
        turns, offsets = unnest(table, "turns")
        codes: list[str | None] = [None] * len(turns)
        for row, turn, reason in zip(*(removals[column].to_pylist() for column in REMOVALS.names), strict=True):
            codes[offsets[row] + turn] = reason
        return cut_turns(table, codes)


@dataclass(frozen=True)
class DropDuplicates(CorpusStep):
    """Keep the first by dialogue id of dialogues whose turns are all the same after normalisation (OSED, Section 3).

    Args:
        memory: bytes for the keys of one pass.
    """

    memory: int = 1 << 30

    name: ClassVar[str] = "duplicates"
    unit: ClassVar[Unit] = "dialogues"

    def decide(self, shards: Sequence[Path]) -> Iterator[pa.Table]:
        """Yield the repeated dialogues of each shard, with the reason "duplicate_dialogue"."""
        repeats: list[tuple[int, int, int]] = []
        for repeated in _repeated(shards, _dialogue_keys, 1, self.memory):
            first: dict[bytes, tuple[str, int, int]] = {}
            for index, shard in enumerate(shards):
                table = _read(shard)
                keys, (turn_keys, offsets) = _dialogue_keys(table), _turn_keys(table)
                for row in np.flatnonzero(np.isin(keys, repeated)).tolist():
                    exact = turn_keys[
                        offsets[row] : offsets[row + 1]
                    ].tobytes()  # equal 64 bits are not yet equal dialogues
                    this = (table["dialogue_id"][row].as_py(), index, row)
                    first[exact], *later = sorted({this, first.get(exact, this)})
                    repeats += [(shard_index, place, -1) for _, shard_index, place in later]
        for places in _by_shard(np.array(repeats, _PLACE), len(shards)):
            yield _removals(places["row"].tolist(), [None] * len(places), "duplicate_dialogue")


def _occurrences(shard: Path, index: int, frequent: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return key, order and place of the turns of a shard that say one of the frequent utterances."""
    table = _read(shard)
    keys, offsets = _turn_keys(table)
    chosen = np.flatnonzero(np.isin(keys, frequent))
    places = np.empty(len(chosen), _PLACE)
    places["shard"] = index
    places["row"] = np.searchsorted(offsets, chosen, side="right") - 1
    places["turn"] = chosen - offsets[places["row"]]
    ids = table["dialogue_id"].take(pa.array(places["row"])).to_pylist()
    orders = _hashes(
        f"{dialogue_id}/{turn}".encode() for dialogue_id, turn in zip(ids, places["turn"].tolist(), strict=True)
    )
    return keys[chosen], orders, places


def _by_shard(places: np.ndarray, shards: int) -> Iterator[np.ndarray]:
    """Sort places and part them by their shard."""
    places = places[np.lexsort((places["turn"], places["row"], places["shard"]))]
    borders = np.searchsorted(places["shard"], np.arange(shards + 1))
    return (places[start:stop] for start, stop in zip(borders[:-1], borders[1:], strict=True))


def _repeated(
    shards: Sequence[Path], keys_of: Callable[[pa.Table], np.ndarray], limit: int, memory: int
) -> Iterator[np.ndarray]:
    """Yield the keys that occur more than `limit` times, in as many ranges, one after the other, as the memory demands."""
    total = sum(_count_turns(shard) for shard in shards)
    passes = max(1, -(-total * _BYTES_A_KEY // memory))
    for part in range(passes):
        chosen = [np.zeros(0, np.uint64)]
        chosen += [keys[keys % passes == part] for keys in (keys_of(_read(shard)) for shard in shards)]
        keys, counts = np.unique(np.concatenate(chosen), return_counts=True)
        frequent = keys[counts > limit]
        del chosen, keys, counts
        yield frequent


def _count_turns(shard: Path) -> int:
    """Return the turns of a shard, an upper bound of its dialogues, from the Parquet footer alone."""
    metadata = pq.read_metadata(shard)
    keys = [
        index for index in range(metadata.num_columns) if metadata.schema.column(index).path == "turns.list.element.key"
    ]
    return sum(metadata.row_group(group).column(keys[0]).num_values for group in range(metadata.num_row_groups))


def _read(shard: Path) -> pa.Table:
    return read_shard(shard, ["dialogue_id", "turns.list.element.key"])


def _hashes(texts: Iterable[bytes]) -> np.ndarray:
    return np.fromiter(map(hash64, texts), np.uint64)


def _turn_keys(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys of all turns, and the offsets of the dialogues in them."""
    turns, offsets = unnest(table, "turns")
    return turns.field("key").to_numpy().view(np.uint64), offsets


def _dialogue_keys(table: pa.Table) -> np.ndarray:
    keys, offsets = _turn_keys(table)
    return _hashes(keys[start:stop].tobytes() for start, stop in zip(offsets[:-1], offsets[1:], strict=True))


def _removals(rows: list[int], turns: list[int] | list[None], reason: str) -> pa.Table:
    return pa.table({"row": rows, "turn": turns, "reason": [reason] * len(rows)}, schema=REMOVALS)
