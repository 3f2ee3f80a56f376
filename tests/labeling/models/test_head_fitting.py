"""Softmax regression, the weak head's logits folded in, and the temperature."""

import numpy as np
import pytest

from edos_dataset.labeling.models import head_fitting
from edos_dataset.labeling.models.heads import LinearHead
from edos_dataset.labels import LABELS
from edos_dataset.metrics.classification import cross_entropy


def one_hot(labels):
    return np.eye(len(LABELS), dtype=np.float32)[labels]


def test_fit_finds_the_minimum():
    generator = np.random.default_rng(0)
    features = generator.normal(size=(200, 5)).astype(np.float32)
    targets = one_hot(generator.integers(0, 3, size=200))
    weight, bias = head_fitting.fit(features, targets, 0.01)
    probabilities = LinearHead(weight, bias).predict_proba(features)
    # Where the loss is lowest, its gradient is zero.
    assert np.abs(features.T @ (probabilities - targets) / 200 + 0.01 * weight).max() < 1e-4
    assert np.abs((probabilities - targets).mean(axis=0)).max() < 1e-4


def test_folding_the_weak_logits_in_changes_no_logit(monkeypatch):
    generator = np.random.default_rng(0)
    weak = LinearHead(generator.normal(size=(4, 41)).astype(np.float32), generator.normal(size=41).astype(np.float32))
    features = generator.normal(size=(6, 9)).astype(np.float32)
    unfolded = {}

    def fit(extended, targets, l2):
        unfolded["weight"] = generator.normal(size=(extended.shape[1], 41)).astype(np.float32)
        unfolded["logits"] = extended @ unfolded["weight"] + 1
        return unfolded["weight"], np.ones(41, np.float32)

    monkeypatch.setattr(head_fitting, "fit", fit)
    weight, bias = head_fitting.fit_dialogue(
        features, one_hot(np.zeros(6, int)), weak, {"weak_scale": 0.1, "context_scale": 0.25, "l2": 0}
    )
    assert unfolded["weight"].shape == (9 + 41, 41)
    assert np.allclose(features @ weight + bias, unfolded["logits"], atol=1e-4)


def test_calibration_undoes_an_overconfident_head():
    generator = np.random.default_rng(0)
    features = generator.normal(size=(4000, 6)).astype(np.float32)
    weight = generator.normal(size=(6, 41)).astype(np.float32)
    honest = LinearHead(weight, np.zeros(41, np.float32))
    labels = np.array(
        [generator.choice(41, p=row / row.sum()) for row in honest.predict_proba(features).astype(np.float64)]
    )
    head, loss = head_fitting.calibrate(3 * weight, honest.bias, features, labels, None)
    assert head.temperature == pytest.approx(3, rel=0.1)
    assert loss == pytest.approx(cross_entropy(honest.predict_proba(features), labels), abs=0.01)
