"""The pool: unlabelled dialogues, and the turns in them that may get a label, each with its history."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TypeVar, overload

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Floats, Ints, unnest
from edos_dataset.augmentation.embeddings import Halves, VectorStore
from edos_dataset.augmentation.guards import Dialogues
from edos_dataset.labeling.stages import embedded_by, embeddings_of
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.shards import numbered, read_shard, write_shard, write_text

PIECE_TURNS = 10_000
"""Turns that are embedded at once: half a minute on one core, and about 40 MB of memory at 384 dimensions."""

_COLUMNS = ("dialogue_id", "turns", "embeddings", "embedded_by")

T = TypeVar("T")


class Rows(Sequence[T]):
    """A sequence whose members are computed on access.

    Args:
        length: number of members.
        member: returns the member with a given index, from 0.
    """

    def __init__(self, length: int, member: Callable[[int], T]) -> None:
        self._length, self._member = length, member

    def __len__(self) -> int:
        """Return the number of members."""
        return self._length

    @overload
    def __getitem__(self, row: int) -> T: ...

    @overload
    def __getitem__(self, row: slice) -> list[T]: ...

    def __getitem__(self, row: int | slice) -> T | list[T]:
        """Return a member, or a list of members."""
        if isinstance(row, slice):
            return [self._member(number) for number in range(*row.indices(self._length))]
        if not -self._length <= row < self._length:
            raise IndexError(row)
        return self._member(row % self._length)


@dataclass(frozen=True)
class Piece:
    """Some dialogues of the pool.

    Attributes:
        ids: [dialogues] their ids.
        turns: [turns] of schema.TURN, the turns of all dialogues.
        offsets: [dialogues + 1] position in `turns` at which each begins.
        rows: [candidates] positions of the turns that may get a label.
        vectors: [candidates, dim].
    """

    ids: pa.Array
    turns: pa.StructArray
    offsets: Ints
    rows: Ints
    vectors: Halves

    @cached_property
    def identity(self) -> str:
        """Digest of the dialogues, with the times of their turns, and of which turns are candidates."""
        table = pa.table({"ids": self.ids})
        sha256 = hashlib.sha256(np.asarray(self.offsets, "<i8").tobytes() + np.asarray(self.rows, "<i8").tobytes())
        for columns in (table, pa.Table.from_struct_array(self.turns)):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, columns.schema) as writer:
                writer.write_table(columns.combine_chunks())
            sha256.update(sink.getvalue())
        return sha256.hexdigest()


@dataclass(frozen=True)
class Pool:
    """Dialogues without labels.

    A candidate is a turn with its history; its id is the dialogue's id with the turn's number, from 1:
    `1977/76759/4#12@3`.

    Attributes:
        pieces: the dialogues, in the order of their sources.
        history: maximum number of earlier turns of a candidate; None for all.
    """

    pieces: list[Piece]
    history: int | None

    @cached_property
    def candidates(self) -> Dialogues:
        """Ids, turns and vectors of all candidates; ids and turns are computed on access, to save memory."""
        count = int(self._ends[-1])
        return Dialogues(
            Rows(count, self._name),
            Rows(count, lambda row: self.turns(row).field("text").to_pylist()),
            [piece.vectors for piece in self.pieces],
        )

    def turns(self, row: int) -> pa.StructArray:
        """Return a candidate's turns, oldest first, of schema.TURN."""
        piece, dialogue, turn = self._place(row)
        begin = int(piece.offsets[dialogue])
        first = begin if self.history is None else max(begin, turn - self.history)
        return piece.turns.slice(first, turn + 1 - first)

    @property
    def identity(self) -> str:
        """Digest of the pieces and the length of the history."""
        return hash_json([self.history, *(piece.identity for piece in self.pieces)])

    @cached_property
    def _ends(self) -> Ints:
        return np.cumsum([0, *(len(piece.rows) for piece in self.pieces)])

    def _place(self, row: int) -> tuple[Piece, int, int]:
        """Return the piece of a candidate, and the positions of its dialogue and its turn in that piece."""
        number = int(np.searchsorted(self._ends, row, side="right")) - 1
        piece = self.pieces[number]
        turn = int(piece.rows[row - self._ends[number]])
        return piece, int(np.searchsorted(piece.offsets, turn, side="right")) - 1, turn

    def _name(self, row: int) -> str:
        piece, dialogue, turn = self._place(row)
        return f"{piece.ids[dialogue].as_py()}@{turn - int(piece.offsets[dialogue]) + 1}"


@dataclass(frozen=True)
class Embedding:
    """Settings of the embedding of candidates, sent to workers with every task.

    Attributes:
        store: keeps the vectors.
        history: maximum number of earlier turns embedded with a turn; None for all.
        every_turn: whether every turn may get a label, or only the last one of each dialogue.
    """

    store: VectorStore
    history: int | None = 4
    every_turn: bool = True

    def __post_init__(self) -> None:
        """Check the history."""
        if self.history is not None and self.history < 0:
            raise ValueError(f"history must be 0 or more earlier turns, or none for all, got {self.history}")

    def piece(self, table: pa.Table) -> Piece | None:
        """Return the dialogues with the vectors of their candidates, or None if no dialogue has turns."""
        turns, offsets = unnest(table, "turns")
        filled = np.flatnonzero(np.diff(offsets))  # a dialogue without turns has nothing to label
        if not len(filled):
            return None
        ids = table["dialogue_id"].combine_chunks().take(pa.array(filled))
        offsets = np.append(offsets[filled], offsets[-1])
        there = embedded_by(table, self.store.encoder.identity)
        rows, vectors = self._vectors(turns.field("text").to_pylist(), offsets, embeddings_of(table) if there else None)
        return Piece(ids, turns, offsets, rows, vectors)

    def fill(self, path: Path) -> int:
        """Embed the piece in a file and return its number of turns; runs in a worker."""
        piece = self.piece(read_shard(path))
        return 0 if piece is None else len(piece.turns)

    def _vectors(self, texts: list[str], offsets: Ints, known: Floats | None) -> tuple[Ints, Halves]:
        """Return the rows of the candidates, and their vectors."""
        history = self.history
        if self.every_turn:
            return np.arange(len(texts)), self.store.in_context(texts, offsets, history, known)
        spans = [
            (start if history is None else max(start, end - 1 - history), end)
            for start, end in pairwise(offsets.tolist())
        ]
        if known is not None:
            known = np.concatenate([known[start:end] for start, end in spans])
        return offsets[1:] - 1, self.store.dialogues([texts[start:end] for start, end in spans], known)


def read_pool(
    tables: Iterable[pa.Table],
    embedding: Embedding,
    engine: Engine,
    progress: Callable[[int], object] = lambda turns: None,
) -> Pool:
    """Return the pool of some dialogues, with their candidates embedded.

    The engine's workers embed the pieces into the store, which also holds the pieces until then. The result does not
    depend on the engine or the number of workers.

    Args:
        tables: the dialogues (`dialogue_id` and `turns`), about PIECE_TURNS turns per table, read one table at a time
            and by the main process only. Embeddings by the store's encoder are taken from the columns `embeddings`
            and `embedded_by`, if there are any.
        embedding: how they are embedded.
        engine: where the pieces are embedded.
        progress: called with the number of turns done, after each piece.

    Returns:
        The pool; it has no pieces except in the main process.

    Raises:
        ValueError: the reader of the tables raises it.
        WorkerDied: a worker was killed.
    """
    folder = embedding.store.folder / "pool"
    listing = folder / "index.json"
    if engine.is_main:
        names = []
        for part in numbered(tables):
            wanted = [name for name in _COLUMNS if name in part.rows.column_names]
            write_shard(folder / f"{part.name}.parquet", part.rows.select(wanted))
            names.append(part.name)
        write_text(listing, json.dumps(names))
    engine.wait()
    paths = [folder / f"{name}.parquet" for name in json.loads(listing.read_text(encoding="utf-8"))]
    done = 0
    for turns in engine.map(embedding.fill, engine.share(paths)):
        done += turns
        progress(done)
    engine.wait()
    if not engine.is_main:
        return Pool([], embedding.history)
    pieces = [embedding.piece(read_shard(path)) for path in paths]
    shutil.rmtree(folder)
    return Pool([piece for piece in pieces if piece is not None], embedding.history)
