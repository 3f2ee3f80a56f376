"""The extended data set on disk: written, loaded by `datasets`, read back, described."""

import json

import pyarrow as pa
import pytest
import yaml
from datasets import ClassLabel, load_dataset

from edos_dataset.augmentation.extended import card, extended_features, read_extended, write_extended
from edos_dataset.labels import LABEL_IDS, LABELS
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.shards import locked
from extended_rows import counts, row, self_labelled, spread, step, table

SEED = {"train": 1, "validation": 1, "test": 1}
TABLES = {
    "train": [
        row("a", ["Where is it?", "I lost it."], "sad", share=2 / 3),
        spread("b", ["It is lost."], "sad", "a", 0.93),
        self_labelled("c", ["So we won!"], "joyful", 0.97),
    ],
    "validation": [row("d", ["Who are you?"], "questioning")],
    "test": [row("e", ["Go away!"], "angry")],
}


def write(out, tables=None, steps=()):
    found = counts(SEED, steps)
    with locked(out):
        write_extended(out, {split: table(rows) for split, rows in (tables or TABLES).items()}, found, card(found))
    return found


def test_it_loads_with_labels_and_where_they_come_from(tmp_path):
    found = write(tmp_path / "out", steps=[step(1, "spread", sad=1)])
    data = load_dataset(str(tmp_path / "out"), "extended")
    assert data["train"].features == extended_features() and data["train"].features["label"] == ClassLabel(
        names=list(LABELS)
    )
    assert {split: rows["dialogue_id"][:] for split, rows in data.items()} == {
        "train": ["a", "b", "c"],
        "validation": ["d"],
        "test": ["e"],
    }
    crowd, near, sure = data["train"]
    assert (crowd["label"], crowd["method"], crowd["step"], crowd["round"], crowd["seed_id"]) == (
        LABEL_IDS["sad"],
        "crowd",
        0,
        0,
        None,
    )
    assert [turn["text"] for turn in crowd["turns"]] == ["Where is it?", "I lost it."] and crowd["soft_label"][
        LABEL_IDS["sad"]
    ] == pytest.approx(2 / 3)
    assert (near["method"], near["seed_id"], near["similarity"], near["confidence"]) == ("spread", "a", 0.93, None)
    assert sure["similarity"] is None and sure["confidence"] == pytest.approx(0.97)
    assert json.loads((tmp_path / "out" / "extend.json").read_text()) == found


def test_it_is_read_back_in_the_order_asked_for_and_replaced_whole(tmp_path):
    write(tmp_path)
    found = read_extended(tmp_path, ["test", "train"])
    assert found.select(["dialogue_id", "split"]).to_pylist() == [
        {"dialogue_id": "e", "split": "test"}, *({"dialogue_id": name, "split": "train"} for name in "abc")
    ]  # fmt: skip
    assert found.drop_columns("split").slice(1).to_pylist() == table(TABLES["train"]).to_pylist()
    write(tmp_path, {**TABLES, "train": TABLES["train"][:1]})
    assert read_extended(tmp_path)["dialogue_id"].to_pylist() == ["a", "d", "e"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".run", "README.md", "extend.json", "extended"]


def test_columns_in_another_order_or_missing(tmp_path):
    turned = table(TABLES["train"]).select(sorted(extended_features()))
    with locked(tmp_path):
        write_extended(tmp_path, {"train": turned}, counts(SEED), "")
        assert read_extended(tmp_path, ["train"])["dialogue_id"].to_pylist() == ["a", "b", "c"]
        with pytest.raises(ValueError, match="rows of train have no column 'similarity'"):
            write_extended(tmp_path, {"train": turned.drop_columns("similarity")}, counts(SEED), "")
    assert read_extended(tmp_path, ["train"]).num_rows == 3, "what was there stays"


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(FolderError, match="no folder that `edos extend` wrote"):
        read_extended(tmp_path)
    write(tmp_path)
    path = tmp_path / "extended" / "test-00000-of-00001.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FolderError, match=r"cannot read .*test-00000-of-00001.parquet as `edos extend` writes it"):
        read_extended(tmp_path)
    pa.parquet.write_table(pa.table({"dialogue_id": ["a"]}), path)
    with pytest.raises(FolderError, match="give that command again"):
        read_extended(tmp_path)


def test_the_card_says_what_each_step_gave():
    text = card(
        counts(
            {"train": 3, "validation": 2, "test": 0},
            [step(1, "spread", 3196, sad=1400, joyful=2), step(2, "self-label", sad=5)],
        )
    )
    _, front, body = text.split("---\n", 2)
    files = yaml.safe_load(front)["configs"][0]["data_files"]
    assert [file["split"] for file in files] == ["train", "validation"], "datasets refuses to load a split without rows"
    assert body.index("guesses of a machine") < body.index("## Load")
    assert (
        "| 1 | spread | 1 | 12,000 | 1,402 | 3,196 | threshold 0.92 |" in body
        and "| 2 | self-label | 1 | 12,000 | 5 |  | threshold 0.92 |" in body
    )
    assert "| 1 | not_similar | 10,588 |" in body and "| sad | 1,400 | 5 |" in body and "| joyful | 2 | 0 |" in body
    assert "edos extend seed pool --out out" in body and "dialogues: 12,000" in body
