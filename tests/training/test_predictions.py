"""What a `metrics.json` says of a classifier, against a plain loop and by hand."""

import json

import numpy as np
import pytest

from edos_dataset.labels import LABELS
from edos_dataset.metrics import classification as metrics
from training.predictions import bootstrap, evaluate_predictions

CLASSES = len(LABELS)


def drawn(n=400, classes=CLASSES, seed=0, present=None):
    """Return logits, and labels drawn with their probabilities, of the first `present` classes only."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(size=(n, classes)) * 2
    shares = metrics.softmax(logits[:, :present])
    labels = (shares.cumsum(axis=1) > generator.random((n, 1))).argmax(axis=1)
    return logits.astype(np.float32), labels


@pytest.mark.parametrize("grouped", [False, True])
def test_intervals_are_those_of_a_plain_loop(grouped):
    logits, labels = drawn(60, classes=5)
    probabilities = metrics.softmax(logits)
    groups = np.arange(60) // 4 if grouped else np.arange(60)
    count = groups.max() + 1
    rows = []
    for times in np.random.default_rng(7).multinomial(count, np.full(count, 1 / count), size=250):
        index = np.repeat(np.arange(60), times[groups])
        found = metrics.scores(probabilities[index], labels[index])
        rows.append(
            [
                found["accuracy"],
                found["macro_f1"],
                found["top_3_accuracy"],
                metrics.calibration_error(probabilities[index], labels[index]),
            ]
        )
    expected = np.percentile(rows, [2.5, 97.5], axis=0).T
    found = bootstrap(probabilities, labels, groups if grouped else None, resamples=250, seed=7)
    assert list(found) == ["accuracy", "macro_f1", "top_3_accuracy", "ece"]
    np.testing.assert_allclose(list(found.values()), expected, atol=5.1e-5)


def test_an_interval_covers_the_truth_and_a_group_alone_has_none():
    logits, labels = drawn(300)
    found = evaluate_predictions(logits, labels)
    assert all(
        found["intervals"][name][0] < found[name] < found["intervals"][name][1]
        for name in ("accuracy", "macro_f1", "top_3_accuracy")
    )
    assert bootstrap(metrics.softmax(logits), labels, np.zeros(300)) == dict.fromkeys(found["intervals"], [None, None])


def test_groups_widen_the_interval_where_their_rows_agree():
    logits, labels = (np.repeat(each, 10, axis=0) for each in drawn(100))
    width = [
        np.diff(evaluate_predictions(logits, labels, groups=groups)["intervals"]["accuracy"])
        for groups in (None, np.arange(1000) // 10)
    ]
    assert width[1] > 2 * width[0]


def test_content_of_a_metrics_file():
    logits, labels = drawn(300, present=30)
    found = json.loads(json.dumps(evaluate_predictions(logits * 3, labels, temperature=3)))
    flat = evaluate_predictions(logits, labels)
    assert (found["examples"], found["temperature"], found["resampling"]["groups"]) == (300, 3, 300)
    assert found["ece"] == flat["ece"] == flat["ece_before_temperature"] < found["ece_before_temperature"]
    assert found["cross_entropy"] == flat["cross_entropy"] < found["cross_entropy_before_temperature"]
    assert found["majority_class_accuracy"] == round(np.bincount(labels).max() / 300, 4)
    assert tuple(found["by_label"]) == LABELS
    assert [row["support"] for row in found["by_label"].values()] == np.bincount(labels, minlength=CLASSES).tolist()
    assert found["macro_f1"] == pytest.approx(
        np.mean([row["f1"] for row in found["by_label"].values() if row["f1"] is not None]), abs=1e-4
    )
    assert evaluate_predictions(np.log(metrics.softmax(logits)), labels) == flat, (
        "logarithms of probabilities are logits"
    )


@pytest.mark.parametrize(
    ("logits", "labels", "groups", "message"),
    [
        (np.zeros((2, 40)), [0, 1], None, r"\[n, 41\].*got \[2, 40\]"),
        (np.zeros((0, 41)), [], None, "at least one"),
        (np.zeros((2, 41)), [0], None, "1 labels"),
        (np.full((2, 41), np.nan), [0, 1], None, "example 0 is not a finite number: nan"),
        (np.zeros((2, 41)), [0, 41], None, "label 41 of example 1"),
        (np.zeros((2, 41)), [0, -1], None, "label -1 of example 1"),
        (np.zeros((2, 41)), [0, 1], [0], "1 groups for 2 labels"),
    ],
)
def test_what_does_not_fit_is_named(logits, labels, groups, message):
    with pytest.raises(ValueError, match=message):
        evaluate_predictions(logits, np.array(labels, dtype=np.int64), groups=groups)
