"""Suspicious labels, found by confident learning (Northcutt et al., 2021, Section 3) from the probabilities in `top`.

The threshold of a label is its mean probability over the turns that have it. A turn's label is suspicious if the most
probable of the labels that reach their thresholds is another one. A label missing from `top` has the probability 0.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from edos_dataset.analysis.batch import NONE, Batch, read_batches
from edos_dataset.analysis.counting import Part
from edos_dataset.analysis.label_system import LabelSystem
from edos_dataset.analysis.samples import BottomK
from edos_dataset.arrays import Doubles, Ints
from edos_dataset.runs.engines.base import Engine

EXAMPLES, PAIRS = 8, 30
"""Numbers of example turns per label and of pairs of labels in the report."""

Turn = tuple[int, int, int]
"""Position of a dialogue, position of the turn in it (from 0), and the likely label."""


class SuspiciousLabels:
    """Suspicious labels of a dataset; summed by `merge`.

    Attributes:
        table: [labels, labels] turns by given and likely label.
        worst: Label → the turns in which the likely label leads by the largest margin.
    """

    def __init__(self, labels: int) -> None:
        self.table: Ints = np.zeros((labels, labels), np.int64)
        self.worst: BottomK[Turn] = BottomK(EXAMPLES)

    def add(self, batch: Batch, thresholds: Doubles, first: int) -> None:
        """Add the turns of a batch, whose texts are not used.

        Args:
            batch: The dialogues.
            thresholds: [labels], infinite for a label without turns.
            first: Position of the batch's first dialogue.
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

    def merge(self, other: "SuspiciousLabels") -> None:
        """Add the turns of another object."""
        self.table += other.table
        self.worst.merge(other.worst)


def likely_labels(batch: Batch, thresholds: Doubles) -> tuple[Ints, Doubles]:
    """Return for each turn the most probable label that reaches its threshold (`NONE` if none does) and its probability
    (NaN if none does).
    """
    turn, label, probability = batch.top
    able = np.flatnonzero(probability >= thresholds[label] - 1e-6)
    able = able[np.argsort(probability[able], kind="stable")]  # the last assignment wins
    likely, shares = np.full(len(batch.labels), NONE, np.int64), np.full(len(batch.labels), np.nan)
    likely[turn[able]], shares[turn[able]] = label[able], probability[able]
    return likely, shares


def find_suspicious_labels(parts: Iterable[Part], given: Doubles, engine: Engine) -> SuspiciousLabels | None:
    """Return the suspicious labels of a dataset, found by a second pass over it; None if no turn has `top`.

    Args:
        parts: Parts of the dataset.
        given: `Counts.given`.
        engine: Engine that reads the parts.
    """
    turns, sums = given
    if not turns.any():
        return None
    thresholds = np.divide(sums / 1e6, turns, out=np.full(len(turns), np.inf), where=turns > 0)
    found = SuspiciousLabels(len(turns))
    for one in engine.map(partial(_of_part, thresholds=thresholds), parts):
        found.merge(one)
    return found


def _of_part(part: Part, thresholds: Doubles) -> SuspiciousLabels:
    found, row = SuspiciousLabels(part.labels), 0
    for batch in read_batches(part.path, part.split, part.groups, texts=False):
        found.add(batch, thresholds, (part.number << 32) + row)
        row += len(batch.ids)
    return found


def suspicious_label_figures(found: SuspiciousLabels, given: Doubles, labels: LabelSystem) -> dict[str, Any]:
    """Return the figures of a report: `turns` with probabilities, how many are `doubted`, the same `by_label` with each
    `threshold`, and the most frequent `pairs` of a given and a likely label.
    """
    table, (turns, sums) = found.table, given
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
