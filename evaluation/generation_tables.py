"""The tables of `generation.py` in the papers' forms: EDOS's Table 7, a plain model beside an empathetic one as in Xie
& Pu's Table 4, and zero-shot beside fine-tuned as in the Gutenberg paper's Table 4.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from edos_dataset.metrics.responses.dialog_eval import NEEDS
from edos_dataset.publishing.cards.markdown import code, plain, table
from evaluation.generation_records import REFERENCES

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
"""How a model stands to a test set → what the tables call it, in their order; references have none."""

TITLES = {
    "os": "OS",
    "edos": "EDOS",
    "edos_initial": "EDOS initial",
    "empathetic_dialogues": "ED",
    "daily_dialog": "DD",
}
"""Sources → the papers' names; others are called as they are."""

SIDE_BY_SIDE = """Both learned from the same data. The empathetic one is told the label of the true answer, or, in the
columns **predicted**, that which its predictor expects, as a user's. PPL is that of a word, with its 95 % interval;
**ratio** below 1: the empathetic one knows the answers better."""

BY_SETTING = """The measures of dialog-eval and those of libraries, without intervals, which stand below. The Gutenberg
paper's question is what a model knows of a source that it never saw (zero-shot), and what it gains there by learning
from it (fine-tuned)."""

_PREDICTED = "predicted"


def training_names(cells: Sequence[Cell]) -> dict[str, str]:
    """Return what the models learned from → what the papers call that: "Pre-trained (OS)" of what others started from,
    "Raw (ED)" of what none did, "Fine-tuned (ED)", or with all steps where two of these would be one.
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
    """Return the table in the form of EDOS's Table 7: the models, sorted by what they learned from, on every test set,
    with perplexity of a token, D1, D2 and SES.
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
    told = [short(cell["figures"].get(name)) for name in SHORT]
    return [f"{perplexity['token']['value']:.1f}" if perplexity else NOTHING, *told]


def short(figure: Cell | None) -> str:
    """Return a figure with three decimals, without its interval."""
    return NOTHING if figure is None or figure["value"] is None else f"{figure['value']:.3f}"


def with_interval(figure: Cell | None, digits: int) -> str:
    """Return a figure with its interval."""
    if figure is None or figure["value"] is None:
        return NOTHING
    ends = figure["interval"]
    told = "" if None in ends else f" [{', '.join(f'{end:,.{digits}f}' for end in ends)}]"
    return f"{figure['value']:,.{digits}f}{told}"


def _marked(text: str, setting: str) -> str:
    mark = {"held-out": "**", "fine-tuned": "**", "zero-shot": "*"}.get(setting, "")
    return text if text == NOTHING else f"{mark}{text}{mark}"


def render_side_by_side(sets: Sequence[str], cells: Sequence[Cell]) -> str:
    """Return the table of plain models beside the empathetic ones of the same training, on every test set."""
    names = training_names(cells)
    rows = []
    for path, name in names.items():
        for tested in sets:
            here = [cell for cell in cells if (cell.get("path"), cell["set"]) == (path, tested)]
            simple = next((cell for cell in here if cell["kind"] == "plain"), None)
            feeling = [cell for cell in here if cell["kind"] == "empathetic"]
            told = next((cell for cell in feeling if cell["condition"] == "truth"), None)
            if simple is None or told is None:
                continue
            expected = [cell for cell in feeling if cell["condition"] == _PREDICTED and cell["model"] == told["model"]]
            three = (simple, told, expected[0] if expected else None)
            ratio = told["perplexity"]["word"]["value"] / simple["perplexity"]["word"]["value"]
            line = [plain(name), plain(TITLES.get(tested, tested))]
            line += [*(with_interval(cell["perplexity"]["word"], 1) for cell in (simple, told)), f"{ratio:.2f}"]
            rows.append(line + [short(cell and cell["figures"].get(each)) for each in SHORT for cell in three])
    head = ["trained", "tested on", "PPL: plain", "empathetic", "ratio"]
    head += [text for name in ("D1", "D2", "SES") for text in (f"{name}: plain", "empathetic", _PREDICTED)]
    return table(head, rows) if rows else "No plain model has an empathetic one of the same training beside it."


def measures_of(cells: Sequence[Cell]) -> list[str]:
    """Return the measures of dialog-eval and of libraries that cells have."""
    return [name for name in (*NEEDS, *BY_LIBRARIES) if any(name in cell["figures"] for cell in cells)]


def render_by_setting(sets: Sequence[str], cells: Sequence[Cell]) -> str:
    """Return a table for each test set: models that never saw its source, those that learned from it, RT and GT."""
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
