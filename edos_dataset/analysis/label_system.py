"""The label set of a dataset: our own, or another one with its mapping to ours."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Doubles
from edos_dataset.label_sets import DEFAULT, LabelSet, LabelSetError, load_label_set, map_between
from edos_dataset.labels import EMOTIONS, INTENTS, LABEL_IDS, LABELS, NEUTRAL

EMOTION, INTENT = "emotion", "response intent"
KINDS = (EMOTION, INTENT, NEUTRAL)
"""Kinds of labels."""


@dataclass(frozen=True)
class LabelSystem:
    """Labels in the order of their ids.

    Attributes:
        name: Name of the label set.
        names: Names of the labels.
        ours: The ids of our labels to which each label can correspond.
        own_kinds: The kind of each label, one of KINDS, where the set itself says so.
    """

    name: str
    names: tuple[str, ...]
    ours: tuple[frozenset[int], ...]
    own_kinds: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kind of each label, one of KINDS."""
        return self.own_kinds or tuple(map(_kind, self.ours))

    def counted(self, counts: npt.ArrayLike) -> Doubles:
        """Convert counts of our labels into counts of these labels.

        A count is divided equally among the labels that correspond to it, and dropped where there are none.

        Args:
            counts: [..., 41].
        """
        meant = np.array([[float(label in ours) for ours in self.ours] for label in range(len(LABELS))])
        result: Doubles = np.asarray(counts, np.float64) @ (meant / meant.sum(axis=1, keepdims=True).clip(min=1))
        return result


OURS = LabelSystem("edos", LABELS, tuple(frozenset([label]) for label in range(len(LABELS))))
"""Our 41 labels."""


def system_of_label_set(labels: LabelSet) -> LabelSystem:
    """Return a label set with its mapping to ours: each label of ours corresponds to the one into which most of it
    translates, or to none where no map is known.
    """
    edos = load_label_set(DEFAULT)
    if labels.labels == edos.labels:
        return OURS
    ours: list[set[int]] = [set() for _ in labels.labels]
    try:
        translate = map_between(edos, labels)
    except LabelSetError:
        translate = None
    for number, label in enumerate(edos.labels) if translate else ():
        if translate and (found := translate(label)) is not None:
            ours[labels.ids[found]].add(number)
    return LabelSystem(labels.name, labels.labels, tuple(map(frozenset, ours)), tuple(map(labels.kind, labels.labels)))


def common(one: LabelSystem, other: LabelSystem) -> LabelSystem | None:
    """Return the label set in which two datasets can be compared: the one that is not ours. None if both have different
    label sets of their own.
    """
    if one == other or other == OURS:
        return one
    return other if one == OURS else None


def in_labels_of(counts: npt.ArrayLike, own: LabelSystem, wanted: LabelSystem) -> Doubles:
    """Convert counts from one label set into another, which `common` returned."""
    return np.asarray(counts, np.float64) if own == wanted else wanted.counted(counts)


def _kind(ours: Sequence[int] | frozenset[int]) -> str:
    names = {LABELS[label] for label in ours}
    if LABEL_IDS[NEUTRAL] in ours:
        return NEUTRAL
    return INTENT if names & set(INTENTS) or not names & set(EMOTIONS) else EMOTION
