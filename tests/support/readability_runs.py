"""Runs of a few dialogues with labels, for the tests of what is chosen to be read by people."""

import json

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.labels import LABEL_IDS
from edos_dataset.schema import arrow_schema
from published_folder import manifest_of

SAD, ANGRY = LABEL_IDS["sad"], LABEL_IDS["angry"]


def write_run(folder, dialogues, reverse=False):
    """Write a run of dialogues, id → list of (text, label, confidence), over two splits."""
    for config in ("os", "edos_initial"):
        rows = []
        for dialogue_id, turns in dialogues.items():
            record = {"dialogue_id": dialogue_id, "document_id": "f", "language": "en", "source": None, "turns": []}
            for text, label, confidence in turns:
                turn = {"text": text, "start": None, "end": None, "sentence_ids": []}
                if config != "os":
                    top = [{"label": (label + step) % 41, "probability": confidence / (step + 1)} for step in range(3)]
                    turn |= {"label": label, "confidence": confidence, "top": top, "label_source": "toy"}
                record["turns"].append(turn)
            rows.append(record)
        rows = rows[::-1] if reverse else rows
        (folder / config).mkdir(parents=True)
        for split, part in (("train", rows[::2]), ("test", rows[1::2])):
            pq.write_table(
                pa.Table.from_pylist(part, arrow_schema(config)), folder / config / f"{split}-00000-of-00001.parquet"
            )
    (folder / "manifest.json").write_text(json.dumps(manifest_of("os", "edos_initial")))
    return folder


def dialogues():
    return {
        "a#1": [("You know it.", SAD, 0.95), ("You know him well.", SAD, 0.91), ("Perhaps.", ANGRY, 0.89)],
        "b#1": [("You!", ANGRY, 0.99)],
        "c#1": [("you", ANGRY, 0.9)],
        "d#1": [("Zounds, gadzooks, zounds!", ANGRY, 1.0)],
        "e#1": [("You know what you know.", SAD, 0.2)],
    }
