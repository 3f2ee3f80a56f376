"""Texts of labelled sets, as subtitles have them."""

import pytest

from edos_dataset.releases.labelled_sets.texts import plain_text, spoken_text, unquoted, untokenised, with_names


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("I 'm sure you do n't .", "I'm sure you don't."),
        ("I ' m , he ' ll , You ' Ve", "I'm, he'll, You'Ve"),
        ("We got ta go , I wan na sleep , lem me out .", "We gotta go, I wanna sleep, lemme out."),
        ("I got to me , a gon .", "I got to me, a gon."),
        ("one half - hour , the mother - in - law", "one half-hour, the mother-in-law"),
        ("You in ? - Sure , I 'm in . - I am", "You in? - Sure, I'm in. - I am"),
        ("the dogs ' toys", "the dogs' toys"),
    ],
)
def test_words_and_marks_that_stood_apart_come_together(given, expected):
    assert untokenised(given) == expected


def test_other_languages_keep_what_is_english_elsewhere():
    assert untokenised("L' homme - il dort , s' il", "fr") == "L'homme - il dort, s'il"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("It isn\x92t “that”\xa0 bad", 'It isn\'t "that" bad'),
        ("donâ€™t &amp;amp; <i>won\\'t</i>\u200b", "don't & won't"),
        ("(a remark) stays", "(a remark) stays"),
    ],
)
def test_plain_texts_are_repaired(given, expected):
    assert plain_text(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("[gets up] Well, (smiles) yes.", "Well, yes."),
        ("A great book (holds up the", "A great book"),
        (": Yeah, I know :)", "Yeah, I know"),
        ("♪ La la ♪", "La la"),
        ("<laughter>.", ""),
        ("...", ""),
    ],
)
def test_what_nobody_says_goes_from_spoken_texts(given, expected):
    assert spoken_text(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('"He said ""no"" twice"', 'He said "no" twice'),
        ('"""Quoted"" at first"', '"Quoted" at first'),
        ('"A quotation."', '"A quotation."'),
        ('"One" and "two"', '"One" and "two"'),
        ('"', '"'),
    ],
)
def test_quotes_of_a_program_go_and_those_of_people_stay(given, expected):
    assert unquoted(given) == expected


def test_placeholders_become_names_that_only_the_text_decides():
    texts = [f"[PERSON] , meet [NAME] in [LOCATION] at {hour} ." for hour in range(40)]
    named = [with_names(text) for text in texts]
    assert named == [with_names(text) for text in texts]
    assert not [text for text in named if "[" in text]
    assert len({text.split(" ,")[0] for text in named}) > 10
    assert with_names("a [RELIGION]") == "a [RELIGION]"
