"""Sentences become tokens with lemmas, the work on strings done once."""

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.segmentation.turns.tokens import CAPITALISED, LOWER, MARK, OTHER_CASE, WORD, hash_tokens
from edos_dataset.text import hash64


def hashes(*texts):
    return [hash64(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "surfaces", "lemmas"),
    [
        ("Men walked.", ["men", "walked", "."], ["man", "walk", "."]),
        ("We don’t know…", ["we", "don't", "know", "..."], ["we", "do", "know", "..."]),
        ("wait--what?", ["wait", "--", "what", "?"], ["wait", "--", "what", "?"]),
        ("At 5:30, or 7.", ["at", "0", ",", "or", "0", "."], ["at", "0", ",", "or", "0", "."]),
        ("  ", [], []),
    ],
)
def test_words_numbers_and_marks(text, surfaces, lemmas):
    tokens = hash_tokens(pa.array([text]), "en")
    assert tokens.surface.tolist() == hashes(*surfaces)
    assert tokens.lemma.tolist() == hashes(*lemmas)


def test_offsets_kinds_and_cases():
    tokens = hash_tokens(pa.array(["Anna, I'm here.", "", "OK"]), "en")
    assert tokens.offsets.tolist() == [0, 5, 5, 6]
    assert tokens.kind.tolist() == [WORD, MARK, WORD, WORD, MARK, WORD]
    assert tokens.case[tokens.kind == WORD].tolist() == [CAPITALISED, OTHER_CASE, LOWER, OTHER_CASE]


def test_spellings_that_differ_in_capitals_are_one_word():
    tokens = hash_tokens(pa.array(["Here HERE here there"]), "en")
    assert len(np.unique(tokens.word[:3])) == 1
    assert tokens.word[3] != tokens.word[0]
    assert tokens.word.max() < tokens.words


@pytest.mark.parametrize(
    ("language", "lemma", "case"),
    [("de", "haus", OTHER_CASE), ("xx", "häuser", CAPITALISED), (None, "häuser", CAPITALISED)],
)
def test_language_decides_on_lemma_and_names(language, lemma, case):
    tokens = hash_tokens(pa.array(["Häuser"]), language)
    assert tokens.lemma.tolist() == hashes(lemma)
    assert tokens.case.tolist() == [case]


def test_a_slice_of_texts_has_the_tokens_of_its_texts():
    texts = pa.array(["One two.", "Three?", "Four five six!"])
    assert hash_tokens(texts.slice(1), "en").offsets.tolist() == [0, 2, 6]
    assert hash_tokens(texts.slice(1), "en").surface.tolist() == hashes("three", "?", "four", "five", "six", "!")
