"""Of pairs of units that are alike, which units leave: those that are like a better one that stays.

From the best to the worst that is plain, but needs all pairs in one process. Here each partition of the units settles
its own, in turns. In a turn each pair asks the partition of its better unit what is known of that: where it has left,
the pair is nothing any more; where it stays, the worse one leaves; otherwise the pair waits. A unit without a pair
stays. So every turn settles at least the best of those that wait, and mostly nearly all; the last few are settled by
one task, from the best to the worst.

Memory: a worker holds the pairs of a partition and 8 bytes for each of its units that has left, or the pairs of `few`
units.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Hashes
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.passage import Passage, carry_out
from edos_dataset.runs.removals import Leaving

ALIKE = pa.schema({"order": pa.uint64(), "place": pa.int64(), "better_place": pa.int64()})
"""Pairs of units that are alike, a worse one, by its order, and a better one; a place is shard and row in one number.
"""

_AT_ONCE = 10_000  # pairs that are Python's own numbers, of ten times the size
_TOLD = ("place", "better_place", "stays")
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Settling(Passage):
    """The tasks that settle what leaves of the pairs of ALIKE that `alike-<partition>` holds, parted by the places
    of the worse units, `scattered`.

    Attributes:
        leaving: takes what leaves.
        reason: why it does.
        few: units that one task settles.
    """

    leaving: Leaving
    reason: str
    few: int = 1 << 15

    def settle(self, engine: Engine) -> int:
        """Let `leaving` know what leaves; return how many tables of it."""
        turn, parts = 0, range(self.parts)
        carry_out(engine, self.begin, parts)
        while True:
            tasks = [(turn, part) for part in parts]
            carry_out(engine, self.answer, tasks)
            if sum(self.read(f"left{turn}", part)["units"][0].as_py() for part in parts) <= self.few:
                break
            carry_out(engine, self.decide, tasks)
            turn += 1
        carry_out(engine, self.finish, [turn])
        carry_out(engine, self.name, [*tasks, (turn, self.parts)])
        return self.parts + 1

    def begin(self, part: int) -> None:
        """Let the pairs of a partition ask for the first time."""
        self._ask(0, part, self.read("alike", part), np.zeros(0, np.int64))

    def answer(self, task: tuple[int, int]) -> None:
        """Tell those who ask for the units of a partition whether these stay, or wait; if they have left, nothing.

        Args:
            task: the turn, and the partition, as of `decide` and `name`.
        """
        turn, part = task
        asked = self.read_part(f"asked{turn}", part, self.parts)
        gone, waiting = (self.read(f"{what}{turn}", part)["place"] for what in ("gone", "waiting"))
        asked = asked.filter(pc.invert(pc.is_in(asked["better_place"], value_set=gone)))
        stays = pc.invert(pc.is_in(asked["better_place"], value_set=waiting))
        self.write_parts(f"answers{turn}", part, [asked.append_column("stays", stays)], scattered("place"))
        self.write(f"left{turn}", part, pa.table({"units": [len(waiting)]}))

    def decide(self, task: tuple[int, int]) -> None:
        """Settle the units of a partition of which that can be said, and let the others ask again."""
        turn, part = task
        pairs = self.read_part(f"answers{turn}", part, self.parts)
        leave = pc.unique(pairs["place"].filter(pairs["stays"]))
        wait = pairs.filter(pc.invert(pc.is_in(pairs["place"], value_set=leave)))
        gone = np.concatenate([self.read(f"gone{turn}", part)["place"].to_numpy(), leave.to_numpy()])
        self._ask(turn + 1, part, wait.select(ALIKE.names), gone)

    def finish(self, turn: int) -> None:
        """Settle all units that wait, from the best to the worst."""
        parts = (self.read_part(f"answers{turn}", part, self.parts) for part in range(self.parts))
        pairs = pa.concat_tables([part.combine_chunks() for part in parts])  # each chunk of a few rows takes 1 kB
        pairs = pairs.sort_by([(name, "ascending") for name in ("order", "place")])
        leaving: set[int] = set()
        for some in pairs.to_batches(_AT_ONCE):
            for place, better, stays in zip(*(some[name].to_pylist() for name in _TOLD), strict=True):
                if stays or better not in leaving:
                    leaving.add(place)
        self.write(f"gone{turn}", self.parts, _places(np.array(sorted(leaving), np.int64)))

    def name(self, task: tuple[int, int]) -> None:
        """Name what leaves of a partition; behind the last one, of what `finish` settled."""
        turn, part = task
        places = self.read(f"gone{turn}", part)["place"].to_numpy()
        columns = {
            "shard": places >> 32,
            "row": places & 0xFFFFFFFF,
            "turn": pa.nulls(len(places), pa.int32()),
            "reason": pa.array([self.reason] * len(places), pa.string()),
        }
        self.leaving.note(part, pa.table(columns))

    def _ask(self, turn: int, part: int, pairs: pa.Table, gone: np.ndarray) -> None:
        self.write_parts(f"asked{turn}", part, [pairs], scattered("better_place"))
        self.write(f"waiting{turn}", part, _places(pc.unique(pairs["place"])))
        self.write(f"gone{turn}", part, _places(gone))


def scattered(column: str) -> Callable[[pa.Table], Hashes]:
    """Return what gives a hash of each place in a column, so that shards of a few rows fill all partitions."""
    return lambda table: table[column].to_numpy().view(np.uint64) * _MIX >> np.uint64(32)


def _places(places: np.ndarray | pa.Array) -> pa.Table:
    return pa.table({"place": pa.array(places, pa.int64())})
