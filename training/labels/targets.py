"""What a labelled turn teaches: shares of our labels, or a set of them of which one is right."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.labels import INTENTS, LABEL_IDS, LABELS, NEUTRAL
from edos_dataset.releases.labelled_sets.label_sets import shares_of_meaning, silent_on_intents

INTENT_IDS = tuple(LABEL_IDS[name] for name in INTENTS)
_FIRST = {1: (1.0,), 2: (0.65, 0.35), 3: (0.5, 0.28, 0.22)}
"""Shares of the labels that a reader gave to a turn, the best first, by how many they are."""


class Kind(IntEnum):
    """How a target is meant."""

    SHARES = 0
    """Shares of the 41 labels, which sum to 1."""
    ONE_OF = 1
    """One of the labels above 0 is right; the value is the part of the label that the maker's set has."""
    EMOTION = 2
    """The same, given by people who were not asked for intents: the 8 intents are neither right nor wrong."""


@dataclass(frozen=True, eq=False)
class Target:
    """What a turn teaches.

    Attributes:
        values: float32 [41].
        kind: how they are meant.
    """

    values: Floats
    kind: Kind

    def holds(self, label: int) -> bool:
        """Tell whether a label is among the right ones."""
        return bool(self.values[label] > 0)


def target_of(source: str, names: Sequence[str]) -> Target | None:
    """Return what a turn's labels of another maker's set mean; None if they say nothing about ours."""
    found = shares_of_meaning(source, names)
    if not found:
        return None
    values = np.zeros(len(LABELS), np.float32)
    values[[*found]] = [*found.values()]
    silent = silent_on_intents(source) and found.keys().isdisjoint(INTENT_IDS)
    return Target(values, Kind.EMOTION if silent else Kind.ONE_OF)


def target_of_reader(labels: Sequence[int]) -> Target | None:
    """Return what the one to three labels of a reader mean, the best first; None if there are none."""
    if not labels:
        return None
    values = np.zeros(len(LABELS), np.float32)
    for label, share in zip(labels, _FIRST[len(labels)], strict=True):
        values[label] += share
    return Target(values, Kind.SHARES)


def whole_set(values: Floats) -> Floats:
    """Return the labels that a target of kind EMOTION leaves open among all 41, float32 [n, 41], of its values [n, 41]:
    no emotion may be any intent.
    """
    plain = values[:, [LABEL_IDS[NEUTRAL]]] > 0
    intents = np.zeros(len(LABELS), np.float32)
    intents[list(INTENT_IDS)] = 1
    wide: Floats = np.maximum(values, plain * intents).astype(np.float32)
    return wide
