"""The papers' tables, of records that are written by hand."""

import pytest

from edos_dataset.labels import LABELS
from evaluation.generation_tables import (
    chance_predictions,
    labels_reached,
    render_by_setting,
    render_predictors,
    render_reached,
    render_side_by_side,
    render_trained_tested,
    training_names,
)

OS, EDOS, ED = "os", "os → edos", "os → empathetic_dialogues"
SETS = ["os", "empathetic_dialogues"]


def cell(row, tested, path=OS, *, kind="plain", word=50.0, setting="zero-shot", **more):
    """Return a record."""
    figures = {name: {"value": 0.25, "interval": [0.2, 0.3]} for name in ("distinct-1", "distinct-2", "ses", "BLEU-1")}
    known = {"token": {"value": word / 2, "interval": [1, 99]}, "word": {"value": word, "interval": [word - 1, None]}}
    found = {"row": row, "model": row, "set": tested, "path": path, "kind": kind, "setting": setting}
    return found | {"condition": "none", "perplexity": known, "figures": figures} | more


def reference(row, tested):
    """Return a record of RT or GT."""
    made = cell(row, tested, setting="")
    return {name: made[name] for name in ("row", "set", "setting", "figures")}


def rows_of(stated):
    """Return the cells of a table's lines, without its head."""
    return [[text.strip() for text in line.strip("|").split("|")] for line in stated.splitlines() if line[:1] == "|"][
        2:
    ]


def test_trainings_have_the_papers_names():
    paths = [OS, EDOS, ED, "empathetic_dialogues", "not told"]
    assert training_names([cell("m", "os", path) for path in paths]) == {
        OS: "Pre-trained (OS)",
        EDOS: "Fine-tuned (EDOS)",
        ED: "Fine-tuned (ED)",
        "empathetic_dialogues": "Raw (ED)",
        "not told": "not told",
    }
    others = ["os + books", "books", "os → empathetic_dialogues", "books → empathetic_dialogues"]
    assert list(training_names([cell("m", "os", path) for path in others]).values()) == [
        "Raw (OS + books)",
        "Pre-trained (books)",
        "Fine-tuned (OS → ED)",
        "Fine-tuned (books → ED)",
    ]


def test_models_of_one_training_are_neighbours_on_every_set():
    """References come last; what is held out is bold, zero-shot in italics, what was not measured is a dash."""
    cells = [
        cell("a", "os", setting="held-out", word=20),
        cell("b", "os", ED, word=80),
        cell("c", "os", kind="empathetic", setting="pre-trained", word=40),
        cell("b", "empathetic_dialogues", ED, setting="fine-tuned"),
        reference("GT", "os"),
    ]
    rows = rows_of(render_trained_tested(SETS, cells))
    assert [row[:3] for row in rows] == [
        ["Pre-trained (OS)", "`a`", "**10.0**"],
        ["Pre-trained (OS)", "`c`", "20.0"],
        ["Fine-tuned (ED)", "`b`", "*40.0*"],
        ["", "`GT`", "–"],
    ]
    assert rows[2][6] == "**25.0**" and rows[0][6:] == ["–"] * 4 and len(rows[0]) == 2 + 4 * len(SETS)


def test_a_plain_model_meets_the_empathetic_one_of_its_training():
    cells = [
        cell("plain", "os", word=40),
        cell("feeling", "os", kind="empathetic", condition="truth", word=30),
        cell("feeling, predicted label", "os", kind="empathetic", model="feeling", condition="predicted"),
        cell("tuned", "os", ED, kind="empathetic", condition="truth"),
    ]
    (row,) = rows_of(render_side_by_side(SETS, cells))
    assert row[:5] == ["Pre-trained (OS)", "OS", "40.0", "30.0", "0.75"] and row[5:] == ["0.250"] * 9
    (row,) = rows_of(render_side_by_side(SETS, cells[:2]))
    assert row[5:8] == ["0.250", "0.250", "–"], "without a predictor"
    assert render_side_by_side(SETS, cells[2:]).startswith("No plain model")


def test_zero_shot_comes_before_what_learned_from_the_set():
    cells = [
        cell("tuned", "os", "books → os", setting="fine-tuned"),
        reference("RT", "os"),
        cell("other", "os", "books"),
        cell("own", "os", setting="held-out"),
    ]
    rows = rows_of(render_by_setting(["os"], cells))
    assert [row[0] + row[2] for row in rows] == [
        "zero-shot`other`",
        "trained on it`own`",
        "fine-tuned on it`tuned`",
        "`RT`",
    ]
    assert rows[0][3:] == ["0.250"] * 3, "D1, D2 and BLEU-1; SES is no measure of dialog-eval"


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
    stated = render_reached([truth, predicted, ceiling])
    assert "| `feeling` | `tuned` | 60.0 % [" in stated and "– of 0 | – |" in stated and "| `GT` | `plain` |" in stated


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
    stated = render_predictors({"ed": found, "os": found}, [{**FEELING, "predictor": scores}])
    assert "| most frequent | 0.160 | 0.400 | 0.229 | 0.400 | 0.160 |" in stated
    assert stated.endswith("| `feeling` | 0.500 | 0.250 | 0.125 | 0.250 | – | – | – | – |")
    assert render_predictors({"ed": found}, [TUNED]) == "No model has a predictor."
