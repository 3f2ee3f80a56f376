"""Figures of classifiers, against scikit-learn and by hand."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.metrics import confusion_matrix, f1_score, log_loss, precision_score, recall_score, top_k_accuracy_score

from edos_dataset.labels import LABELS
from edos_dataset.metrics import classification as metrics
from edos_dataset.metrics import resampling

CLASSES = len(LABELS)


def drawn(n=400, classes=CLASSES, seed=0, present=None):
    """Return logits, and labels drawn with their probabilities, of the first `present` classes only."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(size=(n, classes)) * 2
    shares = metrics.softmax(logits[:, :present])
    labels = (shares.cumsum(axis=1) > generator.random((n, 1))).argmax(axis=1)
    return logits.astype(np.float32), labels


def test_confusion_by_hand():
    counts = metrics.confusion(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0]), 4)
    assert counts.dtype == np.int64
    assert counts.tolist() == [[1, 1, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    table = metrics.per_label(counts)
    np.testing.assert_array_equal(table["precision"], [0.5, 0.5, 0, np.nan])
    np.testing.assert_array_equal(table["recall"], [0.5, 1, 0, np.nan])
    np.testing.assert_array_equal(table["f1"], [0.5, 2 / 3, 0, np.nan])
    assert table["support"].tolist() == [2, 1, 1, 0]
    assert metrics.confusion_scores(counts) == pytest.approx(
        {"accuracy": 0.5, "macro_precision": 1 / 3, "macro_recall": 0.5, "macro_f1": 7 / 18}
    )


@pytest.mark.parametrize("present", [None, 30], ids=["all labels", "some labels only predicted"])
@pytest.mark.parametrize("n", [5, 400], ids=["labels on neither side", "many"])
def test_scores_are_those_of_scikit_learn(n, present):
    logits, labels = drawn(n, present=present)
    probabilities, ids = metrics.softmax(logits), np.arange(CLASSES)
    predicted = probabilities.argmax(axis=1)
    assert (metrics.confusion(labels, predicted) == confusion_matrix(labels, predicted, labels=ids)).all()
    macro = {"average": "macro", "zero_division": 0}
    assert metrics.scores(probabilities, labels) == pytest.approx(
        {
            "accuracy": np.mean(labels == predicted),
            "macro_precision": precision_score(labels, predicted, **macro),
            "macro_recall": recall_score(labels, predicted, **macro),
            "macro_f1": f1_score(labels, predicted, **macro),
            "top_3_accuracy": top_k_accuracy_score(labels, probabilities, k=3, labels=ids),
            "cross_entropy": log_loss(labels, probabilities, labels=ids),
        }
    )


def test_of_equally_probable_labels_the_lower_id_comes_first():
    probabilities = np.full((4, 4), 0.25)
    assert metrics.top_k_accuracy(probabilities, np.arange(4), k=3) == 0.75
    assert metrics.top_k_accuracy(probabilities, np.arange(4), k=1) == np.mean(
        probabilities.argmax(axis=1) == np.arange(4)
    )


def test_calibration_error_by_hand():
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.0, 1.0]])
    # Bins of 0.6 (one, wrong), 0.9 (two, one right) and 1.0 (right); the last edge belongs to the last bin.
    assert metrics.calibration_error(probabilities, np.array([0, 1, 0, 1]), bins=10) == pytest.approx(
        (0.6 + 2 * 0.4 + 0) / 4
    )
    sizes, sums, hits = metrics.reliability(probabilities.max(axis=1), np.array([True, False, False, True]), bins=10)
    assert (sizes.tolist(), hits.tolist()) == ([0] * 6 + [1, 0, 0, 3], [0] * 9 + [2]) and sums.sum() == pytest.approx(
        3.4
    )


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_temperature_undoes_a_scale(scale):
    logits, labels = drawn(20000, classes=5)
    found = metrics.fit_temperature(logits * scale, labels)
    assert found == pytest.approx(scale, rel=0.05), "labels were drawn at temperature 1"
    best = minimize_scalar(
        lambda value: metrics.cross_entropy(metrics.softmax(logits * scale, np.exp(value)), labels),
        bounds=(-3, 3),
        method="bounded",
    )
    assert np.log(found) == pytest.approx(best.x, abs=1e-4)


def test_temperature_has_an_end_where_every_prediction_is_right():
    logits = np.eye(3) * 5
    assert metrics.fit_temperature(logits, np.arange(3)) == pytest.approx(metrics.TEMPERATURES[0])
    assert metrics.fit_temperature(logits, (np.arange(3) + 1) % 3) == pytest.approx(metrics.TEMPERATURES[1])


@pytest.mark.parametrize(
    ("labels", "predicted", "message"),
    [([0], [0, 1], "2 predictions for 1"), ([0], [41], "prediction 41 of example 0")],
)
def test_confusion_of_what_does_not_fit(labels, predicted, message):
    with pytest.raises(ValueError, match=message):
        metrics.confusion(np.array(labels), np.array(predicted))


@pytest.mark.parametrize(
    ("share", "number", "expected"), [(0, 10, [0, 0.2775]), (1, 10, [0.7225, 1]), (0.5, 100, [0.4038, 0.5962])]
)
def test_wilson_stays_between_0_and_1(share, number, expected):
    assert resampling.wilson(share, number) == expected
