"""Write the card of every model that ships, from the record beside its weights and the measurements of this repository.

    python -m model_cards.render

Nobody edits a card by hand: what is wrong in one is wrong in a record, in a measurement, in the template, or here.
"""

import json
import sys
from pathlib import Path
from typing import Any

from edos_dataset.generation.shipped import SHIPPED as RESPONDERS
from edos_dataset.generation.shipped import WEIGHTS
from edos_dataset.labeling.models.heads import LinearHead
from edos_dataset.labeling.models.packed import identify
from edos_dataset.labeling.models.shipped import SHIPPED, ShippedModel
from edos_dataset.labeling.models.static import StaticLabeler
from edos_dataset.publishing.cards.markdown import interval, percent, table
from edos_dataset.publishing.cards.model import render_model_card
from edos_dataset.publishing.cards.response import render_response_card
from edos_dataset.runs.shards import write_text

COMPARISON = Path(__file__).parents[1] / "evaluation" / "baselines.json"
"""These models and plain methods on the same test parts, by `evaluation/baselines.py`."""
DOMAIN = COMPARISON.with_name("domain") / "domain.json"
"""These models on turns that people labelled elsewhere, by `evaluation/domain.py`."""
RESPONSES = COMPARISON.with_name("judged_responses.json")
"""What readers say of the answers of response models, by `evaluation/judged_responses.py`."""
_ROWS = {"chat": "empathetic_os_ed, predicted label"}
"""Names of response models that ship → their rows there, answering as they do for users."""
_ELSEWHERE = ("meld", "emorynlp", "xed", "goemotions", "dailydialog")

_TASKS = {"turn": "weak", "history": "dialogue"}
_PARTS = {
    "weak": "the weak labeler's test part: situations and utterances of EmpatheticDialogues, one by one",
    "dialogue": "the crowd's test part: last turns of film dialogues on whose label people agreed",
    "general": "the crowd's test part, whose convention is that of `dialogue`: last turns of film dialogues on whose "
    "label people agreed",
}
_LINEAR = (
    "**It is a linear map on a frozen encoder**, which was trained to tell which sentences are alike, not for these "
    "labels."
)
_STATIC = (
    "**It counts words and pairs of {pairs}** and knows no order beyond them. A turn without a word of its table "
    "gets {unknown}."
)


def render(model: ShippedModel, comparison: dict[str, Any], domain: dict[str, Any]) -> str:
    """Return the card of a model.

    Args:
        model: one of SHIPPED.
        comparison: what COMPARISON holds.
        domain: what DOMAIN holds.

    Raises:
        ValueError: one of them was made with other weights than those that ship.
    """
    record, task = _read(model, "record.json"), task_of(model)
    facts = {"linear": _linear_facts, "static": _static_facts}.get(model.kind, dict)(record)
    facts |= {"name": model.source, "task": task, "shipped_as": model.name}
    part = comparison["weak" if task == "weak" else "dialogue"]
    if task == "weak":
        facts["limitations"] = [_on_films(model, comparison["dialogue"]), *facts.get("limitations", [])]
    facts["limitations"] = [_elsewhere(model, domain), *facts.get("limitations", [])]
    metrics = _read(model, "metrics.json") if model.of_transformers else facts["metrics"]
    if model.kind == "context":  # one folder has the figures of all its answers
        metrics = metrics[model.name]
    compared = _row(model, part)
    # What the record of a linear head lacks was measured later, on the same part with the same weights.
    metrics = {key: compared[key] for key in ("macro_precision", "macro_recall", "intervals")} | metrics
    return render_model_card(facts, metrics, _beside(model, task, part))


def render_responder(name: str, folder: Path) -> str:
    """Return the card of a response model that ships.

    Args:
        name: by which the package has it.
        folder: what `training/pack_generator.py` wrote.
    """
    record, figures = (json.loads((folder / f"{part}.json").read_text("utf-8")) for part in ("record", "metrics"))
    read = json.loads(RESPONSES.read_text("utf-8"))["rows"][_ROWS[name]]
    limitations = [_as_read(read), *record.get("limitations", [])]
    return render_response_card(record | {"name": name, "shipped_as": name, "limitations": limitations}, figures)


def _as_read(rows: dict[str, Any]) -> str:
    """Return what a reader, who did not know whose the answers are, found in them."""
    parts = [f"{percent(rows['all']['wrong']['share'])} of {rows['all']['answers']} answers to unseen conversations"]
    parts += [
        f"{name}: {percent(row['wrong']['share'])} wrong, {percent(row['generic']['share'])} generic, "
        f"{percent(row['fits']['share'])} fitting, of {row['answers']}"
        for name, row in rows.items()
        if name != "all"
    ]
    return f"**Read by hand, it is wrong in {parts[0]}** ({'; '.join(parts[1:])})."


def task_of(model: ShippedModel) -> str:
    """Return the task of a model, as its card names it."""
    return model.name if model.kind == "context" else _TASKS[model.sees]


def _read(model: ShippedModel, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((model.weights / name).read_text(encoding="utf-8"))
    return content


def _linear_facts(record: dict[str, Any]) -> dict[str, Any]:
    """Return a linear head's record in the form of the classifiers'."""
    measured = record["metrics"]["test (fitted to train and validation)"]
    by_label = {label: {"f1": f1} for label, f1 in measured["f1_by_label"].items()}
    return record | {
        "library": "edos-dataset",
        "architecture": "softmax over a linear map of embeddings",
        "base_model": record["encoder"],
        "recipe": record["chosen"] | {"frequent_turns": record["frequent_turns"]},
        "limitations": [_LINEAR],
        "metrics": measured | {"by_label": by_label, "temperature": record["temperature"]},
    }


def _static_facts(record: dict[str, Any]) -> dict[str, Any]:
    """Return the static labeler's record in the form of the classifiers'."""
    teacher, shipped = record["teacher"], identify("weak")
    copied = (
        f"**It copies another model**, {teacher['identity']}, which is right on {percent(teacher['test']['accuracy'])} "
        f"of its test examples; on {percent(1 - teacher['agreement'])} of them the two disagree."
    )
    if teacher["identity"] != shipped:
        copied += f" That is another state or form of `weak` than the {shipped} that ships."
    kinds = record["recipe"].get("kinds", ())
    pairs = "words at most one apart" if "skips" in kinds else "neighbours"
    unknown = "an answer by its length alone" if "length" in kinds else "the same answer as any other such turn"
    return record | {
        "library": "edos-dataset",
        "architecture": "softmax over a sum of rows of a table, one for each n-gram of the turn",
        "base_model": f"none; learned from {teacher['identity']}",
        "seed": record["recipe"]["seed"],
        "split": record["examples"],
        "recipe": record["recipe"] | {"chosen": record["chosen"]},
        "limitations": [_STATIC.format(pairs=pairs, unknown=unknown), copied],
        "metrics": record["metrics"]["test"],
    }


def _on_films(model: ShippedModel, part: dict[str, Any]) -> str:
    """Return how a model of single turns does on the turns of films, as a flaw."""
    row = _row(model, part)
    best = max(part["results"], key=lambda row: row["accuracy"])
    return (
        f"**On film dialogues it is right on {percent(row['accuracy'])}** {interval(row['intervals']['accuracy'])} of "
        f"{part['test']:,} last turns on whose label people agreed; `{best['method']}`, which sees the "
        f"{best['view']}, on {percent(best['accuracy'])}."
    )


def _elsewhere(model: ShippedModel, domain: dict[str, Any]) -> str:
    """Return how a model does on turns that people labelled elsewhere, as a flaw."""
    _check_weights(model, domain["models"][model.name]["source"], DOMAIN, "evaluation/domain.py")
    told = []
    for name in _ELSEWHERE:
        part = domain["sets"][name]
        figures = part["results"][model.name]
        right, bounds = percent(figures["label_accuracy"]), interval(figures["intervals"]["label_accuracy"])
        largest = f"`{part['largest_class']}` always: {percent(part['largest_class_accuracy'])}"
        first = figures["intents_first"]
        apart = "" if first is None else f", our 8 intents left out, which it names first for {percent(first)}"
        told.append(f"{name} ({part['told']}{apart}) {right} {bounds}, {largest}")
    return f"**On turns that others labelled, of any mood,** its label is right on: {'; '.join(told)}."


def _beside(model: ShippedModel, task: str, part: dict[str, Any]) -> str:
    """Return a table of this model and others on the same test part, the most accurate first."""
    rows = []
    for row in sorted(part["results"], key=lambda row: -row["accuracy"]):
        if row["method"] in SHIPPED:
            _row(SHIPPED[row["method"]], part)
        mark = "**" if row["method"] == model.name else ""
        figures = [percent(row["accuracy"]), interval(row["intervals"]["accuracy"]), percent(row["macro_f1"])]
        rows.append([f"{mark}{row['method']}{mark}", row["view"], *figures, percent(row["ece"])])
    head = ["method", "sees", "accuracy", "interval", "macro-F1", "calibration error"]
    return f"Beside other methods on {_PARTS[task]} ({part['test']:,}):\n\n{table(head, rows)}"


def _row(model: ShippedModel, part: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a model on a test part; refuse those that were taken with other weights."""
    row: dict[str, Any] = next(row for row in part["results"] if row["method"] == model.name)
    _check_weights(model, row["source"], COMPARISON, "evaluation/baselines.py")
    return row


def _check_weights(model: ShippedModel, measured: str, path: Path, script: str) -> None:
    """Refuse figures that were taken with other weights than those that ship."""
    if model.of_transformers:
        source = identify(model.name)[:-8]
    else:
        source = (LinearHead if model.kind == "linear" else StaticLabeler).load(model.weights).source
    if measured != source:
        raise ValueError(f"{path} has figures of {measured}, but {source} ships: run {script} again")


def main() -> None:
    """Write all cards beside this file."""
    comparison, domain = (json.loads(path.read_text(encoding="utf-8")) for path in (COMPARISON, DOMAIN))
    for model in SHIPPED.values():
        path = Path(__file__).with_name(f"{model.name}.md")
        write_text(path, render(model, comparison, domain))
        sys.stdout.write(f"{path}\n")
    for name in RESPONDERS:
        path = Path(__file__).with_name(f"{name}.md")
        write_text(path, render_responder(name, WEIGHTS / name))
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
