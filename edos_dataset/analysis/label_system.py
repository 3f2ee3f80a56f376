"""The labels of a data set: ours, or those of another maker's set with what they mean in ours."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Doubles
from edos_dataset.labels import EMOTIONS, INTENTS, LABEL_IDS, LABELS, NEUTRAL

EMOTION, INTENT = "emotion", "response intent"
KINDS = (EMOTION, INTENT, NEUTRAL)
"""Kinds of labels."""


@dataclass(frozen=True)
class LabelSystem:
    """Labels in the order of their ids.

    Attributes:
        name: of the set that has them.
        names: theirs.
        ours: for each, the ids of our labels that it can stand for.
    """

    name: str
    names: tuple[str, ...]
    ours: tuple[frozenset[int], ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """What each is, one of KINDS."""
        return tuple(map(_kind, self.ours))

    def counted(self, counts: npt.ArrayLike) -> Doubles:
        """Return counts of our labels as counts of these: of a label of ours that two of these can stand for, each gets
        half; one that none stands for is left out.

        Args:
            counts: [..., 41].
        """
        meant = np.array([[float(label in ours) for ours in self.ours] for label in range(len(LABELS))])
        result: Doubles = np.asarray(counts, np.float64) @ (meant / meant.sum(axis=1, keepdims=True).clip(min=1))
        return result


OURS = LabelSystem("edos", LABELS, tuple(frozenset([label]) for label in range(len(LABELS))))
"""The 41."""


def common(one: LabelSystem, other: LabelSystem) -> LabelSystem | None:
    """Return the labels in which two data sets can be compared: those of the one that are not ours; None where both
    have their own.
    """
    if one == other or other == OURS:
        return one
    return other if one == OURS else None


def in_labels_of(counts: npt.ArrayLike, own: LabelSystem, wanted: LabelSystem) -> Doubles:
    """Return counts of one system's labels as those of another, which `common` gave."""
    return np.asarray(counts, np.float64) if own == wanted else wanted.counted(counts)


def _kind(ours: Sequence[int] | frozenset[int]) -> str:
    names = {LABELS[label] for label in ours}
    if LABEL_IDS[NEUTRAL] in ours:
        return NEUTRAL
    return INTENT if names & set(INTENTS) or not names & set(EMOTIONS) else EMOTION
