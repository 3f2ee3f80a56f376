"""Each rule by itself, on dialogues whose vectors are drawn by hand, and the leak test on true embeddings."""

import numpy as np
import pytest

from edos_dataset.augmentation.embeddings import VectorStore
from edos_dataset.augmentation.guards import Dialogues, overlapping, words_of
from edos_dataset.augmentation.spreading import SpreadingRules, agreement_of_seeds, spread
from edos_dataset.encoders.encoder import Encoder
from edos_dataset.runs.recipes import RecipeError, build

NOTHING = Dialogues([], [], [])
LETTERS = "abcdefghij"


def at(*cosines):
    """Vectors in the plane with these cosines to (1, 0), counterclockwise; negative ones clockwise."""
    return np.array([[abs(cosine), np.sign(cosine) * np.sqrt(1 - cosine**2)] for cosine in cosines])


def made(prefix, vectors, texts=None):
    """Dialogues of one turn, each with words of its own unless texts are given."""
    texts = texts or [f"{prefix} {letter} {letter}{letter} {letter * 3}" for letter in LETTERS[: len(vectors)]]
    return Dialogues([f"{prefix}{row}" for row in range(len(texts))], [[text] for text in texts], vectors)


def labelled(result):
    return {label.dialogue_id: (label.label, label.seed_id, round(label.similarity, 6)) for label in result.labels}


def reasons(result):
    return {label.dialogue_id: label.reason for label in result.rejected}


def test_threshold_and_what_a_new_label_carries():
    result = spread(made("seed", at(1)), [7], made("pool", at(0.95, 0.92, 0.9199, 1)), NOTHING, round=2)
    assert labelled(result) == {"pool0": (7, "seed0", 0.95), "pool1": (7, "seed0", 0.92), "pool3": (7, "seed0", 1)}
    assert {(label.round, label.reason) for label in result.labels} == {(2, None)} and [
        label.row for label in result.labels
    ] == [0, 1, 3]
    count = result.count
    assert (count.unit, count.read, count.kept, count.rejected, count.tally) == (
        "dialogues",
        4,
        3,
        {"not_similar": 1},
        {"caring": 3},
    )


@pytest.mark.parametrize(
    ("conflict", "expected"),
    [("none", {}), ("nearest", {"pool0": (1, "seed0", 1)}), ("majority", {"pool0": (2, "seed1", 0.995)})],
)
def test_seeds_of_different_labels_within_the_margin(conflict, expected):
    result = spread(
        made("seed", at(1, 0.995, 0.99, 0.95)),
        [1, 2, 2, 3],
        made("pool", at(1)),
        NOTHING,
        SpreadingRules(conflict=conflict),
    )
    assert labelled(result) == expected
    assert result.count.rejected == ({"conflict": 1} if conflict == "none" else {})


def test_a_label_beyond_the_margin_has_no_say():
    result = spread(
        made("seed", at(1, 0.97, 0.97, 0.97)),
        [1, 2, 2, 2],
        made("pool", at(1)),
        NOTHING,
        SpreadingRules(conflict="majority"),
    )
    assert labelled(result) == {"pool0": (1, "seed0", 1)}
    result = spread(
        made("seed", at(1, 0.97, 0.97, 0.97)),
        [1, 2, 2, 2],
        made("pool", at(1)),
        NOTHING,
        SpreadingRules(conflict="majority", margin=0.05),
    )
    assert labelled(result) == {"pool0": (2, "seed1", 0.97)}


def test_of_labels_with_as_many_seeds_the_nearest_and_of_equally_near_ones_the_first():
    majority = SpreadingRules(conflict="majority")
    result = spread(made("seed", at(0.99, 1, 1)), [3, 1, 2], made("pool", at(1)), NOTHING, majority)
    assert labelled(result) == {"pool0": (1, "seed1", 1)}
    result = spread(made("seed", at(0.99, 1, 1)), [3, 2, 1], made("pool", at(1)), NOTHING, majority)
    assert labelled(result) == {"pool0": (2, "seed1", 1)}
    result = spread(made("seed", at(1, 1)), [2, 1], made("pool", at(1)), NOTHING, SpreadingRules(conflict="nearest"))
    assert labelled(result) == {"pool0": (2, "seed0", 1)}


def test_the_cap_takes_the_nearest_first():
    pool = made("pool", at(0.95, 0.99, 0.95, 0.97))
    result = spread(made("seed", at(1)), [0], pool, NOTHING, SpreadingRules(cap=3))
    assert set(labelled(result)) == {"pool0", "pool1", "pool3"} and reasons(result) == {"pool2": "capped"}, (
        "of equally near ones the first"
    )
    result = spread(made("seed", at(1)), [0], pool, NOTHING, SpreadingRules(cap=1))
    assert set(labelled(result)) == {"pool1"} and result.count.rejected == {"capped": 3}
    result = spread(
        made("seed", at(1, -1)),
        [0, 1],
        made("pool", at(0.95, 0.96)),
        NOTHING,
        SpreadingRules(cap=1, conflict="nearest"),
    )
    assert set(labelled(result)) == {"pool1"}


def test_copies_of_what_has_a_label_and_of_each_other():
    seeds = made("seed", at(1), ["I won the race!"])
    pool = made(
        "pool",
        at(1, 1, 1, 0.99, 1),
        [
            "i WON the race",
            "We won the big race today",
            "Who won it",
            "we won, the big race... today?",
            "Other words here",
        ],
    )
    pool.ids[4] = "seed0"
    earlier = made("earlier", at(1), ["Who won it?"])
    result = spread(seeds, [22], pool, NOTHING, known=[earlier])
    assert set(labelled(result)) == {"pool1"}
    assert reasons(result) == {"pool0": "has_label", "pool2": "has_label", "pool3": "duplicate", "seed0": "has_label"}


def test_what_is_near_a_held_out_dialogue_gets_no_label():
    held_out = Dialogues(
        ["test0", "test1"], [["x y"], ["Where were you?", "My train was very late today again"]], at(0.0, -0.5)
    )
    texts = [
        "nothing of the kind",
        "y! X?",
        "some words of mine",
        "my train was very late today, again!",
        "x y z",
        "my train was late",
        "were where you my train was very late again",
    ]
    pool = made("pool", at(*[1] * 7), texts)
    pool.ids[2] = "test1"
    result = spread(made("seed", at(1)), [0], pool, held_out)
    assert set(labelled(result)) == {"pool0", "pool5"}
    assert reasons(result) == {
        "pool1": "held_out_words",
        "test1": "held_out_id",
        "pool3": "held_out_words",
        "pool4": "held_out_words",
        "pool6": "held_out_words",
    }
    near = Dialogues(["test0"], [["x y"]], at(-0.95))
    result = spread(made("seed", at(1)), [0], made("pool", at(0.99, 0.93, -0.99)), near)
    assert reasons(result) == {"pool2": "held_out_near"} and set(labelled(result)) == {"pool0", "pool1"}


def test_a_pool_that_no_seed_is_near_to():
    result = spread(made("seed", at(1)), [0], made("pool", at(0.1, 0.2)), NOTHING)
    assert not result.labels and result.count.rejected == {"not_similar": 2}


def test_agreement_of_seeds_asks_the_others_of_other_words():
    """The first three are near each other, the second and third most, of labels 5, 5 and 6; the fourth has the words of
    the fifth, and no other near it.
    """
    seeds = made("seed", at(1, 0.999, 0.998, 0.1, 0.1), ["a b", "c d", "e f", "g h", "G, h!"])
    assert agreement_of_seeds(seeds, [5, 5, 6, 7, 7], SpreadingRules(conflict="nearest")) == {"near": 3, "same": 1}
    assert agreement_of_seeds(seeds, [5, 5, 6, 7, 7], SpreadingRules(conflict="none")) == {"near": 1, "same": 0}


def test_read_is_kept_and_rejected():
    generator = np.random.default_rng(0)
    vectors = [generator.normal(size=(n, 3)) for n in (40, 400, 20)]
    texts = [[" ".join(generator.choice(list(LETTERS), 4)) for _ in range(n)] for n in (40, 400, 20)]
    seeds, pool, held_out = (
        made(name, vector, text) for name, vector, text in zip(("seed", "pool", "test"), vectors, texts, strict=True)
    )
    result = spread(
        seeds, [row % 41 for row in range(40)], pool, held_out, SpreadingRules(guard=0.99, cap=1, threshold=0.9)
    )
    count = result.count
    assert (
        count.read == count.kept + sum(count.rejected.values())
        and count.kept == len(result.labels) == sum(count.tally.values()) > 0
    )
    assert set(count.rejected) == {
        "not_similar",
        "held_out_words",
        "held_out_near",
        "has_label",
        "conflict",
        "duplicate",
        "capped",
    }


SEEDS = [
    "I lost my job today and I do not know what to do.",
    "We are getting married next summer!",
    "Somebody broke into our house last night.",
]
HELD_OUT = [
    "I lost my job last week and I have no idea what to do.",
    "We will get married next year!",
    "Somebody broke into our house while we slept.",
]


def copies(text):
    """Copies as they come in subtitles: another mark, another case, a word more or less, another order, a dash."""
    words = text.rstrip(".!").split()
    yield from (
        text,
        text.rstrip(".!") + "?",
        text.upper(),
        "- " + text.lower(),
        "Well, " + text,
        text.rstrip(".!") + " again.",
        " ".join(words[1:]),
    )
    yield from (
        " ".join(words[:4] + ["really"] + words[4:]),
        " ".join(words[:2]) + "... " + " ".join(words[2:]),
        "\t" + text.replace(" ", "  "),
    )


def test_no_near_copy_of_a_held_out_dialogue_is_labelled(tmp_path):
    """Held-out dialogues so near to seeds that without the guard every copy of them gets a label."""
    store = VectorStore(tmp_path, Encoder())
    turns = {
        "seed": [[text] for text in SEEDS],
        "test": [[text] for text in HELD_OUT],
        "pool": [[copy] for text in HELD_OUT for copy in copies(text)]
        + [["Good morning.", copy] for text in HELD_OUT for copy in copies(text)],
    }
    turns["pool"] += [
        [
            text.replace("my job", "my old job")
            .replace("We are", "Yes, we are both")
            .replace("house", "summer house at the lake")
        ]
        for text in SEEDS
    ]
    seeds, held_out, pool = (
        Dialogues([f"{name}{row}" for row in range(len(turns[name]))], turns[name], store.dialogues(turns[name]))
        for name in turns
    )
    loose = SpreadingRules(threshold=0.5, guard=1, guard_words=1, conflict="nearest")
    unguarded = spread(seeds, [27, 14, 30], pool, NOTHING, loose)
    assert len(unguarded.labels) > 20, "the case says something"
    guarded = spread(seeds, [27, 14, 30], pool, held_out, SpreadingRules(threshold=0.5, conflict="nearest"))
    planted = 2 * sum(1 for text in HELD_OUT for _ in copies(text))
    assert not [label for label in guarded.labels if label.row < planted]
    assert all(label.reason.startswith("held_out") for label in guarded.rejected if label.row < planted)


@pytest.mark.parametrize(
    ("first", "second", "near"),
    [
        ("a b c", "a b c", True),
        ("a b c", "c a b", True),
        ("yes", "yes john", True),
        ("yes", "no", False),
        ("a b", "a c", False),
        ("", "", True),
        ("", "yes", False),
        ("no no no", "no", False),
        ("a b c d e f g h i", "a b c d e f g h x", True),
        ("a b c d e f g", "a b c d e f x", False),
        ("a b c d e f g h", "a b c d e f g h x y", True),
        ("a b c d e f g", "a b c d e f g x y", False),
    ],
)
def test_words_in_common(first, second, near):
    """At a share of 0.8 the longer pairs have 8 of 10, 6 of 8, 8 of 10 and 7 of 9 words in common."""
    filler = [f"w{row} v{row} u{row}" for row in range(700)]
    assert overlapping([*filler, first], [second], 0.8).tolist() == [False] * 700 + [near]
    assert overlapping([second], [*filler, first], 0.8).tolist() == [near]
    assert overlapping([], [first], 0.8).tolist() == [] and overlapping([first], [], 0.8).tolist() == [False]


def test_words_of_a_dialogue():
    assert words_of(["Don 't go!", "...", "WHY ?"]) == words_of(["don't", "go, why"]) == "don t go why"


def test_rules_come_from_yaml():
    assert build(SpreadingRules, {"threshold": 0.9, "cap": None, "conflict": "majority"}, "here") == SpreadingRules(
        0.9, cap=None, conflict="majority"
    )
    with pytest.raises(RecipeError, match="did you mean 'threshold'"):
        build(SpreadingRules, {"treshold": 0.9}, "here")


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("threshold", 0.0),
        ("guard", 1.1),
        ("guard_words", 0.0),
        ("margin", -0.1),
        ("neighbours", 0),
        ("conflict", "all"),
        ("cap", 0),
        ("threshold", float("nan")),
    ],
)
def test_rules_out_of_range_are_named(parameter, value):
    with pytest.raises(RecipeError, match=rf"here, stage 'spreading': {parameter} must be .*got"):
        build(SpreadingRules, {parameter: value}, "here")


@pytest.mark.parametrize(
    ("labels", "held_out", "message"),
    [
        ([1], NOTHING, "1 label for 2 seeds"),
        ([1, 41], NOTHING, "label 41 of seed 1 .*'seed1'"),
        ([1, 2], Dialogues(["seed1"], [["x"]], at(1)), "'seed1': spread from the training part only"),
    ],
)
def test_what_does_not_fit_is_named(labels, held_out, message):
    with pytest.raises(ValueError, match=message):
        spread(made("seed", at(1, 0.5)), labels, made("pool", at(1)), held_out)


def test_dialogues_need_a_vector_each():
    with pytest.raises(ValueError, match="2 ids, 1 dialogues and 3 vectors"):
        Dialogues(["a", "b"], [["x"]], [at(1), at(1, 0.5)])
