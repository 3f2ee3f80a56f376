"""The characters of a book, by their names."""

import numpy as np

from edos_dataset.segmentation.books.characters import Cast
from edos_dataset.segmentation.books.rules import load_rules

EN = load_rules("en")


def cast_of(text, *tagged):
    return Cast(text, np.zeros(1, np.int64), np.ones(1, bool), tagged, EN)


def test_names_of_one_character_are_one():
    text = "Elizabeth Bennet came. Poor Elizabeth saw Mr. Darcy. Fitzwilliam Darcy bowed, and poor Lizzy laughed. " * 2
    cast = cast_of(text, "Elizabeth", "Mr. Darcy", "Darcy", "Lizzy")
    assert cast.of("Elizabeth") == cast.of("Lizzy") == cast.of("Elizabeth Bennet")
    assert cast.of("Mr. Darcy") == cast.of("Darcy") == cast.of("Fitzwilliam Darcy")
    assert cast.of("Elizabeth") != cast.of("Darcy")


def test_titles_part_a_couple():
    cast = cast_of("Mr. Bennet looked at Mrs. Bennet.", "Mr. Bennet", "Mrs. Bennet", "Miss Bennet")
    assert len({cast.of("Mr. Bennet"), cast.of("Mrs. Bennet"), cast.of("Miss Bennet")}) == 3
    assert [cast.characters[cast.of(name)].gender for name in ("Mr. Bennet", "Mrs. Bennet")] == ["m", "f"]


def test_pronouns_tell_the_gender():
    cast = cast_of("Alice sat down, and she read. Alice rose, for her sister called.", "Alice")
    assert cast.characters[cast.of("Alice")].gender == "f"


def test_the_most_frequent_name_is_shown_and_mentions_are_found():
    text = "Tom Sawyer ran. Tom saw Tom’s aunt. Then Tom laughed."
    cast = cast_of(text, "Tom")
    assert cast.characters[0].name == "Tom"
    assert [text[each.start : each.end] for each in cast.mentions] == ["Tom Sawyer", "Tom", "Tom’s", "Tom"]


def test_somebody_without_a_name_is_described():
    cast = cast_of("The old man looked up.", "the old man")
    assert cast.characters[0].described
