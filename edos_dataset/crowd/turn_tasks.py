"""Tasks for annotators made from dialogues: one for each turn."""

from collections.abc import Iterable, Mapping
from typing import Any

from edos_dataset.crowd.names import EDOS
from edos_dataset.label_sets import LabelSet

MOST_CHOICES = 12
"""Size of the largest label set that is shown whole where nothing is known to suggest."""
HISTORY = 3
"""Number of turns shown before the one that is asked about."""


def tasks_of_turns(
    dialogues: Iterable[Mapping[str, Any]], labels: LabelSet = EDOS, history: int = HISTORY, openings: bool = False
) -> list[dict[str, Any]]:
    """Return a task for each turn of dialogues.

    Args:
        dialogues: `dialogue_id`, and `turns` with `text`, and optionally `label` and `top`, ids of labels, of which the
            most probable ones are suggested. Without them all labels are, which a small set allows.
        labels: the label set.
        history: number of preceding turns to show.
        openings: ask about first turns too, which have nothing before them; that of a dialogue of one turn always is.

    Raises:
        ValueError: the turns have no labels to suggest, and the set has too many to show all.
    """
    tasks = []
    for dialogue in dialogues:
        name, turns = dialogue["dialogue_id"], dialogue["turns"]
        first = 0 if openings or len(turns) == 1 else 1
        for place, turn in enumerate(turns[first:], first):
            shown = [each["text"] for each in turns[max(0, place - history) : place + 1]]
            task = {"task": f"{name}/{place + 1}", "dialogue_id": name, "turns": shown}
            task |= speakers_of(turns[max(0, place - history) : place + 1])
            suggested = _suggested(turn, labels)
            if not suggested and len(labels) > MOST_CHOICES:
                raise ValueError(
                    f"turn {place + 1} of {name!r} has no label, and {labels.name!r} has too many to show all "
                    f"{len(labels)}: label the dialogues first (`edos label`), so that likely ones are suggested, or "
                    "give a smaller set by --label-set"
                )
            tasks.append(
                task | ({"top": suggested, "label": suggested[0]} if suggested else {"choices": labels.labels})
            )
    return tasks


def speakers_of(turns: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the key `speakers` of a task: who says each turn, "" if unknown; nothing if all are."""
    names = [str(turn.get("speaker") or "") for turn in turns]
    return {"speakers": names} if any(names) else {}


def _suggested(turn: Mapping[str, Any], labels: LabelSet) -> list[str]:
    """Return the names of a turn's labels, the most probable first."""
    top = [each["label"] for each in turn.get("top") or ()] or [turn.get("label")]
    return [labels.labels[label] for label in top if label is not None]
