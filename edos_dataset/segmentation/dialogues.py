"""Turns to dialogues: a long silence ends a dialogue (EDOS, Section 3)."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import unnest
from edos_dataset.runs.pipeline import Stage, Unit
from edos_dataset.schema.tables import DIALOGUES
from edos_dataset.segmentation.turns.stage import check_certainty

_EDGES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 20, 30, 60])  # seconds
_BINS = ("<0", *(f"{low:g}-{high:g}" for low, high in zip(_EDGES[:-1], _EDGES[1:], strict=True)), ">=60", "unknown")


@dataclass(frozen=True)
class SegmentDialogues(Stage):
    """Cut a document where more than `gap` seconds pass between the end of a turn and the start of the next, and where
    it is not sure that another person begins.

    Where either time is missing the two turns stay together; so do those of which no certainty is known.

    Args:
        gap: seconds without speech that part two dialogues, 0 or more.
        least_certainty: two turns stay together only where it is at least as sure, 0 to 1, that they are two people's;
            the stage "turns" has the same value.
    """

    gap: float = 5.0
    least_certainty: float = 0.0

    name: ClassVar[str] = "dialogues"
    unit: ClassVar[Unit] = "turns"
    needs, gives = ("turns",), ("dialogue_id",)

    def __post_init__(self) -> None:
        """Check the parameter."""
        if not self.gap >= 0:
            raise ValueError(f"gap is {self.gap}, but silence is measured in seconds from 0 up; the papers use 5.0")
        check_certainty(self.least_certainty)

    def __call__(self, table: pa.Table) -> pa.Table:
        """Turn TURNS, a document a row, into DIALOGUES."""
        turns, offsets = unnest(table, "turns")
        lengths = np.diff(offsets)
        first = np.zeros(len(turns), bool)
        first[offsets[:-1][lengths > 0]] = True
        sure = turns.field("new_speaker").to_numpy(zero_copy_only=False)
        starts = np.flatnonzero(first | (_silences(turns) > self.gap) | (sure < np.float32(self.least_certainty)))
        rows = pa.array(np.repeat(np.arange(table.num_rows), lengths)[starts])
        ids = turns.field("sentence_ids")
        first_ids = pc.take(ids.flatten(), pa.array((ids.offsets.to_numpy() - ids.offsets[0].as_py())[starts]))
        documents = table["document_id"].take(rows)
        columns = {
            field.name: table[field.name].take(rows)
            if field.name in table.column_names
            else pa.nulls(len(rows), field.type)
            for field in DIALOGUES
        }
        columns["dialogue_id"] = pc.binary_join_element_wise(documents, first_ids.cast(pa.string()), "#")
        columns["turns"] = pa.ListArray.from_arrays(pa.array(np.r_[starts, len(turns)], pa.int32()), turns)
        return pa.table({name: columns[name] for name in DIALOGUES.names}, schema=DIALOGUES)

    def tally(self, table: pa.Table) -> dict[str, int]:
        """Count all pairs of adjacent turns of a document by the silence between them, also the pairs that the cuts
        part.
        """
        turns, offsets = unnest(table, "turns")
        if not len(turns):
            return {}
        documents = np.repeat(
            table["document_id"].combine_chunks().dictionary_encode().indices.to_numpy(), np.diff(offsets)
        )
        silences = _silences(turns)[1:][documents[1:] == documents[:-1]]
        bins = np.where(np.isnan(silences), len(_BINS) - 1, np.searchsorted(_EDGES, silences, side="right"))
        return {f"gap_s:{_BINS[index]}": count for index, count in sorted(Counter(bins.tolist()).items())}


def _silences(turns: pa.StructArray) -> np.ndarray:
    """Return the seconds between each turn and the one before; NaN where a time is missing, and for the first."""
    start: np.ndarray = turns.field("start").to_numpy(zero_copy_only=False)
    end = turns.field("end").to_numpy(zero_copy_only=False)
    return np.r_[np.nan, start[1:] - end[:-1]] if len(start) else start
