"""Folders of dialogues to audit: of invented films, and of an invented book with its file."""

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.labels import LABEL_IDS
from edos_dataset.schema import arrow_schema

_NUMBERS = pa.list_(pa.int32())
_SOURCE = pa.struct({"kind": pa.string(), "path": pa.string()})
_BOOK_TURN = pa.struct(
    {
        "text": pa.string(),
        "sentence_ids": _NUMBERS,
        "speaker": pa.string(),
        "narration": pa.string(),
    }
)
BOOK_ROWS = pa.schema(
    {
        "dialogue_id": pa.string(),
        "document_id": pa.string(),
        "language": pa.string(),
        "source": _SOURCE,
        "turns": pa.list_(_BOOK_TURN),
    }
)
"""What a config of books must have at least."""


def film_row(document, texts, first=1, start=0.0):
    """A dialogue of a film: a sentence, and two seconds, a turn."""
    turns = [
        {
            "text": text,
            "start": start + 2 * place,
            "end": start + 2 * place + 1.5,
            "sentence_ids": [first + place],
            "new_speaker": None,
            "one_speaker": None,
            "same_scene": None,
        }
        for place, text in enumerate(texts)
    ]
    source = {"kind": "subtitle", "path": f"films/{document}", "imdb_id": None, "year": None, "genres": []}
    return {
        "dialogue_id": f"{document}#{first}",
        "document_id": document,
        "language": "en",
        "source": source,
        "certainty": 0.75,
        "expected_errors": 0.25,
        "turns": turns,
    }


def book_row(document, turns, path=None):
    """A dialogue of a book; a turn is a text and its paragraphs, and may have a speaker and narration."""
    rows = [
        {"text": text, "sentence_ids": numbers, **dict(zip(("speaker", "narration"), rest, strict=False))}
        for text, numbers, *rest in turns
    ]
    return {
        "dialogue_id": f"{document}#{rows[0]['sentence_ids'][0]}",
        "document_id": document,
        "language": "en",
        "source": {"kind": "text", "path": path or f"books/{document}"},
        "turns": rows,
    }


def write_config(folder, config, splits, schema=None):
    """Write the rows of some splits as a config."""
    (folder / config).mkdir(parents=True)
    for split, rows in splits.items():
        table = pa.Table.from_pylist(rows, schema or arrow_schema(config))
        pq.write_table(table, folder / config / f"{split}-00000-of-00001.parquet")
    return folder


def films(folder, documents=4, dialogues=5):
    """A folder with films in two splits; the words of a turn tell where it is."""
    rows = [
        film_row(
            f"show{film % 2}/film{film}.srt",
            [f"film {film} dialogue {number} turn {turn}" for turn in range(2 + number % 3)],
            10 * number + 1,
            60.0 * number,
        )
        for film in range(documents)
        for number in range(dialogues)
    ]
    return write_config(folder, "os", {"train": rows[: len(rows) // 2], "test": rows[len(rows) // 2 :]})


def labelled_films(folder, labels, dialogues=4, turns=6):
    """A folder with films whose turns have the labels (names) in turn, none for None, and a rising confidence."""
    rows = []
    for film in range(dialogues):
        row = film_row(f"show/film{film}.srt", [f"film {film} turn {turn}" for turn in range(turns)], 1)
        for place, turn in enumerate(row["turns"]):
            name = labels[(film * turns + place) % len(labels)]
            label = None if name is None else LABEL_IDS[name]
            top = [] if label is None else [{"label": label, "probability": 0.5}, {"label": 40, "probability": 0.1}]
            turn |= {"label": label, "confidence": (film * turns + place) / 100, "top": top, "label_source": "toy@1"}
        rows.append(row)
    return write_config(folder, "edos", {"train": rows[:-1], "test": rows[-1:]})
