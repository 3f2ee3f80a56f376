"""Functions as labelers. They return for every turn the name of its label; its probabilities by label, as a dictionary
or as a pipeline of transformers lists them; or an array of probabilities.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from edos_dataset.label_sets import LabelSet, set_of_names
from edos_dataset.labeling.models.base import TRIAL, Labeler, identity_of, label_id

Function = Callable[[list[list[str]]], Any]


class FunctionLabeler(Labeler):
    """A labeler made of a function from dialogues to the labels or probabilities of their turns.

    Its labels are those of its attribute `label_set`; without one, those to which it gives probabilities by name, found
    by calling it once, if they are not all labels of EDOS.

    Attributes:
        found: whether they were found so.
    """

    context = None

    def __init__(self, function: Function) -> None:
        self._function = function
        self.label_set = getattr(function, "label_set", Labeler.label_set)
        self.threshold = getattr(function, "threshold", None)
        names = _names_given(function) if self.label_set is Labeler.label_set else []
        self.found = len(names) > 1 and any(self.label_set.find(name) is None for name in names)
        if self.found:
            self.label_set = set_of_names(names)

    @property
    def identity(self) -> str:
        """Name and digest of the function."""
        return identity_of(self._function)

    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Any:  # noqa: ANN401 - checked later
        """Return what the function returns, see `CheckedLabeler`."""
        return self._function([list(turns) for turns in dialogues])


def in_columns(found: Any, labels: LabelSet) -> Any:  # noqa: ANN401 - what a labeler returned
    """Return probabilities by label as an array [turns, labels], 0 for labels that are not given; anything else as it
    is.

    Raises:
        ValueError: a label is none of the set.
    """
    if (scores := _scores(found)) is None:
        return found
    rows = np.zeros((len(scores), len(labels)), np.float32)
    for row, turn in zip(rows, scores, strict=True):
        for name, share in turn.items():
            row[label_id(name, labels)] = share
    return rows


def _names_given(function: Function) -> list[str]:
    """Return the labels to which a function gives probabilities by name; none if it gives something else, or fails,
    which is reported when it labels.
    """
    with suppress(Exception):
        return list(dict.fromkeys(name for turn in _scores(function(TRIAL)) or () for name in turn))
    return []


def _scores(found: Any) -> list[dict[str, Any]] | None:  # noqa: ANN401
    """Return probabilities by label, one dictionary for each turn; None for anything else."""
    if not isinstance(found, list | tuple) or not found:
        return None
    turns: list[Any] = [_by_label(turn) if isinstance(turn, list | tuple) else turn for turn in found]
    if not all(isinstance(turn, Mapping) and turn and all(isinstance(name, str) for name in turn) for turn in turns):
        return None
    return [dict(turn) for turn in turns]


def _by_label(listed: Sequence[Any]) -> Mapping[str, Any] | None:
    """Return `[{"label": "joy", "score": 0.7}, ...]` as a dictionary; None for anything else."""
    if not all(isinstance(each, Mapping) and {"label", "score"} <= set(each) for each in listed):
        return None
    return {str(each["label"]): each["score"] for each in listed}
