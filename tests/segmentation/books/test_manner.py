"""How something is said, in the author's own words."""

import pytest

from edos_dataset.segmentation.books.manner import manner_of
from edos_dataset.segmentation.books.rules import load_rules

EN = load_rules("en")


@pytest.mark.parametrize(
    ("narration", "verb", "manner"),
    [
        ("said she angrily.", "said", "angrily"),
        (", whispered Ann, with a sigh.", "whispered", "whispered; with a sigh"),
        ("said Mr. Hill, in a tone of great contempt, and sat slowly down.", "said", "in a tone of great contempt"),
        ("he said, very gravely, looking at her with a smile", "said", "very gravely"),
        ("she said, a little aggressively.", "said", "a little aggressively"),
        ("said Tom with a note of sadness in his voice.", "said", "with a note of sadness in his voice"),
        ("asked Tom, gazing intently at the fire.", "asked", None),
        ("said Tom, highly amused.", "said", None),
        ("said Ann, in a tone.", "said", None),
        ("said Ann suddenly.", "said", None),
        ("said Ann. She rose angrily.", "said", None),
    ],
)
def test_manner_is_what_the_tag_says_of_the_voice(narration, verb, manner):
    assert manner_of("", [narration], [verb], EN) == manner


def test_manner_stands_before_the_speech():
    assert manner_of("He looked up. Mr. Hill sternly replied:", [], ["replied"], EN) == "sternly"


def test_narration_without_a_tag_has_no_manner():
    assert manner_of("", ["She sang happily."], [], EN) is None


def test_a_language_without_words_of_manner_has_none():
    assert manner_of("", ["sagte sie leise."], ["sagte"], load_rules("de")) is None
