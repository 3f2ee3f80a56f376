"""Utterances of books that are too long to be said: they leave, and part their dialogue (Csaky and Recski, 2021,
Section 3).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import unnest
from edos_dataset.cleaning.rejects import cut_turns
from edos_dataset.runs.pipeline import Stage, Unit, check_ranges
from edos_dataset.schema.tables import REASON


@dataclass(frozen=True)
class LimitUtterances(Stage):
    """End a dialogue before an utterance that is too long; what follows begins another one, and what is left alone
    leaves.

    Args:
        max_words: words, as parted by spaces, that an utterance may have, from 1.
    """

    max_words: int = 100

    name: ClassVar[str] = "length"
    unit: ClassVar[Unit] = "turns"
    needs, gives = ("dialogue_id", "turns"), ()

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_ranges(self, max_words=(1, 1 << 31))

    def __call__(self, table: pa.Table) -> pa.Table:
        """Cut BOOK_DIALOGUES at their long utterances."""
        turns, _ = unnest(table, "turns")
        words = pc.add(pc.count_substring_regex(turns.field("text"), r"\s+"), 1)
        long = pa.array(np.where(words.to_numpy(zero_copy_only=False) > self.max_words, "too_long", None), pa.string())
        return _named_apart(cut_turns(table, long))


def _named_apart(table: pa.Table) -> pa.Table:
    """Return dialogues with different ids: of several that stay and begin in one paragraph the later ones get their
    number behind it.
    """
    ids: list[str] = table["dialogue_id"].to_pylist()
    stay = pc.is_null(table[REASON]).to_pylist()
    if len(set(ids)) == len(ids):
        return table
    seen: set[str] = set()
    for row, (name, stays) in enumerate(zip(ids, stay, strict=True)):
        number = 0
        while stays and ids[row] in seen:
            number += 1
            ids[row] = f"{name}+{number}"
        if stays:
            seen.add(ids[row])
    return table.set_column(table.column_names.index("dialogue_id"), "dialogue_id", pa.array(ids, pa.string()))
