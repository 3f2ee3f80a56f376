"""What a page shows of the dialogues drawn: no more than its size allows, whatever the data are."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from edos_dataset.analysis.counts import Counts
from edos_dataset.analysis.figures import surprising
from edos_dataset.analysis.label_system import LabelSystem
from edos_dataset.analysis.samples import Dialogue

MOST_BYTES = 5_000_000
"""Of the dialogues in a page."""


def wanted_places(counts: Counts, labels: LabelSystem) -> list[int]:
    """Return the places of the dialogues of which a page shows as many as it may, the first ones first."""
    return counts.samples.places(list(_pairs(counts, labels).values()))


def shown_dialogues(
    counts: Counts, labels: LabelSystem, dialogues: Mapping[int, Dialogue], first: Sequence[int] = ()
) -> dict[str, Any]:
    """Return the dialogues that a page shows.

    Args:
        counts: what was counted.
        labels: of the data set.
        dialogues: place → dialogue, of all `wanted_places` and `first`.
        first: places of dialogues that come before those: what the page says of them leads to them.

    Returns:
        `dialogues`, each once, and `examples`: for each surprising pair, "before after" → ids, and `doubtful`: label →
        ids of dialogues with the least sure turn of it.
    """
    shown: dict[str, Dialogue] = {}
    size = 0
    for dialogue in map(dialogues.__getitem__, (*first, *wanted_places(counts, labels))):
        if dialogue["id"] in shown:
            continue
        bytes_ = len(json.dumps(dialogue, ensure_ascii=False).encode())
        if size + bytes_ <= MOST_BYTES:
            shown[dialogue["id"]] = dialogue
            size += bytes_
    drawn = counts.samples
    return {
        "dialogues": [shown[name] for name in sorted(shown)],
        "examples": {
            name: [entry.name for entry in drawn.pair.groups.get(group, ()) if entry.name in shown]
            for name, group in _pairs(counts, labels).items()
        },
        "doubtful": {
            labels.names[group]: [entry.name for entry in entries if entry.name in shown]
            for group, entries in sorted(drawn.doubtful.groups.items())
        },
    }


def _pairs(counts: Counts, labels: LabelSystem) -> dict[str, int]:
    """Return the surprising pairs, "before after" → the group of its examples."""
    ids = {name: number for number, name in enumerate(labels.names)}
    return {
        f"{pair['before']} {pair['after']}": ids[pair["before"]] * counts.labels + ids[pair["after"]]
        for pair in surprising(counts.transitions, labels.names)
    }
