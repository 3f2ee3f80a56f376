"""Blocks, times, dashes and marks at a boundary; what is missing is a value of its own."""

import numpy as np
import pytest

from edos_dataset.arrays import Ints, unnest
from edos_dataset.segmentation.turns.evidence import INSIDE, OUTSIDE, UNKNOWN, beside, evidence, talk
from edos_dataset.segmentation.turns.tokens import hash_tokens, mask_names
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
    boundaries = columns(film)
    for name in ("block.relation", "timing.gap", "timing.split", "timing.duration", "timing.rate", "density.sentences"):
        assert boundaries[name][1] == UNKNOWN, name


def test_a_pause_is_the_same_at_any_time():
    """0.3 s is 0.2999999 s or 0.3000001 s in binary numbers, by the hour."""
    places = [(0.0, 1.7), (2.0, 3.1), (3.4, 5.0), (5.3, 6.6)]
    bins = []
    for moved in (0.0, 0.1, 3.3, 3_600.0, 36_000.7, 359_990.3):
        film = [sentence("Go.", a + moved, b + moved, number) for number, (a, b) in enumerate(places)]
        bins.append(columns(film)["timing.gap"].tolist())
    assert all(each == [OUTSIDE, 1, 1, 1] for each in bins)


def test_the_pause_inside_a_block_is_no_pause():
    film = [
        sentence("One.", 0, 3, 0),
        sentence("Two.", 0, 3, 0),
        sentence("Three.", 4, 5, 1),
        sentence("Four.", 5.1, 6, 4),
    ]
    boundaries = columns(film)
    assert boundaries["block.relation"][1:].tolist() == [0, 1, 2]
    assert boundaries["timing.gap"][1] == INSIDE
    assert boundaries["timing.gap"][2] > boundaries["timing.gap"][3]
    assert boundaries["neighbours.gap_before"][2] == INSIDE


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
    boundaries = columns(spoken("Is it?", "...so they say", "", "Yes!"))
    same_mark = columns(spoken("Who?", "Here.", "", "No!"))
    assert boundaries["punctuation.last_before"][1] == same_mark["punctuation.last_before"][1]
    assert boundaries["punctuation.first"][1] != same_mark["punctuation.first"][1]
    assert boundaries["punctuation.last"][1] == 0
    assert boundaries["punctuation.last"][2] == UNKNOWN
    assert boundaries["lengths.before"][1] == 1
    assert boundaries["lengths.here"].tolist() == [1, 2, 0, 0]


def test_dashes_of_a_document():
    film = spoken("One.", "Two.", "Three.", "Four.")
    film[1]["dash"] = film[2]["dash"] = True
    boundaries = columns(film, spoken("Five.", "Six."))
    assert boundaries["dash.here"].tolist() == [0, 1, 1, 0, 0, 0]
    assert boundaries["dash.before"].tolist() == [OUTSIDE, 0, 1, 1, OUTSIDE, 0]
    assert boundaries["dash.share"][0] > boundaries["dash.share"][4] == 0


def test_density_is_of_the_document():
    boundaries = columns(spoken("One.", "Two.", "Three."), spoken("One.", "Two.", "Three.", pause=30))
    assert boundaries["density.sentences"][0] > boundaries["density.sentences"][3]


NAMED = ("I saw Anna.", "I saw Niles.")  # which tells that these are names
FIRST = len(NAMED)


def talk_columns(*films: tuple[str, ...]) -> dict[str, Ints]:
    """Read films whose first sentences name people."""
    sentences, offsets = unnest(documents(*(spoken(*NAMED, *film) for film in films)), "sentences")
    tokens = hash_tokens(sentences.field("text"), "en")
    masked = mask_names(tokens, tokens.offsets[offsets])
    return talk(tokens, masked, offsets, np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)))


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("Anna, come here.", 1),
        ("Come here, Anna!", 2),
        ("Come here, Anna", 2),
        ("Anna!", 3),
        ("Anna. Niles?", 3),
        ("Did Anna come?", 0),
        ("Well, come.", 0),
        ("", 0),
    ],
)
def test_somebody_is_called(text: str, how: int) -> None:
    """At the beginning, at the end, or by nothing else; the next sentence knows it, too."""
    boundaries = talk_columns((text, "What is it?"))
    assert boundaries["talk.called"][FIRST] == how
    assert boundaries["talk.called_before"][FIRST + 1] == how


def test_one_name_in_two_sentences() -> None:
    """Called by one, spoken of by the other, or neither."""
    told = talk_columns(("Where is Anna?", "In town, Anna is."), ("Anna, where are you?", "Ask Anna!"))[
        "talk.same_name"
    ]
    assert told[FIRST + 1] == 1
    assert told[2 * FIRST + 3] == 3
    assert talk_columns(("Where is Anna?", "Ask Niles!"))["talk.same_name"][FIRST + 1] == 0


def test_rare_words_that_come_again() -> None:
    """More of them weigh more; a word that the whole film is full of tells nothing."""
    said = talk_columns(("We sail to Corfu together.", "Together?", "The soup sails well.", "Yes."))["talk.echo"]
    assert said[FIRST + 1] == 3
    assert said[FIRST + 2] == 0
    full = talk_columns(("The soup.",) * 6)["talk.echo"]
    assert full[FIRST + 1] == 0


def test_i_and_you_turn_round() -> None:
    """Each pair of persons is a value of its own."""
    boundaries = talk_columns(("I love you.", "You do?", "I'll think.", "Nobody knows."))["talk.person"]
    assert boundaries[FIRST : FIRST + 4].tolist() == [4 * 1 + 3, 4 * 3 + 2, 4 * 2 + 1, 4 * 1]


def test_nothing_crosses_from_film_to_film() -> None:
    """The first boundary of a film ignores what came before it, and a film's columns depend on no other film."""
    alone = talk_columns(("Anna, I love you.",))
    second = talk_columns(("Corfu, Anna!", "Anna, I love you."), ("Anna, I love you.",))
    for name, values in alone.items():
        assert second[name][2 + FIRST :].tolist() == values.tolist(), name
        if name != "talk.called":
            assert values[0] == 0, name
