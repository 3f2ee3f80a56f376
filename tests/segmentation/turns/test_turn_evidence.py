"""Blocks, times, dashes and marks at a seam; what is missing is a value of its own."""

import numpy as np
import pytest

from edos_dataset.arrays import unnest
from edos_dataset.segmentation.turns.evidence import INSIDE, OUTSIDE, UNKNOWN, beside, evidence
from edos_dataset.segmentation.turns.tokens import hash_tokens
from turn_documents import documents, sentence, spoken


def columns(*films):
    sentences, offsets = unnest(documents(*films), "sentences")
    return evidence(sentences, hash_tokens(sentences.field("text"), "en"), offsets)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (1, [2, OUTSIDE, 4, 5, OUTSIDE]),
        (-1, [OUTSIDE, 1, OUTSIDE, 3, 4]),
        (-2, [OUTSIDE, OUTSIDE, OUTSIDE, OUTSIDE, 3]),
        (7, [OUTSIDE] * 5),
    ],
)
def test_values_beside_stay_in_their_document(step, expected):
    assert beside(np.array([1, 2, 3, 4, 5]), step, np.array([0, 0, 1, 1, 1])).tolist() == expected


def test_missing_times_and_blocks_are_unknown():
    film = [sentence("One.", None, None, None), sentence("Two.", None, None, None)]
    seams = columns(film)
    for name in ("block.relation", "timing.gap", "timing.split", "timing.duration", "timing.rate", "density.sentences"):
        assert seams[name][1] == UNKNOWN, name


def test_the_pause_inside_a_block_is_no_pause():
    film = [
        sentence("One.", 0, 3, 0),
        sentence("Two.", 0, 3, 0),
        sentence("Three.", 4, 5, 1),
        sentence("Four.", 5.1, 6, 4),
    ]
    seams = columns(film)
    assert seams["block.relation"][1:].tolist() == [0, 1, 2]
    assert seams["timing.gap"][1] == INSIDE
    assert seams["timing.gap"][2] > seams["timing.gap"][3]
    assert seams["neighbours.gap_before"][2] == INSIDE


def test_halves_of_a_split_block():
    halves = [sentence("A?", 0, 2, 0), sentence("B.", 2, 4, 1), sentence("C.", 4.2, 9, 2), sentence("D.", 9, 11, 3)]
    assert columns(halves)["timing.split"][1:].tolist() == [1, 0, 0]
    usual = [
        sentence(str(number), start, start + 1 + number % 3, number) for number, start in enumerate([0, 1, 3, 6, 7, 9])
    ]
    assert columns(usual)["timing.split"][1:].tolist() == [0] * 5
    mostly = [
        sentence(str(number), 3 * number + number // 2 * 0.2, 3 * number + 3 + number // 2 * 0.2, number)
        for number in range(16)
    ]
    mostly[-1]["end"] += 5
    assert columns(mostly)["timing.split"][1:].tolist() == [1, 0] * 7 + [2]


def test_marks_and_lengths():
    seams = columns(spoken("Is it?", "...so they say", "", "Yes!"))
    same_mark = columns(spoken("Who?", "Here.", "", "No!"))
    assert seams["punctuation.last_before"][1] == same_mark["punctuation.last_before"][1]
    assert seams["punctuation.first"][1] != same_mark["punctuation.first"][1]
    assert seams["punctuation.last"][1] == 0
    assert seams["punctuation.last"][2] == UNKNOWN
    assert seams["lengths.before"][1] == 1
    assert seams["lengths.here"].tolist() == [1, 2, 0, 0]


def test_dashes_of_a_document():
    film = spoken("One.", "Two.", "Three.", "Four.")
    film[1]["dash"] = film[2]["dash"] = True
    seams = columns(film, spoken("Five.", "Six."))
    assert seams["dash.here"].tolist() == [0, 1, 1, 0, 0, 0]
    assert seams["dash.before"].tolist() == [OUTSIDE, 0, 1, 1, OUTSIDE, 0]
    assert seams["dash.share"][0] > seams["dash.share"][4] == 0


def test_density_is_of_the_document():
    seams = columns(spoken("One.", "Two.", "Three."), spoken("One.", "Two.", "Three.", pause=30))
    assert seams["density.sentences"][0] > seams["density.sentences"][3]
