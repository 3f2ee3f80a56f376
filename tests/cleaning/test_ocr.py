"""Words that character recognition broke, in documents that show it; sound documents stay as they are."""

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.cleaning.captions import split_speaker
from edos_dataset.cleaning.lines import CleanLines
from edos_dataset.cleaning.ocr import is_doubtful, is_word, other_letter
from edos_dataset.runs.pipeline import split_rejects
from tests.cleaning.test_lines import lines_table

SPLIT = ["It was t he end.", "I f you like.", "The introducti on was long.", "What di d she say?", "So wha t now?"]
GLUED = ["Most ofthe guests left.", "Come ifyou like.", "Butwhen I came.", "It is offact.", "It was foryou."]
SOUND = ["Most of the guests like that fact and act, but when you do, it was for them.", "If so, come."]


def repaired(*documents: list[str], language: str = "en", mend: bool = True) -> list[list[str]]:
    """Return the lines of documents, each a block of its own."""
    kept = split_rejects(CleanLines(mend=mend)(lines_table(*documents, language=language)))[0]
    return [[line["text"] for line in lines] for lines in kept["lines"].to_pylist()]


def test_words_with_a_space_inside_are_joined() -> None:
    """Where pieces and neighbours are a word in just one way; letters that the document uses as words stay."""
    assert repaired(SPLIT)[0] == [
        "It was the end.", "If you like.", "The introduction was long.", "What did she say?", "So what now?",
    ]  # fmt: skip
    assert repaired([*SPLIT, "Plan B or C?", "Let u s go.", "Oh no, ok?", "Come i n here."])[0][5:] == [
        "Plan B or C?", "Let us go.", "Oh no, ok?", "Come in here.",
    ]  # fmt: skip


def test_words_without_their_space_are_split() -> None:
    """A function word and one that the document has elsewhere."""
    assert repaired([*SOUND, *GLUED])[0][2:] == [
        "Most of the guests left.", "Come if you like.", "But when I came.", "It is of fact.", "It was for you.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "Toby met Forman.",  # names
        "It is themend.",  # "the mend" or "them end"
        "An underbite, and crustless toast.",  # compounds
        "That's o-k, don't s-say it.",
        "The Orthe family, and Orthe himself.",
    ],
)
def test_what_is_doubtful_stays(line: str) -> None:
    """Also in a document that is damaged."""
    sound = [*SOUND, "We act on fact, to go by it, under a bite; the end, we mend."]
    assert repaired([*sound, *GLUED, *SPLIT, line])[0][-1] == line


def test_few_signs_are_no_damage() -> None:
    """Three broken words of a kind are left as they are; so are other languages, and all where it is not wished."""
    for damaged in (SPLIT, [*SOUND, *GLUED]):
        assert repaired(damaged[:-2])[0] == damaged[:-2]
        assert repaired(damaged, language="hu")[0] == damaged
    assert repaired(GLUED, mend=False)[0] == GLUED
    assert repaired(SPLIT, SPLIT[:3])[1] == SPLIT[:3]  # documents do not speak for each other


@pytest.mark.parametrize(
    ("word", "right"),
    [("lcy", "Icy"), ("Iooking", "looking"), ("lllegal", "Illegal"), ("Ira", None), ("lraq", "Iraq"), ("lxt", None)],
)
def test_a_confused_initial_letter(word: str, right: str | None) -> None:
    """Where the dictionary has the word, and only so."""
    assert other_letter(word) == right
    assert repaired([f"It is {word} here."])[0] == [f"It is {right or word} here."]


def test_sentences_get_their_capitals_where_the_pronoun_lost_it() -> None:
    """At openings of lines and sentences, never where one goes on."""
    small = ["Then i left.", "So i did.", "Can i go?", "And i know.", "I said i do."]
    lines = ["there it was. and more", "of the same...", "and so on,", "- he said. why? no."]
    assert repaired([*small, *lines])[0][5:] == [
        "There it was. And more",
        "of the same...",
        "and so on,",
        "he said. Why? No.",
    ]
    assert repaired([*small[:3], *lines])[0][3:] == [
        "there it was. and more",
        "of the same...",
        "and so on,",
        "he said. why? no.",
    ]


def test_a_semicolon_behind_a_name_is_a_colon() -> None:
    """Only behind one or two words in capitals, before words that are not."""
    assert split_speaker("NILES; Come in.", semicolon=True) == ("Come in.", "NILES")
    for text in ("NILES; COME IN.", "Niles; come in.", "NO; I don't.", "NILES;", "I; Claudius"):
        assert split_speaker(text, semicolon=True) == (text, None)
    assert split_speaker("NILES; Come in.") == ("NILES; Come in.", None)


def test_words_and_doubtful_pieces() -> None:
    """Two letters count only if they are a function word; capitals inside speak for a name."""
    assert [is_word(word) for word in ("The", "of", "a", "introduction")] == [True] * 4
    assert not any(map(is_word, ("n", "th", "introducti", "x" * 41)))
    assert [is_doubtful(piece) for piece in ("ofthe,", "n", '"tion"')] == [True] * 3
    assert not any(map(is_doubtful, ("the,", "a", "McX", "USA", "don't", "7", "", "naïv")))


def test_batches_do_not_matter_and_dropped_lines_say_nothing() -> None:
    """One document at a time or all at once; a sung line is no sign."""
    documents = [SPLIT, [*SOUND, *GLUED], ["Hello."], ["♪ i n ♪", "Oh."], [*SPLIT[:3], "♪ So wha t now? ♪"]]
    whole = lines_table(*documents)
    parts = pa.concat_tables([split_rejects(CleanLines()(whole.slice(row, 1)))[0] for row in range(len(documents))])
    kept = split_rejects(CleanLines()(whole))[0]
    assert kept["lines"].to_pylist() == parts["lines"].to_pylist()
    assert [line["text"] for line in kept["lines"].to_pylist()[-1]] == SPLIT[:3]
    assert np.array_equal(kept["document_id"].to_numpy(), parts["document_id"].to_numpy())
