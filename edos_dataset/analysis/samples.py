"""Samples of dialogues to read, drawn by the hashes of their ids: they depend neither on the order of rows nor on the
number of processes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from edos_dataset.analysis.batch import NONE, Batch
from edos_dataset.arrays import Doubles, Ints
from edos_dataset.text import clipped

T = TypeVar("T")


class Entry(NamedTuple, Generic[T]):
    """An entry of a sample; entries are ordered by rank, then by name, which is unique in a group, then by value."""

    rank: float
    name: str
    value: T


@dataclass
class BottomK(Generic[T]):
    """The entries with the lowest ranks in each group. Memory: `most` entries per group.

    Attributes:
        most: Largest number of entries per group.
        groups: Group (from 0) → its entries in ascending order.
    """

    most: int
    groups: dict[int, list[Entry[T]]] = field(default_factory=dict)

    def add(
        self, groups: Ints, ranks: Doubles, same: Ints, names: Callable[[int], str], value: Callable[[int], T]
    ) -> None:
        """Add rows.

        Args:
            groups: [rows].
            ranks: [rows].
            same: [rows] numbers from 0, equal for rows with equal names.
            names: Returns the name of a row; several rows of a group may have the same name.
            value: Returns the value of a row; called only for rows that are kept for the time being.
        """
        limits = np.full(int(groups.max(initial=-1)) + 1, np.inf)
        for group, kept in self.groups.items():
            if group < len(limits) and len(kept) == self.most:
                limits[group] = kept[-1].rank
        rows = np.flatnonzero(ranks <= limits[groups])
        rows = self._least(rows, groups[rows], ranks[rows], same[rows])
        found: dict[int, list[Entry[T]]] = {}
        for row, group, rank in zip(rows.tolist(), groups[rows].tolist(), ranks[rows].tolist(), strict=True):
            found.setdefault(group, []).append(Entry(rank, names(row), value(row)))
        for group, entries in found.items():
            self._put(group, entries)

    def merge(self, other: "BottomK[T]") -> None:
        """Add the entries of another object."""
        for group, entries in other.groups.items():
            self._put(group, entries)

    def _least(self, rows: Ints, groups: Ints, ranks: Doubles, same: Ints) -> Ints:
        order = np.lexsort((ranks, groups))
        _, first = np.unique(groups[order] * (same.max(initial=0) + 1) + same[order], return_index=True)
        order = order[np.sort(first)]
        groups, ranks = groups[order], ranks[order]
        last = np.searchsorted(groups, groups) + self.most - 1
        last = np.minimum(last, np.searchsorted(groups, groups, side="right") - 1)
        least: Ints = rows[order[ranks <= ranks[last]]]
        return least

    def _put(self, group: int, entries: list[Entry[T]]) -> None:
        unique: dict[str, Entry[T]] = {}
        for entry in sorted((*self.groups.get(group, ()), *entries)):
            unique.setdefault(entry.name, entry)
        self.groups[group] = list(unique.values())[: self.most]


OF_ALL, OF_LABEL, OF_PAIR, DOUBTFUL = 1_200, 12, 3, 8
"""Sample sizes: dialogues of the whole dataset, per label and per pair of labels, and least confident turns per label.
"""
_TURNS, _CHARACTERS = 24, 600

Dialogue = dict[str, Any]


@dataclass
class Samples:
    """Positions of sampled dialogues.

    Attributes:
        labels: Number of labels.
        all: Sample of all dialogues, in group 0.
        label: For each label, dialogues in which a turn has it.
        pair: For each pair of labels, dialogues in which one follows the other; the group is `before * labels + after`.
        doubtful: For each label, the dialogues with the least confident turns.
    """

    labels: int
    all: BottomK[int] = field(default_factory=lambda: BottomK(OF_ALL))
    label: BottomK[int] = field(default_factory=lambda: BottomK(OF_LABEL))
    pair: BottomK[int] = field(default_factory=lambda: BottomK(OF_PAIR))
    doubtful: BottomK[int] = field(default_factory=lambda: BottomK(DOUBTFUL))

    def add(self, batch: Batch, ranks: Doubles, first: int) -> None:
        """Sample from a batch.

        Args:
            batch: The dialogues.
            ranks: [dialogues], distributed uniformly over 0 to 1 by a hash of the id.
            first: Position of the first dialogue.
        """
        of_turn, labels = batch.of_turn, batch.labels
        names, same = batch.ids.to_pylist(), batch.same_id

        def put(chosen: BottomK[int], rows: Ints, groups: Ints, values: Doubles) -> None:
            chosen.add(groups, values, same[rows], lambda at: names[rows[at]], lambda at: first + int(rows[at]))

        put(self.all, np.arange(len(ranks)), np.zeros(len(ranks), np.int64), ranks)
        labelled = np.flatnonzero(labels != NONE)
        put(self.label, of_turn[labelled], labels[labelled], ranks[of_turn[labelled]])
        after = np.flatnonzero((batch.place > 0) & (labels != NONE))
        after = after[labels[after - 1] != NONE]
        put(self.pair, of_turn[after], labels[after - 1] * self.labels + labels[after], ranks[of_turn[after]])
        unsure = np.flatnonzero((labels != NONE) & ~np.isnan(batch.confidence))
        put(self.doubtful, of_turn[unsure], labels[unsure], batch.confidence[unsure])

    def merge(self, other: "Samples") -> None:
        """Add the samples of another object."""
        for name in ("all", "label", "pair", "doubtful"):
            getattr(self, name).merge(getattr(other, name))

    def places(self, pairs: Sequence[int]) -> list[int]:
        """Return the positions of dialogues for a page by descending priority, some of them twice: examples of the
        given pairs, doubtful labels, dialogues of each label, dialogues of the whole dataset.
        """
        wanted = [(self.pair, pairs), *((one, sorted(one.groups)) for one in (self.doubtful, self.label, self.all))]
        return [entry.value for chosen, groups in wanted for group in groups for entry in chosen.groups.get(group, ())]


def dialogue_of(batch: Batch, row: int, second: tuple[Ints, Doubles]) -> Dialogue:
    """Return a dialogue as a page shows it, truncated, its turns as [text, label, confidence, the most probable other
    label, its probability].

    Args:
        batch: The dialogues.
        row: Row of the dialogue.
        second: Result of `Batch.second`.
    """
    start, stop = batch.offsets[row : row + 2].tolist()
    shown = slice(start, min(stop, start + _TURNS))
    facts = {
        "id": batch.ids[row].as_py(),
        "film": batch.documents[row].as_py(),
        "year": _or_none(batch.years[row].item()),
        "split": batch.split,
        "certainty": _share(batch.certainty[row].item()),
        "more": max(0, stop - start - _TURNS),
    }
    columns = (batch.labels, batch.confidence, *second)
    rows = zip(
        batch.texts.slice(start, shown.stop - start).to_pylist(),
        *(each[shown].tolist() for each in columns),
        strict=True,
    )
    facts["turns"] = [
        [clipped(text, _CHARACTERS), _or_none(label), _share(sure), _or_none(second), _share(probability)]
        for text, label, sure, second, probability in rows
    ]
    return facts


def _or_none(number: int) -> int | None:
    return None if number == NONE else number


def _share(value: float) -> float | None:
    return None if np.isnan(value) else round(value, 3)
