import os
from pathlib import Path

import numpy as np
import pytest

from edos_dataset.crowd.splits import split_turns
from edos_dataset.labeling.models.linear import LinearHead
from edos_dataset.labels import LABEL_IDS
from training import examples
from training import train_linear_heads as script

TRAINING = Path(__file__).parents[2] / "training"
RECIPE = {"seed": 3, "near_duplicate": 0.95, "shares": [0.6, 0.2, 0.2]}


def examples_of(texts, labels, names=None):
    labels = np.array(labels)
    return examples.Examples([[text] for text in texts], names or [""] * len(texts), labels, examples.one_hot(labels))


@pytest.mark.parametrize(
    ("answer", "label"),
    [("Afraid", 0), ("Neutral (Other)", 40), ("wishing ", 39), ("-", -1), ("Forgetful (Other)", -1), ("", -1)],
)
def test_answers_are_one_of_the_41_or_missing(answer, label):
    assert examples.label_id(answer) == label


@pytest.mark.parametrize(
    ("dialogue", "turns"),
    [
        ("- This isn 't fair !\n- You can 't stop me !", ["This isn't fair!", "You can't stop me!"]),
        ("- - Nice . Yeah .", ["Nice. Yeah."]),
        ("Well-known , that .\n\n-  What ?", ["Well-known, that.", "What?"]),
        ("- \n", []),
    ],
)
def test_dialogues_become_turns_as_our_sources_write_them(dialogue, turns):
    assert split_turns(dialogue) == turns


def test_weak_set_is_read_by_the_ids_of_its_lines(tmp_path):
    folder = tmp_path / "empathetic_dialogues" / "weak_labeler"
    folder.mkdir(parents=True)
    (folder / "train.txt").write_text("0 <SEP> I was scared.\n40 <SEP> it was on tv\n")
    (folder / "valid.txt").write_text("38 <SEP> what do you do?\n")
    read = examples.read_weak(tmp_path)
    assert read.dialogues == [["I was scared."], ["it was on tv"], ["what do you do?"]]
    assert read.labels.tolist() == [LABEL_IDS["afraid"], LABEL_IDS["neutral"], LABEL_IDS["questioning"]]
    (folder / "valid.txt").write_text("38 <SEP> fine\n41 <SEP> no such label\n")
    with pytest.raises(ValueError, match=r"valid.txt, line 2: .* from 0 to 40, got '41 <SEP> no such label'"):
        examples.read_weak(tmp_path)


def test_crowd_labels_need_two_of_three_workers_and_one_of_the_41(tmp_path):
    (tmp_path / "edos_amt").mkdir()
    rows = [
        "Count,Index,DialogID,Dialog,Agreed emotion (2/3 vote),Worker 1 answer,Worker 2 answer,Worker 3 answer",
        '1,a,10,"Run !\n- I can \'t .",Afraid,Afraid,Afraid,Odd (Other)',
        "2,b,11,It was cold .,-,Sad,Anxious,Afraid",
        "3,c,12,No .,Disagreeing (Other),Disagreeing (Other),Disagreeing (Other),Angry",
        "4,d,13,Where ?,Questioning,Questioning,Neutral (Other),Questioning",
    ]
    (tmp_path / "edos_amt" / "mturk_groundtruth_labels.csv").write_text("\n".join(rows) + "\n")
    read = examples.read_crowd(tmp_path)
    assert (read.dialogues, read.names) == ([["Run!", "I can't."], ["Where?"]], ["10", "13"])
    assert read.labels.tolist() == [0, 38]
    assert read.targets[0, 0] == 1, "an answer that is none of the 41 does not count"
    assert read.targets[1, [38, 40]] == pytest.approx([2 / 3, 1 / 3])


def test_split_has_the_shares_of_every_label_and_keeps_equal_near_and_named_texts_together():
    generator = np.random.default_rng(0)
    texts = [f"text number {row}" for row in range(400)]
    labels = [row % 4 for row in range(400)]
    names = [f"dialogue {row}" for row in range(400)]
    vectors = generator.normal(size=(400, 50)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for first in range(0, 80, 8):
        texts[first + 1] = texts[first].upper() + "!"
        vectors[first + 3] = vectors[first + 2]
        names[first + 5] = names[first + 4]
    pinned = np.zeros(400, dtype=bool)
    pinned[:80] = np.arange(80) % 8 == 6
    parts = examples.split(examples_of(texts, labels, names), vectors, pinned, RECIPE)
    for first in range(0, 80, 8):
        assert [parts[first], parts[first + 2], parts[first + 4]] == [
            parts[first + 1],
            parts[first + 3],
            parts[first + 5],
        ]
    assert (parts[pinned] == 0).all()
    for label in range(4):
        assert np.bincount(parts[label::4], minlength=3) / 100 == pytest.approx(RECIPE["shares"], abs=0.06)
    assert parts.tolist() == examples.split(examples_of(texts, labels, names), vectors, pinned, RECIPE).tolist()
    assert (
        parts.tolist()
        != examples.split(examples_of(texts, labels, names), vectors, pinned, {**RECIPE, "seed": 4}).tolist()
    )


def test_measure_counts_by_hand():
    bias = np.zeros(41, np.float32)
    bias[[0, 1, 2]] = [3, 2, 1]
    head = LinearHead(np.zeros((1, 41), np.float32), bias, 0.5)
    metrics = script.measure(head, np.zeros((4, 1), np.float32), np.array([0, 0, 2, 7]))
    assert (metrics["accuracy"], metrics["top_3_accuracy"], metrics["majority_class_accuracy"]) == (0.5, 0.75, 0.5)
    assert metrics["f1_by_label"]["afraid"] == pytest.approx(2 / 3, abs=1e-3)
    assert metrics["macro_f1"] == pytest.approx(2 / 3 / 3, abs=1e-4), "of the three labels that are there"


@pytest.mark.skipif("EDOS_DATA_DIR" not in os.environ, reason="EDOS_DATA_DIR names no folder with the data sets")
def test_real_files_give_the_known_numbers_of_examples():
    folder = Path(os.environ["EDOS_DATA_DIR"])
    assert len(examples.read_weak(folder).labels) == 27_696
    crowd = examples.read_crowd(folder)
    assert len(crowd.labels) == 7_114
    assert all(crowd.dialogues)


def test_frequent_turns_are_labelled_once_and_weigh_what_the_recipe_says(tmp_path):
    (tmp_path / "turns.yaml").write_text("agreeing: [Yes., 'Yes, sir.']\nneutral: [No.]\n")
    read = examples.read_frequent(tmp_path / "turns.yaml")
    assert (read.dialogues, read.labels.tolist()) == ([["Yes."], ["Yes, sir."], ["No."]], [32, 32, 40])
    (tmp_path / "turns.yaml").write_text("agreeable: [Yes.]\n")
    with pytest.raises(ValueError, match="unknown label 'agreeable'"):
        examples.read_frequent(tmp_path / "turns.yaml")
    shipped = [
        turns[0] for turns in examples.read_frequent(TRAINING / "recipes" / "minilm" / "frequent_turns.yaml").dialogues
    ]
    assert len(shipped) == len(set(shipped)) > 100


def test_a_frequent_turn_of_weight_two_counts_like_two_examples():
    generator = np.random.default_rng(0)
    features, targets = (
        generator.normal(size=(30, 5)).astype(np.float32),
        examples.one_hot(generator.integers(0, 41, size=30)),
    )
    frequent = examples_of(["Yes.", "No."], [32, 40]), generator.normal(size=(2, 5)).astype(np.float32)
    task = script.Task("weak", (), "", {"l2": [0.01]}, frequent, 2.0)
    weight, _ = task.fit(features, targets, {"l2": 0.01})
    expected, _ = script.fit(
        np.vstack([features, frequent[1], frequent[1]]),
        np.vstack([targets, frequent[0].targets, frequent[0].targets]),
        0.01,
    )
    assert np.allclose(weight, expected, atol=5e-3)
