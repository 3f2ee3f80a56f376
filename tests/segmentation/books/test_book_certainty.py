"""How sure a turn of a book is: what makes it doubtful, and which dialogues stay."""

import pyarrow as pa
import pytest

from edos_dataset.schema.tables import READ_BOOKS
from edos_dataset.segmentation.books.certainty import RIGHT
from edos_dataset.segmentation.books.extraction import Speech, extract
from edos_dataset.segmentation.books.rules import load_rules
from edos_dataset.segmentation.books.speech import Doubt, Extraction
from edos_dataset.segmentation.books.stages import FindDialogues, KeepSure
from edos_dataset.sources.books.book import Block

TALK = ["“Will you come?” asked Tom.", "“I will,” said Ann."]
SURE = 0.97


def of(paragraphs: list[str]) -> Extraction:
    """Extract out of English paragraphs."""
    return extract([Block(text) for text in paragraphs], load_rules("en"), Speech())


def certainties(paragraphs: list[str]) -> list[list[float | None]]:
    """Return the certainty of each turn of each dialogue."""
    return [[utterance.certainty for utterance in dialogue] for dialogue in of(paragraphs).dialogues]


DOUBTFUL = {
    "another in its paragraph": ["“Will you come?” asked Tom, and Ann replied, “No.”"],
    "a lead-in to nobody known": [*TALK, "“Come!” I took her hand, and said: “Quick!”"],
    "somebody thinks": [*TALK, "“Good,” said Tom, but he thought it strange."],
    "a question was asked": [*TALK, "“When?”", "It was cold.", "“Now.”"],
    "names alternate": [*TALK, "It was cold.", "“Good,” said Tom."],
    "quoted between": [*TALK, "“When?” asked Tom.", "‘Why?’ The sign “Blue Boar” was new.", "“Now,” said Ann."],
    "much narration beside the speech": [*TALK[:1], f"{TALK[1]} {'She sat by the fire. ' * 5}", "“Good,” said Tom."],
    "behind narration in its paragraph": [*TALK, "Tom rose. “Good.”"],
}


@pytest.mark.parametrize("paragraphs", DOUBTFUL.values(), ids=DOUBTFUL.keys())
def test_guesses_make_a_turn_doubtful(paragraphs: list[str]) -> None:
    """The last turn holds a guess and is less sure than those of two people who take turns."""
    (found,) = certainties(paragraphs)
    assert found[0] is None and found[-1] is not None and found[-1] < SURE
    assert all(certainty == SURE for certainty in found[1:-1])


def test_two_who_take_turns_are_sure() -> None:
    """The first turn has no boundary before it, and the others have no guess."""
    assert certainties([*TALK, "“When?”", "“Soon.”"]) == [[None, SURE, SURE, SURE]]


def test_every_guess_has_its_share() -> None:
    """Each kind of guess has the fraction of right turns that hold it."""
    assert set(RIGHT) == set(Doubt)
    assert all(0 < share < 1 for share in RIGHT.values())


@pytest.mark.parametrize(("least", "kept"), [(0, [True, True]), (0.8, [True, False]), (1, [False, False])])
def test_the_surest_stay(least: float, kept: list[bool]) -> None:
    """Dialogues stay of which the product of the certainties is the least asked for, or more; 0 keeps all."""
    paragraphs = [*TALK, "“Good,” said Tom.", "* * *", *TALK, "“Good.” She rose. Tom laughed, and said: “Come!”"]
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
