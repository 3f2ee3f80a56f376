"""The 41 labels: a published bug of this family of data sets is two swapped ids."""

import re

import pytest

from edos_dataset.labels import (
    DEFINITIONS,
    EMOTIONS,
    EXAMPLES,
    GROUPS,
    INTENTS,
    LABEL_IDS,
    LABELS,
    NEUTRAL,
    parse_label,
)

PINNED = """
0 afraid 1 angry 2 annoyed 3 anticipating 4 anxious 5 apprehensive 6 ashamed 7 caring 8 confident 9 content 10
devastated 11 disappointed 12 disgusted 13 embarrassed 14 excited 15 faithful 16 furious 17 grateful 18 guilty 19
hopeful 20 impressed 21 jealous 22 joyful 23 lonely 24 nostalgic 25 prepared 26 proud 27 sad 28 sentimental 29
surprised 30 terrified 31 trusting 32 agreeing 33 acknowledging 34 encouraging 35 consoling 36 sympathizing 37
suggesting 38 questioning 39 wishing 40 neutral
""".split()  # noqa: SIM905 - as in the paper, easier to compare


@pytest.mark.parametrize(("number", "name"), list(zip(PINNED[::2], PINNED[1::2], strict=True)))
def test_id_and_name(number, name):
    assert LABELS[int(number)] == name
    assert LABEL_IDS[name] == int(number)
    assert parse_label(name) == int(number)


def test_groups():
    assert len(LABELS) == len(set(LABELS)) == 41
    assert (len(EMOTIONS), len(INTENTS), LABEL_IDS[NEUTRAL]) == (32, 8, 40)
    assert [*EMOTIONS, *INTENTS, NEUTRAL] == list(LABELS)


def test_every_label_is_in_one_group():
    assert sorted(label for group in GROUPS.values() for label in group) == sorted(LABELS)


def test_every_label_has_a_definition_of_its_own():
    assert tuple(DEFINITIONS) == LABELS
    assert (
        all(re.fullmatch(r"The [^.]+\.", text) for text in DEFINITIONS.values())
        and len(set(DEFINITIONS.values())) == 41
    )


def test_every_label_has_an_example_of_its_own():
    assert tuple(EXAMPLES) == LABELS and len(set(EXAMPLES.values())) == 41


@pytest.mark.parametrize(("text", "number"), [("Afraid", 0), ("  JOYFUL\n", 22), ("Neutral ", 40)])
def test_case_and_blanks_do_not_matter(text, number):
    assert parse_label(text) == number


@pytest.mark.parametrize("text", ["", "happy", "sad.", "afraid angry", "0", "sympathising"])
def test_unknown_label_is_named_with_the_known_ones(text):
    with pytest.raises(ValueError, match="unknown label") as error:
        parse_label(text)
    assert repr(text) in str(error.value)
    assert "afraid, angry" in str(error.value) and "neutral" in str(error.value)
