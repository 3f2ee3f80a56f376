"""Labels without text: nothing of the text but its hash is left, and all else is as it was."""

import hashlib
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import load_dataset

from edos_dataset.labels import LABELS
from edos_dataset.publishing import attach, labels_only
from edos_dataset.publishing.attach import AttachLabels, PublishedLabels
from edos_dataset.publishing.labels_only import write_labels_only
from edos_dataset.runs.folder import FolderError
from edos_dataset.schema import DIALOGUES, features
from published_folder import TEXTS, films_of, publish

FILMS = [*films_of("train", 9), *films_of("validation", 2), *films_of("test", 3)]
FACTS = {"fingerprint": "f00d", "versions": {"edos-dataset": "0.0"}}


@pytest.fixture
def run(tmp_path):
    publish(tmp_path / "run", FILMS, ["edos", "edos_initial", "os"], rows_a_file=4)
    return tmp_path / "run"


@pytest.fixture
def labels(run, tmp_path):
    write_labels_only(run, tmp_path / "labels", "edos", FACTS, "stages: []\n", {"toy": {"licence_of_the_data": "CC0"}})
    return tmp_path / "labels"


def test_load_dataset(run, labels, tmp_path):
    loaded = load_dataset(str(labels), "labels_only", cache_dir=str(tmp_path / "cache"))
    whole = load_dataset(
        "parquet",
        data_files={split: str(run / "edos" / f"{split}-*") for split in loaded},
        cache_dir=str(tmp_path / "cache"),
    )
    assert {split: dataset.num_rows for split, dataset in loaded.items()} == {"train": 9, "validation": 2, "test": 3}
    hashes = [hashlib.sha256(text.encode("utf-8")).hexdigest() for text in TEXTS]
    for split, dataset in loaded.items():
        assert dataset.features == features("labels_only")
        for row, original in zip(dataset, whole[split], strict=True):
            assert [turn.pop("text_sha256") for turn in row["turns"]] == hashes
            assert [turn.pop("text") for turn in original["turns"]] == list(TEXTS)
            assert row == original
    assert [row["dialogue_id"] for row in load_dataset(str(labels), "labels_only", split="test", streaming=True)] == [
        f"{film}#1" for film in films_of("test", 3)
    ]


def test_features_are_those_of_edos_without_text():
    bare, whole = features("labels_only"), features("edos")
    assert list(bare) == list(whole)
    assert ["text" if name == "text_sha256" else name for name in bare["turns"].feature] == list(whole["turns"].feature)
    assert bare["turns"].feature["label"].names == list(LABELS)


def test_no_file_holds_text(run, labels):
    for path in labels.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        assert not any(text.encode() in data for text in TEXTS)
    for path in (labels / "labels_only").glob("*.parquet"):
        table = pq.read_table(path)
        assert "text" not in table.schema.field("turns").type.value_type.names
        assert not any(text in json.dumps(table.to_pylist()) for text in TEXTS)


def test_manifest_and_card(run, labels):
    manifest = json.loads((labels / "labels_only" / "manifest.json").read_text())
    assert manifest["dialogues"] == {"train": 9, "validation": 2, "test": 3}
    assert manifest["turns"] == {"train": 18, "validation": 4, "test": 6}
    assert manifest["label_sources"] == {"toy": 28}
    assert sum(manifest["labels"].values()) == 28
    assert manifest["files"] == {
        f"edos/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest() for path in (run / "edos").iterdir()
    }
    assert (manifest["fingerprint"], manifest["versions"]) == ("f00d", {"edos-dataset": "0.0"})
    card = (labels / "README.md").read_text()
    assert card.index("Know its flaws first") < card.index("## Load")
    assert "license_name: labels-without-text" in card
    assert "How often `toy` is right has not been measured." in card
    assert "- Licences of the data of `toy`: CC0." in card


def test_memory_does_not_grow_with_the_file(run, labels, tmp_path, monkeypatch):
    monkeypatch.setattr(labels_only, "ROW_GROUP", 2)
    sizes, real = [], labels_only.without_text
    monkeypatch.setattr(labels_only, "without_text", lambda table: sizes.append(len(table)) or real(table))
    write_labels_only(run, tmp_path / "pieces", "edos", FACTS, "", {})
    assert max(sizes) == 2
    for path in (labels / "labels_only").glob("*.parquet"):
        assert pq.read_table(tmp_path / "pieces" / "labels_only" / path.name).equals(pq.read_table(path))


def test_replaced_and_refused(run, labels, tmp_path):
    write_labels_only(run, labels, "edos_initial", FACTS, "", {})
    assert json.loads((labels / "labels_only" / "manifest.json").read_text())["config"] == "edos_initial"
    with pytest.raises(FolderError, match="holds no run of this package"):
        write_labels_only(run, run, "edos", FACTS, "", {})
    with pytest.raises(ValueError, match="'os', but only edos and edos_initial"):
        write_labels_only(run, tmp_path / "x", "os", FACTS, "", {})
    with pytest.raises(ValueError, match="no dialogues in the config 'edos'"):
        write_labels_only(tmp_path, tmp_path / "x", "edos", FACTS, "", {})
    next((run / "edos").glob("train-*")).write_bytes(b"PAR1")
    with pytest.raises(ValueError, match="was not written by this version"):
        write_labels_only(run, tmp_path / "y", "edos", FACTS, "", {})
    assert not (tmp_path / "y" / "labels_only").exists()


def dialogue(number, texts):
    turns = [{"text": text, "start": None, "end": None, "sentence_ids": [9]} for text in texts]
    film = FILMS[number]
    return {
        "dialogue_id": f"{film}#1",
        "document_id": film,
        "film": film,
        "language": "xx",
        "source": {"path": "mine"},
        "turns": turns,
    }


def test_attach(labels):
    stage = AttachLabels(str(labels), PublishedLabels(labels).content)
    unknown = {**dialogue(0, TEXTS), "dialogue_id": "other"}
    rows = [
        dialogue(13, [*TEXTS, "more"]),
        dialogue(0, [TEXTS[0], "I will."]),
        unknown,
        dialogue(10, TEXTS[:1]),
        dialogue(5, TEXTS),
    ]
    rows.append({**dialogue(1, TEXTS), "document_id": "elsewhere"})
    output = stage(pa.Table.from_pylist(rows, DIALOGUES)).to_pylist()
    kept = [row for row in output if row["reason"] is None]
    assert [(row["dialogue_id"], row["split"]) for row in kept] == [
        (f"{FILMS[13]}#1", "test"),
        (f"{FILMS[5]}#1", "train"),
    ]
    for row in kept:
        assert [turn["text"] for turn in row["turns"]] == list(TEXTS)
        assert [turn["sentence_ids"] for turn in row["turns"]] == [[1], [2]]  # the labels' own, as all but the text
        assert (row["language"], row["source"]["genres"]) == ("en", ["Drama"])
        assert {turn["label"] for turn in row["turns"]} == {int(row["document_id"][2:]) % 41}
    left = {row["dialogue_id"]: row for row in output if row["reason"]}
    assert {key: row["reason"] for key, row in left.items()} == {
        f"{FILMS[0]}#1": "text_differs",
        f"{FILMS[10]}#1": "text_differs",
        "other": "not_labelled",
        f"{FILMS[1]}#1": "not_labelled",
    }
    assert left[f"{FILMS[0]}#1"]["differing_turns"] == left[f"{FILMS[10]}#1"]["differing_turns"] == [1]


def test_attach_to_nothing(labels):
    stage = AttachLabels(str(labels), PublishedLabels(labels).content)
    assert stage(DIALOGUES.empty_table()).num_rows == 0
    unknown = pa.Table.from_pylist([{**dialogue(0, TEXTS), "document_id": "x", "dialogue_id": "x#1"}], DIALOGUES)
    assert stage(unknown)["reason"].to_pylist() == ["not_labelled"]


def test_only_the_row_groups_needed_are_read(run, tmp_path, monkeypatch):
    monkeypatch.setattr(labels_only, "ROW_GROUP", 2)
    write_labels_only(run, tmp_path / "pieces", "edos", FACTS, "", {})
    read, real = [], attach.pq.ParquetFile.read_row_group
    monkeypatch.setattr(
        attach.pq.ParquetFile,
        "read_row_group",
        lambda file, group, **more: read.append(group) or real(file, group, **more),
    )
    found = PublishedLabels(tmp_path / "pieces").of_documents(pa.chunked_array([[FILMS[3], FILMS[2]]]))
    assert found["dialogue_id"].to_pylist() == [f"{FILMS[2]}#1", f"{FILMS[3]}#1"]
    assert read == [1]
