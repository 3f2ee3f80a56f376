"""Dialogues made anew from the subtitles are split where the labelled ones are."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import flags, unnest
from edos_dataset.cleaning.rejects import ids_by_first_turn, split_before
from edos_dataset.publishing.attach import opened_labels
from edos_dataset.runs.pipeline import Stage, Unit


@dataclass(frozen=True)
class SplitAsLabelled(Stage):
    """Split cleaned dialogues where a labelled one begins inside: the turn before it, one of too many in their corpus,
    left by a step that is not done again.

    Args:
        folder: of the labels.
        content: what `PublishedLabels.content` says of it.
    """

    folder: str = ""
    content: str = ""

    name: ClassVar[str] = "split_as_labelled"
    unit: ClassVar[Unit] = "turns"
    needs, gives = ("dialogue_id", "turns"), ()

    def __call__(self, table: pa.Table) -> pa.Table:
        """Split DIALOGUES."""
        labelled = opened_labels(self.folder, self.content).of_documents(table["document_id"])["dialogue_id"]
        turns, _ = unnest(table, "turns")
        ids = ids_by_first_turn(table, np.arange(len(turns)))
        return split_before(table, flags(pc.is_in(ids, value_set=labelled.combine_chunks())))
