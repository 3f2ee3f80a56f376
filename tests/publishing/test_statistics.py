"""What is counted of a config: the same by hand, whatever the shards."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.publishing.layout import ConfigFiles, write_config
from edos_dataset.publishing.published import summary
from edos_dataset.publishing.statistics import UNKNOWN, Statistics, from_record
from edos_dataset.runs.shards import write_shard
from edos_dataset.schema import LABELLED, SPLITS, arrow_schema
from published_folder import dialogues, films_of, write_shards

FILMS = [*films_of("train", 3), *films_of("test", 1)]


def rows(*turns, film=FILMS[0], number=1, year=None, genres=("Drama",), language="en", kind="opus", certainty=None):
    """Return a labelled dialogue; a turn is (text, start, label, confidence, model)."""
    made = [
        {
            "text": text,
            "start": start,
            "end": None,
            "sentence_ids": [1],
            "label": label,
            "confidence": confidence,
            "top": [],
            "label_source": source,
        }
        for text, start, label, confidence, source in turns
    ]
    source = {
        "kind": kind,
        "path": f"{film}.xml",
        "imdb_id": None,
        "year": year,
        "genres": list(genres) if genres is not None else None,
    }
    common = {
        "dialogue_id": f"{film}#{number}",
        "document_id": film,
        "film": film,
        "language": language,
        "source": source,
        "reading": None,
        "certainty": certainty,
        "turns": made,
    }
    return {**common, "embeddings": None, "emotionality": 0.5, "confidence": 0.5}


DIALOGUES = [
    rows(("One two three.", 1.0, 36, 0.05, "a"), ("Yes!", None, 0, 0.999, "b"), year=1994, certainty=0.95),
    rows(
        ("No?", None, 36, 0.1, "a"),
        ("Go.", 2.0, 40, 1.0, "a"),
        number=9,
        year=1999,
        genres=("Drama", "Crime"),
        certainty=0.7,  # as 32 bits 0.699999988, which is less than 0.7
    ),
    rows(
        ("I see.", 3.0, 0, 0.55, "a"),
        ("Oh.", 4.0, 36, 0.5, "a"),
        film=FILMS[1],
        year=2001,
        genres=None,
        kind="subtitle",
        language="de",
    ),
    rows(("Bye.", 0.0, 5, 0.3, "a"), ("Bye.", 0.5, 5, 0.3, "a"), film=FILMS[3], certainty=1.0),
]
COUNTED = {
    "rows": {"train": 3, "validation": 0, "test": 1},
    "turns": {"train": 6, "validation": 0, "test": 2},
    "tokens": {"train": (4 + 2) + (2 + 2) + (3 + 2), "validation": 0, "test": 2 + 2},
    "labels": {36: 3, 0: 2, 40: 1, 5: 2},
    "prompts": {36: 2, 0: 1, 5: 1},
    "label_sources": {"a": 7, "b": 1},
    "confidence": [1, 1, 0, 2, 0, 2, 0, 0, 0, 2],
    "certainty": [0, 0, 0, 0, 0, 0, 1, 0, 0, 2],
    "certainty_millionths": [0, 0, 0, 0, 0, 0, 700_000, 0, 0, 1_950_000],
    "unjudged": 1,
    "languages": {"en": 3, "de": 1},
    "kinds": {"opus": 3, "subtitle": 1},
    "decades": {"1990s": 2, "2000s": 1, UNKNOWN: 1},
    "genres": {"Drama": 3, "Crime": 1},
    "documents": 3,
    "untimed": 2,
}


@pytest.mark.parametrize("shards", [[4], [1, 1, 1, 1], [1, 3], [2, 0, 2]])
def test_counts(tmp_path, shards):
    table, paths, start = pa.Table.from_pylist(DIALOGUES, LABELLED), [], 0
    for number, size in enumerate(shards):
        paths.append(tmp_path / f"{number}.parquet")
        write_shard(paths[-1], table.slice(start, size))
        start += size
    written = write_config("edos", paths, tmp_path / "out")
    assert {name: getattr(written, name) for name in COUNTED} == COUNTED
    assert (written.total_rows, written.total_turns, written.total_tokens) == (4, 8, 19)
    assert written.sure() == (3, pytest.approx(2.65 / 3)) and written.sure(9) == (2, pytest.approx(0.975))
    assert summary(written)["certainty"] == 0.8833


@pytest.mark.parametrize("first", range(10))
def test_bins_of_certainty_are_those_of_a_filter(first):
    """`certainty >= 0.7` selects as many dialogues as were counted, also for values next to the limits."""
    edges = np.arange(11, dtype=np.float32) / np.float32(10)
    values = pa.array(np.concatenate([edges, np.nextafter(edges, 0.5, dtype=np.float32)]), pa.float32())
    table = dialogues(films_of("train", len(values)), "os").select(["document_id", "language", "source", "turns"])
    counted = Statistics()
    counted.add("train", table.append_column("certainty", values))
    asked = [value for value in values.to_pylist() if value >= first / 10]
    assert counted.sure(first) == (len(asked), pytest.approx(sum(asked) / len(asked)))


def test_without_certainty_nothing_is_sure(tmp_path):
    written = write_config("os", write_shards(tmp_path / "shards", FILMS, "os"), tmp_path / "out")
    assert (written.certainty, written.unjudged, written.sure()) == ([0] * 10, 4, (0, None))
    assert summary(written)["certainty"] is None
    older = Statistics()
    older.add("train", dialogues(FILMS, "os").drop_columns(["certainty"]))
    assert (older.certainty, older.certainty_millionths, older.unjudged, older.sure()) == ([], [], 0, (0, None))


def test_no_labels_no_counts_of_them(tmp_path):
    written = write_config("os", write_shards(tmp_path / "shards", FILMS, "os"), tmp_path / "out")
    assert (written.labels, written.prompts, written.label_sources, written.confidence) == ({}, {}, {}, [])
    assert written.languages == {"en": 4} and written.documents == 4


def test_a_record_in_json_and_back(tmp_path):
    written = write_config("edos", write_shards(tmp_path / "shards", FILMS, "edos"), tmp_path / "out")
    assert from_record(ConfigFiles, json.loads(json.dumps(vars(written)))) == written
    with pytest.raises(TypeError):
        from_record(ConfigFiles, {**vars(written), "of_another_version": 1})
    shutil.rmtree(tmp_path / "out")


def test_slices_count_what_they_show():
    """A slice of a table keeps the whole of its nested columns behind it."""
    table = dialogues(FILMS, "edos").select(arrow_schema("edos").names).cast(arrow_schema("edos"))
    whole, parts = Statistics(), Statistics()
    whole.add("train", table)
    previous = None
    for start in range(len(table)):
        previous = parts.add("train", table.slice(start, 1), previous)
    assert parts == whole and whole.rows == {split: 4 if split == "train" else 0 for split in SPLITS}
