"""Which texts an update sees."""

from collections import Counter

import numpy as np
import pytest

from edos_dataset.labels import LABELS
from training.labels.plan import shares_of, texts_of, updates_of
from training.labels.recipe import LabelsRecipe
from training.labels.sources import Taught
from training.labels.targets import Kind, Target


def target(label, kind=Kind.SHARES):
    return Target(np.eye(len(LABELS), dtype=np.float32)[label], kind)


def sized(**sizes):
    return {
        name: [Taught((f"{name} {row}",), (target(row % 41),)) for row in range(size)] for name, size in sizes.items()
    }


def test_turns_that_teach_are_taken_with_their_targets_and_repetitions_are_not():
    train = {
        "one": [
            Taught(("Yes.", "Why?"), (None, target(3, Kind.ONE_OF))),
            Taught(("why", "WHY!", "...", ""), (target(4), target(5), target(6), target(7))),
        ],
        "none": [],
        "two": [Taught(("Why?",), (target(8, Kind.EMOTION),))],
    }
    texts = texts_of(train, repeats=2)
    assert texts.texts == ["Why?", "why", "...", "Why?"], "no third one of a source, and nothing that is empty"
    assert texts.bounds == {"one": (0, 3), "none": (3, 3), "two": (3, 4)}
    assert texts.values.argmax(1).tolist() == [3, 4, 6, 8]
    assert texts.kinds.tolist() == [Kind.ONE_OF, Kind.SHARES, Kind.SHARES, Kind.EMOTION]


def test_a_source_has_a_share_by_wish_and_size_but_no_more_than_the_most():
    recipe = LabelsRecipe(sources={"a": 2.0, "b": 1.0, "c": 1.0, "d": 1.0}, temper=0.5, most=100)
    shares = shares_of({"a": (0, 25), "b": (25, 125), "c": (125, 10_125), "d": (9, 9)}, recipe)
    assert shares == pytest.approx({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3})


def test_every_text_comes_once_before_one_comes_twice_and_sources_as_their_shares():
    texts = texts_of(sized(a=30, b=700), 2)
    recipe = LabelsRecipe(sources={"a": 1.0, "b": 1.0}, temper=0.5, updates=95, batch=10)
    shares = shares_of(texts.bounds, recipe)
    plan = updates_of(texts, [1] * 730, recipe)
    assert [len(rows) for rows in plan] == [10] * 95
    counts = Counter(np.concatenate(updates_of(texts, [1] * 730, recipe)[:80]).tolist())  # two whole pools
    of_a = [counts[row] for row in range(30)]
    assert sum(of_a) == pytest.approx(800 * shares["a"], rel=0.25) and max(of_a) - min(of_a) <= 1
    assert max(counts[row] for row in range(30, 730)) == 1
    again = updates_of(texts, [1] * 730, recipe)
    assert all(map(np.array_equal, plan, again))
    other = updates_of(texts, [1] * 730, LabelsRecipe(**{**vars(recipe), "seed": 1}))
    assert not all(map(np.array_equal, plan, other))


def test_texts_of_an_update_are_of_like_length_and_updates_come_in_no_order():
    texts = texts_of(sized(a=2000), 2)
    lengths = np.random.default_rng(0).integers(3, 60, 2000)
    recipe = LabelsRecipe(sources={"a": 1.0}, updates=40, batch=50)
    plan = updates_of(texts, lengths.tolist(), recipe)
    assert sorted(np.concatenate(plan).tolist()) == list(range(2000)), "40 updates are one round"
    assert max(np.ptp(lengths[rows]) for rows in plan) <= 4
    means = [lengths[rows].mean() for rows in plan]
    assert means != sorted(means)
