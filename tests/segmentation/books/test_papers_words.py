"""The pre-filter by words, against plain Python and worked examples."""

import math
import os
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edos_dataset.segmentation.books import papers_words
from edos_dataset.segmentation.books.papers_words import (
    PLACEHOLDER,
    WordCounts,
    add_up,
    are_rare,
    are_strange,
    count_words,
    counted,
    divergences,
    most_frequent,
    sizes_of,
    tokens,
    tokens_of,
    unknown_shares,
    word_counts,
)
from tests.support.adversaries import check_growth

TEXT = st.text(st.sampled_from("abé’“ \t\n\x0b\x0c\r\x1c\x85\xa0\u1680\u2003\u2028\u202f\u205f\u3000😀\0\ud800"))


def plain(counts):
    return dict(zip(counts.words.to_pylist(), counts.counts.tolist(), strict=True))


@given(TEXT)
def test_words_are_counted_as_split_does(text):
    assert count_words(text) == len(text.split())


@given(TEXT.filter(lambda text: "\ud800" not in text))
def test_different_words_are_those_of_split(text):
    assert plain(word_counts(text)) == Counter(text.split())


def test_case_and_marks_are_kept():
    assert plain(word_counts("The the the, the")) == {"The": 1, "the": 2, "the,": 1}


@pytest.mark.parametrize("at_once", [1, 3, 1 << 20])
def test_books_add_up_however_many_at_once(monkeypatch, at_once):
    monkeypatch.setattr(papers_words, "_ROWS_AT_ONCE", at_once)
    books = ["a b b", "", "b c", "c c c d", "a"]
    assert plain(add_up(map(word_counts, books))) == {"a": 2, "b": 3, "c": 4, "d": 1}
    assert plain(add_up([])) == {}


def test_divergence_is_that_of_the_formula():
    texts = ["a a b", "b c c c", "d"]
    books = [word_counts(text) for text in texts]
    total = Counter(" ".join(texts).split())
    expected = [
        sum(
            count / len(text.split()) * math.log(count / len(text.split()) / (total[word] / 8))
            for word, count in Counter(text.split()).items()
        )
        for text in texts
    ]
    found = divergences(books, add_up(books))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found[2] == pytest.approx(math.log(8)), "a book that shares no word: the log of its share of all words"


def test_one_book_alone_does_not_diverge():
    book = word_counts("a b c")
    assert divergences([book], book).tolist() == [0.0]
    assert divergences([], book).tolist() == []
    assert divergences([word_counts("")], book).tolist() == [0.0]


def test_old_language_leaves_unless_the_book_is_short():
    modern = [word_counts(" ".join(f"word{number % 500}" for number in range(40_000)))] * 9
    old = word_counts(" ".join(f"worde{number % 500}" for number in range(40_000)))
    short = word_counts(" ".join(f"olde{number % 500}" for number in range(19_999)))
    books = [*modern, old, short]
    found = divergences(books, add_up(books))
    sizes = np.array(list(sizes_of(books)))
    assert found[9] == pytest.approx(math.log(419_999 / 40_000)), "2.35 nats"
    assert are_strange(found, sizes).tolist() == [False] * 9 + [True, False]
    assert are_strange(found, sizes, threshold=2.4).sum() == 0
    assert are_strange(found, sizes, size=19_999).sum() == 2


def test_thresholds_are_theirs():
    divergence, sizes = np.array([2.0, 1.999, 2.0]), np.array([20_000, 20_000, 19_999])
    assert are_strange(divergence, sizes).tolist() == [True, False, False], "kept below 2 or below 20,000 words"


def test_total_must_hold_all_words():
    with pytest.raises(ValueError, match="total must be that of all books"):
        divergences([word_counts("a b")], word_counts("a"))


def test_counted_leaves_empty_strings_out():
    assert plain(counted(pa.array(["", "a", "", "a"]))) == {"a": 2}
    assert plain(WordCounts(*counted(pa.array([], pa.string())))) == {}


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        (
            "I don't know, Mr. Darcy's late!",
            "en",
            ["i", "do", "n't", "know", ",", "mr", ".", "darcy", "'s", "late", "!"],
        ),
        ("I don’t.", "en", ["i", "dont", "."]),
        ("You cannot; _really_?", "en", ["you", "can", "not", "really", "?"]),
        ("'Tis well-known, cap'n.", "en", ["'t", "is", "well", "-", "known", ",", "cap'n", "."]),
        ("Ost-West, wohl wahr", "de", ["ost-west", ",", "wohl", "wahr"]),
        ("Árvíztűrő – tükörfúrógép", "hu", ["árvíztűrő", "tükörfúrógép"]),
        ("either/or 12:30", "en", ["either/or", "12", ":", "30"]),
        ("", "en", [PLACEHOLDER]),
        ("— …", "en", [PLACEHOLDER]),
    ],
)
def test_tokens(text, language, expected):
    assert tokens(text, language) == expected


def test_shares_are_of_dialogues():
    dialogues = tokens_of([["A b c d", "e f g h"], ["A x"], [], ["…", "a"]], "en")
    assert [len(each) for each in dialogues.to_pylist()] == [8, 2, 0, 2]
    assert unknown_shares(dialogues, pa.array(["a", "b", "c", "d", "e", "f"])).tolist() == [0.25, 0.5, 0.0, 0.5]
    assert unknown_shares(dialogues, pa.array([], pa.string())).tolist() == [1.0, 1.0, 0.0, 1.0]


def test_a_fifth_is_too_much():
    known = pa.array(["a"])
    dialogues = tokens_of([["a a a a x"], ["a a a a a x"]], "en")
    assert are_rare(unknown_shares(dialogues, known)).tolist() == [True, False]


def test_most_frequent():
    total = counted(tokens_of([["c c c b b a a …"], ["", "d"]], "en").flatten())
    assert most_frequent(total, 2).words.to_pylist() == ["c", "a"], "of equals the first of the alphabet"
    assert sorted(most_frequent(total).words.to_pylist()) == ["a", "b", "c", "d"], "a placeholder is always rare"


def test_time_grows_with_the_text():
    texts = [
        lambda size, piece=piece: piece * (size // len(piece)) for piece in ("a'", "'", "n't", "-", "a/", "’", "a")
    ]
    assert check_growth(lambda text: tokens(text, "en"), texts, per_character=2e-5) is None


@pytest.mark.skipif("EDOS_DATA_DIR" not in os.environ, reason="EDOS_DATA_DIR holds the books")
def test_tokens_are_nearly_those_of_nltk():
    nltk = pytest.importorskip("nltk.tokenize")
    split = nltk.NLTKWordTokenizer().tokenize
    book = (Path(os.environ["EDOS_DATA_DIR"]) / "gutenberg" / "en" / "pg1342.txt").read_text(encoding="utf-8")
    speech = re.findall("“([^“”]{1,400})”", book)
    same = 0
    for text in speech:
        clean = re.sub(r"([.?!,:\"-])", r" \1 ", re.sub(r"[^a-zà-ÿ0-9 .?!'\",:/-]", "", " ".join(text.split()).lower()))
        same += (split(clean) or [PLACEHOLDER]) == tokens(" ".join(text.split()), "en")
    assert len(speech) > 1500
    assert same / len(speech) > 0.95
