"""What must be seen over the whole corpus: utterances that come too often, and dialogues that come twice.

Both steps read the shards twice for each of `passes` ranges of the hash, so that a range fits in `memory` bytes; with the default budget one pass holds
about twenty million turns, more than the papers' whole corpus. Beside that they hold 12 bytes for each thing removed.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.cleaning.rules import cut_turns, normalise
from edos_dataset.pipeline import REMOVALS, CorpusStep, Unit
from edos_dataset.schema import unnest

_BYTES_A_KEY = 50  # the key, its sorted copy, and the location and order of the few that are frequent


def text_key(text: str) -> int:
    """Return a stable 64-bit hash of a text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


@dataclass(frozen=True)
class CapUtterances(CorpusStep):
    """Keep at most `limit` occurrences of one utterance in the corpus (EDOS, Section 3; Xie & Pu, Appendix A).

    Utterances are compared after normalisation. Which occurrences stay is decided by a hash of the dialogue id and the place in it, so it depends neither on
    the order of the input nor on the shards. A removed turn ends its dialogue, as in cleaning.

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
        surplus: dict[int, list[tuple[int, int]]] = {}
        for frequent, part, passes in _repeated(shards, _turn_keys, self.limit, self.memory):
            occurrences: dict[int, list[tuple[int, int, int, int]]] = {key: [] for key in frequent.tolist()}
            for index, shard in enumerate(shards):
                table = _read(shard)
                keys, (_, offsets) = _turn_keys(table), unnest(table, "turns")
                ids = table["dialogue_id"].to_pylist()
                for place in np.flatnonzero((keys % passes == part) & np.isin(keys, frequent)).tolist():
                    row = int(np.searchsorted(offsets, place, side="right")) - 1
                    turn = place - int(offsets[row])
                    occurrences[int(keys[place])].append((text_key(f"{ids[row]}/{turn}"), index, row, turn))
            for places in occurrences.values():
                for _, index, row, turn in sorted(places)[self.limit :]:
                    surplus.setdefault(index, []).append((row, turn))
        for index in range(len(shards)):
            places = sorted(surplus.get(index, []))
            yield _removals([row for row, _ in places], [turn for _, turn in places], "too_frequent")

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
        repeats: dict[int, list[int]] = {}
        for repeated, part, passes in _repeated(shards, _dialogue_keys, 1, self.memory):
            copies: dict[str, list[tuple[str, int, int]]] = {}
            for index, shard in enumerate(shards):
                table = _read(shard)
                keys, ids = _dialogue_keys(table), table["dialogue_id"].to_pylist()
                texts: list[str] | None = None
                for row in np.flatnonzero((keys % passes == part) & np.isin(keys, repeated)).tolist():
                    texts = texts or _dialogue_texts(table)  # equal hashes are not yet equal texts
                    copies.setdefault(texts[row], []).append((ids[row], index, row))
            for places in copies.values():
                for _, index, row in sorted(places)[1:]:
                    repeats.setdefault(index, []).append(row)
        for index in range(len(shards)):
            rows = sorted(repeats.get(index, []))
            yield _removals(rows, [None] * len(rows), "duplicate_dialogue")


def _repeated(
    shards: Sequence[Path], keys_of: Callable[[pa.Table], np.ndarray], limit: int, memory: int
) -> Iterator[tuple[np.ndarray, int, int]]:
    """Yield for each pass the keys that occur more than `limit` times, the number of the pass, and how many passes there are."""
    total = sum(_count_turns(shard) for shard in shards)
    passes = max(1, -(-total * _BYTES_A_KEY // memory))
    for part in range(passes):
        chosen = [keys[keys % passes == part] for keys in (keys_of(_read(shard)) for shard in shards)]
        keys, counts = np.unique(np.concatenate(chosen) if chosen else np.zeros(0, np.uint64), return_counts=True)
        yield keys[counts > limit], part, passes


def _count_turns(shard: Path) -> int:
    """Return the turns of a shard, an upper bound of its dialogues, from the Parquet footer alone."""
    metadata = pq.read_metadata(shard)
    texts = [index for index in range(metadata.num_columns) if metadata.schema.column(index).path == "turns.list.element.text"]
    return sum(metadata.row_group(group).column(texts[0]).num_values for group in range(metadata.num_row_groups))


def _read(shard: Path) -> pa.Table:
    with pq.ParquetFile(shard) as file:
        return file.read(columns=["dialogue_id", "turns.list.element.text"])


def _turn_keys(table: pa.Table) -> np.ndarray:
    turns, _ = unnest(table, "turns")
    return np.array([text_key(normalise(text)) for text in turns.field("text").to_pylist()], np.uint64)


def _dialogue_texts(table: pa.Table) -> list[str]:
    turns, offsets = unnest(table, "turns")
    texts = [normalise(text) for text in turns.field("text").to_pylist()]
    return ["\n".join(texts[start:stop]) for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]


def _dialogue_keys(table: pa.Table) -> np.ndarray:
    return np.array([text_key(text) for text in _dialogue_texts(table)], np.uint64)


def _removals(rows: list[int], turns: list[int] | list[None], reason: str) -> pa.Table:
    return pa.table({"row": rows, "turn": turns, "reason": [reason] * len(rows)}, schema=REMOVALS)
