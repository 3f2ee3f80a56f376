"""The pool: dialogues without labels, and in them every turn that may get one, with its history."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar, overload

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Ints, unnest
from edos_dataset.augmentation.embeddings import Halves, VectorStore
from edos_dataset.augmentation.guards import Dialogues
from edos_dataset.runs.fingerprints import hash_json

PIECE_TURNS = 50_000
"""Turns that are embedded, and kept, at a time: about 200 MB of memory for 384 dimensions."""

T = TypeVar("T")


class Rows(Sequence[T]):
    """A sequence whose members are made when they are asked for.

    Args:
        length: how many there are.
        member: gives the one of a number, from 0.
    """

    def __init__(self, length: int, member: Callable[[int], T]) -> None:
        self._length, self._member = length, member

    def __len__(self) -> int:
        """Return how many there are."""
        return self._length

    @overload
    def __getitem__(self, row: int) -> T: ...

    @overload
    def __getitem__(self, row: slice) -> list[T]: ...

    def __getitem__(self, row: int | slice) -> T | list[T]:
        """Make one, or some."""
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
        turns: [turns] of schema.TURN, those of all dialogues.
        offsets: [dialogues + 1] where in `turns` each begins.
        rows: [candidates] which of the turns may get a label.
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

    A candidate is a turn with its history; its id is that of the dialogue with the turn's number, from 1:
    `1977/76759/4#12@3`.

    Attributes:
        pieces: the dialogues, in the order of their sources.
        history: earlier turns that a candidate has at most; None for all.
    """

    pieces: list[Piece]
    history: int | None

    @cached_property
    def candidates(self) -> Dialogues:
        """Ids, turns and vectors of all candidates; ids and turns are made when they are asked for, so that those of
        millions take no memory.
        """
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
        """Return the piece of a candidate, and there the numbers of its dialogue and its turn."""
        number = int(np.searchsorted(self._ends, row, side="right")) - 1
        piece = self.pieces[number]
        turn = int(piece.rows[row - self._ends[number]])
        return piece, int(np.searchsorted(piece.offsets, turn, side="right")) - 1, turn

    def _name(self, row: int) -> str:
        piece, dialogue, turn = self._place(row)
        return f"{piece.ids[dialogue].as_py()}@{turn - int(piece.offsets[dialogue]) + 1}"


def read_pool(
    tables: Iterable[pa.Table],
    store: VectorStore,
    history: int | None = 4,
    every_turn: bool = True,
    progress: Callable[[int], object] = lambda turns: None,
) -> Pool:
    """Take the dialogues of a pool and embed what may get a label.

    Args:
        tables: the dialogues, `dialogue_id` and `turns`, about PIECE_TURNS turns each; they are read one by one.
        store: where the vectors are kept.
        history: earlier turns that go with a turn at most; None for all.
        every_turn: every turn may get a label; else only the last one of each dialogue.
        progress: called with the number of turns done, after each piece.

    Raises:
        ValueError: the history is negative. Errors of the tables' reader go through.
    """
    if history is not None and history < 0:
        raise ValueError(f"history must be 0 or more earlier turns, or none for all, got {history}")
    pieces, done = [], 0
    for table in tables:
        turns, offsets = unnest(table, "turns")
        filled = np.flatnonzero(np.diff(offsets))  # a dialogue without turns has nothing to label
        if not len(filled):
            continue
        ids = table["dialogue_id"].combine_chunks().take(pa.array(filled))
        piece = _piece(ids, turns, np.append(offsets[filled], offsets[-1]), store, history, every_turn)
        pieces.append(piece)
        done += len(piece.turns)
        progress(done)
    return Pool(pieces, history)


def _piece(
    ids: pa.Array, turns: pa.StructArray, offsets: Ints, store: VectorStore, history: int | None, every_turn: bool
) -> Piece:
    """Return some dialogues with the vectors of what may get a label."""
    texts = turns.field("text").to_pylist()
    if every_turn:
        return Piece(ids, turns, offsets, np.arange(len(texts)), store.in_context(texts, offsets, history))
    dialogues = [
        texts[start if history is None else max(start, end - 1 - history) : end]
        for start, end in pairwise(offsets.tolist())
    ]
    return Piece(ids, turns, offsets, offsets[1:] - 1, store.dialogues(dialogues))
