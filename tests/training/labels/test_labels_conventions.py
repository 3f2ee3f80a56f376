"""Whose conventions the heads learn, and which answers are made of them."""

import pytest

from edos_dataset.labeling.models.context import ContextClassifierConfig
from training.labels.conventions import ANSWERS, CONVENTIONS, answers_over, convention_of, conventions_of
from training.labels.results import _CALIBRATED_ON
from training.labels.sources import NAMES


@pytest.mark.parametrize("source", NAMES)
def test_every_source_has_one_convention(source):
    assert [name for name, own in CONVENTIONS.items() if source in own] == [convention_of(source)]


def test_a_convention_is_of_sources_that_there_are():
    assert sorted(source for own in CONVENTIONS.values() for source in own) == sorted(NAMES)
    assert conventions_of(NAMES) == list(CONVENTIONS)


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_made_of_conventions_that_there_are_and_calibrated_on_a_source_of_one_of_them(name):
    answer = ANSWERS[name]
    assert answer.sees in ("turn", "history")
    assert answer.conventions and answer.conventions.keys() <= CONVENTIONS.keys()
    assert min(answer.conventions.values()) > 0
    assert convention_of(answer.calibrated_on) in answer.conventions and answer.calibrated_on in _CALIBRATED_ON


def test_the_answer_for_texts_of_any_kind_is_the_first_and_of_two_answers_neither_is_the_other():
    assert list(ANSWERS) == ["general", "dialogue", "weak"]
    assert {name: answer.sees for name, answer in ANSWERS.items()} == {
        "general": "history",
        "dialogue": "history",
        "weak": "turn",
    }
    assert len({(answer.sees, *answer.conventions.items()) for answer in ANSWERS.values()}) == len(ANSWERS)


@pytest.mark.parametrize(
    ("sources", "conventions"),
    [
        (["films"], ["reader"]),
        (["swda", "films", "esconv"], ["reader", "acts"]),
        (["weak_annotated", "crowd_undecided"], ["crowd", "situations"]),
        ([], []),
    ],
)
def test_conventions_come_in_one_order_each_once(sources, conventions):
    assert conventions_of(sources) == conventions_of(dict.fromkeys(reversed(sources), 1.0)) == conventions


@pytest.mark.parametrize(
    ("conventions", "general", "dialogue"),
    [
        (["crowd"], {"crowd": 1.0}, {"crowd": 1.0}),
        (["reader", "crowd", "xed"], {"reader": 2.0, "xed": 2.0}, {"crowd": 1.0}),
        (["meld", "emorynlp"], {"meld": 4.0, "emorynlp": 1.0}, {"meld": 1.0, "emorynlp": 1.0}),
    ],
)
def test_of_few_conventions_an_answer_has_what_it_can_or_all_alike(conventions, general, dialogue):
    found = answers_over(conventions)
    assert found == {
        "general": {"sees": "history", "conventions": general, "temperature": 1.0},
        "dialogue": {"sees": "history", "conventions": dialogue, "temperature": 1.0},
        "weak": {"sees": "turn", "conventions": general, "temperature": 1.0},
    }
    config = ContextClassifierConfig(conventions=conventions, answers=found)
    assert config.answer == "general"
    found["weak"]["temperature"], found["weak"]["conventions"] = 2.0, {}
    assert answers_over(conventions) != found, "what one model is given is not another's"


def test_a_source_without_a_convention_is_told_where_to_get_one():
    with pytest.raises(ValueError, match=r"the source 'mine' has no convention: add it to .* in .*conventions\.py"):
        convention_of("mine")


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_model_of_one_convention_can_be_made(name):
    config = ContextClassifierConfig(conventions=[name], answers=answers_over([name]))
    assert all(set(answer["conventions"]) == {name} for answer in config.answers.values())
