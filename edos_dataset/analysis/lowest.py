"""A bounded choice that comes out the same however the rows come in parts: of each group the least ranks stay."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from edos_dataset.arrays import Doubles, Ints

T = TypeVar("T")


class Entry(NamedTuple, Generic[T]):
    """What is kept: its rank, its name, which parts equal ranks and comes once in a group, and what it is, which parts
    equal names.
    """

    rank: float
    name: str
    value: T


@dataclass
class Lowest(Generic[T]):
    """Of each group the entries with the least ranks. Memory: `most` entries a group.

    Attributes:
        most: entries a group.
        groups: group, from 0 → its entries, the least first.
    """

    most: int
    groups: dict[int, list[Entry[T]]] = field(default_factory=dict)

    def add(
        self, groups: Ints, ranks: Doubles, same: Ints, names: Callable[[int], str], value: Callable[[int], T]
    ) -> None:
        """Add rows.

        Args:
            groups: [rows] the group of each.
            ranks: [rows].
            same: [rows] a number, from 0, that two have in common where their names are the same.
            names: gives the name of a row; a name may come several times in a group.
            value: gives what a row is; asked for those alone that stay for now.
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

    def merge(self, other: "Lowest[T]") -> None:
        """Add what another one has kept."""
        for group, entries in other.groups.items():
            self._put(group, entries)

    def _least(self, rows: Ints, groups: Ints, ranks: Doubles, same: Ints) -> Ints:
        """Return the rows that may stay: of each group `most` names, and those that rank with the last of them."""
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
