"""Dialogues to look at: drawn by the hash of their ids, so that no order and no number of processes decides which."""

from collections.abc import Iterator, Sequence
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
    """Dialogues drawn.

    Attributes:
        labels: number of labels.
        all: of all, in group 0.
        label: of each label, those that have it on a turn.
        pair: of each label after another, those that have it; the group is `before * labels + after`.
        doubtful: of each label, those with the turn of least confidence.
    """

    labels: int
    all: Lowest[Dialogue] = field(default_factory=lambda: Lowest(OF_ALL))
    label: Lowest[Dialogue] = field(default_factory=lambda: Lowest(OF_LABEL))
    pair: Lowest[Dialogue] = field(default_factory=lambda: Lowest(OF_PAIR))
    doubtful: Lowest[Dialogue] = field(default_factory=lambda: Lowest(DOUBTFUL))

    def add(self, batch: Batch, ranks: Doubles) -> None:
        """Draw from a batch.

        Args:
            batch: the dialogues.
            ranks: [dialogues], equally spread over 0 to 1 by a hash of the id.
        """
        made: dict[int, Dialogue] = {}
        second = batch.second()

        def dialogue(row: int) -> Dialogue:
            if row not in made:
                made[row] = dialogue_of(batch, row, second)
            return made[row]

        def name(row: int) -> str:
            return str(batch.ids[row].as_py())

        def put(chosen: Lowest[Dialogue], turns: Any, groups: Any, values: Doubles) -> None:  # noqa: ANN401 - arrays
            rows = of_turn[turns]
            chosen.add(groups, values, lambda at: name(rows[at]), lambda at: dialogue(int(rows[at])))

        of_turn, labels = batch.of_turn, batch.labels
        self.all.add(np.zeros(len(ranks), np.int64), ranks, name, dialogue)
        labelled = np.flatnonzero(labels != NONE)
        put(self.label, labelled, labels[labelled], ranks[of_turn[labelled]])
        after = np.flatnonzero((batch.place > 0) & (labels != NONE))
        after = after[labels[after - 1] != NONE]
        put(self.pair, after, labels[after - 1] * self.labels + labels[after], ranks[of_turn[after]])
        unsure = np.flatnonzero((labels != NONE) & ~np.isnan(batch.confidence))
        put(self.doubtful, unsure, labels[unsure], batch.confidence[unsure])

    def merge(self, other: "Samples") -> None:
        """Add what another one has drawn."""
        self.all.merge(other.all)
        self.label.merge(other.label)
        self.pair.merge(other.pair)
        self.doubtful.merge(other.doubtful)

    def dialogues(self, pairs: Sequence[int]) -> Iterator[Dialogue]:
        """Yield what a page shows, some twice, what must not be missing first: examples of some pairs, doubtful
        labels, dialogues of each label, and of all.
        """
        for chosen, groups in (
            (self.pair, pairs),
            *((one, sorted(one.groups)) for one in (self.doubtful, self.label, self.all)),
        ):
            for group in groups:
                yield from (entry.value for entry in chosen.groups.get(group, ()))


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
