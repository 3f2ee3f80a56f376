"""The seed as a data set: what is in it, that nothing leaks between its splits, and that it loads."""

import json
import re

import pytest
from datasets import ClassLabel, load_dataset

from crowd_tables import ByFirstWord, answers_of, crowd
from edos_dataset.commands.crowd_seed import write_seed
from edos_dataset.crowd import seed as seeds
from edos_dataset.crowd.seed import SeedRules, read_seed
from edos_dataset.labels import LABELS
from edos_dataset.runs.folder import FolderError


@pytest.fixture(autouse=True)
def encoder(monkeypatch):
    monkeypatch.setattr(seeds, "Encoder", ByFirstWord)


def test_seed_loads_with_labels_answers_and_no_leak(tmp_path):
    counts = write_seed(crowd(), tmp_path / "seed", SeedRules())
    assert (counts["tasks"], counts["texts"], counts["labelled"], counts["unlabelled"]) == (90, 89, 88, 1)
    assert counts["groups"] == 88 - 3 and counts["largest_group"] == 2
    data = load_dataset(str(tmp_path / "seed"), "amt_seed")
    assert {split: len(rows) for split, rows in data.items()} == counts["splits"]
    assert isinstance(data["train"].features["label"], ClassLabel) and data["train"].features["label"].names == list(
        LABELS
    )
    rows = [{**row, "split": split} for split in data for row in data[split]]
    assert len(rows) == 88
    by_id = {row["dialogue_id"]: row for row in rows}
    assert (
        by_id["t1"]["split"] == by_id["t31"]["split"]
        and by_id["t2"]["split"] == by_id["t32"]["split"]
        and by_id["t3"]["split"] == by_id["t33"]["split"]
    )
    assert "t30" not in by_id and len(by_id["t0"]["answers"]) == 6
    assert [turn["text"] for turn in by_id["t7"]["turns"]] == ["Well?", "word7 it is."]
    assert by_id["t7"]["label"] == 1 and by_id["t7"]["soft_label"][1] == 1 and sum(by_id["t7"]["soft_label"]) == 1
    assert by_id["t7"]["answers"][2] == {"worker": "w2", "answer": "hello", "label": None}
    for label in range(3):
        shares = [sum(row["label"] == label for row in data[split]) / 30 for split in ("train", "validation", "test")]
        assert shares == pytest.approx([0.6, 0.2, 0.2], abs=0.08)
    assert counts["by_label"][LABELS[0]]["train"] == sum(
        data["train"]["label"][row] == 0 for row in range(len(data["train"]))
    )


def test_the_same_answers_give_the_same_bytes_and_a_folder_is_replaced(tmp_path):
    for name in ("one", "two"):
        write_seed(crowd(), tmp_path / name, SeedRules())
    files = {
        path.relative_to(tmp_path / "one")
        for path in (tmp_path / "one").rglob("*")
        if path.is_file() and ".run" not in path.parts
    }
    assert {str(path) for path in files} == {
        "README.md", "seed.json",
        *(f"amt_seed/{split}-00000-of-00001.parquet" for split in ("train", "validation", "test"))
    }  # fmt: skip
    assert all((tmp_path / "one" / path).read_bytes() == (tmp_path / "two" / path).read_bytes() for path in files)
    before = read_seed(tmp_path / "one", ["test"])["dialogue_id"].to_pylist()
    with pytest.raises(FolderError, match="holds a finished run of 90 tasks, 88 labelled texts, .*: seed 0 → 1. Give"):
        write_seed(crowd(), tmp_path / "one", SeedRules(seed=1))
    assert read_seed(tmp_path / "one", ["test"])["dialogue_id"].to_pylist() == before
    write_seed(crowd(), tmp_path / "one", SeedRules(seed=1), force=True)
    assert read_seed(tmp_path / "one", ["test"])["dialogue_id"].to_pylist() != before
    assert json.loads((tmp_path / "one" / "seed.json").read_text())["rules"]["seed"] == 1


def test_card_has_the_counts_that_were_made(tmp_path):
    counts = write_seed(crowd(), tmp_path, SeedRules())
    card = (tmp_path / "README.md").read_text()
    assert f"{counts['labelled']} have a label, 1 have none" in card
    assert re.search(rf"fleiss kappa \| {counts['agreement']['fleiss_kappa']} \|", card)
    assert "CC BY 4.0" in card and f"train {counts['splits']['train']}" in card


def test_folders_that_are_refused(tmp_path):
    with pytest.raises(ValueError, match="none may be empty"):
        write_seed(answers_of([["Sad", "Sad"]], [["Oh no."]]), tmp_path / "seed", SeedRules())
    assert not (tmp_path / "seed").exists()
    (tmp_path / "mine.txt").write_text("")
    with pytest.raises(FolderError, match="holds no run of this package"):
        write_seed(crowd(), tmp_path, SeedRules())
    with pytest.raises(FolderError, match="no folder that `edos crowd seed` wrote"):
        read_seed(tmp_path)
