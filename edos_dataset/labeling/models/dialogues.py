"""What labelers are given and what they give back, checked in one place for all of them."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.labels import LABELS
from edos_dataset.text import shown

TRIAL = [["Hello.", "How are you?"]]
"""What a labeler is tried on before a run."""

_WANTED = (
    "predict_proba takes dialogues, each a list of its turns, oldest first: [['I lost my job.', 'Oh no!']] is one of "
    "two turns, [[text] for text in texts] are single turns"
)


def dialogues_given(dialogues: Iterable[Iterable[str]]) -> list[list[str]]:
    """Return dialogues as lists of their turns.

    Raises:
        ValueError: they are something else, such as a text, or a list of texts, whose characters would be turns.
    """
    if isinstance(dialogues, str | bytes | Mapping) or not isinstance(dialogues, Iterable):
        raise ValueError(f"{shown(dialogues)} is no list of dialogues: {_WANTED}")
    given: list[list[str]] = []
    for number, turns in enumerate(dialogues):
        if isinstance(turns, str | bytes | Mapping) or not isinstance(turns, Iterable):
            raise ValueError(f"dialogue {number} is {shown(turns)}, which is no list of turns: {_WANTED}")
        given.append(list(turns))
        for place, turn in enumerate(given[-1]):
            if not isinstance(turn, str):
                raise ValueError(f"turn {place} of dialogue {number} is {shown(turn)}, which is no text: {_WANTED}")
    return given


def check_probabilities(found: Any, dialogues: list[list[str]]) -> Floats:  # noqa: ANN401 - whatever a labeler gives
    """Return what a labeler gave for dialogues, float32.

    Raises:
        ValueError: it is not a row of 41 probabilities for every turn.
    """
    turns = sum(map(len, dialogues))
    try:
        probabilities: Floats = np.asarray(found, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ValueError(f"it gives no probabilities, but {shown(found)}") from error
    if probabilities.shape != (turns, len(LABELS)):
        raise ValueError(f"it gives an array {list(probabilities.shape)} for {turns} turns, not [{turns}, 41]")
    if not ((probabilities >= 0) & (probabilities <= 1.001)).all() or (abs(probabilities.sum(1) - 1) > 0.01).any():
        raise ValueError("it gives rows that are no probabilities: each must have 41 from 0 to 1 that sum to 1")
    return probabilities
