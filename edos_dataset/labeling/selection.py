"""EDOS initial: the most emotional dialogues of the corpus."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from edos_dataset.runs.pipeline import REMOVALS, CorpusStep, Unit, check_ranges
from edos_dataset.runs.shards import read_shard

_LOWEST = -1.0  # every true score is at least 0


@dataclass(frozen=True)
class SelectDialogues(CorpusStep):
    """Keep the `top` dialogues by one of their scores; of equal ones those with the smaller dialogue id.

    A score that is null or not a number counts as the lowest. Memory: 12 bytes a dialogue while the border is sought,
    then 4, and the ids of the dialogues that tie with the last one chosen.

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

    def decide(self, shards: Sequence[Path]) -> Iterator[pa.Table]:
        """Yield the dialogues of each shard that are not chosen, with the reason "not_selected"."""
        scores = [np.nan_to_num(read_shard(shard, [self.by])[self.by].to_numpy(), nan=_LOWEST) for shard in shards]
        last, tied = self._border(np.concatenate(scores) if scores else np.zeros(0, np.float32))
        lucky = self._first_ids(shards, scores, last, tied)
        for shard, score in zip(shards, scores, strict=True):
            chosen = score > last
            ties = np.flatnonzero(score == last)
            if len(ties) and lucky:
                ids = read_shard(shard, ["dialogue_id"])["dialogue_id"].take(ties).to_pylist()
                chosen[ties[[dialogue_id in lucky for dialogue_id in ids]]] = True
            rows = np.flatnonzero(~chosen)
            reasons = ["not_selected"] * len(rows)
            yield pa.table({"row": rows, "turn": pa.nulls(len(rows), pa.int32()), "reason": reasons}).cast(REMOVALS)

    def _border(self, scores: np.ndarray) -> tuple[float, int]:
        """Return the score of the last dialogue chosen, and how many of those that have it are chosen."""
        if self.top >= len(scores):
            return -np.inf, 0
        if self.top == 0:
            return float("inf"), 0
        last = float(np.partition(scores, len(scores) - self.top)[len(scores) - self.top])
        return last, self.top - int((scores > last).sum())

    def _first_ids(self, shards: Sequence[Path], scores: Sequence[np.ndarray], last: float, tied: int) -> set[str]:
        ids: list[str] = []
        for shard, score in zip(shards, scores, strict=True):
            rows = np.flatnonzero(score == last)
            if tied and len(rows):
                ids += read_shard(shard, ["dialogue_id"])["dialogue_id"].take(rows).to_pylist()
        return set(sorted(ids)[:tied])
