"""What a corpus step removes, on its way from the tasks that find it to a file for each shard: no process holds all."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Hashes
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.passage import Group, Passage, carry_out, groups_of, shards_a_group
from edos_dataset.runs.pipeline import REMOVALS
from edos_dataset.runs.shards import write_shard

SURPLUS = pa.schema([pa.field("shard", pa.int32()), *REMOVALS])
"""What leaves, and from which shard, by its number."""


@dataclass(frozen=True)
class Leaving(Passage):
    """What leaves, as files of passage: a partition is a group of shards.

    Attributes:
        size: shards of a group.
    """

    size: int

    @classmethod
    def of(cls, shards: int, folder: Path) -> "Leaving":
        """Return that of so many shards, from 1, with its files in a folder."""
        size = shards_a_group(shards)
        return cls(-(-shards // size), folder, size)

    def note(self, number: int, surplus: pa.Table) -> None:
        """Write a table of SURPLUS, the one of this number, from 0."""
        self.write_parts("surplus", number, [surplus.select(SURPLUS.names).cast(SURPLUS)], self._group)

    def _group(self, surplus: pa.Table) -> Hashes:
        keys: Hashes = surplus["shard"].to_numpy().astype(np.uint64) // np.uint64(self.size)
        return keys

    def part_among(self, removals: Sequence[Path], tables: int, engine: Engine) -> None:
        """Write what leaves of each shard.

        Args:
            removals: where to, a file of REMOVALS a shard.
            tables: how many were noted.
            engine: what carries out the tasks.
        """
        carry_out(engine, self.gather, [(group, tables) for group in groups_of(removals)])

    def gather(self, task: tuple[Group, int]) -> None:
        """Write what leaves of the shards of a group, given by the files to write, and how many tables were noted."""
        group, tables = task
        surplus = self.read_part("surplus", group.number, tables)
        surplus = surplus.sort_by([(name, "ascending") for name in ("shard", "row", "turn")])
        borders = np.searchsorted(surplus["shard"].to_numpy(), group.first + np.arange(len(group.paths) + 1))
        for path, start, stop in zip(group.paths, borders[:-1], borders[1:], strict=True):
            write_shard(path, surplus.slice(start, stop - start).select(REMOVALS.names))


def nothing_leaves(removals: Sequence[Path], engine: Engine) -> None:
    """Write that nothing leaves of any shard, a file each."""
    carry_out(engine, _write_none, groups_of(removals))


def _write_none(group: Group) -> None:
    for path in group.paths:
        write_shard(path, REMOVALS.empty_table())
