"""How sure a dialogue is: the probability that each turn is one person's, and each border one between two people of one
scene, of all its turns together.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import unnest
from edos_dataset.runs.pipeline import Stage, Unit, check_ranges
from edos_dataset.schema.tables import REASON

UNSURE = "unsure"
"""Reason of a dialogue that is not sure enough."""

OF_SEAMS, OF_TURNS = 1.0, 0.0
"""The calibration: the logarithm of the certainty is OF_SEAMS times the summed log-probabilities of the seams, and
OF_TURNS for each turn, for what no seam tells, as damaged text.
"""


@dataclass(frozen=True)
class JudgeDialogues(Stage):
    """Say of each dialogue how surely nothing is wrong with it (`certainty`), and how many errors are to be
    expected (`expected_errors`): turns of two people, and borders at which one goes on or a new scene begins. Both
    come from `new_speaker`, `one_speaker` and `same_scene` of its turns.

    Both are null where one of the first two is; where scenes are not told, they are left out.

    Args:
        least: dialogues with a lower certainty leave, 0 to 1.
    """

    least: float = 0.0

    name: ClassVar[str] = "certainty"
    unit: ClassVar[Unit] = "dialogues"
    needs, gives = ("turns",), ("certainty", "expected_errors")

    def __post_init__(self) -> None:
        """Check the parameter."""
        check_ranges(self, least=(0, 1))

    def __call__(self, table: pa.Table) -> pa.Table:
        """Judge DIALOGUES."""
        turns, offsets = unnest(table, "turns")
        new, one, scene = (
            turns.field(name).to_numpy(zero_copy_only=False).astype(np.float64)
            for name in ("new_speaker", "one_speaker", "same_scene")
        )
        scene[np.isnan(scene)] = 1
        first = offsets[:-1][np.diff(offsets) > 0]
        new[first] = scene[first] = 1  # what a dialogue begins with need not be a border
        with np.errstate(divide="ignore"):
            logs = _sums(np.log(new) + np.log(one) + np.log(scene), offsets)
        certainty = np.exp(OF_SEAMS * logs + OF_TURNS * np.diff(offsets))
        for name, values in (
            ("certainty", certainty),
            ("expected_errors", _sums((1 - new) + (1 - one) + (1 - scene), offsets)),
        ):
            column = pa.array(values.astype(np.float32), pa.float32(), from_pandas=True)
            place = table.schema.get_field_index(name)
            table = table.append_column(name, column) if place < 0 else table.set_column(place, name, column)
        if not self.least:
            return table
        unsure = pc.less(table["certainty"], pa.scalar(self.least, pa.float32()))
        return table.append_column(
            REASON, pc.if_else(pc.fill_null(unsure, False), UNSURE, pa.scalar(None, pa.string()))
        )


def _sums(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the sum of each dialogue's values, by itself, so that it does not depend on the dialogues beside it."""
    sums = np.zeros(len(offsets) - 1)
    there = np.diff(offsets) > 0
    if there.any():
        sums[there] = np.add.reduceat(values, offsets[:-1][there])
    return sums
