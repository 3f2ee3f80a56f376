"""Comparing, tokenising and hashing texts."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edos_dataset.text import (
    count_tokens,
    hash64,
    normalise,
    one_edit,
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


def test_hashes_are_those_of_earlier_versions() -> None:
    """Weights and runs contain them."""
    assert hash64("turn") == hash64(b"turn") == 14914494917266671731
    assert hash64("é") == hash64("é".encode())


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_is_normalised_as_any_other_text(text: str) -> None:
    """The shortcut gives the same result."""
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
