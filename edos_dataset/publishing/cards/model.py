"""The README of a model: rendered from the record of its making and its measured figures. What these don't say, the
card says is missing.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import yaml
from huggingface_hub import EvalResult, ModelCardData

from edos_dataset.labels import LABELS
from edos_dataset.publishing.cards.texts import EDOS_BIBTEX

if TYPE_CHECKING:
    from edos_dataset.arrays import Floats

Row = Mapping[str, Any]

MISSING = "not stated"
PLACEHOLDER = "FOLDER OR HUB NAME"
"""What stands in the card for the name by which the model loads, until it is published under one."""
WATTS = 100.0
"""Power of the machine where a record does not state it: a desktop processor at work, with all around it."""
GRAMS_PER_KWH = 436.0
"""Carbon dioxide equivalent of a kilowatt-hour where a record does not state it: the world's mean of 2022 (Ember,
Global Electricity Review 2023).
"""

_FIGURES = (
    ("accuracy", "accuracy", "accuracy"),
    ("macro_f1", "macro-F1", "f1"),
    ("macro_precision", "macro precision", "precision"),
    ("macro_recall", "macro recall", "recall"),
    ("top_3_accuracy", "top-3 accuracy", "top_3_accuracy"),
    ("ece", "expected calibration error", "expected_calibration_error"),
)
"""Keys of a `metrics.json`, how they are called, and their metric ids in a model index."""

_SEES = {
    "weak": "It reads a single English sentence or turn.",
    "dialogue": "It reads an English turn together with the turns before it and labels that last turn.",
}
_FLAWS = {
    "weak": (
        "**It sees one turn.** What was said before, and who said it, it does not know. A short turn such as an "
        "answer often means nothing by itself."
    ),
    "dialogue": (
        "**Its test turns are the clear ones.** They are turns on whose label people agreed; turns on which "
        "they did not are in no figure."
    ),
}
_COMMON_FLAWS = """\
- **A label is a reading, not a feeling.** It says how readers take a text. Judge nobody's mind, health or fitness by it.
- **It always answers** with one of the 41 labels, in other languages and on nonsense too. Look at the probability."""
_USE = """\
Labelling dialogues for research on empathetic dialogue: choosing and analysing data, training response generators. {sees} Look at the three
most probable labels rather than at the first: kindred ones, such as degrees of one emotion, are easily confused. Not for decisions about people, and not for
text of a kind that it was not measured on without measuring again."""
_CITE = f"```bibtex\n{EDOS_BIBTEX}\n```"


def render_model_card(record: Row, metrics: Row) -> str:
    """Return the README of a model folder.

    Args:
        record: how the model was made (`record.json`). Needed: `name` and `task` ("weak" or "dialogue"). Used where
            there: `architecture`, `base_model`, `data` (rows of `file`, `sha256`, `licence`, and `hub`, its name on the
            Hub), `licence` (a Hub id, else it follows from the data), `split` (part → examples),
            `near_duplicates_removed` (number, or source → number), `recipe`, `seed`, `command`, `date`, `versions`,
            `hardware`, `training_seconds`, `watts`, `grams_per_kwh`, `library` (by default transformers), `limitations`
            (sentences), `widget` (see `widget_examples`).
        metrics: content of `metrics.json`, as of `labeling.metrics.evaluate_predictions`; empty if nothing was
            measured.

    Raises:
        ValueError: the record names no model or no known task.
    """
    if not record.get("name") or record.get("task") not in _SEES:
        raise ValueError(
            f"a model card needs a name and a task, {' or '.join(_SEES)}; the record says {record.get('name')!r} and "
            f"{record.get('task')!r}"
        )
    sections = {
        "Know its flaws first": _flaws(record, metrics),
        "Intended use": _USE.format(sees=_SEES[record["task"]]) + "\n\n" + _load(record),
        "Data": _data(record),
        "Results": results_table(metrics),
        "Quality by label": label_table(metrics),
        "Calibration": calibration(metrics),
        "Training": _training(record),
        "Energy and carbon": _energy(record),
        "How to reproduce": f"```\n{record['command']}\n```" if record.get("command") else f"The command is {MISSING}.",
        "Cite": _CITE,
    }
    body = "".join(f"\n## {heading}\n\n{text}\n" for heading, text in sections.items())
    return (
        f"---\n{_metadata(record, metrics)}\n---\n# {record['name']}\n\n{_SEES[record['task']]} Out come the "
        f"probabilities of {len(LABELS)} labels.\n{body}"
    )


def widget_examples(texts: Sequence[str], probabilities: "Floats", top: int = 3) -> list[dict[str, Any]]:
    """Return examples for the Hub's widget, with what the model answered.

    Args:
        texts: one turn each.
        probabilities: [texts, 41], the model's.
        top: labels to show.
    """
    order = (-probabilities).argsort(axis=1, kind="stable")[:, :top]
    return [
        {"text": text, "output": [{"label": LABELS[label], "score": round(float(row[label]), 4)} for label in labels]}
        for text, row, labels in zip(texts, probabilities, order, strict=True)
    ]


def results_table(metrics: Row) -> str:
    """Return the figures of the test part with their 95 % intervals as Markdown."""
    if "examples" not in metrics:
        return "Nothing was measured, or the figures are missing."
    drawn, intervals = metrics.get("resampling"), metrics.get("intervals", {})
    rows = [
        [name, percent(metrics.get(key)), interval(intervals[key]) if key in intervals else ""]
        for key, name, _ in _FIGURES
    ]
    rows += [["accuracy of always naming the most frequent label", percent(metrics.get("majority_class_accuracy")), ""]]
    of = (
        f"{drawn['resamples']:,} resamples of {drawn['groups']:,} units (seed {drawn['seed']})"
        if drawn
        else f"resampling {MISSING}"
    )
    head = f"On {metrics['examples']:,} held-out examples; intervals: 95 %, percentile bootstrap, {of}."
    return head + "\n\n" + table(["figure", "value", "interval"], rows)


def label_table(metrics: Row) -> str:
    """Return precision, recall and F1 of every label as Markdown, the worst first; labels without examples last."""
    if not metrics.get("by_label"):
        return f"Figures by label are {MISSING}."
    order = sorted(metrics["by_label"].items(), key=lambda item: (not item[1]["support"], item[1]["f1"] or 0, item[0]))
    rows = [
        [label, *(percent(row[key]) for key in ("f1", "precision", "recall")), f"{row['support']:,}"]
        for label, row in order
    ]
    return table(["label", "F1", "precision", "recall", "examples"], rows)


def calibration(metrics: Row) -> str:
    """Return what the temperature does to the calibration error, in a sentence."""
    before, after, temperature = (metrics.get(key) for key in ("ece_before_temperature", "ece", "temperature"))
    if before is None or after is None or temperature is None:
        return f"Calibration is {MISSING}."
    return (
        f"Logits are divided by a temperature of {temperature:g}, fitted on other data than these. The expected "
        "calibration error (15 bins; Guo et al., 2017) "
        f"is {percent(before)} before and {percent(after)} after it."
    )


def percent(value: float | None) -> str:
    """Return a share as percent with one decimal."""
    return MISSING if value is None else f"{100 * value:.1f} %"


def interval(values: Sequence[float | None]) -> str:
    """Return an interval of shares in percent."""
    return MISSING if None in values else "[" + ", ".join(f"{100 * (value or 0):.1f}" for value in values) + "]"


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    lines = [
        head,
        ["---"] * len(head),
        *([str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows),
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _metadata(record: Row, metrics: Row) -> str:
    """Return the YAML of the card. A base model that has no name on the Hub stands in the text alone: the Hub refuses
    it.
    """
    data = record.get("data", [])
    kind = str(data[0]["file"]).split("/")[0] if data else MISSING
    results = [
        EvalResult(
            "text-classification",
            kind,
            f"{kind}, held out",
            metric,
            metrics[key],
            metric_name=name,
            dataset_split="test",
        )
        for key, name, metric in _FIGURES
        if metrics.get(key) is not None
    ]
    base = record.get("base_model") or ""
    licence = record.get("licence") or (
        "cc-by-nc-4.0" if any("NC" in str(row.get("licence", "")) for row in data) else "other"
    )
    emissions = None
    if record.get("training_seconds") is not None:
        emissions = {
            "emissions": round(_grams(record), 1),
            "source": "estimated from time and power",
            "training_type": "fine-tuning",
        }
    card = ModelCardData(
        language="en",
        license=licence,
        license_name="see-data" if licence == "other" else None,
        library_name=record.get("library", "transformers"),
        pipeline_tag="text-classification",
        tags=["emotion", "empathy", "dialogue", f"edos-{record['task']}"],
        datasets=sorted({row["hub"] for row in data if row.get("hub")}) or None,
        base_model=base if re.fullmatch(r"[\w.-]+/[\w.-]+", base) else None,
        metrics=sorted({result.metric_type for result in results}) or None,
        model_name=str(record["name"]) if results else None,
        eval_results=results or None,
        co2_eq_emissions=emissions,
        widget=record.get("widget") or None,
    )
    return card.to_yaml()


def _flaws(record: Row, metrics: Row) -> str:
    lines = [f"- {_FLAWS[record['task']]}", _COMMON_FLAWS]
    if metrics.get("accuracy") is not None:
        lines.insert(
            0,
            f"- **It is wrong on {percent(1 - metrics['accuracy'])} of its test examples** when it may name one label "
            "only.",
        )
    rows = [(row["f1"], label, row["support"]) for label, row in metrics.get("by_label", {}).items() if row["support"]]
    if rows:
        worst = ", ".join(f"{label} (F1 {percent(f1)} on {support})" for f1, label, support in sorted(rows)[:5])
        lines.insert(1, f"- **Its worst labels:** {worst}.")
    return "\n".join([*lines, *(f"- {sentence}" for sentence in record.get("limitations", []))])


def _load(record: Row) -> str:
    if record.get("library", "transformers") != "transformers":
        return (
            "`edos label INPUT.jsonl --model FOLDER --out OUT.jsonl`, or `load_labeler(FOLDER)` of "
            "`edos_dataset.labeling.models.labelers`."
        )
    own = record.get("architecture", "dialogue") != "plain"
    call = (
        'classify = pipeline("text-classification", '
        f'model="{PLACEHOLDER}"{", trust_remote_code=True" if own else ""}, top_k=3)'
    )
    dialogue = 'classify(["I lost my job.", "Oh no, what happened?"])  # a list of turns is a dialogue, oldest first\n'
    dialogue = dialogue if own and record["task"] == "dialogue" else ""
    return f'```python\nfrom transformers import pipeline\n\n{call}\nclassify("I lost my job.")\n{dialogue}```'


def _data(record: Row) -> str:
    rows = [
        [f"`{row['file']}`", row.get("licence", MISSING), f"`{row.get('sha256', MISSING)[:16]}`"]
        for row in record.get("data", [])
    ]
    files = table(["file", "licence", "SHA-256, first digits"], rows) if rows else f"The data files are {MISSING}."
    split = ", ".join(f"{part} {count:,}" for part, count in record.get("split", {}).items()) or MISSING
    removed = record.get("near_duplicates_removed")
    counts = removed.items() if isinstance(removed, Mapping) else [("", removed)] if removed is not None else []
    near = ", ".join(f"{count:,} {source and f'of {source}'}".strip() for source, count in counts) or MISSING
    return f"{files}\n\nExamples: {split}. Left out of the training because a held-out text is nearly the same: {near}."


def _training(record: Row) -> str:
    seconds, versions = record.get("training_seconds"), record.get("versions", {})
    facts = {
        "base model": record.get("base_model"),
        "architecture": record.get("architecture"),
        "seed": record.get("seed"),
        "date": record.get("date"),
        "hardware": record.get("hardware"),
        "hours": None if seconds is None else f"{seconds / 3600:.2f}",
        "versions": ", ".join(f"{name} {number}" for name, number in versions.items()) or None,
    }
    text = "\n".join(f"- {name}: {MISSING if value is None else value}" for name, value in facts.items())
    if not record.get("recipe"):
        return f"{text}\n- recipe: {MISSING}"
    return f"{text}\n\n```yaml\n{yaml.safe_dump(dict(record['recipe']), sort_keys=False, allow_unicode=True)}```"


def _energy(record: Row) -> str:
    if record.get("training_seconds") is None:
        return f"The time of training is {MISSING}, so nothing can be estimated."
    hours = record["training_seconds"] / 3600
    power = f"{record.get('watts', WATTS):g} W ({'stated' if 'watts' in record else 'assumed'})"
    mix = (
        f"{record.get('grams_per_kwh', GRAMS_PER_KWH):g} g/kWh ({'stated' if 'grams_per_kwh' in record else 'assumed'})"
    )
    return (
        f"About {_kilowatt_hours(record):.3g} kWh and {_grams(record):.3g} g of CO2 equivalent, estimated, not "
        f"measured: {hours:.2f} hours × {power} × {mix}. "
        "The search for the recipe is not in it."
    )


def _kilowatt_hours(record: Row) -> float:
    return float(record["training_seconds"] * record.get("watts", WATTS) / 3.6e6)


def _grams(record: Row) -> float:
    return _kilowatt_hours(record) * float(record.get("grams_per_kwh", GRAMS_PER_KWH))
