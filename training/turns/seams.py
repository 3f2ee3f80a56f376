"""Labelled documents, and the seams between their sentences."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.arrays import Bools, Floats, Ints, unnest
from edos_dataset.segmentation.turns.scorers import load_scorer
from training.turns.labels import LABELLED

UNKNOWN = -1


def read_labelled(paths: Sequence[Path]) -> pa.Table:
    """Read documents that `data.py` wrote, in the order of the paths.

    Returns:
        SENTENCES with the columns `same_turn` (list of int8), `label_confidence` (list of float32) and `corpus`, a
        document a row.

    Raises:
        ValueError: a file lacks one of the columns.
    """
    tables = []
    for path in paths:
        table = pq.read_table(path)
        missing = [name for name in LABELLED.names if name not in table.column_names]
        if missing:
            raise ValueError(
                f"{path} has no column {missing[0]!r}: give documents with labelled seams, as training/turns/data.py "
                "writes them"
            )
        tables.append(table.select(LABELLED.names))
    return pa.concat_tables(tables, promote_options="default")


def score_with(names: Iterable[str], table: pa.Table) -> dict[str, Floats]:
    """Return the scores of the package's scorers of these names: float32 [sentences], NaN for the first of each
    document.
    """
    return {name: np.asarray(load_scorer(name).same_turn(table), np.float32) for name in names}


@dataclass(frozen=True)
class Seams:
    """Labelled seams, document after document; the first sentence of a document has a seam too, of an unknown label.

    Attributes:
        same: int8 [n], 1 same turn, 0 new turn, -1 unknown.
        group: int64 [n], number of the document; intervals are made by drawing documents.
        confidence: float32 [n], 0 to 1: how surely the label is right.
    """

    same: npt.NDArray[np.int8]
    group: Ints
    confidence: Floats

    @classmethod
    def of(cls, table: pa.Table) -> "Seams":
        """Read the seams of documents that have the columns `same_turn` and `label_confidence`, lists of one value a
        sentence.
        """
        same, offsets = unnest(table, "same_turn")
        confidence, _ = unnest(table, "label_confidence")
        return cls(
            same.to_numpy(),
            np.repeat(np.arange(table.num_rows), np.diff(offsets)),
            confidence.to_numpy(zero_copy_only=False),
        )

    def __getitem__(self, rows: Bools | Ints) -> "Seams":
        """Return some of the seams."""
        return Seams(self.same[rows], self.group[rows], self.confidence[rows])

    def __len__(self) -> int:
        """Return how many seams there are, labelled or not."""
        return len(self.same)

    def known(self) -> Bools:
        """Return which seams have a label."""
        known: Bools = self.same != UNKNOWN
        return known

    def at_least(self, confidence: float) -> "Seams":
        """Return the same seams, of which those whose label is less sure than this are unknown."""
        return Seams(
            np.where(self.confidence >= np.float32(confidence), self.same, UNKNOWN).astype(np.int8),
            self.group,
            self.confidence,
        )
