"""The post-filter by rare words, against NLTK where it is installed and worked examples."""

import os
import re
from pathlib import Path

import pyarrow as pa
import pytest

from edos_dataset.segmentation.books.papers_rare import (
    PLACEHOLDER,
    are_rare,
    most_frequent,
    tokens,
    tokens_of,
    unknown_shares,
)
from edos_dataset.segmentation.books.papers_words import counted
from tests.support.adversaries import check_growth


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
