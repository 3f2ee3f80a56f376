"""How sure a turn of a book is: what makes it doubtful, and which dialogues stay."""

import pyarrow as pa
import pytest

from edos_dataset.schema.tables import READ_BOOKS
from edos_dataset.segmentation.books.certainty import RIGHT, certainty_of_turn
from edos_dataset.segmentation.books.extraction import Speech, extract
from edos_dataset.segmentation.books.rules import load_rules
from edos_dataset.segmentation.books.speech import Doubt, Extraction, Turn
from edos_dataset.segmentation.books.stages import FindDialogues, KeepSure
from edos_dataset.sources.books.book import Block

TALK = ["“Will you come?” asked Tom.", "“I will come,” said Ann."]
SURE = 0.94
"""What a turn without a guess has at least, of three words or more, whoever says it."""


def of(paragraphs: list[str]) -> Extraction:
    """Extract out of English paragraphs."""
    return extract([Block(text) for text in paragraphs], load_rules("en"), Speech())


def certainties(paragraphs: list[str]) -> list[list[float]]:
    """Return the certainty of each turn of each dialogue."""
    return [[utterance.certainty or 0 for utterance in dialogue] for dialogue in of(paragraphs).dialogues]


DOUBTFUL = {
    Doubt.TWO: ["“Will you come?” asked Tom, and Ann replied, “I will not.”"],
    Doubt.LED: [*TALK, "“Come with me!” I took her hand, and said: “Quick!”"],
    Doubt.UNHEARD: [*TALK, "“That is good,” said Tom, but he thought it strange."],
    Doubt.PROBABLY_OTHER: [*TALK, "“When will it be?”", "It was cold.", "“It is now.”"],
    Doubt.OTHER: [*TALK, "It was cold.", "“That is good,” said Tom."],
    Doubt.QUOTED: [*TALK, "“When is it?” asked Tom.", "‘Why?’ The sign “Blue Boar” was new.", "“It is now,” said Ann."],
    Doubt.TAIL: [*TALK[:1], f"{TALK[1]} {'She sat by the fire. ' * 5}", "“That is good,” said Tom."],
    Doubt.WITHIN: [*TALK, "Tom rose. “That is good.”"],
}


@pytest.mark.parametrize(("doubt", "paragraphs"), DOUBTFUL.items(), ids=lambda it: getattr(it, "name", ""))
def test_guesses_make_a_turn_doubtful(doubt: Doubt, paragraphs: list[str]) -> None:
    """The last turn holds a guess and is less sure than those of two people who take turns."""
    (found,) = certainties(paragraphs)
    assert found[-1] <= RIGHT[doubt]
    assert all(certainty > SURE for certainty in found[1:-1])


def test_two_who_take_turns_are_sure() -> None:
    """No turn has a guess; nobody answers the first to show that it is speech."""
    (found,) = certainties([*TALK, "“When will it be?”", "“It will be soon.”"])
    assert len(found) == 4 and min(found) > SURE > 0.9
    assert found[0] < max(found)


def test_a_word_is_often_quoted_and_not_said() -> None:
    """The first turn of a dialogue most of all."""
    (long,), (first,), (last,) = (
        certainties(text) for text in (TALK, ["“Come!” cried Tom.", TALK[1]], [TALK[0], "“Yes,” said Ann."])
    )
    assert first[0] < 0.8 < last[1] < long[1] and first[1] == long[1]


def test_whom_nobody_names_is_doubtful_where_speakers_are_known() -> None:
    """In languages whose speakers are not learned most turns have no name."""
    named, unnamed = Turn(["I will come"], [0], name="Ann"), Turn(["I will come"], [0])
    for place in (0, 1):
        assert certainty_of_turn(unnamed, place, True) < certainty_of_turn(named, place, True)
        assert certainty_of_turn(unnamed, place, False) == certainty_of_turn(named, place, False)


def test_every_guess_has_its_share() -> None:
    """Each kind of guess has the fraction of right turns that hold it."""
    assert set(RIGHT) == set(Doubt)
    assert all(0 < share < 1 for share in RIGHT.values())


@pytest.mark.parametrize(("least", "kept"), [(0, [True, True]), (0.8, [True, False]), (1, [False, False])])
def test_the_surest_stay(least: float, kept: list[bool]) -> None:
    """Dialogues stay of which the product of the certainties is the least asked for, or more; 0 keeps all."""
    good = "“That is good,” said Tom."
    paragraphs = [*TALK, good, "* * *", *TALK, "“Good.” She rose. Tom laughed, and said: “Come!”"]
    blocks = [Block(text)._asdict() for text in paragraphs]
    names = dict.fromkeys(READ_BOOKS.names, [None]) | {"document_id": ["a"], "language": ["en"], "blocks": [blocks]}
    found = FindDialogues()(pa.table(names)).drop_columns(["reason"])
    assert [reason is None for reason in KeepSure(least)(found)["reason"].to_pylist()] == kept


@pytest.mark.parametrize("least", [-0.1, 1.5])
def test_refuses_what_is_no_probability(least: float) -> None:
    """The least certainty lies between 0 and 1."""
    with pytest.raises(ValueError, match="least must be from 0 to 1"):
        KeepSure(least=least)


def test_run_in_speech_is_parted() -> None:
    """In paragraphs of old tales a second full tag, or one who has asked, tells of another person."""
    named = of(["‘Where are you going?’ said he. ‘To bury her,’ said the fox. ‘So!’ said the wolf.", *["‘Yes.’"] * 9])
    assert [utterance.text for utterance in named.dialogues[0][:3]] == ["Where are you going?", "To bury her,", "So!"]
    asked = of(
        ["The prince said, ‘What is it?’ ‘I dare not,’ said he. But the prince said, ‘Tell me!’", *["‘Yes.’"] * 9]
    )
    assert [utterance.text for utterance in asked.dialogues[0][:3]] == ["What is it?", "I dare not,", "Tell me!"]


def test_nothing_but_narration_ends_a_dialogue() -> None:
    """Behind a paragraph of narration without a word of who speaks, one person goes on as often as not."""
    assert [len(dialogue) for dialogue in of([*TALK, "It was cold.", "“Now.”", "“Well.”"]).dialogues] == [2, 2]
