"""The README of an extended data set: rendered from what was counted, never typed."""

from collections.abc import Mapping, Sequence
from typing import Any

from edos_dataset.augmentation.extended import METHODS
from edos_dataset.labels import LABELS
from edos_dataset.publishing.cards.headers import front_matter, loading
from edos_dataset.publishing.cards.markdown import fenced, plain, table
from edos_dataset.publishing.cards.texts import closing
from edos_dataset.schema import EXTENDED, SPLITS, features

_FLAWS = """\
- **The labels of the methods "spread" and "self-label" are guesses of a machine.** Nobody has read them. `audit.html` \
shows some of each label, the doubtful
  ones too, to judge them by eye: do that before you train on them.
- **Only the training part is extended.** `validation` and `test` are the seed's, labelled by people; measure on them.
- **The label is of the last turn.** The turns before it are its history.
- **Errors add up.** A later step learns from the labels of the earlier ones, wrong ones too; `step` tells them apart, \
so leave steps out where they do harm.
- **Licence.** This folder carries none of its own. Its dialogues are subtitles, under their studios' copyright: don't \
publish the text unless you may."""


def extended_card(counts: Mapping[str, Any]) -> str:
    """Return the README of such a folder.

    Args:
        counts: `seed` (split → dialogues of the seed), `steps` (a mapping each with `step`, `method`, `round`,
            `parameters`, `read`, `labelled`, `rejected` by reason, `by_label`, and `papers`, the papers' count of new
            labels or None), `rows` (dialogues of the training part or of all, as the caller counts them), `pool` (facts
            of the pool), `command` (the command line).
    """
    splits = [split for split in SPLITS if counts["seed"].get(split)]
    rows = sum(counts["seed"].values()) + sum(step["labelled"] for step in counts["steps"])
    sections = [
        front_matter(EXTENDED, features(EXTENDED), "EDOS labels, extended", ["weak-supervision"], splits, rows=rows),
        "# Dialogues labelled by people, and by what learned from them",
        "## Know its flaws first\n\n" + _FLAWS,
        loading(EXTENDED),
        "## How it was made\n\n" + _making(counts),
        "## What each step gave\n\n" + _steps(counts),
        "## New labels by step\n\n" + _labels(counts["steps"]),
        closing(opus=True),
    ]
    return "\n\n".join(sections) + "\n"


def _making(counts: Mapping[str, Any]) -> str:
    seed = ", ".join(f"{split} {count:,}" for split, count in counts["seed"].items())
    pool = "; ".join(f"{plain(name)}: {_plain(value)}" for name, value in counts["pool"].items())
    methods = "\n".join(f"- `{name}`: the label is by {who}" for name, who in METHODS.items())
    return (
        f"{fenced(counts['command'])}\n\nSeed: {seed}. Pool: {pool or 'not described'}. Rows: "
        f"{counts['rows']:,}.\n\n{methods}"
    )


def _steps(counts: Mapping[str, Any]) -> str:
    rows = [[0, "crowd", 0, "", f"{sum(counts['seed'].values()):,}", "", ""]]
    rejected = []
    for step in counts["steps"]:
        parameters = ", ".join(f"{plain(name)} {_plain(value)}" for name, value in step["parameters"].items())
        papers = "" if step.get("papers") is None else f"{step['papers']:,}"
        figures = [f"{step['read']:,}", f"{step['labelled']:,}", papers, parameters]
        rows.append([step["step"], plain(step["method"]), step["round"], *figures])
        rejected += [[step["step"], plain(reason), f"{count:,}"] for reason, count in step["rejected"].items()]
    steps = table(["step", "method", "round", "read", "new labels", "in the papers", "parameters"], rows)
    if not rejected:
        return steps
    return f"{steps}\n\nWhat got no label, and why:\n\n{table(['step', 'reason', 'dialogues'], rejected)}"


def _labels(steps: Sequence[Mapping[str, Any]]) -> str:
    if not steps:
        return "There was no step beside the seed."
    heads = [
        plain(f"{step['step']} {step['method']}") + (f", round {step['round']}" if step["round"] > 1 else "")
        for step in steps
    ]
    counts = [[label, *(f"{step['by_label'].get(label, 0):,}" for step in steps)] for label in LABELS]
    return table(["label", *heads], counts)


def _plain(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else plain(value)
