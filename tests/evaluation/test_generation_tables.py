"""The papers' tables, of records that are written by hand."""

from evaluation.generation_tables import (
    render_by_setting,
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


def rows_of(told):
    """Return the cells of a table's lines, without its head."""
    return [[text.strip() for text in line.strip("|").split("|")] for line in told.splitlines() if line[:1] == "|"][2:]


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
