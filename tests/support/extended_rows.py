"""Rows of the config "extended" for the tests, with invented texts."""

import json

import numpy as np
import pyarrow as pa

from edos_dataset.augmentation.extended import COUNTS
from edos_dataset.labels import LABEL_IDS, LABELS
from edos_dataset.publishing.cards.single import extended_card
from edos_dataset.publishing.layout import write_single
from edos_dataset.runs.folder import OutputFolder
from edos_dataset.schema import EXTENDED, arrow_schema


def row(dialogue_id, turns, label, **origin):
    """Return a row; `share` is the probability of its label, the rest of it is "neutral"."""
    share = origin.pop("share", 1.0)
    soft = np.zeros(len(LABELS))
    soft[LABEL_IDS["neutral"]] += 1 - share
    soft[LABEL_IDS[label]] += share
    return {
        "dialogue_id": dialogue_id,
        "turns": [{"text": text, "start": None, "end": None, "sentence_ids": []} for text in turns],
        "label": LABEL_IDS[label],
        "soft_label": soft.tolist(),
        **{"method": "crowd", "step": 0, "round": 0, "seed_id": None, "similarity": None, "confidence": None},
        **origin,
    }


def spread(dialogue_id, turns, label, seed_id, similarity, step=1):
    return row(dialogue_id, turns, label, method="spread", step=step, round=1, seed_id=seed_id, similarity=similarity)


def self_labelled(dialogue_id, turns, label, confidence):
    return row(dialogue_id, turns, label, method="self-label", step=2, round=1, confidence=confidence, share=confidence)


def table(rows):
    return pa.Table.from_pylist(rows, schema=arrow_schema(EXTENDED))


def counts(seed, steps=()):
    return {
        "seed": seed,
        "steps": list(steps),
        "rows": sum(seed.values()),
        "pool": {"folder": "pool", "dialogues": 12000},
        "command": "edos extend seed pool --out out",
    }


def step(number, method, papers=None, **by_label):
    labelled = sum(by_label.values())
    return {
        "step": number, "method": method, "round": 1, "parameters": {"threshold": 0.92},
        "read": 12000, "labelled": labelled,
        "rejected": {"not_similar": 11990 - labelled, "conflict": 10}, "by_label": by_label, "papers": papers,
    }  # fmt: skip


def write_extended(out, tables, counted):
    """Write the folder as `edos extend` does."""
    with OutputFolder(out, "extend") as folder:
        write_single(folder.prepare(), EXTENDED, tables, extended_card(counted), {COUNTS: json.dumps(counted)})
        folder.commit()
