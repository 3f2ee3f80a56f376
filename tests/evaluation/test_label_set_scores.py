"""Figures of answers where the truth is a set, against scikit-learn and by hand."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support

from edos_dataset.metrics import classification
from evaluation import label_sets
from training.predictions import bootstrap

SETS = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]], bool)  # label 1 stands for two classes


def drawn(n=300, classes=7, seed=0):
    generator = np.random.default_rng(seed)
    return generator.integers(0, classes, n), generator.integers(0, classes, n)


def test_labels_are_left_out_and_the_rest_sums_to_one():
    shares = np.array([[0.5, 0.25, 0.25, 0], [0, 0, 0, 1], [0.1, 0.2, 0.3, 0.4]], np.float32)
    left = label_sets.without(shares, np.array([0, 3]))
    np.testing.assert_allclose(left, [[0, 0.5, 0.5, 0], [0, 0, 0, 0], [0, 0.4, 0.6, 0]], atol=1e-7)
    assert shares[0, 0] == 0.5, "what was given is as it was"


def test_a_label_of_two_classes_counts_for_both():
    shares = np.array([[0.1, 0.2, 0.3, 0.4]])
    np.testing.assert_allclose(label_sets.group_probabilities(shares, SETS), [[0.3, 0.5, 0.4]])


def test_a_label_of_two_classes_is_taken_for_the_right_one():
    sets = np.array([[1, 1, 1, 0], [1, 0, 0, 0]], bool)  # the second within the first; label 3 stands for none
    assert label_sets.nested(sets)
    assert not label_sets.nested(SETS)
    shares = np.array([[0.4, 0.1, 0.0, 0.5], [0.4, 0.3, 0.3, 0.0], [0.4, 0.6, 0.0, 0.0], [0.4, 0.0, 0.6, 0.0]])
    right = np.array([[0, 1], [1, 0], [0, 1], [1, 1]], bool)
    assert label_sets.fitting_classes(shares, sets, right).tolist() == [1, 0, 0, 0]
    assert label_sets.fitting_classes(shares[:1], sets, np.zeros((1, 2), bool)).tolist() == [0]


def test_hits_are_predictions_in_the_set():
    right = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0]], bool)
    assert label_sets.set_hits(np.array([2, 0, 1]), right).tolist() == [True, False, False]
    ranked = np.array([[1, 2, 0], [0, 2, 1], [0, 1, 2]])
    assert label_sets.set_hits(ranked, right).tolist() == [False, False, False]
    assert label_sets.set_hits(ranked, right, places=2).tolist() == [True, False, False]
    assert label_sets.set_hits(ranked, right, places=3).tolist() == [True, True, False]


def test_with_one_right_class_each_the_scores_are_those_of_scikit_learn():
    labels, predicted = drawn()
    labels[labels == 5] = 4  # class 5 is only predicted
    right = np.eye(7, dtype=bool)[labels]
    table = label_sets.set_scores(predicted, right)
    expected = precision_recall_fscore_support(labels, predicted, labels=range(7), zero_division=0)
    for name, values in zip(("precision", "recall", "f1", "support"), expected, strict=True):
        np.testing.assert_allclose(table[name], values)
    assert label_sets.weighted_f1(table["f1"], table["support"]) == pytest.approx(
        f1_score(labels, predicted, average="weighted", zero_division=0)
    )
    np.testing.assert_array_equal(label_sets.shared_confusion(predicted, right), confusion_matrix(labels, predicted))


def test_with_several_right_classes_an_example_still_counts_once():
    right = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], bool)
    counts = label_sets.shared_confusion(np.array([1, 2, 2]), right)
    assert counts.tolist() == [[0, 0, 0.5], [0, 1, 0.5], [0, 0, 1]]
    table = label_sets.set_scores(np.array([1, 2, 2]), right)
    np.testing.assert_allclose(table["precision"], [0, 1, 0.5])
    np.testing.assert_allclose(table["recall"], [0, 0.5, 1])


def test_weighted_f1_of_many_resamples_and_of_nothing():
    f1, support = np.array([[0.5, 1.0], [np.nan, 0.25]]), np.array([[3, 1], [0, 2]])
    np.testing.assert_allclose(label_sets.weighted_f1(f1, support), [0.625, 0.25])
    assert np.isnan(label_sets.weighted_f1(np.array([np.nan]), np.array([0.0])))


def test_risk_and_coverage_by_hand():
    confidence = np.array([0.1, 0.9, 0.8, 0.3])
    right = np.array([False, True, True, False])
    assert label_sets.risk_coverage(confidence, right, 4) == pytest.approx([1, 1, 2 / 3, 1 / 2])
    assert label_sets.risk_coverage(confidence, right, 2) == pytest.approx([1, 1 / 2])


def test_equally_sure_answers_are_right_in_any_order():
    right = np.array([True, False, False, True, True])
    lines = [
        label_sets.risk_coverage(np.array([0.9, 0.5, 0.5, 0.5, 0.5])[order], right[order], 5)
        for order in (np.arange(5), np.array([3, 4, 1, 2, 0]))
    ]
    assert lines[0] == pytest.approx(lines[1])
    assert lines[0] == pytest.approx([1, 0.75, 2 / 3, 0.625, 0.6])


def test_confidence_error_of_labels_is_the_calibration_error():
    generator = np.random.default_rng(1)
    shares = classification.softmax(generator.normal(size=(200, 5)))
    labels = generator.integers(0, 5, 200)
    right = label_sets.set_hits(shares.argmax(axis=1), np.eye(5, dtype=bool)[labels])
    expected = classification.calibration_error(shares, labels)
    assert classification.confidence_error(shares.max(axis=1), right) == expected
    assert classification.confidence_error(np.array([0.75, 0.75]), np.array([True, False])) == pytest.approx(0.25)


def test_intervals_are_those_of_labels_where_one_is_right():
    generator = np.random.default_rng(2)
    shares = classification.softmax(2 * generator.normal(size=(200, 5)))
    labels, groups = generator.integers(0, 5, 200), np.arange(200) // 3
    right, predicted = np.eye(5, dtype=bool)[labels], shares.argmax(axis=1)
    hits = label_sets.set_hits(predicted, right)
    found = label_sets.set_intervals(predicted, right, {"accuracy": hits}, (shares.max(axis=1), hits), groups)
    expected = bootstrap(shares, labels, groups)
    assert {name: found[name] for name in ("accuracy", "macro_f1", "ece")} == {
        name: expected[name] for name in ("accuracy", "macro_f1", "ece")
    }
    low, high = found["weighted_f1"]
    assert low < f1_score(labels, predicted, average="weighted") < high


def test_intervals_without_single_answers_have_no_f1():
    right = np.ones((4, 3), bool)
    found = label_sets.set_intervals(
        np.array([0, 1, 2, 0]), right, {"accuracy": right[:, 0]}, (np.full(4, 0.5), right[:, 0]), np.arange(4)
    )
    assert found == {"accuracy": [1, 1], "weighted_f1": [None, None], "macro_f1": [None, None], "ece": [0.5, 0.5]}
