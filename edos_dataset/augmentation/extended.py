"""The data set that `edos extend` writes, the config `extended`: the seed and, in its training part, what got a label
from it.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from edos_dataset.labels import LABELS
from edos_dataset.publishing.cards.texts import closing
from edos_dataset.publishing.single import front_matter, loading, read_single, write_single
from edos_dataset.schema import SPLITS, features, list_of

if TYPE_CHECKING:
    from datasets import Features

CONFIG = "extended"
COUNTS = "extend.json"
METHODS = {"crowd": "people", "spread": "the nearest labelled dialogue", "self-label": "a classifier"}
"""Each method of the column `method`, and who gave its labels."""

_FLAWS = """\
- **The labels of the methods "spread" and "self-label" are guesses of a machine.** Nobody has read them. `audit.html` shows some of each label, the doubtful
  ones too, to judge them by eye: do that before you train on them.
- **Only the training part is extended.** `validation` and `test` are the seed's, labelled by people; measure on them.
- **The label is of the last turn.** The turns before it are its history.
- **Errors add up.** A later step learns from the labels of the earlier ones, wrong ones too; `step` tells them apart, so leave steps out where they do harm.
- **Licence.** This folder carries none of its own. Its dialogues are subtitles, under their studios' copyright: don't publish the text unless you may."""


def extended_features() -> "Features":
    """Return the `datasets.Features` of the config: those of the seed but for `answers`, and where each label comes
    from.
    """
    from datasets import ClassLabel, Features, Value

    return Features(
        {
            "dialogue_id": Value("string"),
            "turns": features("os")["turns"],
            "label": ClassLabel(names=list(LABELS)),  # of the last turn
            "soft_label": list_of(Value("float32"), length=len(LABELS)),  # probabilities, by label id
            "method": Value("string"),  # one of METHODS
            "step": Value("int32"),  # the step that gave the label; 0 for the seed
            "round": Value("int32"),  # of the method; 0 for the seed
            "seed_id": Value("string"),  # spread: id of the dialogue whose label it got, otherwise null
            "similarity": Value("float64"),  # spread: cosine with that dialogue, otherwise null
            "confidence": Value("float32"),  # self-label: calibrated probability of the label, otherwise null
        }
    )


def write_extended(out: Path, tables: Mapping[str, pa.Table], counts: Mapping[str, Any], card: str) -> None:
    """Write the data set as a folder that `datasets.load_dataset(out, "extended")` loads; what it held of an earlier
    one is replaced at one stroke each.

    Args:
        out: the folder; the caller holds it (`shards.locked`).
        tables: split → its rows, with the columns of `extended_features` in any order.
        counts: what goes into `extend.json`, as `card` takes it.
        card: the README.

    Raises:
        ValueError: a table lacks a column or holds values of another type.
    """
    schema = extended_features().arrow_schema
    cast = {}
    for split, table in tables.items():
        if lacking := [name for name in schema.names if name not in table.column_names]:
            raise ValueError(f"the rows of {split} have no column {lacking[0]!r}: expected {', '.join(schema.names)}")
        cast[split] = table.select(schema.names).cast(schema)
    write_single(out, CONFIG, cast, {COUNTS: json.dumps(counts, indent=1, ensure_ascii=False), "README.md": card})


def read_extended(folder: Path, splits: Sequence[str] = SPLITS) -> pa.Table:
    """Return the dialogues of some splits, in their order, with the column `split`.

    Raises:
        FolderError: the folder holds none, or damaged ones.
    """
    return read_single(folder, CONFIG, splits, extended_features(), "edos extend")


def card(counts: Mapping[str, Any]) -> str:
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
        front_matter(CONFIG, extended_features(), "EDOS labels, extended", ["weak-supervision"], splits, rows=rows),
        "# Dialogues labelled by people, and by what learned from them",
        "## Know its flaws first\n\n" + _FLAWS,
        loading(CONFIG),
        "## How it was made\n\n" + _making(counts),
        "## What each step gave\n\n" + _steps(counts),
        "## New labels by step\n\n" + _labels(counts["steps"]),
        closing(opus=True),
    ]
    return "\n\n".join(sections) + "\n"


def _making(counts: Mapping[str, Any]) -> str:
    seed = ", ".join(f"{split} {count:,}" for split, count in counts["seed"].items())
    pool = "; ".join(f"{name}: {_plain(value)}" for name, value in counts["pool"].items())
    methods = "\n".join(f"- `{name}`: the label is by {who}" for name, who in METHODS.items())
    return (
        f"```\n{counts['command']}\n```\n\nSeed: {seed}. Pool: {pool or 'not described'}. Rows: "
        f"{counts['rows']:,}.\n\n{methods}"
    )


def _steps(counts: Mapping[str, Any]) -> str:
    lines = [
        "| step | method | round | read | new labels | in the papers | parameters |",
        "|---|---|---|---|---|---|---|",
    ]
    lines.append(f"| 0 | crowd | 0 | | {sum(counts['seed'].values()):,} | | |")
    rejected = []
    for step in counts["steps"]:
        parameters = ", ".join(f"{name} {_plain(value)}" for name, value in step["parameters"].items())
        papers = "" if step.get("papers") is None else f"{step['papers']:,}"
        cells = [
            step["step"],
            step["method"],
            step["round"],
            f"{step['read']:,}",
            f"{step['labelled']:,}",
            papers,
            parameters,
        ]
        lines.append(f"| {' | '.join(map(str, cells))} |")
        rejected += [f"| {step['step']} | {reason} | {count:,} |" for reason, count in step["rejected"].items()]
    if rejected:
        lines += ["", "What got no label, and why:", "", "| step | reason | dialogues |", "|---|---|---|", *rejected]
    return "\n".join(lines)


def _labels(steps: Sequence[Mapping[str, Any]]) -> str:
    if not steps:
        return "There was no step beside the seed."
    heads = [
        f"{step['step']} {step['method']}" + (f", round {step['round']}" if step["round"] > 1 else "") for step in steps
    ]
    lines = [f"| label | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    for label in LABELS:
        found = [f"{step['by_label'].get(label, 0):,}" for step in steps]
        lines.append(f"| {label} | {' | '.join(found)} |")
    return "\n".join(lines)


def _plain(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value).replace("|", "\\|")
