"""What a page shows of the dialogues drawn: no more than its size allows, whatever the data are."""

import json
from typing import Any

from edos_dataset.analysis.counts import Counts
from edos_dataset.analysis.figures import surprising
from edos_dataset.analysis.label_system import LabelSystem

MOST_BYTES = 5_000_000
"""Of the dialogues in a page."""


def shown_dialogues(counts: Counts, labels: LabelSystem) -> dict[str, Any]:
    """Return the dialogues that a page shows.

    Returns:
        `dialogues`, each once, and `examples`: for each surprising pair, "before after" → ids, and `doubtful`: label →
        ids of dialogues with the least sure turn of it.
    """
    ids = {name: number for number, name in enumerate(labels.names)}
    pairs = {
        f"{pair['before']} {pair['after']}": ids[pair["before"]] * counts.labels + ids[pair["after"]]
        for pair in surprising(counts.transitions, labels.names)
    }
    shown: dict[str, dict[str, Any]] = {}
    size = 0
    for dialogue in counts.samples.dialogues(list(pairs.values())):
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
            for name, group in pairs.items()
        },
        "doubtful": {
            labels.names[group]: [entry.name for entry in entries if entry.name in shown]
            for group, entries in sorted(drawn.doubtful.groups.items())
        },
    }
