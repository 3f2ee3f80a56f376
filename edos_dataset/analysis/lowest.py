"""A bounded choice that comes out the same however the rows come in parts: of each group the least ranks stay."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from edos_dataset.arrays import Doubles, Ints

T = TypeVar("T")


class Entry(NamedTuple, Generic[T]):
    """What is kept: its rank, its name, which parts equal ranks and comes once in a group, and what it is."""

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

    def add(self, groups: Ints, ranks: Doubles, names: Callable[[int], str], value: Callable[[int], T]) -> None:
        """Add rows.

        Args:
            groups: [rows] the group of each.
            ranks: [rows].
            names: gives the name of a row; a name may come several times in a group.
            value: gives what a row is; asked for those alone that stay for now.
        """
        size = int(groups.max(initial=-1)) + 1
        limits = np.full(size, np.inf)
        for group, kept in self.groups.items():
            if group < size and len(kept) == self.most:
                limits[group] = kept[-1].rank
        rows = np.flatnonzero(ranks <= limits[groups])
        rows = rows[np.lexsort((ranks[rows], groups[rows]))]
        seen: dict[int, dict[str, Entry[T]]] = {}
        for row in rows.tolist():
            group = int(groups[row])
            found = seen.setdefault(group, {})
            # Equal ranks are compared by their names, so all of them are looked at.
            if len(found) < self.most or ranks[row] <= next(reversed(found.values())).rank:
                name = names(row)
                if name not in found:
                    found[name] = Entry(float(ranks[row]), name, value(row))
        for group, found in seen.items():
            self._put(group, list(found.values()))

    def merge(self, other: "Lowest[T]") -> None:
        """Add what another one has kept."""
        for group, entries in other.groups.items():
            self._put(group, entries)

    def _put(self, group: int, entries: list[Entry[T]]) -> None:
        unique: dict[str, Entry[T]] = {}
        for entry in sorted((*self.groups.get(group, ()), *entries), key=lambda entry: entry[:2]):
            unique.setdefault(entry.name, entry)
        self.groups[group] = list(unique.values())[: self.most]
