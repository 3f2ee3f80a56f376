"""The verbs of `edos labels`: list the label sets, show one, and show how it translates into another."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edos_dataset.commands.options import Result, verb
from edos_dataset.label_sets import BUILT_IN, DEFAULT, LabelMap, LabelSet, load_label_map, load_label_set, map_between
from edos_dataset.label_sets.label_set import LabelSetError


@verb
def labels_list() -> Result:
    """List the built-in label sets.

    Returns:
        `label_sets`, for each: `name`, `description`, the numbers of `labels`, `emotions` and `intents`, `neutral` (the
        label, or null), `maps` (the sets into which it can be translated) and `default` (whether it is the default).
    """
    rows = [_facts(load_label_set(name)) for name in BUILT_IN]
    return Result("labels list", {"label_sets": rows}, None, {row["name"]: row["labels"] for row in rows})


@verb
def labels_show(given: str | Path | LabelSet | Mapping[str, Any] = DEFAULT) -> Result:
    """Show a label set.

    Args:
        given: name of a built-in set, a YAML file, the content of one, or a `LabelSet`.

    Returns:
        The facts of `labels_list`, but `labels` is a list with `id`, `label`, `kind` ("emotion", "response intent" or
        "neutral"), `group`, `definition`, `example` and `colour` of each label, null where unknown; and `content`, the
        set as it is written in a YAML file.

    Raises:
        ValueError: there is no such set, or the file is invalid; the message names file and line.
    """
    labels = load_label_set(given)
    groups = {label: group for group, members in labels.groups.items() for label in members}
    rows = [
        {
            "id": number,
            "label": label,
            "kind": labels.kind(label),
            "group": groups.get(label),
            "definition": labels.definitions.get(label),
            "example": labels.examples.get(label),
            "colour": labels.colours.get(label),
        }
        for number, label in enumerate(labels.labels)
    ]
    facts = {**_facts(labels), "labels": rows, "content": labels.as_dict()}
    return Result("labels show", facts, None, {"name": labels.name, "labels": len(labels)})


@verb
def labels_map(
    source: str | Path | LabelSet | Mapping[str, Any],
    target: str | Path | LabelSet | LabelMap | Mapping[str, Any],
) -> Result:
    """Show how the labels of a set translate into those of another set.

    Args:
        source: the set, as for `labels_show`.
        target: the other set, or a map: a YAML file or a dictionary of `label: target`.

    Returns:
        `from` and `to`, the names of the sets, and `labels`: label → {label of the other set: fraction}, empty if none
        corresponds.

    Raises:
        ValueError: there is no such set, the map is invalid, or no map between the two sets is known.
    """
    found = load_label_map(target, load_label_set(source))
    table = {label: dict(found.table[label]) for label in found.source.labels}
    facts = {"from": found.source.name, "to": found.target.name, "labels": table}
    return Result("labels map", facts, None, {"from": found.source.name, "to": found.target.name})


def _facts(labels: LabelSet) -> dict[str, Any]:
    return {
        "name": labels.name,
        "description": labels.description,
        "labels": len(labels),
        "emotions": len(labels.emotions),
        "intents": len(labels.intents),
        "neutral": labels.neutral,
        "maps": [name for name in BUILT_IN if name != labels.name and _translates(labels, name)],
        "default": labels.name == DEFAULT,
    }


def _translates(labels: LabelSet, name: str) -> bool:
    try:
        map_between(labels, load_label_set(name))
    except LabelSetError:
        return False
    return True
