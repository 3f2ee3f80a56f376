"""Who may be in danger is told where to find help: by words, in the languages that the list has."""

import pytest

from edos_dataset.generation.safety import HELP, danger_in, help_for


@pytest.mark.parametrize(
    "text",
    [
        "I want to die.",
        "i’m going to kill myself",
        "I don't want to live anymore",
        "thinking of suicide",
        "Ich will nicht mehr leben.",
        "Ich denke an Selbstmord.",
        "No quiero vivir más.",
        "Je veux mourir",
        "Öngyilkos akarok lenni.",
        "Voglio morire.",
        "Ik wil dood.",
        "Quero morrer.",
    ],
)
def test_self_harm_is_noticed(text):
    assert danger_in(text) == "self_harm"


@pytest.mark.parametrize(
    "text",
    ["Call an ambulance!", "I can’t breathe", "I have been stabbed.", "Someone is breaking in", "Send the police!"],
)
def test_emergencies_are_noticed(text):
    assert danger_in(text) == "emergency"


@pytest.mark.parametrize(
    "text",
    [
        "This heat is killing me!",
        "I died laughing.",
        "My cat died.",
        "I can't live with him.",
        "Call me later.",
        "Ich will leben.",
        "Das Leben ist schön.",
        "Quiero comer.",
    ],
)
def test_other_texts_are_none(text):
    assert danger_in(text) is None


def test_the_first_danger_of_some_texts_decides():
    assert help_for(["Hello.", "Call an ambulance", "I want to die"]) == HELP["emergency"]
    assert help_for(["Hello."]) is None
