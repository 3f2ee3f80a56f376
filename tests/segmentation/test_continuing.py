"""Sentences that go on behind a dash, and those whose full stop was lost."""

import pyarrow as pa
import pytest

from edos_dataset.segmentation.sentences import SplitSentences
from tests.segmentation.test_sentences import lines_table

PADDING = ["We went for the last time.", "- She told us so.\n- We know that they did.", "But you go if you want to."]


def sentences(*texts: str, stage: SplitSentences | None = None, language: str = "en") -> list[tuple[str, bool]]:
    """Return text and dash of the sentences of a document with these blocks behind some usual ones."""
    blocks = [(number * 2.1, number * 2.1 + 2, text) for number, text in enumerate([*PADDING, *texts])]
    table: pa.Table = (stage or SplitSentences())(lines_table(blocks, language=language))
    return [(row["text"], row["dash"]) for row in table["sentences"].to_pylist()[0]][4:]


@pytest.mark.parametrize(
    ("blocks", "texts"),
    [
        (["It was late and so", "- we left.\n- Really?"], [("It was late and so we left.", False), ("Really?", True)]),
        (["If you come,", "- I stay.\n- No."], [("If you come, I stay.", False), ("No.", True)]),
        (["And then we...", "- ...left.\n- Oh."], [("And then we left.", False), ("Oh.", True)]),
        (["- Why?\n- It is so", "- now.\n- Ah."], [("Why?", True), ("It is so now.", True), ("Ah.", True)]),
        (["It is so", "- now. Oh.\n- Ah."], [("It is so now.", False), ("Oh.", False), ("Ah.", True)]),
        (["It was late.", "- we left.\n- Really?"], [("It was late.", False), ("we left.", True), ("Really?", True)]),
        (["It is so", "- We left.\n- Ah."], [("It is so", False), ("We left.", True), ("Ah.", True)]),
        (["It was--", "- you mean it is.\n- Ah."], [("It was--", False), ("you mean it is.", True), ("Ah.", True)]),
        (["It was late and\n- so what?"], [("It was late and", False), ("so what?", True)]),
        (["It was late and", "@TOM so what?"], [("It was late and", False), ("so what?", False)]),
    ],
)  # fmt: skip
def test_a_sentence_goes_on_behind_the_first_dash_of_a_block(blocks: list[str], texts: list[tuple[str, bool]]) -> None:
    """Where marks and letters of both sides say so, and never behind an inner dash or a name."""
    assert sentences(*blocks) == texts


def test_a_dash_begins_a_sentence_where_it_is_asked_to() -> None:
    """The parameter; and documents that open everything behind a dash by a small letter."""
    blocks = ["It was late and so", "- we left.\n- Really?"]
    parted = [("It was late and so", False), ("we left.", True), ("Really?", True)]
    assert sentences(*blocks, stage=SplitSentences(go_on_at_dash=False)) == parted
    assert sentences("- yes.\n- no.", *blocks)[2:] == parted


@pytest.mark.parametrize(
    ("blocks", "texts"),
    [
        (["It is the same to me", "But you are late."], ["It is the same to me", "But you are late."]),
        (["It was what", "Monica said."], ["It was what Monica said."]),  # never small: a name
        (["I want to see", "The Last Leaf."], ["I want to see The Last Leaf."]),  # a title
        (["I want to see\nBut it is late."], ["I want to see But it is late."]),  # lines of a block are no evidence
        (["It was what", "I said."], ["It was what I said."]),
    ],
)
def test_a_capital_begins_a_sentence_where_the_word_is_usually_small(blocks: list[str], texts: list[str]) -> None:
    """The document itself says which words have no capital of their own."""
    lines = ["I go if", "but he says", "that you", "and that we", "who know", "the same."]
    assert [text for text, _ in sentences(*lines, *blocks)][1:] == texts


def test_a_document_that_capitalises_lines_says_nothing_by_it() -> None:
    """Verses, and files of one line a block; nor does any document if the parameter says so."""
    verses = ["I see the moon", "The moon sees me", "But what the moon", "And you see is", "She knows."]
    assert len(sentences("But if you see the moon and she knows it.", *verses)) == 2
    blocks = [
        "I go if",
        "but he says",
        "that you",
        "and that we",
        "who know",
        "the same.",
        "I see it",
        "But you don't.",
    ]
    assert len(sentences(*blocks)) == 3
    assert len(sentences(*blocks, stage=SplitSentences(end_at_capital=False))) == 2
