"""The seed as a data set: what is in it, that nothing leaks between its splits, and that it loads."""

import json
import re

import numpy as np
import pytest
from datasets import ClassLabel, load_dataset

from crowd_tables import answers_of
from edos_dataset.crowd import seed as seeds
from edos_dataset.crowd.seed import SeedRules, make_seed, read_seed
from edos_dataset.labels import LABEL_IDS, LABELS
from edos_dataset.runs.folder import FolderError

TURNS = 90


class ByFirstWord:
    """An encoder by which texts with the same first word are near."""

    def __init__(self, model):
        self.model = model

    def encode(self, texts):
        words = sorted({text.split()[0] for text in texts})
        return np.eye(len(words), dtype=np.float32)[[words.index(text.split()[0]) for text in texts]]


@pytest.fixture(autouse=True)
def encoder(monkeypatch):
    monkeypatch.setattr(seeds, "Encoder", ByFirstWord)


def crowd():
    """Return 90 dialogues of three labels, with planted repeats: equal words, near last turns, one source dialogue."""
    rows = [[LABELS[number % 3]] * 2 + ["hello"] for number in range(TURNS)]
    dialogues = [["Well?", f"word{number} it is."] for number in range(TURNS)]
    names = [f"d{number}" for number in range(TURNS)]
    dialogues[30] = ["well", "Word0, it is!"]  # equal words as 0, and the same label
    dialogues[31] = ["Another opening.", "word1 it was, as everybody knows."]  # near to 1
    dialogues[32] = ["Other.", "Word2 it IS!"]  # last turn of 2
    names[33] = "d3"
    rows[89] = ["Sad", "Angry", "Joyful"]
    return answers_of(rows, dialogues, names)


def test_seed_loads_with_labels_answers_and_no_leak(tmp_path):
    counts = make_seed(crowd(), tmp_path / "seed", SeedRules())
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
        make_seed(crowd(), tmp_path / name, SeedRules())
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
    make_seed(crowd(), tmp_path / "one", SeedRules(seed=1))
    assert read_seed(tmp_path / "one", ["test"])["dialogue_id"].to_pylist() != before
    assert json.loads((tmp_path / "one" / "seed.json").read_text())["rules"]["seed"] == 1


def test_policies(tmp_path):
    soft = make_seed(crowd(), tmp_path / "soft", SeedRules(ties="soft"))
    assert sum(soft["splits"].values()) == 89
    row = next(row for row in read_seed(tmp_path / "soft", ["train"]).to_pylist() if row["dialogue_id"] == "t89")
    assert row["label"] is None and row["soft_label"][LABEL_IDS["angry"]] == pytest.approx(1 / 3)
    own = make_seed(crowd(), tmp_path / "own", SeedRules(repeats="own"))
    assert own["texts"] == 90 and own["labelled"] == 89
    split = dict(
        zip(*(read_seed(tmp_path / "own")[name].to_pylist() for name in ("dialogue_id", "split")), strict=True)
    )
    assert split["t0"] == split["t30"]


def test_card_has_the_counts_that_were_made(tmp_path):
    counts = make_seed(crowd(), tmp_path, SeedRules())
    card = (tmp_path / "README.md").read_text()
    assert f"{counts['labelled']} have a label, 1 have none" in card
    assert re.search(rf"fleiss kappa \| {counts['agreement']['fleiss_kappa']} \|", card)
    assert "CC BY 4.0" in card and f"train {counts['splits']['train']}" in card


def test_what_cannot_be_a_seed(tmp_path):
    with pytest.raises(ValueError, match="task 't0' has no text"):
        make_seed(answers_of([["Sad", "Sad"]]), tmp_path / "seed", SeedRules())
    with pytest.raises(ValueError, match="none may be empty"):
        make_seed(answers_of([["Sad", "Sad"]], [["Oh no."]]), tmp_path / "seed", SeedRules())
    assert not (tmp_path / "seed").exists()
    (tmp_path / "mine.txt").write_text("")
    with pytest.raises(FolderError, match="holds something else than a seed"):
        make_seed(crowd(), tmp_path, SeedRules())
    with pytest.raises(ValueError, match="give three from 0 that sum to 1"):
        SeedRules(shares=(0.6, 0.2, 0.1))
    with pytest.raises(FolderError, match="no folder that `edos crowd seed` wrote"):
        read_seed(tmp_path)
