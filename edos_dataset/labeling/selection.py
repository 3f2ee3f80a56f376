"""EDOS initial: the most emotional dialogues of the corpus.

Where the chosen ones end is found to the bit: groups of shards count the upper halves of their scores' bits, one task
finds the half that the last one chosen has; the same for the lower halves; and if not all stay that have its score,
groups sort the ids of these, and one task goes through them in order to the last one that stays. Then each group
writes what leaves.

Memory: a worker holds a shard's scores, the ids of a group that tie with the last one chosen, and counts of 65,536
halves; the process that leads holds paths alone.
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
from edos_dataset.runs.passage import Group, Passage, carry_out, count_rows, count_together, groups_of
from edos_dataset.runs.pipeline import REMOVALS, Unit, check_ranges
from edos_dataset.runs.removals import nothing_leaves
from edos_dataset.runs.shards import read_shard, write_shard

_LOWEST = -1.0  # every true score is at least 0
_HALVES = 1 << 16
_ROWS = 1_000  # of each group that wait while the ids are gone through


@dataclass(frozen=True)
class SelectDialogues(SharedStep):
    """Keep the `top` dialogues by one of their scores; of equal ones those with the smaller dialogue id.

    A score that is null or not a number counts as the lowest.

    Args:
        top: dialogues that stay, from 0; 1,000,000 in the papers.
        by: "emotionality", the mean over the turns of the probabilities of the 32 emotions (Xie & Pu, Section 3), or
            "confidence", the mean probability of the turns' labels (EDOS, Section 3), or "certainty", how surely
            nothing is wrong with the dialogue.
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
        """Name the dialogues that are not chosen, with the reason "not_selected"."""
        if self.top >= count_together(count_rows, shards, folder, engine):
            nothing_leaves(removals, engine)
            return
        groups = groups_of(shards)
        job = _Job(1, folder, self.top, self.by, len(groups))
        if self.top:
            for half in (0, 1):
                carry_out(engine, job.count, [(half, group) for group in groups])
                carry_out(engine, job.narrow, [half])
            if job.border(1)["wanted"] < job.border(1)["there"]:
                carry_out(engine, job.sort_ids, groups)
                carry_out(engine, job.find_id, [job.border(1)["wanted"]])
        carry_out(engine, job.remove, list(zip(groups, groups_of(removals), strict=True)))


@dataclass(frozen=True)
class _Job(Passage):
    """The tasks of a decision; each reads files that earlier ones wrote, and writes one, or one a shard."""

    top: int
    by: str
    groups: int

    def count(self, task: tuple[int, Group]) -> None:
        """Count a half of the scores' bits in the shards of a group: 0 for the upper, 1 for the lower, of those alone
        that have the upper half of the border.
        """
        half, group = task
        counts = np.zeros(_HALVES, np.int64)
        for path in group.paths:
            upper, lower = np.divmod(self._bits(path), np.uint32(_HALVES))
            counted = lower[upper == self.border(0)["half"]] if half else upper
            counts += np.bincount(counted, minlength=_HALVES)
        there = np.flatnonzero(counts)
        self.write(f"halves{half}", group.number, pa.table({"half": there, "count": counts[there]}))

    def narrow(self, half: int) -> None:
        """Find the half that the last dialogue chosen has: how many that have it are there, and how many are wanted."""
        counts = np.zeros(_HALVES, np.int64)
        for number in range(self.groups):
            told = self.read(f"halves{half}", number)
            counts[told["half"].to_numpy()] += told["count"].to_numpy()
        wanted = self.border(0)["wanted"] if half else self.top
        best = np.cumsum(counts[::-1])
        place = int(np.searchsorted(best, wanted))
        there = int(counts[_HALVES - 1 - place])
        found = {"half": [_HALVES - 1 - place], "there": [there], "wanted": [wanted - int(best[place]) + there]}
        self.write("border", half, pa.table(found))

    def border(self, half: int) -> dict[str, int]:
        """Return what `narrow` found."""
        [found] = self.read("border", half).to_pylist()
        return dict(found)

    def sort_ids(self, group: Group) -> None:
        """Sort the ids of a group's dialogues that have the score of the border."""
        last = self._last()
        found = [self._ids(path, np.flatnonzero(self._bits(path) == last)) for path in group.paths]
        self.write(
            "ids", group.number, pa.table({"dialogue_id": pa.chunked_array(found)}).sort_by("dialogue_id"), _ROWS
        )

    def find_id(self, wanted: int) -> None:
        """Find the last id of so many, from 1, in the order of all."""
        pieces = [self.read_pieces("ids", number) for number in range(self.groups)]
        ids = heapq.merge(*(chain.from_iterable(piece["dialogue_id"].to_pylist() for piece in file) for file in pieces))
        self.write("last_id", 0, pa.table({"dialogue_id": [next(islice(ids, wanted - 1, None))]}))

    def remove(self, task: tuple[Group, Group]) -> None:
        """Write what leaves of the shards of a group, given with the files to write."""
        last = self._last() if self.top else 1 << 32
        tied = self.top and self.border(1)["wanted"] < self.border(1)["there"]
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
        """Return the bits of the score of the last dialogue chosen."""
        return self.border(0)["half"] * _HALVES + self.border(1)["half"]

    def _bits(self, shard: Path) -> np.ndarray:
        """Return the scores of a shard as numbers of 32 bits in the same order."""
        scores = np.nan_to_num(read_shard(shard, [self.by])[self.by].to_numpy(), nan=_LOWEST).astype(np.float32)
        bits = (scores + np.float32(0)).view(np.uint32)  # -0 is 0
        ordered: np.ndarray = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
        return ordered

    def _ids(self, shard: Path, rows: np.ndarray) -> pa.Array:
        return read_shard(shard, ["dialogue_id"])["dialogue_id"].take(pa.array(rows)).combine_chunks()
