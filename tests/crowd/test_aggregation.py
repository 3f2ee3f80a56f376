"""Majority and its tie policies by hand; the models of crowd-kit where a bad worker is known."""

from functools import partial

import numpy as np
import pytest

from crowd_tables import answers_of
from edos_dataset.crowd.aggregation import aggregate, pool_texts, winners
from edos_dataset.labels import LABEL_IDS, LABELS

SAD, ANGRY, JOYFUL = (LABEL_IDS[name] for name in ("sad", "angry", "joyful"))
ROWS = [
    ["Sad", "sad (Other)", "Angry"],
    ["Sad", "Angry", "Joyful"],
    ["hello", "hello", "Sad"],
    ["Angry", "hi", "Angry"],
    ["hello", "Joyful", "Sad"],
    ["hello", "hi", "oh"],
    ["Sad"],
]


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("abstain", [SAD, -1, -1, ANGRY, -1, -1, -1]),
        ("soft", [SAD, -1, -1, ANGRY, -1, -1, -1]),
        ("first", [SAD, SAD, -1, ANGRY, JOYFUL, -1, SAD]),
    ],
)
def test_majority(ties, expected):
    assert aggregate(answers_of(ROWS), ties=ties).labels.tolist() == expected


def test_random_ties_are_drawn_among_the_best_by_the_seed():
    rows = [["Sad", "Angry", "hello"]] * 200
    drawn = aggregate(answers_of(rows), ties="random", seed=1).labels
    assert set(drawn.tolist()) == {SAD, ANGRY}
    assert 70 < (drawn == SAD).sum() < 130
    assert drawn.tolist() == aggregate(answers_of(rows), ties="random", seed=1).labels.tolist()
    assert drawn.tolist() != aggregate(answers_of(rows), ties="random", seed=2).labels.tolist()


def test_least_votes():
    assert aggregate(answers_of(ROWS), least_votes=1).labels.tolist() == [SAD, -1, -1, ANGRY, -1, -1, SAD]
    assert winners(np.array([[2, 2, 1], [3, 2, 2], [0, 0, 1]])).tolist() == [-1, 0, -1]


def test_soft_labels_are_the_shares_of_the_41():
    soft = aggregate(answers_of(ROWS)).soft
    assert soft.shape == (len(ROWS), len(LABELS)) and soft.dtype == np.float32
    assert soft[0, [SAD, ANGRY]] == pytest.approx([2 / 3, 1 / 3])
    assert soft[3, ANGRY] == 1 and soft[2, SAD] == 1
    assert not soft[5].any()


def test_pooling_joins_equal_texts_and_lets_the_majority_decide():
    dialogues = [["Hm.", "Oh no!"], ["Else."], ["hm", "oh NO"]]
    answers = answers_of([["Sad", "Angry", "Joyful"], ["Sad", "Sad", "Sad"], ["Angry", "Angry", "Sad"]], dialogues)
    pooled = pool_texts(answers)
    assert (pooled.tasks, pooled.dialogues) == (["t0", "t1"], [["Hm.", "Oh no!"], ["Else."]])
    assert [pooled.given[place] for place, task in enumerate(pooled.task) if task == 0] == [
        "Sad",
        "Angry",
        "Joyful",
        "Angry",
        "Angry",
        "Sad",
    ]
    assert aggregate(pooled).labels.tolist() == [ANGRY, SAD]
    assert aggregate(answers).labels.tolist() == [-1, SAD, ANGRY], "the table itself is as it was"
    assert pool_texts(answers_of([["Sad"], ["Sad"]])).tasks == ["t0", "t1"], "tasks without a text are never equal"


@pytest.mark.parametrize("method", ["dawid-skene", "mace"])
def test_models_trust_those_who_agree(method, monkeypatch):
    models = pytest.importorskip("crowdkit.aggregation")
    monkeypatch.setattr(models, "MACE", partial(models.MACE, n_restarts=2))  # of 10; each takes a second
    generator = np.random.default_rng(0)
    truth = generator.integers(0, 4, 120)
    # Two good workers, three who answer by chance: the majority errs where the three happen to agree.
    rows = [
        [LABELS[label if generator.random() < 0.95 else (label + 1) % 4] for _ in range(2)]
        + [LABELS[generator.integers(0, 4)] for _ in range(3)]
        for label in truth
    ]
    before = np.random.get_state()[1].tolist()
    found = aggregate(answers_of(rows), method, seed=3)
    assert np.random.get_state()[1].tolist() == before, "no call touches the global generator"
    assert (found.labels == truth).mean() > (aggregate(answers_of(rows), ties="first").labels == truth).mean()
    assert (found.labels == truth).mean() > 0.9
    assert found.soft.sum(axis=1) == pytest.approx(np.ones(120), abs=1e-4)
    assert found.labels.tolist() == aggregate(answers_of(rows), method, seed=3).labels.tolist()


def test_unknown_choices():
    with pytest.raises(ValueError, match="method is 'vote': expected one of majority, dawid-skene, mace"):
        aggregate(answers_of(ROWS), "vote")
    with pytest.raises(ValueError, match="ties is 'none': expected one of abstain, first, random, soft"):
        aggregate(answers_of(ROWS), ties="none")
