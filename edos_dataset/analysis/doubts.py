"""Labels to doubt, by confident learning (Northcutt, Jiang and Chuang, 2021, Section 3), on the probabilities of `top`.

The threshold of a label is the mean of its probabilities over the turns that have it. A turn is doubted where another
label reaches its threshold, and is the most probable of those that do. A label that `top` lacks counts as 0.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from edos_dataset.analysis.batch import NONE, Batch, read_batches
from edos_dataset.analysis.counting import Part
from edos_dataset.analysis.label_system import LabelSystem
from edos_dataset.analysis.lowest import Lowest
from edos_dataset.arrays import Doubles, Ints
from edos_dataset.runs.engines.base import Engine

EXAMPLES, PAIRS = 8, 30
"""Turns of each label to look at, and pairs of labels that are shown."""

Turn = tuple[int, int, int]
"""Place of a dialogue, turn in it, from 0, and the label that is likely."""


class Doubts:
    """What was doubted; added up by `merge`.

    Attributes:
        table: [labels, labels] turns by the label given and the likely one.
        worst: label → the turns that the likely label leads most.
    """

    def __init__(self, labels: int) -> None:
        """Begin with nothing."""
        self.table: Ints = np.zeros((labels, labels), np.int64)
        self.worst: Lowest[Turn] = Lowest(EXAMPLES)

    def add(self, batch: Batch, thresholds: Doubles, first: int) -> None:
        """Add the turns of a batch.

        Args:
            batch: the dialogues; texts are not looked at.
            thresholds: [labels], infinite for a label that nothing has.
            first: place of its first dialogue.
        """
        likely, probability = likely_labels(batch, thresholds)
        size = len(self.table)
        turns = np.flatnonzero((likely != NONE) & (likely != batch.labels) & (batch.labels != NONE))
        given, of_turn = batch.labels[turns], batch.of_turn[turns]
        self.table += np.bincount(given * size + likely[turns], minlength=size * size).reshape(size, size)
        margin = batch.probability()[turns] - probability[turns]
        places = batch.place[turns]
        self.worst.add(
            given,
            margin,
            batch.same_id[of_turn] * (places.max(initial=0) + 1) + places,
            lambda at: f"{batch.ids[int(of_turn[at])].as_py()} {places[at]}",
            lambda at: (first + int(of_turn[at]), int(places[at]), int(likely[turns[at]])),
        )

    def merge(self, other: "Doubts") -> None:
        """Add what another one has."""
        self.table += other.table
        self.worst.merge(other.worst)


def likely_labels(batch: Batch, thresholds: Doubles) -> tuple[Ints, Doubles]:
    """Return [turns] the most probable label of those that reach their threshold, `NONE` for none, and [turns] its
    probability, NaN likewise.
    """
    turn, label, probability = batch.top
    able = np.flatnonzero(probability >= thresholds[label] - 1e-6)
    able = able[np.argsort(probability[able], kind="stable")]  # the last one put in a place stays
    likely, shares = np.full(len(batch.labels), NONE, np.int64), np.full(len(batch.labels), np.nan)
    likely[turn[able]], shares[turn[able]] = label[able], probability[able]
    return likely, shares


def find_doubts(parts: Iterable[Part], given: Doubles, engine: Engine) -> Doubts | None:
    """Return what is doubted of a data set, by a second look at its labels alone; None where no label has `top`.

    Args:
        parts: of the data set.
        given: as of `Counts`.
        engine: what looks.
    """
    turns, sums = given
    if not turns.any():
        return None
    thresholds = np.divide(sums / 1e6, turns, out=np.full(len(turns), np.inf), where=turns > 0)
    doubts = Doubts(len(turns))
    for one in engine.map(partial(_of_part, thresholds=thresholds), parts):
        doubts.merge(one)
    return doubts


def _of_part(part: Part, thresholds: Doubles) -> Doubts:
    doubts, row = Doubts(part.labels), 0
    for batch in read_batches(part.path, part.split, part.groups, texts=False):
        doubts.add(batch, thresholds, (part.number << 32) + row)
        row += len(batch.ids)
    return doubts


def doubt_figures(doubts: Doubts, given: Doubles, labels: LabelSystem) -> dict[str, Any]:
    """Return `turns` that have probabilities, `doubted` of them, `by_label` with the `threshold` of each, and `pairs`,
    the most frequent ones of a label given and a likely one.
    """
    table, (turns, sums) = doubts.table, given
    order = sorted(np.flatnonzero(table).tolist(), key=lambda place: (-table.flat[place], place))[:PAIRS]
    return {
        "turns": int(turns.sum()),
        "doubted": int(table.sum()),
        "by_label": [
            {
                "label": name,
                "turns": int(turns[place]),
                "doubted": int(table[place].sum()),
                "threshold": round(float(sums[place] / 1e6 / turns[place]), 4) if turns[place] else None,
            }
            for place, name in enumerate(labels.names)
        ],
        "pairs": [
            {
                "given": labels.names[place // len(table)],
                "likely": labels.names[place % len(table)],
                "turns": int(table.flat[place]),
            }
            for place in order
        ],
    }
