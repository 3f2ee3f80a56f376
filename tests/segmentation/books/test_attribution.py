"""Who says each turn, by the shipped networks."""

import numpy as np
import pytest

from edos_dataset.segmentation.books.attribution import Layer, attributor_of, load_attributor, softmax, weights_text
from edos_dataset.segmentation.books.extraction import Speech, extract
from edos_dataset.segmentation.books.rules import load_rules
from edos_dataset.sources.books.book import Block

TALK = [
    "Elizabeth Bennet sat with Mr. Darcy at the fire.",
    "“Is it late?” asked Elizabeth.",
    "“It is early,” said Mr. Darcy.",
    "“You may stay, then,” said Elizabeth.",
    "“I shall stay,” said Darcy.",
    "“And your sister?”",
    "“She is tired,” Mr. Darcy replied.",
    "“I am sorry for it, Mr. Darcy,” cried Elizabeth, with a sigh.",
]


@pytest.fixture(scope="module")
def dialogue():
    (found,) = extract(list(map(Block, TALK)), load_rules("en"), Speech()).dialogues
    return found


def test_a_character_has_one_name_and_number(dialogue):
    assert [turn.speaker for turn in dialogue] == [*["Elizabeth", "Mr. Darcy"] * 3, "Elizabeth"]
    assert len({turn.character for turn in dialogue}) == 2


def test_who_is_called_by_name_is_addressed(dialogue):
    last = dialogue[-1]
    assert (last.speaker, last.addressee, last.manner) == (dialogue[0].speaker, "Mr. Darcy", "cried; with a sigh")


def test_a_book_without_names_has_no_speakers():
    (found,) = extract([Block("“Where?” she asked."), Block("“Here,” he said.")], load_rules("en"), Speech()).dialogues
    assert [(turn.speaker, turn.character) for turn in found] == [(None, None)] * 2


def test_networks_are_read_as_they_are_written():
    shipped = load_attributor()
    assert attributor_of(shipped.dump()).dump() == weights_text().strip() == shipped.dump()
    assert 0.5 <= shipped.least < 1


def test_probabilities_of_each_turn_have_the_sum_one():
    shares = softmax(np.array([0.0, 1.0, 2.0, 5.0]), np.array([0, 0, 0, 3]))
    assert shares[:3].sum() == pytest.approx(1) and shares[3] == 1 and shares[2] > shares[1]


def test_a_layer_scores_rows():
    layer = Layer(np.array([1.0]), np.array([2.0]), np.array([[1.0, -1.0]]), np.zeros(2), np.array([1.0, 10.0]))
    assert layer.scores(np.array([[2.0], [0.0]])).tolist() == [2, 20]
