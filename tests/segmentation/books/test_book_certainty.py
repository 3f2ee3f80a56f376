"""How sure a dialogue of a book is: what makes it doubtful, and which ones stay."""

import pytest

from edos_dataset.segmentation.books.certainty import RIGHT
from edos_dataset.segmentation.books.extraction import Speech, extract
from edos_dataset.segmentation.books.rules import load_rules
from edos_dataset.segmentation.books.speech import Doubt, Extraction
from edos_dataset.segmentation.books.stages import KeepSure
from edos_dataset.sources.books.book import Block

TALK = ["“Will you come?” asked Tom.", "“I will,” said Ann."]
SAT = "She sat by the fire. " * 12


def of(paragraphs: list[str]) -> Extraction:
    """Extract out of English paragraphs."""
    return extract([Block(text) for text in paragraphs], load_rules("en"), Speech())


SURE = of(TALK).certainties[0]

DOUBTFUL = {
    "another in its paragraph": ["“Will you come?” asked Tom, and Ann replied, “No.”"],
    "a lead-in to nobody known": ["“Come!” I took her hand, and said: “Quick!”", "“I will,” said Ann."],
    "somebody thinks": [*TALK, "“Good,” said Tom, but he thought it strange."],
    "nothing tells who": [*TALK, "It was cold.", "“Now.”", "“Now.”"],
    "pronouns say that one continues": [*TALK, "She smiled at him, and took his arm.", "“Soon,” she said."],
    "others speak soon before": ["“Is it?” asked a man.", SAT, "“Who knows?”", "“Nobody.”"],
    "quoted between": ["“Come,” said Tom.", "“Why?” thought Ann.", "“No,” said Ann."],
    "three": [*TALK, "“And I,” said Mary.", "“Well,” said Tom."],
    "several at once": ["“Come!” they cried.", "“I will,” said Ann."],
    "no turns": [*TALK, "“Good,” said Ann’s brother.", "“Yes,” said Tom.", "“Yes,” said Ann."],
}


@pytest.mark.parametrize("paragraphs", DOUBTFUL.values(), ids=DOUBTFUL.keys())
def test_guesses_make_a_dialogue_doubtful(paragraphs: list[str]) -> None:
    """A dialogue that holds a guess is less sure than two people who take turns."""
    certainties = of(paragraphs).certainties
    assert certainties and all(certainty < SURE for certainty in certainties)


def test_those_named_later_confirm_a_guess() -> None:
    """A guess is surer where those who are named before and after it take turns as it says."""
    open_end = [*TALK, SAT, "“When?”", "“Soon.”"]
    named = [*TALK, SAT, "“When?”", "“Soon,” said Ann.", "“Good,” said Tom."]
    assert max(of(named).certainties) > max(of(open_end).certainties)


def test_every_guess_has_its_share() -> None:
    """Each kind of guess has the share of right dialogues that hold it."""
    assert set(RIGHT) == set(Doubt)
    assert all(0 < share < 1 for share in RIGHT.values())


def test_the_surest_stay() -> None:
    """Dialogues of the least certainty asked for stay, in their order; 0 keeps all."""
    found = of([*TALK, "* * *", "“Come!” they cried.", "“Why?” thought Ann.", "“No,” said Tom."])
    assert len(found.dialogues) == len(found.certainties) == 2
    assert found.at_least(0) == found.dialogues
    assert found.at_least(0.8) == found.dialogues[:1]


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


LONG = f"“{'And then we went on. ' * 100}” said Tom."
"""A speech of five hundred words."""


def test_both_sides_of_a_long_utterance_are_judged_apart() -> None:
    """What stands before an utterance that is too long is as sure as it is alone, whatever was guessed behind it."""
    doubtful = ["“And I,” said Mary.", "“Well,” they cried.", "“Is it?”"]
    found = of([*TALK, LONG, *doubtful])
    assert [len(dialogue) for dialogue in found.dialogues] == [2, 3]
    assert found.certainties[0] == SURE > found.certainties[1]
    blocks = [Block(text) for text in [*TALK, LONG, *doubtful]]
    (whole,) = extract(blocks, load_rules("en"), Speech(max_length=1000, long=1000)).certainties
    assert whole < SURE


def test_an_end_beside_a_long_utterance_is_sure() -> None:
    """A question that a speech answers which is too long to stay is no question without an answer."""
    talk = ["“I will,” said Ann.", "“When?” asked Tom."]
    (answered,) = of([*talk, LONG.replace("Tom", "Ann")]).certainties
    (asked,) = of(talk).certainties
    assert answered == SURE > asked


def test_edges_are_doubtful() -> None:
    """Narration before the first speech in its paragraph, and much behind the last one, make a dialogue doubtful."""
    (before,) = of([f"{SAT}She said, {TALK[0]}", TALK[1]]).certainties
    (behind,) = of([TALK[0], f"{TALK[1]} {SAT}"]).certainties
    assert before < SURE > behind


def test_who_says_i_is_one_of_three() -> None:
    """The narrator who speaks is somebody else than two who are named."""
    (two,) = of([*TALK, "“Well,” said Tom.", "“Yes,” said Ann."]).certainties
    (three,) = of([*TALK, "“Well,” said Tom.", "“Yes,” I said."]).certainties
    assert three < two


def test_paragraphs_part_conversations() -> None:
    """An end over one paragraph is more doubtful than one over as much narration in several."""
    one, more = ["She sat. " * 60], ["She sat. " * 30] * 2
    behind = ["“Cold,” said an old man.", "“Very,” said a boy."]
    assert min(of([*TALK, *one, *behind]).certainties) < min(of([*TALK, *more, *behind]).certainties)
