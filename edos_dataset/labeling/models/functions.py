"""Functions as labelers. They return for every turn the name of its label; its probabilities by label, as a dictionary
or as a pipeline of transformers lists them; or an array of probabilities.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from edos_dataset.label_sets import LabelSet, known_set, set_of_names
from edos_dataset.labeling.models.base import TRIAL, Labeler, identity_of, label_id

Function = Callable[[list[list[str]]], Any]
_Key = tuple[tuple[str, ...], ...]


class FunctionLabeler(Labeler):
    """A labeler made of a function from dialogues to the labels or probabilities of their turns.

    Its labels are those of its attribute `label_set`; without one, those to which it gives probabilities by name, found
    by calling it once, if they are not all labels of EDOS. One that gives a turn nothing but the name of its label
    shows only by all dialogues which labels it has (`names_given`).

    Attributes:
        found: whether they were found so.
        is_open: whether it has not said which labels it has.
    """

    context = None

    def __init__(self, function: Function) -> None:
        self._function = function
        self.identity = identity_of(function)
        self.label_set = getattr(function, "label_set", Labeler.label_set)
        self.threshold = getattr(function, "threshold", None)
        self._answers: dict[_Key, Any] = {}
        named = self.label_set is Labeler.label_set
        names = _names_of_shares(function) if named else []
        self.found = len(names) > 1 and any(self.label_set.find(name) is None for name in names)
        self.is_open = named and not self.found
        if self.found:
            self.label_set = set_of_names(names)

    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Any:  # noqa: ANN401 - checked later
        """Return what the function returns, see `CheckedLabeler`."""
        given = [list(turns) for turns in dialogues]
        known = self._answers.pop(_key(given), None) if self._answers else None
        return self._function(given) if known is None else known

    def names_given(self, batches: Iterable[list[list[str]]]) -> list[str] | None:
        """Return the labels of a set of the function's own, which are all that it gives to dialogues; None if there are
        fewer than two, if most are labels of EDOS, so that another is an error, or if the function fails, which is
        reported when it labels.

        Its answers are kept until they are asked for, so that it labels no dialogue twice.
        """
        names: set[str] = set()
        with suppress(Exception):
            for dialogues in batches:
                self._answers[_key(dialogues)] = answer = self._function([list(turns) for turns in dialogues])
                if not (given := _names_in(answer)):
                    return None
                names.update(given)
        unknown = sum(self.label_set.find(name) is None for name in names)
        if len(names) < 2 or 2 * unknown < len(names):
            return None
        known = known_set(names)
        return sorted(names) if known is None else list(known.labels)


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


def _key(dialogues: Iterable[Iterable[str]]) -> _Key:
    return tuple(map(tuple, dialogues))


def _names_of_shares(function: Function) -> list[str]:
    """Return the labels to which a function gives probabilities by name; none if it gives something else, or fails,
    which is reported when it labels.
    """
    with suppress(Exception):
        return list(dict.fromkeys(name for turn in _scores(function(TRIAL)) or () for name in turn))
    return []


def _names_in(found: Any) -> Sequence[str]:  # noqa: ANN401
    """Return the labels that a function's answer names; none if it is an array."""
    if isinstance(found, list | tuple) and all(isinstance(name, str) for name in found):
        return found
    return [name for turn in _scores(found) or () for name in turn]


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
