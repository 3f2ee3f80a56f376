"""Dialogues to look at: drawn by the hash of their ids, so that no order and no number of processes decides which."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from edos_dataset.analysis.batch import NONE, Batch
from edos_dataset.analysis.lowest import Lowest
from edos_dataset.arrays import Doubles, Ints
from edos_dataset.text import clipped

OF_ALL, OF_LABEL, OF_PAIR, DOUBTFUL = 1_200, 12, 3, 8
"""Dialogues drawn of all, of each label, of each label after another, and turns of each label that are least sure."""
_TURNS, _CHARACTERS = 24, 600

Dialogue = dict[str, Any]


@dataclass
class Samples:
    """Places of dialogues drawn.

    Attributes:
        labels: number of labels.
        all: of all, in group 0.
        label: of each label, those that have it on a turn.
        pair: of each label after another, those that have it; the group is `before * labels + after`.
        doubtful: of each label, those with the turn of least confidence.
    """

    labels: int
    all: Lowest[int] = field(default_factory=lambda: Lowest(OF_ALL))
    label: Lowest[int] = field(default_factory=lambda: Lowest(OF_LABEL))
    pair: Lowest[int] = field(default_factory=lambda: Lowest(OF_PAIR))
    doubtful: Lowest[int] = field(default_factory=lambda: Lowest(DOUBTFUL))

    def add(self, batch: Batch, ranks: Doubles, first: int) -> None:
        """Draw from a batch.

        Args:
            batch: the dialogues.
            ranks: [dialogues], equally spread over 0 to 1 by a hash of the id.
            first: place of its first dialogue.
        """
        of_turn, labels = batch.of_turn, batch.labels
        names, same = batch.ids.to_pylist(), batch.same_id

        def put(chosen: Lowest[int], rows: Ints, groups: Ints, values: Doubles) -> None:
            chosen.add(groups, values, same[rows], lambda at: names[rows[at]], lambda at: first + int(rows[at]))

        put(self.all, np.arange(len(ranks)), np.zeros(len(ranks), np.int64), ranks)
        labelled = np.flatnonzero(labels != NONE)
        put(self.label, of_turn[labelled], labels[labelled], ranks[of_turn[labelled]])
        after = np.flatnonzero((batch.place > 0) & (labels != NONE))
        after = after[labels[after - 1] != NONE]
        put(self.pair, of_turn[after], labels[after - 1] * self.labels + labels[after], ranks[of_turn[after]])
        unsure = np.flatnonzero((labels != NONE) & ~np.isnan(batch.confidence))
        put(self.doubtful, of_turn[unsure], labels[unsure], batch.confidence[unsure])

    def merge(self, other: "Samples") -> None:
        """Add what another one has drawn."""
        self.all.merge(other.all)
        self.label.merge(other.label)
        self.pair.merge(other.pair)
        self.doubtful.merge(other.doubtful)

    def places(self, pairs: Sequence[int]) -> list[int]:
        """Return the places of what a page shows, some twice, what must not be missing first: examples of some pairs,
        doubtful labels, dialogues of each label, and of all.
        """
        wanted = [(self.pair, pairs), *((one, sorted(one.groups)) for one in (self.doubtful, self.label, self.all))]
        return [entry.value for chosen, groups in wanted for group in groups for entry in chosen.groups.get(group, ())]


def dialogue_of(batch: Batch, row: int, second: tuple[Ints, Doubles]) -> Dialogue:
    """Return a dialogue of a batch as a page shows it, its turns as [text, label, confidence, the most probable other
    label, its probability], with as much of it as is shown.

    Args:
        batch: the dialogues.
        row: which.
        second: what `Batch.second` gives.
    """
    start, stop = batch.offsets[row : row + 2].tolist()
    shown = slice(start, min(stop, start + _TURNS))
    facts = {
        "id": batch.ids[row].as_py(),
        "film": batch.documents[row].as_py(),
        "year": _or_none(batch.years[row].item()),
        "split": batch.split,
        "certainty": _share(batch.certainty[row].item()),
        "more": max(0, stop - start - _TURNS),
    }
    columns = (batch.labels, batch.confidence, *second)
    rows = zip(
        batch.texts.slice(start, shown.stop - start).to_pylist(),
        *(each[shown].tolist() for each in columns),
        strict=True,
    )
    facts["turns"] = [
        [clipped(text, _CHARACTERS), _or_none(label), _share(sure), _or_none(second), _share(probability)]
        for text, label, sure, second, probability in rows
    ]
    return facts


def _or_none(number: int) -> int | None:
    return None if number == NONE else number


def _share(value: float) -> float | None:
    return None if np.isnan(value) else round(value, 3)
