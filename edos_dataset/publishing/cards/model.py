"""The README of a model: rendered from the record of its making and its measured figures. What these don't say, the
card says is missing.

Its sections and the sentences that all cards share are in `model_cards/templates/model.md`.
"""

from collections.abc import Mapping
from pathlib import PurePosixPath
from string import Template

import yaml

from edos_dataset.labeling.models.shipped import cards_folder
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
from edos_dataset.publishing.cards.model_header import FIGURES, Row, energy, model_metadata
from edos_dataset.publishing.cards.texts import EDOS_BIBTEX

PLACEHOLDER = "FOLDER OR HUB NAME"
"""What stands in the card for the name by which the model loads, until it is published under one."""

_SEES = {
    "weak": "It reads a single English sentence or turn.",
    "dialogue": "It reads an English turn together with the turns before it and labels that last turn.",
    "general": "It reads an English turn of any text together with the turns before it and labels that last turn.",
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
    "general": "**Its labels are a mean of the conventions of many makers**, who disagree about the same words.",
}
_MANY_FILES = 5
"""Files of one folder that the card lists one by one, at most."""


def render_model_card(record: Row, metrics: Row, beside: str = "") -> str:
    """Return the README of a model folder.

    Args:
        record: how the model was made (`record.json`). Needed: `name` and `task` (of `_SEES`). Used where
            there: `architecture`, `base_model`, `data` (rows of `file`, `sha256`, `licence`, and `hub`, its name on the
            Hub), `licence_of_the_data` (where the rows don't say it), `licence` (a Hub id, else it follows from the
            data), `split` (part → examples), `near_duplicates_removed` (number, or source → number), `recipe`, `seed`,
            `command`, `date`, `versions`, `hardware`, `training_seconds`, `watts`, `grams_per_kwh`, `packing`,
            `library` (by default transformers), `limitations` (sentences), `widget` (as of `widget_examples`),
            `shipped_as` (name by which `load_labeler` loads it).
        metrics: content of `metrics.json`, as of `metrics.classification.evaluate_predictions`; empty if nothing was
            measured. Used where there, beside: `test` (`dataset`, and what it is: `told`), `calibrated_on`.
        beside: Markdown for the end of the results, such as a comparison with other models.

    Raises:
        ValueError: the record names no model or no known task.
    """
    if not record.get("name") or record.get("task") not in _SEES:
        raise ValueError(
            f"a model card needs a name and a task, {' or '.join(_SEES)}; the record says {record.get('name')!r} and "
            f"{record.get('task')!r}"
        )
    shipped = record.get("shipped_as")
    template = Template((cards_folder() / "templates" / "model.md").read_text(encoding="utf-8"))
    return template.substitute(
        metadata=model_metadata(record, metrics),
        name=plain(record["name"]),
        sees=_SEES[record["task"]],
        labels=len(LABELS),
        shipped=f" It comes with the package edos-dataset, as {code(shipped)}." if shipped else "",
        flaws=_flaws(record, metrics),
        limitations="".join(f"\n- {prose(sentence)}" for sentence in record.get("limitations", [])),
        use=_use(record),
        data=_data(record),
        results=results_table(metrics) + (f"\n\n{beside}" if beside else ""),
        by_label=label_table(metrics),
        calibration=calibration(metrics),
        training=training_section(record),
        energy=energy(record),
        command=fenced(record["command"]) if record.get("command") else f"The command is {MISSING}.",
        cite=EDOS_BIBTEX,
    )


def results_table(metrics: Row) -> str:
    """Return the figures of the test part with their 95 % intervals as Markdown."""
    if "examples" not in metrics:
        return "Nothing was measured, or the figures are missing."
    drawn, intervals = metrics.get("resampling"), metrics.get("intervals", {})
    rows = [
        [name, percent(metrics.get(key)), interval(intervals[key]) if key in intervals else ""]
        for key, name, _ in FIGURES
    ]
    rows += [["accuracy of always naming the most frequent label", percent(metrics.get("majority_class_accuracy")), ""]]
    of = (
        f"{drawn['resamples']:,} resamples of {drawn['groups']:,} units (seed {drawn['seed']})"
        if drawn
        else f"resampling {MISSING}"
    )
    how = f"intervals: 95 %, percentile bootstrap, {of}" if intervals else f"intervals are {MISSING}"
    told = f" ({plain(metrics['test']['told'], MOST_LICENCES)})" if "test" in metrics else ""
    return f"On {metrics['examples']:,} held-out examples{told}; {how}.\n\n" + table(
        ["figure", "value", "interval"], rows
    )


def label_table(metrics: Row) -> str:
    """Return precision, recall and F1 of every label as Markdown, as far as they were measured, the worst first; labels
    without examples last.
    """
    by_label = metrics.get("by_label")
    if not by_label:
        return f"Figures by label are {MISSING}."
    order = sorted(by_label.items(), key=lambda item: (not item[1].get("support", 1), item[1]["f1"] or 0, item[0]))
    shares = [key for key in ("f1", "precision", "recall") if any(key in row for _, row in order)]
    counted = any("support" in row for _, row in order)
    rows = [
        [plain(label), *(percent(row.get(key)) for key in shares), *([f"{row['support']:,}"] if counted else [])]
        for label, row in order
    ]
    heads = [{"f1": "F1"}.get(key, key) for key in shares]
    return table(["label", *heads, *(["examples"] if counted else [])], rows)


def calibration(metrics: Row) -> str:
    """Return what the temperature does to the calibration error, in a sentence."""
    before, after, temperature = (metrics.get(key) for key in ("ece_before_temperature", "ece", "temperature"))
    if before is None or after is None or temperature is None:
        return f"Calibration is {MISSING}."
    fitted = plain(metrics["calibrated_on"]) if metrics.get("calibrated_on") else "other data than these"
    return (
        f"Logits are divided by a temperature of {temperature:g}, fitted on {fitted}. The expected "
        "calibration error (15 bins; Guo et al., 2017) "
        f"is {percent(before)} before and {percent(after)} after it."
    )


def _flaws(record: Row, metrics: Row) -> str:
    lines = [f"- {_FLAWS[record['task']]}"]
    rows = [
        (row["f1"] or 0, label, f" on {row['support']}" if "support" in row else "")
        for label, row in metrics.get("by_label", {}).items()
        if row.get("support", 1)
    ]
    if rows:
        worst = ", ".join(f"{plain(label)} (F1 {percent(f1)}{support})" for f1, label, support in sorted(rows)[:5])
        lines.insert(0, f"- **Its worst labels:** {worst}.")
    if metrics.get("accuracy") is not None:
        wrong = percent(1 - metrics["accuracy"])
        told = f" ({plain(metrics['test']['told'], MOST_LICENCES)})" if "test" in metrics else ""
        lines.insert(0, f"- **It is wrong on {wrong} of its test examples**{told} when it may name one label only.")
    return "\n".join(lines)


def _use(record: Row) -> str:
    own = '`edos label INPUT.jsonl --model {0} --out OUT.jsonl`, or `load_labeler("{0}")` of '
    own += "`edos_dataset.labeling.models.labelers`."
    if record.get("library", "transformers") != "transformers":
        return own.format(record.get("shipped_as", "FOLDER"))
    custom = record.get("architecture", "dialogue") != "plain"
    call = (
        'classify = pipeline("text-classification", '
        f'model="{PLACEHOLDER}"{", trust_remote_code=True" if custom else ""}, top_k=3)'
    )
    dialogue = 'classify({"turns": ["I lost my job.", "Oh no, what happened?"]})  # a dialogue, oldest turn first\n'
    dialogue = dialogue if custom and record["task"] != "weak" else ""
    code = f'```python\nfrom transformers import pipeline\n\n{call}\nclassify("I lost my job.")\n{dialogue}```'
    return f"{code}\n\nOr {own.format(record['shipped_as'])}" if "shipped_as" in record else code


def _data(record: Row) -> str:
    """Return the files that the model learned from; many of one folder and licence are one line."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in record.get("data", []):
        groups.setdefault((str(PurePosixPath(row["file"]).parent), row.get("licence", MISSING)), []).append(row)
    rows: list[list[str]] = []
    for (folder, licence), files in groups.items():
        if len(files) > _MANY_FILES:
            rows.append(
                [f"{code(f'{folder}/')}, {len(files)} files", plain(licence, MOST_LICENCES), "in `record.json`"]
            )
        else:
            told = plain(licence, MOST_LICENCES)
            rows += [[code(row["file"]), told, code(row.get("sha256", MISSING)[:16])] for row in files]
    head = ["file", "licence", "SHA-256, first digits"]
    licences = ""
    if record.get("licence_of_the_data") and not any("licence" in row for row in record.get("data", [])):
        head, rows = [head[0], head[2]], [[file, digits] for file, _, digits in rows]
        licences = f"\n\nLicences: {plain(record['licence_of_the_data'], MOST_LICENCES)}."
    files_told = table(head, rows) + licences if rows else f"The data files are {MISSING}."
    split = ", ".join(f"{plain(part)} {count:,}" for part, count in record.get("split", {}).items()) or MISSING
    removed = record.get("near_duplicates_removed")
    counts = removed.items() if isinstance(removed, Mapping) else [("", removed)] if removed is not None else []
    near = ", ".join(f"{count:,} {source and f'of {plain(source)}'}".strip() for source, count in counts) or MISSING
    return (
        f"{files_told}\n\nExamples: {split}. Left out of the training because a held-out text is nearly the same: "
        f"{near}."
    )


def training_section(record: Row) -> str:
    """Return what the record says of the training as Markdown."""
    seconds, versions, packing = (record.get(key) for key in ("training_seconds", "versions", "packing"))
    facts = {
        "base model": record.get("base_model"),
        "architecture": record.get("architecture"),
        "seed": record.get("seed"),
        "date": record.get("date"),
        "hardware": record.get("hardware"),
        "hours": None if seconds is None else f"{seconds / 3600:.2f}",
        "versions": ", ".join(f"{name} {number}" for name, number in (versions or {}).items()) or None,
    }
    text = "\n".join(
        f"- {name}: {MISSING if value is None else plain(value, MOST_LICENCES)}" for name, value in facts.items()
    )
    when = "before" if "task" in (packing or {}) else "after"
    if packing and packing.get("task", record["task"]) == record["task"]:
        text += (
            f"\n- rounded to 8 bits {when} the figures were taken: {100 * packing['equal_labels']:.2f} % of the test "
            f"labels stay the same, accuracy {percent(packing['accuracy_before'])} before and "
            f"{percent(packing['accuracy_after'])} after"
        )
    if not record.get("recipe"):
        return f"{text}\n- recipe: {MISSING}"
    recipe = yaml.safe_dump(dict(record["recipe"]), sort_keys=False, allow_unicode=True)
    return f"{text}\n\n{fenced(recipe, 'yaml')}"
