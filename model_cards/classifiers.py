"""The card of a labelling model, filled from the record of its training and its figures; missing facts are reported."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import yaml
from huggingface_hub import EvalResult, ModelCard, ModelCardData

from edos_dataset.hub.model_contents import PLACEHOLDER
from edos_dataset.labels import LABELS
from edos_dataset.publishing.cards.markdown import (
    MISSING,
    MOST_LICENCES,
    code,
    fenced,
    interval,
    percent,
    plain,
    prose,
    table,
)
from edos_dataset.publishing.cards.paper_figures import citation

if TYPE_CHECKING:
    from edos_dataset.arrays import Floats

Row = Mapping[str, Any]

ON_HUB = {
    "empathetic_dialogues": "facebook/empathetic_dialogues",
    "meld": "declare-lab/MELD",
    "dailydialog": "li2017dailydialog/daily_dialog",
    "xed": "Helsinki-NLP/xed_en_fi",
    "goemotions": "google-research-datasets/go_emotions",
    "esconv": "thu-coai/esconv",
    "swda": "cgpotts/swda",
}
"""Folder of a dataset in the data folder → its Hub id, if it has one."""
LICENCE_LINKS = {"cc-by-nc-4.0": "https://creativecommons.org/licenses/by-nc/4.0/"}
"""Licence → where its text is."""

WATTS = 100.0
"""Assumed power of a machine whose record does not state it: a desktop processor under load, with all peripherals."""
GRAMS_PER_KWH = 436.0
"""Assumed carbon dioxide equivalent of a kilowatt-hour where the record does not state it: the world's mean of 2022
(Ember, Global Electricity Review 2023).
"""

FIGURES = (
    ("accuracy", "accuracy", "accuracy"),
    ("macro_f1", "macro-F1", "f1"),
    ("macro_precision", "macro precision", "precision"),
    ("macro_recall", "macro recall", "recall"),
    ("top_3_accuracy", "top-3 accuracy", "top_3_accuracy"),
    ("ece", "expected calibration error", "expected_calibration_error"),
)
_OF_OWN = (
    ("weighted_f1", "weighted F1"),
    ("micro_f1", "micro-F1"),
    ("majority_class_macro_f1", "macro-F1 of always naming the most frequent label"),
    ("majority_class_micro_f1", "micro-F1 of always naming the most frequent label"),
)
"""Further keys, of models of a user's labels."""
_NOT_OF_SEVERAL = ("top_3_accuracy", "ece")
"""Keys of a `metrics.json`, their names, and their metric ids in a model index."""

_TASKS = {
    "weak": "It reads a single English sentence or turn.",
    "dialogue": "It reads an English turn together with the turns before it and labels that last turn.",
    "general": "It reads an English turn of any text together with the turns before it and labels that last turn.",
    "multilingual": "It reads a turn together with the turns before it and labels that last turn, in English and other "
    "languages.",
    "own": "It reads a text, or a turn of a dialogue with turns before it, and labels it as its training data were.",
}
_FLAWS = {
    "weak": (
        "**It sees one turn.** It does not know what was said before, and by whom. A short turn such as an answer "
        "often means nothing by itself."
    ),
    "dialogue": (
        "**Its test turns are the clear ones.** They are turns on whose label people agreed; turns on which they "
        "disagreed are in no figure."
    ),
    "general": "**Its labels are a compromise between the conventions of many datasets**, which disagree about "
    "the same words.",
    "multilingual": "**It copies an English labeler,** `general`, from translated sentences, and with it that one's "
    "errors and its compromise between the conventions of many datasets.",
    "own": "**It knows one set of data.** Who labelled it, and how carefully, is not known here: the figures say how "
    "far the model agrees with those labels, on texts of the same kind and language.",
}
_READINGS = "held-out turns of films, labelled by reading"
"""Calibration set of the task `general` in records; its turns are part of the test set "readings"."""
_MOST_CONFUSED = 10
_MANY_FILES = 5
"""Largest number of files of one folder that the card lists one by one."""
_TEMPLATES = Path(__file__).parent / "templates"


def render_model_card(record: Row, metrics: Row, beside: str = "") -> str:
    """Return the README of a model folder.

    Args:
        record: Record of the training (`record.json`). Needed: `name` and `task` (one of `_TASKS`). Used if present:
            `architecture`, `base_model`, `data` (rows of `file`, `sha256`, `licence`, and `hub`, its name on the Hub),
            `licence_of_the_data` (if the rows don't state it), `licence` (a Hub id, otherwise it follows from the
            data), `split` (split → examples), `near_duplicates_removed` (number, or source → number), `recipe`, `seed`,
            `command`, `date`, `versions`, `hardware`, `training_seconds`, `watts`, `grams_per_kwh`, `packing`,
            `calibration` (task → how its temperature was fitted), `library` (by default transformers), `limitations`
            (sentences), `widget` (as of `widget_examples`), `shipped_as` (name for `load_labeler`), `languages` (codes;
            by default English).
        metrics: Content of `metrics.json`, as of `metrics.classification.evaluate_predictions`; empty if nothing was
            measured. Also used if present: `test` (`dataset`, and its description as `told`), `calibrated_on`.
        beside: Markdown for the end of the results, such as a comparison with other models.

    Raises:
        ValueError: The record names no model or no known task.
    """
    task, shipped = record.get("task"), record.get("shipped_as")
    if not record.get("name") or task not in _TASKS:
        raise ValueError(
            f"a model card needs a name and a task, {' or '.join(_TASKS)}; the record has {record.get('name')!r} and "
            f"{task!r}"
        )
    wrong = None if metrics.get("accuracy") is None else percent(1 - metrics["accuracy"])
    always = metrics.get("majority_class_accuracy") if task == "own" else None
    transformers = record.get("library", "transformers") == "transformers"
    custom = record.get("architecture", "dialogue") != "plain"
    data_table, data_licences = _data(record)
    return render_card(
        "classifier",
        _header(record, metrics),
        name=plain(record["name"]),
        task=_TASKS[task],
        labels=len(record.get("labels", {}).get("names", LABELS)),
        named=", ".join(code(name) for name in record.get("labels", {}).get("names", ())),
        several=record.get("labels", {}).get("several", False),
        shipped=code(shipped) if shipped else "",
        wrong=wrong,
        baseline="" if always is None else percent(1 - always),
        tested=_tested_on(metrics),
        worst=_worst(metrics.get("by_label", {})),
        flaw=_FLAWS[task],
        limitations=[prose(sentence) for sentence in record.get("limitations", [])],
        pipeline=_pipeline(custom) if transformers else "",
        dialogues=custom and task != "weak",
        loaded_as=shipped or "FOLDER",
        data_table=data_table,
        data_licences=data_licences,
        split=examples(record),
        near_duplicates=_near_duplicates(record.get("near_duplicates_removed")),
        results=results_table(metrics) if metrics or not beside else "",
        beside=beside,
        by_label=label_table(metrics),
        calibration=calibration(metrics, record.get("calibration", {}).get(task)),
        training=training_section(record),
        energy=energy(record),
        command=command(record),
        citation=citation("edos"),
    )


def render_card(template: str, header: ModelCardData, /, **values: Any) -> str:  # noqa: ANN401 - as the template takes them
    """Return a model card: a template of this folder under the YAML of a header. Untrusted texts among the values must
    be escaped.
    """
    card = ModelCard.from_template(header, template_path=str(_TEMPLATES / f"{template}.md.j2"), **values)
    return f"{card.content}\n"


def results_table(metrics: Row) -> str:
    """Return the figures of the test split with their 95 % intervals as Markdown."""
    if "examples" not in metrics:
        return "Nothing was measured, or the figures are missing."
    drawn, intervals = metrics.get("resampling"), metrics.get("intervals", {})
    several = "threshold" in metrics
    few = 0 < len(metrics.get("by_label", ())) <= 3  # of three labels the first three are always right
    left_out = _NOT_OF_SEVERAL if several else _NOT_OF_SEVERAL[:1] if few else ()
    figures = [(key, name) for key, name, _ in FIGURES if key not in left_out]
    figures += [("majority_class_accuracy", "accuracy of always naming the most frequent label")]
    figures += [(key, name) for key, name in _OF_OWN if key in metrics]
    rows = [
        [name, percent(metrics.get(key)), interval(intervals[key]) if key in intervals else ""] for key, name in figures
    ]
    units = (
        f"{drawn['resamples']:,} resamples of {drawn['groups']:,} units (seed {drawn['seed']})"
        if drawn
        else f"resampling {MISSING}"
    )
    how = f"intervals: 95 %, percentile bootstrap, {units}" if intervals else f"intervals are {MISSING}"
    body = table(["figure", "value", "interval"], rows)
    return f"On {metrics['examples']:,} held-out examples{_tested_on(metrics)}; {how}.\n\n{body}{_confused(metrics)}"


def _confused(metrics: Row) -> str:
    """Return the most frequent confusions as Markdown, if they were counted."""
    wrong = [
        (count, label, other)
        for label, counts in metrics.get("confusion", {}).items()
        for other, count in counts.items()
        if other != label
    ]
    rows = [
        [plain(label), plain(other), f"{count:,}"]
        for count, label, other in sorted(wrong, key=lambda each: (-each[0], each[1:]))[:_MOST_CONFUSED]
    ]
    if not rows:
        return ""
    head = table(["label", "predicted", "examples"], rows)
    return f"\n\nThe most frequent confusions (all of them are in `metrics.json`):\n\n{head}"


def label_table(metrics: Row) -> str:
    """Return precision, recall and F1 of every label as Markdown, as far as measured, the worst first; labels without
    examples last.
    """
    by_label = metrics.get("by_label")
    if not by_label:
        return f"Figures by label are {MISSING}."
    order = sorted(by_label.items(), key=lambda item: (not item[1].get("support", 1), item[1]["f1"] or 0, item[0]))
    fractions = [key for key in ("f1", "precision", "recall") if any(key in row for _, row in order)]
    counted = any("support" in row for _, row in order)
    rows = [
        [plain(label), *(percent(row.get(key)) for key in fractions), *([f"{row['support']:,}"] if counted else [])]
        for label, row in order
    ]
    heads = [{"f1": "F1"}.get(key, key) for key in fractions]
    return table(["label", *heads, *(["examples"] if counted else [])], rows)


def calibration(metrics: Row, fitted: Row | None = None) -> str:
    """Return where the temperature was fitted, and the calibration error on the test split without and with it.

    Args:
        metrics: As for `render_model_card`.
        fitted: Figures of the fit, as `training.labels.answers` records them: `turns`, `acceptable`,
            `mean_confidence` and `expected_calibration_error`.
    """
    before, after, temperature = (metrics.get(key) for key in ("ece_before_temperature", "ece", "temperature"))
    if before is None or after is None or temperature is None:
        return f"Calibration is {MISSING}."
    on = metrics.get("calibrated_on")
    where = plain(on) if on else "examples that are not in the test"
    if on == _READINGS and metrics.get("test", {}).get("dataset") == "readings":
        where += ", which are part of the test examples, so the calibration errors below are not from independent turns"
    elif on:
        where += ", which is not in the test"
    sentences = [f"Logits are divided by a temperature of {temperature:g}, fitted on the {where}."]
    if fitted:
        sentences.append(
            "In the fit a label counts as right if it is one of those that annotators or readers accepted: "
            f"{percent(fitted['acceptable'])} of {fitted['turns']:,} turns are right at a mean confidence of "
            f"{percent(fitted['mean_confidence'])}, and the expected calibration error (bins of equally many turns) is "
            f"{percent(fitted['expected_calibration_error'])}."
        )
    sentences.append(
        f"On the test examples{_tested_on(metrics)}, where only one label counts as right, the expected calibration "
        "error (15 bins of equal width; Guo et al., 2017) "
        f"is {percent(before)} without and {percent(after)} with the temperature."
    )
    if after > before:
        sentences.append(
            "**The temperature makes this error larger:** it is fitted to all accepted labels, so that the "
            "probabilities are too high if only one label counts as right."
        )
    return " ".join(sentences)


def training_section(record: Row) -> str:
    """Return the facts of a record about the training as Markdown."""
    seconds, packing = record.get("training_seconds"), record.get("packing") or {}
    versions = ", ".join(f"{name} {number}" for name, number in (record.get("versions") or {}).items())
    facts = {
        name.replace("_", " "): record.get(name) for name in ("base_model", "architecture", "seed", "date", "hardware")
    }
    facts |= {"hours": None if seconds is None else f"{seconds / 3600:.2f}", "versions": versions or None}
    lines = [f"- {name}: {MISSING if value is None else plain(value, MOST_LICENCES)}" for name, value in facts.items()]
    if packing and packing.get("task", record["task"]) == record["task"]:
        when = "before" if "task" in packing else "after"
        lines.append(
            f"- rounded to {packing.get('bits', 8)} bits {when} the figures were measured: "
            f"{100 * packing['equal_labels']:.2f} % of the test "
            f"labels stay the same, accuracy {percent(packing['accuracy_before'])} before and "
            f"{percent(packing['accuracy_after'])} after"
        )
    if not record.get("recipe"):
        return "\n".join([*lines, f"- recipe: {MISSING}"])
    recipe = yaml.safe_dump(dict(record["recipe"]), sort_keys=False, allow_unicode=True)
    return "\n".join(lines) + f"\n\n{fenced(recipe, 'yaml')}"


def examples(record: Row) -> str:
    """Return the number of examples of each split."""
    return ", ".join(f"{plain(split)} {count:,}" for split, count in record.get("split", {}).items()) or MISSING


def command(record: Row) -> str:
    """Return the command of the training as Markdown."""
    return fenced(record["command"]) if record.get("command") else f"The command is {MISSING}."


def _tested_on(metrics: Row) -> str:
    return f" ({plain(metrics['test']['told'], MOST_LICENCES)})" if "test" in metrics else ""


def _worst(by_label: Row) -> str:
    rows = sorted(
        (row["f1"] or 0, label, f" on {row['support']}" if "support" in row else "")
        for label, row in by_label.items()
        if row.get("support", 1)
    )
    return ", ".join(f"{plain(label)} (F1 {percent(f1)}{support})" for f1, label, support in rows[:5])


def _pipeline(custom: bool) -> str:
    trust = ", trust_remote_code=True" if custom else ""
    return f'classify = pipeline("text-classification", model="{PLACEHOLDER}"{trust}, top_k=3)'


def _data(record: Row) -> tuple[str, str]:
    """Return a table of the training files, and their licences if the table does not state them. Many files of one
    folder and licence share a line.
    """
    data = record.get("data", [])
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in data:
        groups.setdefault((str(PurePosixPath(row["file"]).parent), row.get("licence", MISSING)), []).append(row)
    rows: list[list[str]] = []
    for (folder, licence), files in groups.items():
        shown = plain(licence, MOST_LICENCES)
        if len(files) > _MANY_FILES:
            rows.append([f"{code(f'{folder}/')}, {len(files)} files", shown, "in `record.json`"])
        else:
            rows += [[code(row["file"]), shown, code(row.get("sha256", MISSING)[:16])] for row in files]
    if not rows:
        return "", ""
    head = ["file", "licence", "SHA-256, first digits"]
    if not record.get("licence_of_the_data") or any("licence" in row for row in data):
        return table(head, rows), ""
    licences = plain(record["licence_of_the_data"], MOST_LICENCES)
    return table([head[0], head[2]], [[file, digits] for file, _, digits in rows]), licences


def _near_duplicates(removed: int | Mapping[str, int] | None) -> str:
    if isinstance(removed, Mapping):
        return ", ".join(f"{count:,} of {plain(source)}" for source, count in removed.items()) or MISSING
    return MISSING if removed is None else f"{removed:,}"


def _header(record: Row, metrics: Row) -> ModelCardData:
    """Return the YAML of the card. The Hub refuses base models that it does not know: those are in the text only."""
    results = _eval_results(record, metrics)
    base, licence = record.get("base_model") or "", _licence(record)
    return ModelCardData(
        language=None if record["task"] == "own" else record.get("languages", "en"),
        license=licence,
        license_name="see-data" if licence == "other" else None,
        license_link=LICENCE_LINKS.get(licence),
        library_name=record.get("library", "transformers"),
        pipeline_tag="text-classification",
        tags=["emotion", "empathy", "dialogue", f"edos-{record['task']}"],
        datasets=datasets_on_hub(record.get("data", [])),
        base_model=name_on_hub(base),
        metrics=sorted({result.metric_type for result in results}) or None,
        model_name=str(record["name"]) if results else None,
        eval_results=results or None,
        co2_eq_emissions=emissions(record, "fine-tuning"),
        widget=record.get("widget") or None,
    )


def _eval_results(record: Row, metrics: Row) -> list[EvalResult]:
    data = record.get("data", [])
    kind = str(data[0]["file"]).split("/")[0] if data else MISSING
    kind = metrics["test"]["dataset"] if "test" in metrics else kind
    return [
        EvalResult(
            "text-classification",
            ON_HUB.get(kind, kind),
            f"{kind}, held out",
            metric,
            metrics[key],
            metric_name=name,
            dataset_split="test",
        )
        for key, name, metric in FIGURES
        if metrics.get(key) is not None
    ]


def datasets_on_hub(data: Iterable[Row]) -> list[str] | None:
    """Return the Hub ids of the datasets of a record's rows, in order; None if there are none."""
    named = (row.get("hub") or ON_HUB.get(str(row.get("file") or row.get("source")).split("/")[0]) for row in data)
    return sorted({name for name in named if name}) or None


def name_on_hub(base: str | None) -> str | None:
    """Return the name of a base model if it has the form of names on the Hub."""
    return base if base and re.fullmatch(r"[\w.-]+/[\w.-]+", base) else None


def emissions(record: Row, training: str) -> dict[str, Any] | None:
    """Return the estimated emissions for the YAML of a card, if the seconds of the training are recorded."""
    if record.get("training_seconds") is None:
        return None
    grams = round(emitted_grams(record), 1)
    return {"emissions": grams, "source": "estimated from time and power", "training_type": training}


def _licence(record: Row) -> str:
    """Return the licence by its name on the Hub: the recorded one, or the one that the data require."""
    licences = [row.get("licence", "") for row in record.get("data", [])] + [record.get("licence_of_the_data", "")]
    return record.get("licence") or ("cc-by-nc-4.0" if any("NC" in str(text) for text in licences) else "other")


def widget_examples(
    texts: Sequence[str], probabilities: "Floats", top: int = 3, names: Sequence[str] = LABELS
) -> list[dict[str, Any]]:
    """Return examples for the Hub's widget, with the model's answers.

    Args:
        texts: One turn each.
        probabilities: [texts, labels], the model's.
        top: Number of labels to show.
        names: Names of the labels.
    """
    order = (-probabilities).argsort(axis=1, kind="stable")[:, :top]
    return [
        {"text": text, "output": [{"label": names[label], "score": round(float(row[label]), 4)} for label in labels]}
        for text, row, labels in zip(texts, probabilities, order, strict=True)
    ]


def energy(record: Row) -> str:
    """Return the estimated energy of the training, in a sentence."""
    if record.get("training_seconds") is None:
        return f"The time of training is {MISSING}, so nothing can be estimated."
    hours = record["training_seconds"] / 3600
    power, mix = (
        f"{record.get(key, default):g} {unit} ({'stated' if key in record else 'assumed'})"
        for key, default, unit in (("watts", WATTS, "W"), ("grams_per_kwh", GRAMS_PER_KWH, "g/kWh"))
    )
    return (
        f"About {_kilowatt_hours(record):.3g} kWh and {emitted_grams(record):.3g} g of CO2 equivalent, estimated, not "
        f"measured: {hours:.2f} hours × {power} × {mix}. The search for the recipe is not included."
    )


def emitted_grams(record: Row) -> float:
    """Return the estimated grams of carbon dioxide equivalent of a training whose seconds are recorded."""
    return _kilowatt_hours(record) * float(record.get("grams_per_kwh", GRAMS_PER_KWH))


def _kilowatt_hours(record: Row) -> float:
    return float(record["training_seconds"] * record.get("watts", WATTS) / 3.6e6)
