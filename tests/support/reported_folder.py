"""A small labelled data set as `edos curate` leaves it, of chance, and what plain Python counts of it."""

import random

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.analysis.counting import count_parts, parts_of
from edos_dataset.analysis.label_system import OURS
from edos_dataset.analysis.page import dialogues_at, shown_dialogues, wanted_places
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.schema import arrow_schema

WORDS = ["the", "cat", "sat", "on", "a", "red", "mat", "while", "we", "all", "sang", "songs", "about", "it", "don't"]


def dialogues(number, seed=0, labels=41):
    """Return rows of the config "edos"; some labels, films, years and certainties are missing."""
    draw = random.Random(seed)
    rows = []
    for place in range(number):
        film = draw.randrange(30)
        turns = []
        for _ in range(draw.randrange(1, 12)):
            label = draw.randrange(labels) if draw.random() < 0.95 else None
            second = {"label": draw.randrange(labels), "probability": 0.25}
            top = [] if label is None else [{"label": label, "probability": 0.5}, second][: draw.randrange(1, 3)]
            text = " ".join(draw.choices(WORDS, k=draw.randrange(1, 14))) + draw.choice(["", ".", "?!"])
            confidence = None if label is None else draw.randrange(101) / 100
            sure = (7 * place + 3 * len(turns)) % 20 / 20 + 0.025 if turns else None
            turns.append({"text": text, "label": label, "confidence": confidence, "top": top, "certainty": sure})
        rows.append(
            {
                "dialogue_id": f"d{seed}-{place}",
                "document_id": f"film{film}" if draw.random() < 0.9 else None,
                "source": {"kind": "opus", "year": 1950 + film if film % 3 else None},
                "certainty": draw.random() if draw.random() < 0.9 else None,
                "turns": turns,
            }
        )
    return rows


def table_of(rows):
    """Return rows as a table of the config "edos"."""
    return pa.Table.from_pylist(rows, arrow_schema("edos"))


def write_folder(folder, splits, rows_a_group=37):
    """Write split → rows as the config "edos" of a folder."""
    (folder / "edos").mkdir(parents=True)
    for split, rows in splits.items():
        path = folder / "edos" / f"{split}-00000-of-00001.parquet"
        pq.write_table(table_of(rows), path, row_group_size=rows_a_group)
    return folder


def shown_of(files, labels):
    """Return what a page shows of the dialogues of split → files."""
    parts = parts_of(files, labels)
    with LocalEngine(1) as engine:
        counts = count_parts(parts, labels, engine)
        return shown_dialogues(counts, OURS, dialogues_at(parts, wanted_places(counts, OURS), engine))
