import numpy as np
import pyarrow as pa
import pytest

from edos_dataset import analysis
from edos_dataset.analysis.words import WordCounts


def counted(texts, labels, wanted=None):
    words = WordCounts(max(labels) + 1)
    words.add(pa.array(texts), np.array(labels), np.ones(len(texts), bool) if wanted is None else np.array(wanted))
    return words


def test_words_are_counted_by_label_without_case_and_marks():
    texts, wanted = ["I'm SAD, so sad!", "'Tis grüßt", "left out", "no label"], [True, True, False, True]
    words = counted(texts, [0, 1, 1, -1], wanted)
    assert {word: words.counts[place].tolist() for word, place in words.index.items()} == {
        "i'm": [1, 0], "sad": [2, 0], "so": [1, 0], "tis": [0, 1], "grüßt": [0, 1],
    }  # fmt: skip


def test_parts_add_up():
    texts, labels = ["a b c", "b c d", "d e", "a a"], [0, 1, 1, 0]
    whole, one = counted(texts, labels), counted(texts[:1], [0, 1][:1])
    one.labels, one.counts = 2, np.pad(one.counts, ((0, 0), (0, 1)))
    one.merge(counted(texts[1:], labels[1:]))
    assert {word: one.counts[place].tolist() for word, place in one.index.items()} == {
        word: whole.counts[place].tolist() for word, place in whole.index.items()
    }


def test_the_log_odds_are_those_of_monroe():
    counts, prior = np.array([[40, 10], [60, 90], [100, 100]]), 50.0
    first = analysis.marking_words(["x", "y", "z"], counts, prior=prior)[0]
    alpha = prior * 50 / 400
    own, rest = 40 + alpha, 10 + alpha
    odds = np.log(own / (200 + prior - own)) - np.log(rest / (200 + prior - rest))
    assert [word.word for word in first] == ["x"]
    assert first[0].z == pytest.approx(odds / np.sqrt(1 / own + 1 / rest), abs=0.01)
    assert first[0][2:] == (40, 0.8)


def test_rare_words_mark_nothing_and_no_words_no_label():
    assert analysis.marking_words(["x", "y", "z"], [[4, 0], [100, 100], [96, 100]]) == [[], []]
    assert analysis.marking_words([], np.zeros((0, 3))) == [[], [], []]
