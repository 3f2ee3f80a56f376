"""Codes of languages, and what is none."""

import pytest

from edos_dataset.languages.codes import check_language, code_of_language, primary_language, same_language


def test_languages() -> None:
    assert code_of_language("German") == "de"
    assert code_of_language("Klingon") is code_of_language(None) is None
    assert same_language("pt_br", "pt-PT")
    assert not same_language("de", "en")


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("en", "en"),
        ("EN-gb", "en"),
        ("pt_br", "pt"),
        ("eng", "en"),
        ("ger", "de"),
        ("fil", "fil"),
        ("", ""),
        (None, ""),
    ],
)
def test_the_language_of_a_code(code: str | None, language: str) -> None:
    assert primary_language(code) == language


@pytest.mark.parametrize(
    ("code", "clean"),
    [("en", "en"), ("EN", "en"), ("eng", "en"), ("ger", "de"), ("pt_br", "pt_br"), ("por-BR", "pt-BR"), ("no", "no")],
)
def test_known_codes(code: str, clean: str) -> None:
    assert check_language(code) == clean


@pytest.mark.parametrize(
    ("word", "hint"),
    [("english", "'en'"), ("Englisch", "'en'"), ("GERMAN", "'de'"), ("spanisch", "'es'")],
)
def test_what_is_no_code_names_the_nearest(word: str, hint: str) -> None:
    with pytest.raises(ValueError, match=f"no language has the code '{word}'; did you mean {hint}"):
        check_language(word)


@pytest.mark.parametrize("code", ["", "xx", "zz", "deutsch", "e", "en_", "en us", "en_us_x_y", "_en", "en\n"])
def test_what_is_like_no_code(code: str) -> None:
    with pytest.raises(ValueError, match="give one of ISO 639, such as en, de or pt_br"):
        check_language(code)
