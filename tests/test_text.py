"""Comparing, tokenising and hashing texts; telling their language."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edos_dataset.text import (
    code_of_language,
    count_tokens,
    guess_language,
    hash64,
    normalise,
    one_edit,
    primary_language,
    same_language,
    tokenize,
)


def test_words_and_marks_are_tokens() -> None:
    """The count that fits the papers' figures."""
    assert tokenize('Don\'t "go" there... Éva-Mária?!') == ["Don't", '"', "go", '"', "there", "...", "Éva-Mária", "?!"]
    assert normalise("  It's ÜBER,  really! ") == normalise("it s über really")


@given(st.lists(st.text("aÉß1_ '’-.!?…¿\n\u00a0日", max_size=12), max_size=8))
def test_tokens_are_counted_as_they_are_made(texts: list[str]) -> None:
    """One definition of a token, written for two engines."""
    assert count_tokens(pa.array(texts, pa.string())).to_pylist() == [len(tokenize(text)) for text in texts]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where have you been? I was so worried that you would not come.", "en"),
        ("Ich weiss nicht, wo das ist, aber wir sind da.", "de"),
        ("Nem tudom, hogy mi van, csak egy szot kell mondani.", "hu"),
        ("Je ne sais pas, mais vous le savez pour une fois.", "fr"),
        ("Hmm.", None),
        ("", None),
    ],
)
def test_language_by_its_commonest_words(text: str, language: str | None) -> None:
    assert guess_language(text) == language


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


def test_hashes_are_those_of_earlier_versions() -> None:
    """Weights and runs hold them."""
    assert hash64("turn") == hash64(b"turn") == 14914494917266671731
    assert hash64("é") == hash64("é".encode())


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_is_normalised_as_any_other_text(text: str) -> None:
    """The short cut gives the same."""
    assert normalise(text) == normalise(f"{text} é").removesuffix("é").rstrip()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("ab", "abc", True),
        ("abc", "ab", True),
        ("abc", "bc", True),
        ("abc", "axc", True),
        ("abcd", "acbd", True),
        ("ab", "ba", True),
        ("", "a", True),
    ]
    + [
        ("abc", "abc", False),
        ("abc", "cba", False),
        ("abcd", "badc", False),
        ("", "ab", False),
        ("abc", "abcde", False),
        ("abcd", "dabc", False),
    ],
)
def test_one_edit(one, other, same):
    assert one_edit(one, other) is one_edit(other, one) is same
