"""EDOS initial: the most emotional dialogues of the corpus.

The cut-off score is found exactly, by radix selection over the 32 bits of the scores: groups of shards count the upper
16 bits, and one task finds those of the cut-off; then the same for the lower 16 bits. If only some of the dialogues
with the cut-off score are kept, groups sort their ids, and one task merges these up to the last id that is kept. Then
each group writes its removals.

Memory: a worker holds the scores of a shard, the ids of a group that tie at the cut-off, and 65,536 counts; the main
process holds only paths.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.partitions import SharedStep
from edos_dataset.runs.pipeline import REMOVALS, Unit, check_ranges
from edos_dataset.runs.shards import read_shard, write_shard
from edos_dataset.runs.shuffle import Group, Shuffle, count_rows, count_together, groups_of, remove_nothing, run_tasks

_LOWEST = -1.0  # below every score, which are at least 0
_HALVES = 1 << 16
_ROWS = 1_000  # rows of each group in memory while ids are merged


@dataclass(frozen=True)
class SelectDialogues(SharedStep):
    """Keep the `top` dialogues by one of their scores; among equal scores, those with smaller dialogue ids.

    A score that is null or NaN counts as the lowest.

    Args:
        top: number of dialogues to keep, at least 0; 1,000,000 in the papers.
        by: "emotionality", the mean over the turns of the summed probabilities of the 32 emotions (Xie & Pu, Section
            3); "confidence", the mean probability of the turns' labels (EDOS, Section 3); or "certainty", the
            probability that the dialogue has no error.
    """

    top: int = 1_000_000
    by: Literal["emotionality", "confidence", "certainty"] = "emotionality"

    name: ClassVar[str] = "select"
    unit: ClassVar[Unit] = "dialogues"
    needs, gives = ("dialogue_id", "emotionality", "confidence"), ()

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_ranges(self, top=(0, (1 << 63) - 1))
        if self.by not in ("emotionality", "confidence", "certainty"):
            raise ValueError(f"by must be 'emotionality', 'confidence' or 'certainty', got {self.by!r}")

    def decide_together(self, shards: Sequence[Path], removals: Sequence[Path], folder: Path, engine: Engine) -> None:
        """Reject the dialogues that are not selected, with the reason "not_selected"."""
        if self.top >= count_together(count_rows, shards, folder, engine):
            remove_nothing(removals, engine)
            return
        groups = groups_of(shards)
        job = _Job(1, folder, self.top, self.by, len(groups))
        if self.top:
            for half in (0, 1):
                run_tasks(engine, job.count, [(half, group) for group in groups])
                run_tasks(engine, job.narrow, [half])
            if job.cutoff(1)["wanted"] < job.cutoff(1)["there"]:
                run_tasks(engine, job.sort_ids, groups)
                run_tasks(engine, job.find_id, [job.cutoff(1)["wanted"]])
        run_tasks(engine, job.remove, list(zip(groups, groups_of(removals), strict=True)))


@dataclass(frozen=True)
class _Job(Shuffle):
    """The tasks of a decision. Each reads the files of earlier tasks and writes one file, or one per shard."""

    top: int
    by: str
    groups: int

    def count(self, task: tuple[int, Group]) -> None:
        """Count the values of one half of the scores' bits in the shards of a group.

        0 is the upper half; 1 is the lower half, of the scores whose upper half is that of the cut-off.
        """
        half, group = task
        counts = np.zeros(_HALVES, np.int64)
        for path in group.paths:
            upper, lower = np.divmod(self._bits(path), np.uint32(_HALVES))
            counted = lower[upper == self.cutoff(0)["half"]] if half else upper
            counts += np.bincount(counted, minlength=_HALVES)
        there = np.flatnonzero(counts)
        self.write(f"halves{half}", group.number, pa.table({"half": there, "count": counts[there]}))

    def narrow(self, half: int) -> None:
        """Find this half of the cut-off's bits, how many scores have it, and how many of those are kept."""
        counts = np.zeros(_HALVES, np.int64)
        for number in range(self.groups):
            counted = self.read(f"halves{half}", number)
            counts[counted["half"].to_numpy()] += counted["count"].to_numpy()
        wanted = self.cutoff(0)["wanted"] if half else self.top
        best = np.cumsum(counts[::-1])
        place = int(np.searchsorted(best, wanted))
        there = int(counts[_HALVES - 1 - place])
        found = {"half": [_HALVES - 1 - place], "there": [there], "wanted": [wanted - int(best[place]) + there]}
        self.write("cutoff", half, pa.table(found))

    def cutoff(self, half: int) -> dict[str, int]:
        """Return what `narrow` found."""
        [found] = self.read("cutoff", half).to_pylist()
        return dict(found)

    def sort_ids(self, group: Group) -> None:
        """Sort the ids of a group's dialogues that have the cut-off score."""
        last = self._last()
        found = [self._ids(path, np.flatnonzero(self._bits(path) == last)) for path in group.paths]
        self.write(
            "ids", group.number, pa.table({"dialogue_id": pa.chunked_array(found)}).sort_by("dialogue_id"), _ROWS
        )

    def find_id(self, wanted: int) -> None:
        """Find the id at position `wanted`, counted from 1, among the sorted ids of all groups."""
        pieces = [self.read_pieces("ids", number) for number in range(self.groups)]
        ids = heapq.merge(*(chain.from_iterable(piece["dialogue_id"].to_pylist() for piece in file) for file in pieces))
        self.write("last_id", 0, pa.table({"dialogue_id": [next(islice(ids, wanted - 1, None))]}))

    def remove(self, task: tuple[Group, Group]) -> None:
        """Write the removals of a group's shards; the second group has the files to write."""
        last = self._last() if self.top else 1 << 32
        tied = self.top and self.cutoff(1)["wanted"] < self.cutoff(1)["there"]
        last_id = self.read("last_id", 0)["dialogue_id"][0] if tied else None
        for source, target in zip(*(group.paths for group in task), strict=True):
            bits = self._bits(source)
            chosen, ties = bits >= last, np.flatnonzero(bits == last)
            if last_id is not None and len(ties):
                chosen[ties] = pc.less_equal(self._ids(source, ties), last_id).to_numpy(zero_copy_only=False)
            rows = np.flatnonzero(~chosen)
            reasons = pa.array(["not_selected"] * len(rows), pa.string())
            columns = {"row": rows, "turn": pa.nulls(len(rows)), "reason": reasons}
            write_shard(target, pa.table(columns).cast(REMOVALS))

    def _last(self) -> int:
        return self.cutoff(0)["half"] * _HALVES + self.cutoff(1)["half"]

    def _bits(self, shard: Path) -> np.ndarray:
        """Return the scores of a shard as 32-bit integers that have the same order."""
        scores = np.nan_to_num(read_shard(shard, [self.by])[self.by].to_numpy(), nan=_LOWEST).astype(np.float32)
        bits = (scores + np.float32(0)).view(np.uint32)  # -0 is 0
        ordered: np.ndarray = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
        return ordered

    def _ids(self, shard: Path, rows: np.ndarray) -> pa.Array:
        return read_shard(shard, ["dialogue_id"])["dialogue_id"].take(pa.array(rows)).combine_chunks()
