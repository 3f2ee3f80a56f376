"""Which parts of dialogues an update sees."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edos_dataset.labels import LABELS
from training.labels.model import conventions_of
from training.labels.plan import lessons_of, parts_of, shares_of, turns_of, updates_of
from training.labels.recipe import LabelsRecipe
from training.labels.sources import Taught
from training.labels.targets import Kind, Target

RECIPE = LabelsRecipe(sources={"meld": 1.0, "crowd": 1.0})


def target(label, kind=Kind.SHARES):
    return Target(np.eye(len(LABELS), dtype=np.float32)[label], kind)


def dialogue(marks):
    """A dialogue of numbered turns, of which those marked x have a label."""
    targets = tuple(target(0) if mark == "x" else None for mark in marks)
    return Taught(tuple(map(str, range(len(marks)))), targets)


def sized(**sizes):
    """Sources of dialogues of as many labelled turns as told."""
    return {
        name: [
            Taught(tuple(f"{name} {row} {turn}" for turn in range(turns)), (target(row % 41),) * turns)
            for row in range(count)
        ]
        for name, (count, turns) in sizes.items()
    }


def test_turns_that_teach_are_taken_with_their_targets_and_repetitions_are_not():
    train = {
        "meld": [
            Taught(("Hm.", "Yes.", "Why?"), (None, None, target(3, Kind.ONE_OF))),
            Taught(("why", "WHY!", "...", "no", ""), (target(4), target(5), target(6), target(9), target(7))),
            Taught(("Why?",), (target(5),)),
        ],
        "xed": [],
        "crowd": [Taught(("Why?",), (target(8, Kind.EMOTION),))],
    }
    lessons = lessons_of(train, replace(RECIPE, repeats=2, history=1))
    parts = [lessons.texts[start:stop] for start, stop in zip(lessons.bounds[:-1], lessons.bounds[1:], strict=True)]
    assert parts == [["Yes.", "Why?"], ["why"], ["...", "no"], ["Why?"]], "a third one of a source is read at most"
    assert lessons.sources == {"meld": (0, 3), "xed": (3, 3), "crowd": (3, 4)}
    assert lessons.labelled.tolist() == [-1, 0, 1, -1, 2, 3], "what has no letter teaches nothing"
    assert lessons.values.argmax(1).tolist() == [3, 4, 9, 8]
    assert lessons.kinds.tolist() == [Kind.ONE_OF, Kind.SHARES, Kind.SHARES, Kind.EMOTION]
    assert lessons.taught.tolist() == [1, 1, 1, 1] and lessons.wide.shape == (4, 41)
    assert {name: lessons.labelled_turns(name) for name in lessons.sources} == {"meld": 3, "xed": 0, "crowd": 1}


def test_every_target_has_the_convention_of_its_source_by_the_number_that_the_model_has_for_it():
    taught = {
        "swda": [Taught(("one", "..."), (target(0), target(0))), Taught(("two",), (target(1),))],
        "films": [],
        "weak": [Taught(("three", "one"), (target(2), None))],
        "esconv": [Taught(("four",), (target(3),))],
        "meld": [Taught(("five", "six"), (target(4), target(5)))],
        "frequent": [Taught(("seven",), (target(6),))],
    }
    lessons = lessons_of(taught, RECIPE)
    known = conventions_of(taught)
    assert known == ["reader", "situations", "meld", "acts"]
    assert lessons.values.argmax(1).tolist() == list(range(7))
    assert [known[number] for number in lessons.conventions] == [
        "acts",
        "acts",
        "situations",
        "acts",
        "meld",
        "meld",
        "situations",
    ]
    recipe = LabelsRecipe(sources=dict.fromkeys(reversed(taught), 1.0))
    assert conventions_of(recipe.sources) == known, "whatever order a recipe names them in"


def test_nothing_to_learn_from_is_refused():
    with pytest.raises(ValueError, match="the sources meld, crowd leave nothing to learn from: every labelled turn is"):
        lessons_of({"meld": [], "crowd": [Taught(("...",), (target(1),))]}, RECIPE)


@pytest.mark.parametrize(
    ("marks", "span", "history", "expected"),
    [
        ("xxxx", 9, 4, ["0123"]),
        ("xxxxx", 2, 1, ["01", "23", "4"]),
        ("x", 1, 0, ["0"]),
        (".......x", 9, 2, ["567"]),
        ("x.....", 9, 2, ["0"]),
        ("x....x", 9, 2, ["0", "345"]),
        ("x..x", 9, 2, ["0123"]),
        ("x..x", 9, 1, ["0", "23"]),
        ("x..x", 9, 0, ["0", "3"]),
        ("..x...x.", 9, 1, ["12", "56"]),
        ("xxx..x", 3, 2, ["012", "345"]),
        ("....", 9, 2, []),
        ("", 9, 2, []),
    ],
)
def test_a_dialogue_is_cut_into_what_helps_to_label(marks, span, history, expected):
    found = list(parts_of(dialogue(marks), span, history))
    assert ["".join(part.turns) for part in found] == expected
    for part in found:
        assert [value is not None for value in part.targets] == [marks[int(turn)] == "x" for turn in part.turns]


@given(st.text("x.", max_size=30), st.integers(1, 8), st.integers(0, 7))
def test_every_labelled_turn_is_in_one_part_and_what_is_read_stands_side_by_side(marks, span, history):
    found = [[int(turn) for turn in part.turns] for part in parts_of(dialogue(marks), span, history)]
    read = [turn for part in found for turn in part]
    assert read == sorted(set(read)) and {place for place, mark in enumerate(marks) if mark == "x"} <= set(read)
    for part in found:
        assert part == list(range(part[0], part[-1] + 1)) and len(part) <= span
        assert any(marks[turn] == "x" for turn in part)
        assert all("x" in marks[turn : turn + history + 1] for turn in part)
    whole = [turn for turn in range(len(marks)) if "x" in marks[turn : turn + history + 1]]
    assert [int(turn) for part in parts_of(dialogue(marks), 99, history) for turn in part.turns] == whole


def test_turns_of_parts_stand_one_behind_the_other():
    bounds, labelled = np.array([0, 2, 5, 6]), np.array([-1, 0, 1, -1, 2, 3])
    turns, starts, chosen = turns_of([1, 2, 0], bounds, labelled)
    assert turns.tolist() == [2, 3, 4, 5, 0, 1] and starts.tolist() == [0, 0, 0, 3, 4, 4]
    assert chosen.tolist() == [0, 2, 3, 5]


def test_a_source_has_a_share_by_wish_and_size_but_no_more_than_the_most():
    recipe = LabelsRecipe(sources={"a": 2.0, "b": 1.0, "c": 1.0, "d": 1.0}, temper=0.5, most=100)
    shares = shares_of({"a": 25, "b": 100, "c": 10_000, "d": 0}, recipe)
    assert shares == pytest.approx({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3})


def test_every_part_comes_once_before_one_comes_twice():
    lessons = lessons_of(sized(meld=(30, 1), crowd=(700, 1)), RECIPE)
    recipe = replace(RECIPE, temper=0.5, updates=70, batch=10)
    plan = updates_of(lessons, recipe)
    counts = Counter(np.concatenate(plan).tolist())
    of_a = [counts[part] for part in range(30)]
    assert max(of_a) - min(of_a) <= 1 < min(of_a) and max(counts[part] for part in range(30, 730)) == 1
    assert all(map(np.array_equal, plan, updates_of(lessons, recipe))), "the seed decides"
    assert not all(map(np.array_equal, plan, updates_of(lessons, replace(recipe, seed=1))))
    order = [part for part in np.concatenate(plan).tolist() if part < 30]
    assert order[:30] != order[30:60] and set(order[:30]) == set(order[30:60]), "in a new order each time"


def test_shares_are_of_labelled_turns_however_many_of_them_a_part_has():
    lessons = lessons_of(sized(meld=(400, 1), crowd=(50, 8), xed=(80, 5)), RECIPE)
    recipe = LabelsRecipe(sources={"meld": 1.0, "crowd": 1.0, "xed": 2.0}, updates=400, batch=40)
    plan = updates_of(lessons, recipe)
    sums = [int(lessons.taught[parts].sum()) for parts in plan]
    assert min(sums) >= 40 and max(sums) < 40 + 8, "not one part more than needed"
    seen = np.concatenate(plan)
    turns = {
        name: lessons.taught[seen[(seen >= start) & (seen < stop)]].sum()
        for name, (start, stop) in lessons.sources.items()
    }
    shares = {name: count / sum(sums) for name, count in turns.items()}
    assert shares == pytest.approx({"meld": 0.25, "crowd": 0.25, "xed": 0.5}, abs=0.03)
