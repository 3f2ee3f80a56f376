import json
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edos_dataset.augmentation import learners
from edos_dataset.labels import LABELS
from evaluation import ladder

USED = 4


class Remembering:
    """Knows the labels of the first words that it has learned, and nothing else."""

    def __init__(self):
        self.identity, self.sizes = "remembering@1", []

    def fit(self, train, validation):
        assert len(validation) == USED
        self.sizes.append(len(train))
        known = {turns[-1].split()[0]: label for turns, label in zip(train.turns, train.labels.tolist(), strict=True)}

        def predict_proba(dialogues):
            found = np.full((sum(map(len, dialogues)), len(LABELS)), 0.2 / 40, np.float32)
            labels = [known.get(turn.split()[0], len(LABELS) - 1) for turns in dialogues for turn in turns]
            found[np.arange(len(found)), labels] = 0.8
            return found

        return SimpleNamespace(predict_proba=predict_proba)


def row(label, text, method="crowd", step=0):
    turns = [{"text": said, "start": None, "end": None, "sentence_ids": []} for said in ("Well?", text)]
    soft = np.eye(len(LABELS))[label].tolist()
    return {"dialogue_id": text, "turns": turns, "label": label, "soft_label": soft, "method": method, "step": step}


@pytest.fixture
def extended(tmp_path):
    """Labels 0 and 1 are known from the start, 2 from the first step, 3 from the third; of the test, each label has ten
    dialogues.
    """
    train = [
        row(0, "zero a"),
        row(1, "one a"),
        row(2, "two a", "spread", 1),
        row(0, "zero b", "self-label", 2),
        row(3, "three a", "spread", 3),
    ]
    words = ("zero", "one", "two", "three")
    splits = {
        "train": train,
        "validation": [row(label, f"{word} v") for label, word in enumerate(words)],
        "test": [row(label, f"{word} t{number}") for label, word in enumerate(words) for number in range(10)],
    }
    folder = tmp_path / "grown"
    (folder / "extended").mkdir(parents=True)
    for split, rows in splits.items():
        pq.write_table(pa.Table.from_pylist(rows), folder / "extended" / f"{split}-00000-of-00001.parquet")
    return folder


@pytest.fixture
def learner(monkeypatch):
    made = Remembering()
    monkeypatch.setattr(learners, "learner_of", lambda name, folder: made)
    return made


def climb(monkeypatch, folder, tmp_path, *more):
    command = [
        "ladder.py",
        "--extended",
        folder,
        "--learners",
        "python /opt/own/train.py --recipe own.yaml",
        "--work",
        tmp_path / "work",
        *more,
    ]
    monkeypatch.setattr(sys, "argv", [*map(str, command), "--out", str(tmp_path / "ladder.json")])
    ladder.main()
    return json.loads((tmp_path / "ladder.json").read_text())


def test_every_rung_learns_from_the_steps_up_to_its_own_and_is_compared_with_the_seed(
    extended, learner, tmp_path, monkeypatch, capsys
):
    report = climb(monkeypatch, extended, tmp_path, "--name", "invented")
    found = report["sets"]["invented"]
    assert learner.sizes == [2, 3, 4, 5] == list(found["train"].values())
    assert (found["validation"], found["test"], found["seen"], found["as_in_the_papers"]) == (USED, 40, 0, True)
    rungs = found["learners"]["python train.py --recipe own.yaml"]
    assert [(rung["step"], rung["method"], rung["train"]) for rung in rungs] == [
        (0, "crowd", 2),
        (1, "spread", 3),
        (2, "self-label", 4),
        (3, "spread", 5),
    ]
    assert [rung["accuracy"] for rung in rungs] == [0.5, 0.75, 0.75, 1.0]
    assert rungs[0]["macro_recall"] == 0.4, "two of the four labels, and the one that it names without knowing"
    assert [rung["ece"] for rung in rungs] == pytest.approx([0.3, 0.05, 0.05, 0.2], abs=1e-4)
    gains = [rung.get("gain") for rung in rungs]
    assert gains[0] is None and [gain["accuracy"] for gain in gains[1:]] == [0.25, 0.25, 0.5]
    deviation = 1.96 * np.sqrt(0.25 * 0.75 / 40)  # of a mean of 40 differences, 10 of them 1
    assert gains[1]["interval"] == pytest.approx([0.25 - deviation, 0.25 + deviation], abs=0.04)
    assert str(tmp_path) not in json.dumps(report) and "/opt" not in json.dumps(report)
    assert report["command"].startswith(
        "python evaluation/ladder.py --extended grown --learners 'python train.py --recipe own.yaml' --work work"
    )
    assert {"processor", "cores"} <= set(report["machine"]) and report["papers"]["EmoBERT+"][3][3] == 65.00
    said = capsys.readouterr().out
    assert "train own" in said and "2 self-label" in said and "fastText (OSED)" in said


def test_what_is_finished_is_not_fitted_again_and_other_data_is(extended, learner, tmp_path, monkeypatch):
    rungs, work = ladder.read_rungs(extended), tmp_path / "work"
    first = ladder.climb(learner, rungs, work)
    assert ladder.climb(learner, rungs, work) == first and learner.sizes == [2, 3, 4, 5]
    learner.identity = "remembering@2"
    ladder.climb(learner, rungs, work)
    assert len(learner.sizes) == 8
    path = extended / "extended" / "test-00000-of-00001.parquet"
    pq.write_table(pq.read_table(path).slice(0, 20), path)
    assert [rung["accuracy"] for rung in ladder.climb(learner, ladder.read_rungs(extended), work)] == [1.0] * 4
    assert len(learner.sizes) == 12


def test_a_leak_is_counted_and_equal_learners_gain_nothing(extended):
    path = extended / "extended" / "train-00000-of-00001.parquet"
    rows = [*pq.read_table(path).to_pylist(), row(0, "ZERO, t3!", "spread", 3)]
    pq.write_table(pa.Table.from_pylist(rows), path)
    assert ladder.read_rungs(extended).seen == 1
    assert ladder.paired(np.zeros(50)) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--work /tmp/a/b --out c/d.json", "--work b --out c/d.json"),
        ("--work=/tmp/a '/opt/bin/python t/x.py --start /home/me/weak'", "--work=a 'python t/x.py --start weak'"),
        ("evaluation/ladder.json 1/2", "evaluation/ladder.json 1/2"),
    ],
)
def test_absolute_paths_are_told_by_their_names(text, message):
    assert ladder.portable(text) == message


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--name", "a", "--name", "b"], "1 --extended and 2 --name: give one for each, or none"),
        (["--extended", "grown"], "sets of equal names, grown, grown: give each its own --name"),
    ],
)
def test_sets_need_a_name_each(extended, learner, tmp_path, monkeypatch, capsys, more, message):
    with pytest.raises(SystemExit):
        climb(monkeypatch, extended, tmp_path, *more)
    assert message in capsys.readouterr().err


def test_what_is_no_set_is_refused_with_a_sentence(extended, learner, tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="error: .*nowhere has no extended or amt_seed/train"):
        climb(monkeypatch, tmp_path / "nowhere", tmp_path)
    (extended / "extended" / "test-00000-of-00001.parquet").unlink()
    with pytest.raises(SystemExit, match="the split test has no labelled rows"):
        climb(monkeypatch, extended, tmp_path)
