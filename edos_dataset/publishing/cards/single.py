"""The cards of datasets with a single config: a crowd seed, an extended set, and labels without text."""

from collections.abc import Mapping, Sequence
from typing import Any

from edos_dataset.augmentation.extended import METHODS
from edos_dataset.label_sets import DEFAULT, LabelSet, load_label_set
from edos_dataset.publishing.cards.headers import labelled_with, render_card, single_header
from edos_dataset.publishing.cards.markdown import code, fenced, plain, table
from edos_dataset.publishing.cards.paper_figures import CROWD_TASK, citation
from edos_dataset.publishing.cards.tables import label_table, model_table
from edos_dataset.publishing.layout import ConfigFiles
from edos_dataset.schema import AMT_SEED, EXTENDED, LABELS_ONLY, SPLITS, Labels, features

_CITED = citation("edos", "responses", "opus")


def seed_card(counts: Mapping[str, Any]) -> str:
    """Return the card of a crowd seed, given the counts of `crowd.seed.make_seed`."""
    rules, splits = counts["rules"], counts["splits"]
    dialogues = sum(splits.values())
    labels = load_label_set(counts.get("label_set") or DEFAULT)
    header = single_header(
        AMT_SEED,
        features(AMT_SEED, labels=Labels(labels.labels)),
        "EDOS crowd seed" if labels.name == DEFAULT else f"Crowd seed, {labelled_with(labels)}",
        ["crowdsourcing"],
        rows=dialogues,
        annotators="crowdsourced",
    )
    numbers = ("answers", "tasks", "texts", "labelled", "unlabelled", "groups", "largest_group")
    return render_card(
        "seed",
        header,
        with_labels=_with(labels),
        **{name: f"{counts[name]:,}" for name in numbers},
        dialogues=f"{dialogues:,}",
        labels=f"{len(labels)} emotions and response intents" if labels.name == DEFAULT else _named(labels),
        config=AMT_SEED,
        pooled=rules["repeats"] == "pool",
        method=plain(rules["method"]),
        ties=plain(rules["ties"]),
        least_votes=rules["least_votes"],
        near=rules["near"],
        model=plain(rules["model"]),
        splits=_counted(splits),
        task_table=_task_table(counts),
        agreement_table=_agreement_table(counts["agreement"] or {}),
        label_table=table(
            ["label", *SPLITS],
            [[plain(label), *(f"{row[split]:,}" for split in SPLITS)] for label, row in counts["by_label"].items()],
        ),
        citation=_CITED,
    )


def _with(labels: LabelSet) -> str:
    return "" if labels.name == DEFAULT else f", {plain(labelled_with(labels))}"


def _named(labels: LabelSet) -> str:
    return f"the {len(labels)} labels of {code(labels.name)}"


def _counted(splits: Mapping[str, int]) -> str:
    return ", ".join(f"{split} {count:,}" for split, count in splits.items())


def _task_table(counts: Mapping[str, Any]) -> str:
    """Return the results of the task in the rows of the EDOS paper's Table 4, except those on quizzes and typed labels,
    which answers alone do not tell.
    """
    ours = (
        f"{counts['tasks']:,}",
        f"{counts['labelled']:,} of {counts['texts']:,} ({counts['labelled'] / counts['texts']:.2%})",
        (counts["agreement"] or {}).get("fleiss_kappa", "not known"),
        "not known",
        "not counted",
    )
    rows = [[name, mine, paper] for (name, paper), mine in zip(CROWD_TASK.items(), ours, strict=True)]
    return table(["description", "here", "EDOS paper, Table 4"], rows)


def _agreement_table(agreement: Mapping[str, Any]) -> str:
    rows = []
    for name in (name for name in agreement if not name.endswith("_interval")):
        low, high = agreement[f"{name}_interval"]
        rows.append([name.replace("_", " "), agreement[name], f"{low} to {high}"])
    return table(["measure", "value", "95 % interval"], rows) if rows else ""


def extended_card(counts: Mapping[str, Any]) -> str:
    """Return the card of an extended dataset.

    Args:
        counts: `seed` (split → dialogues of the seed), `steps` (a mapping each with `step`, `method`, `round`,
            `parameters`, `read`, `labelled`, `rejected` by reason, `by_label`, and `papers`, the papers' count of new
            labels or None), `rows` (dialogues of the training split or of all, as the caller counts them), `pool`
            (facts about the pool), `command` (the command line).
    """
    seed, steps = counts["seed"], counts["steps"]
    splits = [split for split in SPLITS if seed.get(split)]
    rows = sum(seed.values()) + sum(step["labelled"] for step in steps)
    labels = load_label_set(counts.get("label_set") or DEFAULT)
    columns = features(EXTENDED, labels=Labels(labels.labels))
    name = "EDOS labels, extended" if labels.name == DEFAULT else f"Extended labels, {labelled_with(labels)}"
    rejected = [
        [step["step"], plain(reason), f"{count:,}"] for step in steps for reason, count in step["rejected"].items()
    ]
    return render_card(
        "extended",
        single_header(EXTENDED, columns, name, ["weak-supervision"], splits, rows=rows),
        with_labels=_with(labels),
        config=EXTENDED,
        command=fenced(counts["command"]),
        seed=_counted(seed),
        pool="; ".join(f"{plain(name)}: {_figure(value)}" for name, value in counts["pool"].items()),
        rows=f"{counts['rows']:,}",
        methods=METHODS,
        steps_table=_steps_table(seed, steps),
        rejected_table=table(["step", "reason", "dialogues"], rejected) if rejected else "",
        label_table=_new_labels_table(steps, labels) if steps else "",
        citation=_CITED,
    )


def _steps_table(seed: Mapping[str, int], steps: Sequence[Mapping[str, Any]]) -> str:
    rows = [[0, "crowd", 0, "", f"{sum(seed.values()):,}", "", ""]]
    for step in steps:
        parameters = ", ".join(f"{plain(name)} {_figure(value)}" for name, value in step["parameters"].items())
        papers = "" if step.get("papers") is None else f"{step['papers']:,}"
        figures = [f"{step['read']:,}", f"{step['labelled']:,}", papers, parameters]
        rows.append([step["step"], plain(step["method"]), step["round"], *figures])
    return table(["step", "method", "round", "read", "new labels", "in the papers", "parameters"], rows)


def _new_labels_table(steps: Sequence[Mapping[str, Any]], labels: LabelSet) -> str:
    heads = [
        plain(f"{step['step']} {step['method']}") + (f", round {step['round']}" if step["round"] > 1 else "")
        for step in steps
    ]
    counts = [[plain(label), *(f"{step['by_label'].get(label, 0):,}" for step in steps)] for label in labels.labels]
    return table(["label", *heads], counts)


def _figure(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else plain(value)


def labels_only_card(manifest: Mapping[str, Any], models: Mapping[str, Mapping[str, Any]], recipe: str) -> str:
    """Return the card of labels without text.

    Args:
        manifest: As `labels_only.write_labels_only` returns it.
        models: Name of each model that assigned labels → record of its training.
        recipe: Name of the YAML file with the pipeline in the folder.
    """
    dialogues = sum(manifest["dialogues"].values())
    written = ConfigFiles(LABELS_ONLY, labels=manifest["labels"], label_set=manifest.get("label_set"))
    own = labelled_with(written.set_of_labels) if written.label_set else ""
    title = "EDOS: the labels of dialogues from subtitles, without their text"
    header = single_header(
        LABELS_ONLY,
        features(LABELS_ONLY, labels=written.columns),
        f"Labels without text, {own}" if own else "EDOS, labels without text",
        ["weak-supervision"],
        [split for split in SPLITS if manifest["dialogues"][split]],
        licence="labels-without-text",
        rows=dialogues,
        languages=sorted(manifest["languages"]),
    )
    versions = ", ".join(plain(f"{name} {number}") for name, number in (manifest["versions"] or {}).items())
    return render_card(
        "labels_only",
        header,
        title=f"Dialogues from subtitles, {plain(own)}: the labels without their text" if own else title,
        config=LABELS_ONLY,
        recipe=recipe,
        source_config=manifest["config"],
        dialogues=f"{dialogues:,}",
        splits=_counted(manifest["dialogues"]),
        turns=f"{sum(manifest['turns'].values()):,}",
        fingerprint=code(manifest["fingerprint"]),
        versions=versions or "versions that are not stated",
        label_table=label_table(written),
        model_table=model_table(models),
        citation=_CITED,
    )
