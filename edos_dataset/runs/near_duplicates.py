"""Corpus steps that find near-duplicate units by MinHash signatures and keep the better unit of each pair.

Each piece of a unit's content has a 64-bit hash. The signature of the unit holds its hashes below a limit; the more
hashes a unit has, the lower its limit (after Broder, 1997, and Beyer et al., SIGMOD 2007). Below the lower of two
limits both signatures are complete, so the hashes that they share there estimate the overlap of the units. There are
three rounds:

1. each group of shards writes the hashes of its units' signatures;
2. each partition of the hashes pairs every unit with better units that have the same hash, and counts these hashes;
3. each partition of the units adds up the counts and lists the near-duplicate pairs.

A unit is then removed if it is a near-duplicate of a better one that stays (`IndependentSet`), so no two remaining
units are near-duplicates, with one exception. Where many units have the same hash, each is paired only with the best
ones and with its neighbours in the order, so that a hash of thousands of units costs no more than a hash of forty.
Copies of one unit still meet: they share the best unit, and are neighbours if their orders are close. But two units may
both stay if they are barely near-duplicates and overlap only in content that very many others have, too.

Memory: a worker holds one shard and the rows that wait to be split, or the hashes or pairs of one partition, at most
`MOST_PAIRED` (or a few more) for each unit and hash; the main process holds only paths.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Hashes
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.shards import read_shard
from edos_dataset.runs.shuffle import SURPLUS, Group, Removals, Shuffle, groups_of, partitions_for, run_tasks

MOST_PAIRED = 32
"""Most better units with which one hash pairs a unit."""

BYTES_A_HASH = 1500
"""Most bytes of memory that a partition takes per hash, if forty units share every hash (benchmarks/same_films.py)."""

_BYTES_A_PAIR = 128  # while counts are added up: the table of pairs, and the index of each pair in it
_LEAST_SHARED = 8  # hashes that two signatures must share; fewer give a poor estimate of the overlap

SKETCH = pa.schema(
    {
        "key": pa.uint64(),  # one of the hashes
        "row": pa.int32(),  # of the unit, in its shard
        # the smaller value is the better unit, the earlier one if equal; near-duplicates should have similar values
        "order": pa.uint64(),
        "size": pa.float64(),  # approximate number of all hashes of the unit, inside and outside the signature
        "reach": pa.float64(),  # fraction of all possible hashes that the signature covers, in (0, 1]
    }
)
"""MinHash signatures of a shard's units, one hash per row."""


@dataclass(frozen=True)
class NearDuplicates:
    """When two units are near-duplicates.

    Attributes:
        sketch: returns the signatures of a shard's units, as SKETCH; a module-level function, or a method of a step.
        columns: Parquet columns that it reads.
        share: fraction of the smaller unit's hashes that both units must have, in (0, 1].
        least: least number of hashes that both must have. Fewer suffice for units that share all their hashes, if
            these fit into a signature.
        reason: the reason code of the worse unit.
        memory: bytes for a partition.
        name: Parquet column of texts that names a unit. With it the removals have one more column, `kept`: the name of
            a near-duplicate that stays.
    """

    sketch: Callable[[pa.Table], pa.Table]
    columns: tuple[str, ...]
    share: float
    least: int
    reason: str
    memory: int
    name: str | None = None


def decide_near_duplicates(
    rule: NearDuplicates,
    hashes: int,
    shards: Sequence[Path],
    removals: Sequence[Path],
    folder: Path,
    engine: Engine,
) -> None:
    """Write which units are removed, as `SharedStep.decide_together` does.

    Args:
        rule: when two units are near-duplicates.
        hashes: approximate number of hashes in all signatures together.
        shards: Parquet files; a unit is one row, or several rows of one shard.
        removals: the files to write, one with the schema REMOVALS for each shard.
        folder: for the files of shuffles.
        engine: runs the tasks.
    """
    if not shards:
        return
    parts = partitions_for(hashes, BYTES_A_HASH, rule.memory)
    job, groups = _Job(parts, folder, rule.share, rule.least, rule), groups_of(shards)
    run_tasks(engine, job.sketch, groups)
    job.compare(len(groups), engine)
    leaving = Removals.of(len(shards), folder)
    if rule.name:
        leaving = _NamedRemovals(leaving.parts, folder, leaving.size, rule.name)
    tables = IndependentSet(parts, folder, leaving, rule.reason).select(engine)
    if isinstance(leaving, _NamedRemovals):
        run_tasks(engine, leaving.look_up, [(group, tables) for group in groups])
        tables = len(groups)
    leaving.split_among(removals, tables, engine)


@dataclass(frozen=True)
class Comparison(Shuffle):
    """Writes signatures to the files of a shuffle, and finds the near-duplicate units among them.

    A unit is identified by its place, which is its shard and row in one number.

    Attributes:
        share: as in `NearDuplicates`.
        least: as in `NearDuplicates`.
    """

    share: float
    least: int

    def add(self, number: int, sketches: Iterable[tuple[int, pa.Table]]) -> None:
        """Write signatures of units, at least one table.

        Args:
            number: number of the file, from 0.
            sketches: for each shard, its number and the signatures of its units.
        """
        self.write_parts("sketches", number, (_placed(shard, table) for shard, table in sketches))

    def alike(self, files: int, engine: Engine) -> pa.Table:
        """Return the near-duplicate pairs, as PAIRS; in other processes than the main one, an empty table.

        Args:
            files: number of files added.
            engine: runs the tasks.
        """
        self.compare(files, engine)
        return pa.concat_tables(
            [self.read("alike", part) for part in range(self.parts if engine.is_main else 0)] or [PAIRS.empty_table()]
        )

    def compare(self, files: int, engine: Engine) -> None:
        """Write the near-duplicate pairs for `IndependentSet`; the arguments are those of `alike`."""
        run_tasks(engine, self.pair, [(part, files) for part in range(self.parts)])
        run_tasks(engine, self.judge, range(self.parts))

    def pair(self, task: tuple[int, int]) -> None:
        """Pair the units that share hashes of a partition, and count the shared hashes of each pair.

        Args:
            task: the partition, and the number of files.
        """
        part, files = task
        slices = self.read_slices("sketches", part, files, BYTES_A_HASH)
        self.write_parts("pairs", part, map(self._paired, slices), scattered("place"))

    def judge(self, part: int) -> None:
        """List the near-duplicate pairs of a partition's units."""
        slices = self.read_slices("pairs", part, self.parts, _BYTES_A_PAIR, scattered("place"))
        self.write("alike", part, pa.concat_tables(map(_alike, slices)))

    def _paired(self, sketches: pa.Table) -> pa.Table:
        # most hashes belong to a single unit and give no pair
        sketches = sketches.filter(pa.array(_repeated(sketches["key"].to_numpy())))
        columns = {name: sketches[name].to_numpy() for name in sketches.column_names}
        _, first, unit = np.unique(columns["place"], return_index=True, return_inverse=True)
        ranking = np.lexsort((columns["place"], columns["order"], columns["key"]))
        keys, unit = columns["key"][ranking], unit[ranking]
        shared = [unit[worse] * len(first) + unit[better] for worse, better in _partners(keys)]
        pairs, times = np.unique(np.concatenate(shared), return_counts=True)
        units = {name: values[first] for name, values in columns.items()}
        return self._pairs(units, *np.divmod(pairs, max(len(first), 1)), times)

    def _pairs(
        self, columns: dict[str, np.ndarray], worse: np.ndarray, better: np.ndarray, shared: np.ndarray
    ) -> pa.Table:
        """Return pairs of units, given by their places in the columns, with the number of hashes that they must share
        to be near-duplicates and the number that they do share.
        """
        sizes, reaches = ((columns[name][worse], columns[name][better]) for name in ("size", "reach"))
        reach = np.minimum(*reaches)
        units = (self.share * np.minimum(*sizes)).clip(self.least)
        needed = np.ceil(units * reach - 1e-6).clip(_LEAST_SHARED)
        whole = (sizes[0] == sizes[1]) & (reach == 1)
        needed = np.where(whole, np.minimum(needed, sizes[0]), needed)
        return pa.table(
            {
                "place": columns["place"][worse],
                "order": columns["order"][worse],
                "better_place": columns["place"][better],
                "needed": needed.astype(np.int32),
                "shared": shared.astype(np.int32),
            }
        )


@dataclass(frozen=True)
class _Job(Comparison):
    """The tasks of a decision."""

    rule: NearDuplicates

    def sketch(self, group: Group) -> None:
        """Sketch the units of the shards of a group."""
        columns, sketch = list(self.rule.columns), self.rule.sketch
        self.add(group.number, ((number, sketch(read_shard(path, columns))) for number, path in group.numbered()))


def _placed(shard: int, sketches: pa.Table) -> pa.Table:
    places = (shard << 32) + sketches["row"].to_numpy().astype(np.int64)
    return sketches.drop_columns(["row"]).append_column("place", pa.array(places))


def _repeated(keys: np.ndarray) -> np.ndarray:
    inorder = np.sort(keys)
    repeated = np.unique(inorder[1:][inorder[1:] == inorder[:-1]])
    if not len(repeated):
        return np.zeros(len(keys), bool)
    found: np.ndarray = repeated[np.searchsorted(repeated, keys).clip(max=len(repeated) - 1)] == keys
    return found


def _partners(keys: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield pairs of places with the same key, the later place first.

    Each place is paired with at most `MOST_PAIRED` others: half are the first places of its key, half those just before
    it.
    """
    places, half = np.arange(len(keys)), MOST_PAIRED // 2
    first = np.searchsorted(keys, keys)
    for rank in range(half):
        worse = np.flatnonzero(places - first > rank)
        yield worse, first[worse] + rank
    for distance in range(1, half + 1):
        worse = np.flatnonzero(places - first >= half + distance)
        yield worse, worse - distance


def _alike(pairs: pa.Table) -> pa.Table:
    added = pairs.group_by([*PAIRS.names, "needed"], use_threads=False).aggregate([("shared", "sum")])
    return added.filter(pc.greater_equal(added["shared_sum"], added["needed"])).select(PAIRS.names)


@dataclass(frozen=True)
class _NamedRemovals(Removals):
    """Removals with the column `kept`. The tasks of the shards that hold the better units look up their names, so that
    no task needs the paths of all shards.

    Attributes:
        column: the Parquet column of the names.
    """

    column: str

    def note(self, number: int, surplus: pa.Table) -> None:
        """Write a table with the schema SURPLUS and the places of the better units; tables are numbered from 0."""
        self.write_parts("unnamed", number, [surplus], self._group_of_better)

    def _group_of_better(self, surplus: pa.Table) -> Hashes:
        keys: Hashes = (surplus["better_place"].to_numpy() >> 32).astype(np.uint64) // np.uint64(self.size)
        return keys

    def look_up(self, task: tuple[Group, int]) -> None:
        """Name the better units in a group of shards; the task holds the shards and the number of noted tables."""
        group, tables = task
        surplus = self.read_part("unnamed", group.number, tables).sort_by("better_place")
        places = surplus["better_place"].to_numpy()
        bounds = np.searchsorted(places >> 32, group.first + np.arange(len(group.paths) + 1))
        names: list[str | None] = []
        for path, start, stop in zip(group.paths, bounds[:-1], bounds[1:], strict=True):
            if start < stop:
                column = read_shard(path, [self.column]).flatten()[self.column]
                names += column.take(pa.array(places[start:stop] & 0xFFFFFFFF)).to_pylist()
        named = surplus.select(SURPLUS.names).cast(SURPLUS).append_column("kept", pa.array(names, pa.string()))
        self.write_parts("surplus", group.number, [named], self._group)


PAIRS = pa.schema({"order": pa.uint64(), "place": pa.int64(), "better_place": pa.int64()})
"""Near-duplicate pairs: the worse unit, with its order, and the better one; a place is shard and row in one number."""

_GONE = pa.schema([PAIRS.field("place"), PAIRS.field("better_place")])
"""Removed units, each with a better one that stays."""

_AT_ONCE = 10_000  # pairs converted to Python numbers, which take ten times the memory
_ANSWER = ("place", "better_place", "stays")
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class IndependentSet(Shuffle):
    """The greedy maximal independent set: from best to worst, a unit is removed if it is a near-duplicate of a better
    one that stays.

    A sequential pass would need all pairs in one process. Instead, each partition decides its own units, in rounds. In
    each round every pair asks the partition of its better unit about that unit: if it is removed, the pair is void; if
    it stays, the worse unit is removed; otherwise the pair waits. A unit without pairs stays. So every round decides at
    least the best waiting unit, and usually nearly all of them; one task decides the last few in order.

    The pairs are in `alike-<partition>`, as PAIRS, split by the `scattered` places of the worse units. Memory: a worker
    holds the pairs of a partition and 16 bytes for each of its removed units, or the pairs of `few` units.

    Attributes:
        leaving: receives the removals.
        reason: the reason code.
        few: most units that one task decides.
    """

    leaving: Removals
    reason: str
    few: int = 1 << 15

    def select(self, engine: Engine) -> int:
        """Write the removals to `leaving` and return the number of tables."""
        turn, parts = 0, range(self.parts)
        run_tasks(engine, self.begin, parts)
        while True:
            tasks = [(turn, part) for part in parts]
            run_tasks(engine, self.answer, tasks)
            if sum(self.read(f"left{turn}", part)["units"][0].as_py() for part in parts) <= self.few:
                break
            run_tasks(engine, self.decide, tasks)
            turn += 1
        run_tasks(engine, self.finish, [turn])
        run_tasks(engine, self.name, [*tasks, (turn, self.parts)])
        return self.parts + 1

    def begin(self, part: int) -> None:
        """Let the pairs of a partition ask for the first time."""
        self._ask(0, part, self.read("alike", part), _GONE.empty_table())

    def answer(self, task: tuple[int, int]) -> None:
        """Answer the pairs that ask about a partition's units: the unit stays or waits; void pairs get no answer.

        Args:
            task: the round and the partition, as in `decide` and `name`.
        """
        turn, part = task
        asked = self.read_part(f"asked{turn}", part, self.parts)
        gone, waiting = (self.read(f"{what}{turn}", part)["place"] for what in ("gone", "waiting"))
        asked = asked.filter(pc.invert(pc.is_in(asked["better_place"], value_set=gone)))
        stays = pc.invert(pc.is_in(asked["better_place"], value_set=waiting))
        self.write_parts(f"answers{turn}", part, [asked.append_column("stays", stays)], scattered("place"))
        self.write(f"left{turn}", part, pa.table({"units": [len(waiting)]}))

    def decide(self, task: tuple[int, int]) -> None:
        """Decide the units of a partition where the answers suffice, and let the others ask again."""
        turn, part = task
        pairs = self.read_part(f"answers{turn}", part, self.parts)
        stay = pairs.filter(pairs["stays"]).group_by("place", use_threads=False)
        leave = stay.aggregate([("better_place", "min")]).rename_columns(_GONE.names)
        wait = pairs.filter(pc.invert(pc.is_in(pairs["place"], value_set=leave["place"])))
        gone = pa.concat_tables([self.read(f"gone{turn}", part), leave])
        self._ask(turn + 1, part, wait.select(PAIRS.names), gone)

    def finish(self, turn: int) -> None:
        """Decide all waiting units, from the best to the worst."""
        parts = (self.read_part(f"answers{turn}", part, self.parts) for part in range(self.parts))
        pairs = pa.concat_tables([part.combine_chunks() for part in parts])  # each chunk of a few rows takes 1 kB
        pairs = pairs.sort_by([(name, "ascending") for name in PAIRS.names])
        leaving: dict[int, int] = {}
        for some in pairs.to_batches(_AT_ONCE):
            for place, better, stays in zip(*(some[name].to_pylist() for name in _ANSWER), strict=True):
                if place not in leaving and (stays or better not in leaving):
                    leaving[place] = better
        gone = pa.table([list(leaving), list(leaving.values())], schema=_GONE)
        self.write(f"gone{turn}", self.parts, gone.sort_by("place"))

    def name(self, task: tuple[int, int]) -> None:
        """Write the removals of a partition, or, for the number after the last one, those of `finish`."""
        turn, part = task
        gone = self.read(f"gone{turn}", part)
        places = gone["place"].to_numpy()
        columns = {
            "shard": places >> 32,
            "row": places & 0xFFFFFFFF,
            "turn": pa.nulls(len(places), pa.int32()),
            "reason": pa.array([self.reason] * len(places), pa.string()),
            "better_place": gone["better_place"],
        }
        self.leaving.note(part, pa.table(columns))

    def _ask(self, turn: int, part: int, pairs: pa.Table, gone: pa.Table) -> None:
        self.write_parts(f"asked{turn}", part, [pairs], scattered("better_place"))
        self.write(f"waiting{turn}", part, pa.table({"place": pc.unique(pairs["place"])}))
        self.write(f"gone{turn}", part, gone)


def scattered(column: str) -> Callable[[pa.Table], Hashes]:
    """Return a function that hashes the places in a column, so that even shards of a few rows fill all partitions."""
    return lambda table: table[column].to_numpy().view(np.uint64) * _MIX >> np.uint64(32)
