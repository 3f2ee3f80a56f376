"""Sentences with their turns, for those who want the turns alone: what `edos segment` runs."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import nest, unnest
from edos_dataset.runs.pipeline import Unit
from edos_dataset.schema.tables import MARKED, MARKED_SENTENCE
from edos_dataset.segmentation.turns.stage import SegmentTurns


@dataclass(frozen=True)
class MarkTurns(SegmentTurns):
    """Tell of every sentence which turn it is in, and how surely it goes on with the one before: SENTENCES to MARKED.

    The turns are those of SegmentTurns, with the same parameters.
    """

    name: ClassVar[str] = "mark"
    unit: ClassVar[Unit] = "sentences"

    def __call__(self, table: pa.Table) -> pa.Table:
        """Mark the turns."""
        scores = self.score(table)
        begins = self.begins(table, scores)
        sentences, offsets = unnest(table, "sentences")
        before = np.r_[0, np.cumsum(begins)]  # turns that begin before each sentence
        columns = {
            "sentence_id": sentences.field("id"),
            **{name: sentences.field(name) for name in ("start", "end", "text")},
            "turn_id": before[1:] - np.repeat(before[offsets[:-1]], np.diff(offsets)) - 1,
            "same_turn_score": pa.array(scores, pa.float32(), from_pandas=True),
        }
        marked = nest(offsets, MARKED_SENTENCE, columns)
        return pa.table({"document_id": table["document_id"], "sentences": marked}, schema=MARKED)
