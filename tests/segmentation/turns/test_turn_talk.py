"""Who is called, what is said again, and I and you: of the two sentences at a seam."""

import numpy as np
import pytest

from edos_dataset.arrays import Ints, unnest
from edos_dataset.segmentation.turns.talk import talk
from edos_dataset.segmentation.turns.tokens import hash_tokens, mask_names
from turn_documents import documents, spoken

NAMED = ("I saw Anna.", "I saw Niles.")  # which tells that these are names
FIRST = len(NAMED)


def columns(*films: tuple[str, ...]) -> dict[str, Ints]:
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
    seams = columns((text, "What is it?"))
    assert seams["talk.called"][FIRST] == how
    assert seams["talk.called_before"][FIRST + 1] == how


def test_one_name_in_two_sentences() -> None:
    """Called by one, spoken of by the other, or neither."""
    told = columns(("Where is Anna?", "In town, Anna is."), ("Anna, where are you?", "Ask Anna!"))["talk.same_name"]
    assert told[FIRST + 1] == 1
    assert told[2 * FIRST + 3] == 3
    assert columns(("Where is Anna?", "Ask Niles!"))["talk.same_name"][FIRST + 1] == 0


def test_rare_words_that_come_again() -> None:
    """More of them weigh more; a word that the whole film is full of tells nothing."""
    said = columns(("We sail to Corfu together.", "Together?", "The soup sails well.", "Yes."))["talk.echo"]
    assert said[FIRST + 1] == 3
    assert said[FIRST + 2] == 0
    full = columns(("The soup.",) * 6)["talk.echo"]
    assert full[FIRST + 1] == 0


def test_i_and_you_turn_round() -> None:
    """Each pair of persons is a value of its own."""
    seams = columns(("I love you.", "You do?", "I'll think.", "Nobody knows."))["talk.person"]
    assert seams[FIRST : FIRST + 4].tolist() == [4 * 1 + 3, 4 * 3 + 2, 4 * 2 + 1, 4 * 1]


def test_nothing_crosses_from_film_to_film() -> None:
    """The first seam of a film says nothing of what came before it, and a film's columns don't hang on another's."""
    alone = columns(("Anna, I love you.",))
    second = columns(("Corfu, Anna!", "Anna, I love you."), ("Anna, I love you.",))
    for name, values in alone.items():
        assert second[name][2 + FIRST :].tolist() == values.tolist(), name
        if name != "talk.called":
            assert values[0] == 0, name
