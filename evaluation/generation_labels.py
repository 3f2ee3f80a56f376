"""What the records of `generation.py` tell of labels: how often an answer has the label that it was conditioned on, and
how often the predictor meets the label of the true answer; both beside what chance gives.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edos_dataset.labels import EMOTIONS, INTENTS, LABELS
from edos_dataset.metrics.resampling import wilson
from edos_dataset.publishing.cards.markdown import code, interval, percent, plain, table
from evaluation.generation_measures import mean_of, predictor_scores
from evaluation.generation_records import REFERENCES

Cell = Mapping[str, Any]

GROUPS = {
    "all": range(len(LABELS)),
    "emotions": range(len(EMOTIONS)),
    "intents": range(len(EMOTIONS), len(EMOTIONS) + len(INTENTS)),
    "neutral": range(len(EMOTIONS) + len(INTENTS), len(LABELS)),
}
"""Groups of labels → their ids."""

RATES = ("precision", "recall", "f1", "accuracy")
_DRAWINGS = 100
_NOTHING = "–"

REACHED = """The share of a model's answers that the labeler, which sees the history, gives the label under which they
were written. **By chance**: the share of the plain model's answers to the same contexts that happen to have the very
same labels; it was told none. GT: what the labeler gives the true answers, which is all of them where it labelled the
set itself. Intervals are 95 %: documents resampled,
and Wilson's where all or none have the label; the difference is that of pairs of answers to the same context."""

PREDICTED = """The most probable label of the answer, as the predictor sees it, against the label of the true answer;
figures weighted by the labels' shares, in the form of Xie & Pu's Table 5. **Random** draws one of the 41 labels (the
mean of 100 drawings); **most frequent** always says the label that most of these true answers have: the best that can
be done without a look at the history."""


def labels_reached(contexts: Mapping[str, Sequence[Cell]], cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Return how often answers have the label that they were conditioned on, and how often it is chance.

    Args:
        contexts: test set → its contexts.
        cells: the records.

    Returns:
        A row for each cell of a model that takes labels, and for GT: `row`, `set`, `chance_of` (the plain model that
        chance is read of: of the same training, or else the first one; None where there is none), and for each of
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
    """Return the plain model's cell on the same set, of the same training if there is one."""
    plains = [each for each in cells if each["set"] == cell["set"] and each.get("condition") == "none"]
    return next((each for each in plains if each["path"] == cell.get("path")), plains[0] if plains else None)


def _share(hits: np.ndarray[Any, np.dtype[np.float64]], documents: np.ndarray[Any, Any]) -> dict[str, Any]:
    found = mean_of(hits, documents)
    if found["n"] and found["value"] in (0, 1):  # where a bootstrap sees no variation
        found["interval"] = wilson(found["value"], found["n"])
    return found


def render_reached(rows: Sequence[Cell]) -> str:
    """Return the table of each test set of what `labels_reached` found."""
    head = ["model", "chance of", "all", "by chance", "difference"]
    head += [title for group in list(GROUPS)[1:] for title in (group, "by chance")]
    parts = []
    for name in dict.fromkeys(row["set"] for row in rows):
        lines = []
        for row in (row for row in rows if row["set"] == name):
            line = [code(row["row"]), code(row["chance_of"]) if row["chance_of"] else _NOTHING]
            for group in GROUPS:
                own = row[group]
                line += [f"{_told(own['reached'])} of {own['n']:,}", _told(own.get("chance"))]
                line += [_told(own.get("difference"))] if group == "all" else []
            lines.append(line)
        parts.append(f"Tested on {plain(name)}:\n\n{table(head, lines)}")
    return "\n\n".join(parts) or "No model takes labels."


def _told(figure: Cell | None) -> str:
    if figure is None or figure["value"] is None:
        return _NOTHING
    ends = "" if None in figure["interval"] else f" {interval(figure['interval'])}"
    return percent(figure["value"]) + ends


def chance_predictions(labels: Sequence[int]) -> dict[str, dict[str, float]]:
    """Return what `predictor_scores` gives for labels of true answers to a drawing (`random`) and to the most frequent
    of them (`most_frequent`).
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
    """Return the predictors' table: `Random`, the most frequent label, and the models, on every test set.

    Args:
        chances: test set → what `chance_predictions` gave.
        cells: the records; those with a `predictor` count.
    """
    known = [cell for cell in cells if "predictor" in cell and cell["row"] not in REFERENCES]
    if not known:
        return "No model has a predictor."
    head = ["predictor of", *(f"{plain(name)}: {title}" for name in chances for title in ("P", "R", "F1", "accuracy"))]
    named = {"Random": "random", "most frequent": "most_frequent"}
    rows = [[title, *(text for of in chances.values() for text in _rates(of[key]))] for title, key in named.items()]
    by = {(cell["model"], cell["set"]): cell["predictor"] for cell in known}
    for model in dict.fromkeys(cell["model"] for cell in known):
        rows.append([code(model), *(text for name in chances for text in _rates(by.get((model, name))))])
    return table(head, rows)


def _rates(scores: Cell | None) -> list[str]:
    return [_NOTHING if scores is None else f"{scores[rate]:.3f}" for rate in RATES]
