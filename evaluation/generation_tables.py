"""The tables of `generation.py` in the papers' forms: EDOS's Table 7; plain and empathetic models side by side as in
Xie & Pu's Table 4; zero-shot and fine-tuned models as in the Gutenberg paper's Table 4.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from edos_dataset.labels import EMOTIONS, INTENTS, LABELS
from edos_dataset.metrics.resampling import wilson
from edos_dataset.metrics.responses.dialog_eval import NEEDS
from edos_dataset.publishing.cards.markdown import code, interval, percent, plain, table
from evaluation.generation_models import mean_of, predictor_scores
from evaluation.generation_sets import REFERENCES

Cell = Mapping[str, Any]

NOTHING = "–"
SHORT = ("distinct-1", "distinct-2", "ses")
BY_LIBRARIES = ("sacreBLEU", "chrF", "BERTScore")
SETTINGS = {
    "zero-shot": "zero-shot",
    "pre-trained": "pre-trained on it",
    "held-out": "trained on it",
    "fine-tuned": "fine-tuned on it",
    "": "",
}
"""Relation of a model to a test set → its name in the tables, in order; references have none."""

TITLES = {
    "os": "OS",
    "edos": "EDOS",
    "edos_initial": "EDOS initial",
    "empathetic_dialogues": "ED",
    "daily_dialog": "DD",
}
"""Sources → the papers' names; others keep their names."""

SIDE_BY_SIDE = """Both learned from the same data. The empathetic one gets the label of the true answer, or, in the
columns **predicted**, that which its predictor expects, as a user's. PPL is that of a word, with its 95 % interval;
**ratio** below 1: the empathetic one knows the answers better."""

BY_SETTING = """The measures of dialog-eval and those of libraries, without intervals, which stand below. The Gutenberg
paper's question is what a model knows of a source that it never saw (zero-shot), and what it gains there by learning
from it (fine-tuned)."""

_PREDICTED = "predicted"


def training_names(cells: Sequence[Cell]) -> dict[str, str]:
    """Return training data → the papers' name: "Pre-trained (OS)" for models from which others started, "Raw (ED)" for
    models without pre-training, "Fine-tuned (ED)", or all steps if two names would be equal.
    """
    paths = list(dict.fromkeys(cell["path"] for cell in cells if "path" in cell))
    names = {path: _name(path, paths) for path in paths}
    twice = Counter(names.values())
    return {path: name if twice[name] == 1 else f"Fine-tuned ({_titles(path)})" for path, name in names.items()}


def _name(path: str, paths: Sequence[str]) -> str:
    if path == "not told":
        return path
    *before, last = path.split(" → ")
    started = any(other.startswith(f"{path} → ") for other in paths)
    return f"{'Fine-tuned' if before else 'Pre-trained' if started else 'Raw'} ({_titles(last)})"


def _titles(path: str) -> str:
    return " → ".join(" + ".join(TITLES.get(each, each) for each in step.split(" + ")) for step in path.split(" → "))


def render_trained_tested(sets: Sequence[str], cells: Sequence[Cell]) -> str:
    """Return a table in the form of EDOS's Table 7: the models, sorted by training data, on every test set, with
    perplexity per token, D1, D2 and SES.
    """
    names = training_names(cells)
    models = sorted((cell for cell in cells if "path" in cell), key=lambda cell: list(names).index(cell["path"]))
    by = {(cell["row"], cell["set"]): cell for cell in cells}
    titles = (f"{plain(TITLES.get(name, name))}: {column}" for name in sets for column in ("PPL", "D1", "D2", "SES"))
    rows = []
    for row in dict.fromkeys(cell["row"] for cell in (*models, *cells)):
        found = next(cell for cell in cells if cell["row"] == row)
        line = [plain(names.get(found.get("path", ""), "")), code(row)]
        for name in sets:
            cell = by.get((row, name))
            line += [NOTHING] * 4 if cell is None else [_marked(each, cell["setting"]) for each in _figures(cell)]
        rows.append(line)
    return table(["", "model", *titles], rows)


def _figures(cell: Cell) -> list[str]:
    perplexity = cell.get("perplexity")
    figures = [short(cell["figures"].get(name)) for name in SHORT]
    return [f"{perplexity['token']['value']:.1f}" if perplexity else NOTHING, *figures]


def short(figure: Cell | None) -> str:
    """Return a figure with three decimals, without its interval."""
    return NOTHING if figure is None or figure["value"] is None else f"{figure['value']:.3f}"


def with_interval(figure: Cell | None, digits: int) -> str:
    """Return a figure with its interval."""
    if figure is None or figure["value"] is None:
        return NOTHING
    ends = figure["interval"]
    ends_of = "" if None in ends else f" [{', '.join(f'{end:,.{digits}f}' for end in ends)}]"
    return f"{figure['value']:,.{digits}f}{ends_of}"


def _marked(text: str, setting: str) -> str:
    mark = {"held-out": "**", "fine-tuned": "**", "zero-shot": "*"}.get(setting, "")
    return text if text == NOTHING else f"{mark}{text}{mark}"


def render_side_by_side(sets: Sequence[str], cells: Sequence[Cell]) -> str:
    """Return the table of plain models beside the empathetic ones with the same training data, on every test set."""
    rows = []
    for path, name in training_names(cells).items():
        for tested in sets:
            here = [cell for cell in cells if (cell.get("path"), cell["set"]) == (path, tested)]
            if line := _line_side_by_side(here):
                rows.append([plain(name), plain(TITLES.get(tested, tested)), *line])
    head = ["trained", "tested on", "PPL: plain", "empathetic", "ratio"]
    head += [text for name in ("D1", "D2", "SES") for text in (f"{name}: plain", "empathetic", _PREDICTED)]
    return table(head, rows) if rows else "No plain model has an empathetic one of the same training beside it."


def measures_of(cells: Sequence[Cell]) -> list[str]:
    """Return the metrics of dialog-eval and of libraries that the cells have."""
    return [name for name in (*NEEDS, *BY_LIBRARIES) if any(name in cell["figures"] for cell in cells)]


def _line_side_by_side(cells: Sequence[Cell]) -> list[str]:
    """Return the figures of the plain and the empathetic model among cells with the same training data and test set;
    empty if one is missing.
    """
    simple = _first(cells, kind="plain")
    given = _first(cells, kind="empathetic", condition="truth")
    if simple is None or given is None:
        return []
    three = (simple, given, _first(cells, kind="empathetic", condition=_PREDICTED, model=given["model"]))
    words = [cell["perplexity"]["word"] for cell in (simple, given)]
    line = [*(with_interval(word, 1) for word in words), f"{words[1]['value'] / words[0]['value']:.2f}"]
    return line + [short(cell and cell["figures"].get(each)) for each in SHORT for cell in three]


def _first(cells: Sequence[Cell], **wanted: str) -> Cell | None:
    return next((cell for cell in cells if all(cell.get(key) == value for key, value in wanted.items())), None)


def render_by_setting(sets: Sequence[str], cells: Sequence[Cell]) -> str:
    """Return a table for each test set: models that never saw its source, models trained on it, RT and GT."""
    names, order = training_names(cells), list(SETTINGS)
    parts = []
    for tested in sets:
        here = [cell for cell in cells if cell["set"] == tested]
        here.sort(key=lambda cell: (cell["row"] in REFERENCES, order.index(cell["setting"])))
        measures = measures_of(here)
        rows = [
            [SETTINGS[cell["setting"]], plain(names.get(cell.get("path", ""), "")), code(cell["row"])]
            + [short(cell["figures"].get(name)) for name in measures]
            for cell in here
        ]
        parts.append(f"Tested on {plain(tested)}:\n\n{table(['', 'trained', 'model', *measures], rows)}")
    return "\n\n".join(parts)


GROUPS = {
    "all": range(len(LABELS)),
    "emotions": range(len(EMOTIONS)),
    "intents": range(len(EMOTIONS), len(EMOTIONS) + len(INTENTS)),
    "neutral": range(len(EMOTIONS) + len(INTENTS), len(LABELS)),
}
"""Groups of labels → their ids."""

RATES = ("precision", "recall", "f1", "accuracy")
_DRAWINGS = 100

REACHED = """The share of a model's answers that the labeler, which sees the history, gives the label under which they
were written. **By chance**: the share of the plain model's answers to the same contexts that happen to have the very
same labels; it got none. GT: what the labeler gives the true answers, which is all of them where it labelled the
set itself. Intervals are 95 %: documents resampled,
and Wilson's where all or none have the label; the difference is that of pairs of answers to the same context."""

PREDICTED = """The most probable label of the answer, as the predictor sees it, against the label of the true answer;
figures weighted by the labels' shares, in the form of Xie & Pu's Table 5. **Random** draws one of the 41 labels (the
mean of 100 drawings); **most frequent** always says the label that most of these true answers have: the best that can
be done without a look at the history."""


def labels_reached(contexts: Mapping[str, Sequence[Cell]], cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Return how often answers have the label on which they were conditioned, and how often that happens by chance.

    Args:
        contexts: test set → its contexts.
        cells: the records.

    Returns:
        A row for each cell of a model that takes labels, and for GT: `row`, `set`, `chance_of` (the plain model that
        gives the chance level: with the same training data, else the first one; None if there is none), and for each of
        GROUPS `n`, `reached`, `chance` and `difference`, each a `value` with its `interval`.
    """
    found, order = [], list(contexts)
    asked = [cell for cell in cells if cell["set"] in contexts and cell["row"] != "RT"]
    for cell in sorted(asked, key=lambda cell: order.index(cell["set"])):
        if cell.get("condition") == "none":
            continue
        own = contexts[cell["set"]]
        wanted = np.array([cell["under"][n] if cell["row"] != "GT" else each["label"] for n, each in enumerate(own)])
        documents = np.array([each["document"] for each in own])
        other = _plain_beside(cell, cells)
        row: dict[str, Any] = {"row": cell["row"], "set": cell["set"], "chance_of": other and other["row"]}
        hits = (np.array(cell["labels"]) == wanted).astype(np.float64)
        lucky = (np.array(other["labels"]) == wanted).astype(np.float64) if other else None
        for group, ids in GROUPS.items():
            there = np.isin(wanted, ids)
            row[group] = {"n": int(there.sum()), "reached": _share(hits[there], documents[there])}
            if lucky is not None:
                row[group]["chance"] = _share(lucky[there], documents[there])
                row[group]["difference"] = mean_of((hits - lucky)[there], documents[there])
        found.append(row)
    return found


def _plain_beside(cell: Cell, cells: Sequence[Cell]) -> Cell | None:
    """Return a plain model's cell on the same set, with the same training data if possible."""
    plains = [each for each in cells if each["set"] == cell["set"] and each.get("condition") == "none"]
    return next((each for each in plains if each["path"] == cell.get("path")), plains[0] if plains else None)


def _share(hits: np.ndarray[Any, np.dtype[np.float64]], documents: np.ndarray[Any, Any]) -> dict[str, Any]:
    found = mean_of(hits, documents)
    if found["n"] and found["value"] in (0, 1):  # a bootstrap sees no variation
        found["interval"] = wilson(found["value"], found["n"])
    return found


def render_reached(rows: Sequence[Cell]) -> str:
    """Return the results of `labels_reached` as a table for each test set."""
    head = ["model", "chance of", "all", "by chance", "difference"]
    head += [title for group in list(GROUPS)[1:] for title in (group, "by chance")]
    parts = []
    for name in dict.fromkeys(row["set"] for row in rows):
        lines = []
        for row in (row for row in rows if row["set"] == name):
            line = [code(row["row"]), code(row["chance_of"]) if row["chance_of"] else NOTHING]
            for group in GROUPS:
                own = row[group]
                line += [f"{_told(own['reached'])} of {own['n']:,}", _told(own.get("chance"))]
                line += [_told(own.get("difference"))] if group == "all" else []
            lines.append(line)
        parts.append(f"Tested on {plain(name)}:\n\n{table(head, lines)}")
    return "\n\n".join(parts) or "No model takes labels."


def _told(figure: Cell | None) -> str:
    if figure is None or figure["value"] is None:
        return NOTHING
    ends = "" if None in figure["interval"] else f" {interval(figure['interval'])}"
    return percent(figure["value"]) + ends


def chance_predictions(labels: Sequence[int]) -> dict[str, dict[str, float]]:
    """Return the scores of two baseline predictors on the labels of true answers, as from `predictor_scores`: `random`
    draws from the labels, and `most_frequent` always predicts the most frequent.
    """
    generator = np.random.default_rng(0)
    drawn = [
        predictor_scores(generator.integers(0, len(LABELS), len(labels)).tolist(), labels) for _ in range(_DRAWINGS)
    ]
    most = int(np.bincount(labels).argmax())
    return {
        "random": {rate: round(float(np.mean([each[rate] for each in drawn])), 4) for rate in RATES},
        "most_frequent": predictor_scores([most] * len(labels), labels),
    }


def render_predictors(chances: Mapping[str, Cell], cells: Sequence[Cell]) -> str:
    """Return the table of predictors on every test set: `Random`, the most frequent label, and the models.

    Args:
        chances: test set → result of `chance_predictions`.
        cells: the records; those with a `predictor` are used.
    """
    known = [cell for cell in cells if "predictor" in cell and cell["row"] not in REFERENCES]
    if not known:
        return "No model has a predictor."
    head = ["predictor of", *(f"{plain(name)}: {title}" for name in chances for title in ("P", "R", "F1", "accuracy"))]
    by = {(cell["model"], cell["set"]): cell["predictor"] for cell in known}
    rows = [
        ["Random", *_all_rates(of["random"] for of in chances.values())],
        ["most frequent", *_all_rates(of["most_frequent"] for of in chances.values())],
    ]
    for model in dict.fromkeys(cell["model"] for cell in known):
        rows.append([code(model), *_all_rates(by.get((model, name)) for name in chances)])
    return table(head, rows)


def _all_rates(scores: Iterable[Cell | None]) -> list[str]:
    return [text for each in scores for text in _rates(each)]


def _rates(scores: Cell | None) -> list[str]:
    return [NOTHING if scores is None else f"{scores[rate]:.3f}" for rate in RATES]
