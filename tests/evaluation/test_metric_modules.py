"""The modules for `evaluate`, loaded by their path without a network, as a user would from the
root of the repository.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from edos_dataset.labels import LABELS
from edos_dataset.metrics import classification as metrics
from edos_dataset.metrics.calibration import calibration_error, softmax

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(importlib.util.find_spec("evaluate") is None, reason="evaluate is not installed")

COMPUTE = """
import evaluate, json, sys
for name, arguments in json.load(sys.stdin):
    try:
        found = evaluate.load(f"./evaluation/metrics/{name}").compute(**arguments)
    except ValueError as error:
        found = str(error)
    print(json.dumps(found))
"""


@pytest.mark.slow
def test_both_modules(tmp_path):
    labels, predicted = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0])
    probabilities, true = softmax(np.random.default_rng(0).normal(size=(50, 41)) * 3), np.arange(50) % 41
    calls = [
        ("dialogue_emotion", {"predictions": predicted.tolist(), "references": labels.tolist()}),
        ("dialogue_calibration", {"predictions": probabilities.tolist(), "references": true.tolist(), "k": 5}),
        ("dialogue_calibration", {"predictions": [[2.0] * 41], "references": [0]}),
        ("dialogue_calibration", {"predictions": [[1.0, 0.0]], "references": [2]}),
    ]
    environment = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", COMPUTE],
        cwd=ROOT,
        env=environment,
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    emotion, calibration, no_softmax, no_label = map(json.loads, done.stdout.splitlines())

    rows = emotion.pop("by_label")
    assert emotion == metrics.confusion_scores(metrics.confusion(labels, predicted))
    assert tuple(rows) == LABELS
    assert rows[LABELS[1]] == {"precision": 0.5, "recall": 1, "f1": pytest.approx(2 / 3), "support": 1}
    assert rows[LABELS[40]] == {"precision": None, "recall": None, "f1": None, "support": 0}

    assert calibration == {
        "ece": calibration_error(probabilities, true),
        "cross_entropy": metrics.cross_entropy(probabilities, true),
        "top_k_accuracy": metrics.top_k_accuracy(probabilities, true, 5),
    }
    assert "softmax of the logits" in no_softmax
    assert "label 2 of example 0 is not an id from 0 to 1" in no_label
