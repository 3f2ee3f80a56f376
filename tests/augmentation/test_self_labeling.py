"""Each rule by itself, on candidates whose vectors and probabilities are drawn by hand, and the leak test."""

import numpy as np
import pytest

from edos_dataset.augmentation.guards import Dialogues
from edos_dataset.augmentation.self_labeling import SelfLabelingRules, choose, gains
from edos_dataset.runs.recipes import RecipeError, build

NOTHING = Dialogues([], [], [])
LETTERS = "abcdefghij"


def sure(*pairs):
    """Probabilities by pairs of label and confidence; the rest is shared by two other labels, so that it is never the
    most probable one.
    """
    rows = np.zeros((len(pairs), 41), np.float32)
    for row, (label, confidence) in enumerate(pairs):
        rows[row, [(label + 1) % 41, (label + 2) % 41]] = (1 - confidence) / 2
        rows[row, label] = confidence
    return rows


def made(size, texts=None, vectors=None):
    """Candidates of one turn, each with words and a direction of its own unless they are given."""
    texts = texts or [f"pool {letter} {letter}{letter} {letter * 3}" for letter in LETTERS[:size]]
    return Dialogues(
        [f"pool{row}" for row in range(size)],
        [[text] for text in texts],
        np.eye(size, 12) if vectors is None else vectors,
    )


def found(result):
    return {label.dialogue_id: (label.label, round(label.confidence, 6)) for label in result.labels}


def reasons(result):
    return {label.dialogue_id: label.reason for label in result.rejected}


def test_confidence_and_what_a_new_label_carries():
    result = choose(sure((7, 0.95), (3, 0.9), (3, 0.8999), (40, 1)), made(4), NOTHING, round=2)
    assert found(result) == {"pool0": (7, 0.95), "pool1": (3, 0.9), "pool3": (40, 1)}
    assert {(label.round, label.reason) for label in result.labels} == {(2, None)} and [
        label.row for label in result.labels
    ] == [0, 1, 3]
    count = result.count
    assert (count.stage, count.read, count.kept, count.rejected) == ("self_label", 4, 3, {"not_confident": 1})
    assert count.tally == {"caring": 1, "anticipating": 1, "neutral": 1}


def test_of_each_label_the_surest_and_of_equally_sure_ones_the_first():
    probabilities = sure((0, 0.95), (0, 0.99), (0, 0.95), (0, 0.97), (1, 0.91))
    assert set(found(choose(probabilities, made(5), NOTHING, rules=SelfLabelingRules(top=3)))) == {
        "pool0",
        "pool1",
        "pool3",
        "pool4",
    }
    result = choose(probabilities, made(5), NOTHING, rules=SelfLabelingRules(top=1))
    assert (
        set(found(result)) == {"pool1", "pool4"}
        and set(reasons(result).values()) == {"capped"}
        and result.count.rejected == {"capped": 3}
    )


def test_caps_count_what_earlier_rounds_gave():
    probabilities = sure((0, 0.95), (0, 0.99), (1, 0.96), (1, 0.92))
    result = choose(probabilities, made(4), NOTHING, rules=SelfLabelingRules(cap=2), taken={0: 1, 1: 2})
    assert set(found(result)) == {"pool1"} and reasons(result) == {
        "pool0": "capped",
        "pool2": "capped",
        "pool3": "capped",
    }
    result = choose(probabilities, made(4), NOTHING, rules=SelfLabelingRules(cap_total=12), taken={0: 4, 7: 6})
    assert set(found(result)) == {"pool1", "pool2"}, "the surest of all labels"
    assert not choose(probabilities, made(4), NOTHING, rules=SelfLabelingRules(cap_total=10), taken={0: 4, 7: 6}).labels


def test_what_a_cap_rejects_takes_no_place_in_another():
    rules = SelfLabelingRules(cap=1, cap_total=2)
    result = choose(sure((0, 0.99), (0, 0.98), (1, 0.97), (2, 0.96)), made(4), NOTHING, rules=rules)
    assert set(found(result)) == {"pool0", "pool2"}


def test_copies_of_what_has_a_label_and_of_each_other():
    pool = made(
        5,
        [
            "i WON the race",
            "We won the big race today",
            "Who won it",
            "we won, the big race... today?",
            "Other words here",
        ],
    )
    pool.ids[4] = "seed0"
    known = [
        Dialogues(["seed0"], [["I won the race!"]], np.zeros((1, 12))),
        Dialogues(["earlier0"], [["Who won it?"]], np.zeros((1, 12))),
    ]
    result = choose(sure((22, 0.99), (14, 0.95), (22, 0.99), (22, 0.97), (1, 0.99)), pool, NOTHING, known)
    assert found(result) == {"pool3": (22, 0.97)}, "the surer copy, though it comes later"
    assert reasons(result) == {"pool0": "has_label", "pool1": "duplicate", "pool2": "has_label", "seed0": "has_label"}


def test_a_rejected_copy_does_not_stand_in_the_way_of_the_cap():
    """The first reason counts, and what is rejected for it takes none of the places of its label."""
    texts = ["same words", "Same words!", "other words", "third words"]
    result = choose(
        sure((5, 0.99), (5, 0.98), (5, 0.97), (5, 0.96)), made(4, texts), NOTHING, rules=SelfLabelingRules(top=2)
    )
    assert set(found(result)) == {"pool0", "pool2"} and reasons(result) == {"pool1": "duplicate", "pool3": "capped"}


def copies(turns):
    """Copies as they come in subtitles: another mark, case, dash, a word more or less, another order, an opening turn
    before it.
    """
    *before, last = turns
    words = last.rstrip(".!?").split()
    for text in (
        last,
        last.rstrip(".!?") + "?!",
        last.upper(),
        "- " + last,
        "Well, " + last,
        " ".join(words[1:]),
        " ".join([*words[:3], "really", *words[3:]]),
    ):
        yield [*before, text]
        yield ["Good morning.", text]
        yield [text]


def test_no_near_copy_of_a_held_out_dialogue_is_labelled_however_sure():
    held = [
        ["Where were you?", "My train was very late today, I am so sorry."],
        ["We both lost our jobs at the mill last winter!"],
    ]
    held_out = Dialogues(["test0", "test1"], held, np.eye(2, 12))
    planted = [copy for turns in held for copy in copies(turns)]
    other = [
        ["Nothing like it at all, thank you."],
        ["A paraphrase that only its vector gives away."],
        ["Quite another dialogue under the id of one held out."],
    ]
    texts = planted + other
    vectors = np.zeros((len(texts), 12))
    vectors[:, 5] = 1  # far from all that is held out: the planted ones must be known by their words
    vectors[len(planted) + 1] = [0.95, 0, 0.3122, *[0] * 9]
    pool = Dialogues([*(f"pool{row}" for row in range(len(texts) - 1)), "test1"], texts, vectors)
    probabilities = sure(*[(row % 41, 1.0) for row in range(len(texts))])
    assert len(choose(probabilities, pool, NOTHING).labels) > len(texts) / 2, "the case says something"
    result = choose(probabilities, pool, held_out)
    assert [label.row for label in result.labels] == [len(planted)]
    assert {label.reason for label in result.rejected if label.row < len(planted)} == {"held_out_words"}
    assert {label.row: label.reason for label in result.rejected if label.row > len(planted)} == {
        len(planted) + 1: "held_out_near",
        len(planted) + 2: "held_out_id",
    }


def test_only_of_sure_candidates_are_the_turns_read():
    class Reads(list):
        asked = set()

        def __getitem__(self, row):
            self.asked.add(row)
            return super().__getitem__(row)

    size = 70_000  # more than are looked at in one go
    pool = Dialogues(range(size), Reads([["a b c"]] * 65_999 + [["d e f"]] * 4_001), np.ones((size, 2), np.float16))
    probabilities = np.full((size, 41), 1 / 41, np.float32)
    probabilities[[5, 66_000]] = sure((4, 0.95), (5, 0.99))
    result = choose(probabilities, pool, Dialogues(["test"], [["x y z"]], np.array([[1.0, -1.0]])))
    assert [(label.row, label.label) for label in result.labels] == [(5, 4), (66_000, 5)] and Reads.asked == {5, 66_000}
    assert result.count.rejected == {"not_confident": size - 2}


def test_read_is_kept_and_rejected():
    generator = np.random.default_rng(0)
    probabilities = generator.dirichlet(np.full(41, 0.02), 300).astype(np.float32)
    texts = [" ".join(generator.choice(list(LETTERS), 4)) for _ in range(300)]
    held_out = Dialogues(["test"], [["a b c d"]], np.ones((1, 12)))
    result = choose(
        probabilities,
        made(300, texts, generator.normal(size=(300, 12))),
        held_out,
        rules=SelfLabelingRules(top=3, confidence=0.6),
    )
    count = result.count
    assert count.read == count.kept + sum(count.rejected.values()) == 300 and set(count.rejected) >= {
        "not_confident",
        "capped",
        "held_out_words",
    }
    assert (count.kept, sum(count.tally.values())) == (len(result.labels), len(result.labels)) and max(
        count.tally.values()
    ) == 3
    assert all(label.confidence >= 0.6 for label in result.labels)


@pytest.mark.parametrize(
    ("history", "patience", "worth"),
    [
        ([], 1, True),
        ([2.0], 1, True),
        ([2.0, 1.9], 1, True),
        ([2.0, 2.0], 1, False),
        ([2.0, 1.9, 1.95], 1, False),
        ([2.0, 1.9, 1.95], 2, True),
        ([2.0, 1.9, 1.95, 1.91], 2, False),
        ([2.0, 1.9, 1.95, 1.89], 2, True),
    ],
)
def test_another_round_while_validation_gains(history, patience, worth):
    assert gains(history, patience) is worth


def test_rules_come_from_yaml():
    assert build(SelfLabelingRules, {"top": 50, "cap_total": 1000, "rounds": 3}, "here") == SelfLabelingRules(
        50, cap_total=1000, rounds=3
    )
    with pytest.raises(RecipeError, match="did you mean 'confidence'"):
        build(SelfLabelingRules, {"confidense": 0.9}, "here")


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("confidence", 0.0),
        ("confidence", float("nan")),
        ("guard", 1.1),
        ("guard_words", 0.0),
        ("top", 0),
        ("rounds", 0),
        ("patience", 0),
        ("cap", 0),
        ("cap_total", 0),
    ],
)
def test_rules_out_of_range_are_named(parameter, value):
    with pytest.raises(RecipeError, match=rf"here, stage 'self_label': {parameter} must be .*got"):
        build(SelfLabelingRules, {parameter: value}, "here")


def test_probabilities_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"3 candidates need probabilities \[3, 41\], got \[2, 41\]"):
        choose(sure((0, 1), (1, 1)), made(3), NOTHING)
    broken = sure((0, 1), (1, 1))
    broken[1, 7] = np.nan
    with pytest.raises(ValueError, match=r"candidate 1 \(from 0\), 'pool1', are none: nan"):
        choose(broken, made(2), NOTHING)
    with pytest.raises(ValueError, match="patience must be at least 1"):
        gains([1.0], 0)
