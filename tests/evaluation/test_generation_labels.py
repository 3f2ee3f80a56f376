"""What answers reach, and what chance gives, by cases that can be counted by hand."""

import pytest

from edos_dataset.labels import LABELS
from evaluation.generation_labels import chance_predictions, labels_reached, render_predictors, render_reached

SAD, ASKING, NEUTRAL = LABELS.index("sad"), LABELS.index("questioning"), LABELS.index("neutral")
WANTED = [SAD, SAD, ASKING, ASKING, NEUTRAL]
CONTEXTS = {"ed": [{"document": f"d{number}", "label": label} for number, label in enumerate(WANTED)]}
PLAIN = {"row": "plain", "model": "plain", "set": "ed", "condition": "none", "path": "os", "under": [None] * 5}
TUNED = {**PLAIN, "row": "tuned", "model": "tuned", "path": "os → ed", "labels": [SAD, 0, 0, 0, NEUTRAL]}
FEELING = {**PLAIN, "row": "feeling", "model": "feeling", "condition": "truth", "path": "os → ed", "under": WANTED}


def test_reached_is_beside_the_plain_model_of_the_same_training():
    cells = [
        {**PLAIN, "labels": [0, 0, 0, 0, 0]},
        TUNED,
        {**FEELING, "labels": [SAD, SAD, ASKING, 0, 0]},
        {**FEELING, "row": "feeling, predicted label", "condition": "predicted", "under": [SAD] * 5, "labels": [0] * 5},
        {"row": "RT", "set": "ed", "under": [None] * 5, "labels": WANTED},
        {"row": "GT", "set": "ed", "under": [None] * 5, "labels": WANTED},
    ]
    truth, predicted, ceiling = labels_reached(CONTEXTS, cells)
    assert [truth["chance_of"], predicted["chance_of"], ceiling["chance_of"]] == ["tuned", "tuned", "plain"]
    assert truth["all"]["reached"]["value"] == 0.6 and truth["all"]["chance"]["value"] == 0.4
    assert truth["all"]["difference"]["value"] == pytest.approx(0.2)
    low, high = truth["all"]["difference"]["interval"]
    assert low < 0.2 < high
    assert [truth[group]["n"] for group in ("all", "emotions", "intents", "neutral")] == [5, 2, 2, 1]
    assert truth["emotions"]["reached"]["value"] == 1 and truth["emotions"]["reached"]["interval"][0] < 0.5  # Wilson
    assert truth["intents"]["reached"]["value"] == 0.5 and truth["neutral"]["chance"]["value"] == 1
    assert predicted["all"]["reached"]["value"] == 0 and predicted["all"]["chance"]["value"] == 0.2
    assert predicted["intents"]["n"] == 0 and predicted["intents"]["reached"]["value"] is None
    assert ceiling["all"]["reached"]["value"] == 1 and ceiling["all"]["chance"]["value"] == 0
    told = render_reached([truth, predicted, ceiling])
    assert "| `feeling` | `tuned` | 60.0 % [" in told and "– of 0 | – |" in told and "| `GT` | `plain` |" in told


def test_without_a_plain_model_nothing_is_said_of_chance():
    (row,) = labels_reached(CONTEXTS, [{**FEELING, "labels": WANTED}])
    assert row["chance_of"] is None and "chance" not in row["all"]
    assert "| `feeling` | – | 100.0 % [" in render_reached([row])
    assert labels_reached(CONTEXTS, [TUNED]) == [] and render_reached([]) == "No model takes labels."


def test_predictors_stand_beside_what_needs_no_history():
    """Two of five true answers have the most frequent label; one drawing of 41 meets the right label."""
    found = chance_predictions(WANTED)
    assert found["most_frequent"] == {"precision": 0.16, "recall": 0.4, "f1": 0.2286, "accuracy": 0.4}
    many = chance_predictions(WANTED * 200)["random"]
    assert many["accuracy"] == pytest.approx(1 / 41, rel=0.1) and many["recall"] == many["accuracy"]
    scores = {"precision": 0.5, "recall": 0.25, "f1": 0.125, "accuracy": 0.25}
    told = render_predictors({"ed": found, "os": found}, [{**FEELING, "predictor": scores}])
    assert "| most frequent | 0.160 | 0.400 | 0.229 | 0.400 | 0.160 |" in told
    assert told.endswith("| `feeling` | 0.500 | 0.250 | 0.125 | 0.250 | – | – | – | – |")
    assert render_predictors({"ed": found}, [TUNED]) == "No model has a predictor."
