"""The audit of labels of `edos extend`: random and doubtful examples of every label of every step, for people to judge
on the page of `edos_dataset.audits.label_page`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Floats, Ints
from edos_dataset.audits.documents import Line
from edos_dataset.audits.label_page import RANDOM, WORST, Example, LabelPage, render_labels
from edos_dataset.augmentation.extended import COUNTS, METHODS, read_extended
from edos_dataset.crowd.names import MISSING
from edos_dataset.label_sets import label_set_of
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.untrusted import json_of
from edos_dataset.schema import EXTENDED
from edos_dataset.wording import counted

_Counts = Mapping[tuple[int, str], Sequence[int]]
"""Step and method → number of dialogues of each label, by label id."""


def write_audit(
    folder: Path, out: Path, per_label: int = 5, seed: int = 0, around: int = 6, blind: bool = False
) -> None:
    """Write the page: for every step and label, dialogues drawn at random and the most doubtful of the others.

    The most doubtful have the lowest cosine (spread), confidence (self-label) or fraction of the answers (crowd). The
    same folder, numbers and seed give the same bytes. The page needs neither network nor other files, so it can be
    sent to those who judge it.

    Args:
        folder: the output of `edos extend`.
        out: the HTML file; an older one is replaced.
        per_label: examples of each kind per step and label; each adds about 0.1 MB per step.
        seed: seed of the random sample.
        around: maximum number of turns to show before the labelled one, the last.
        blind: whether the page hides the label until the reader has given one.

    Raises:
        FolderError: `edos extend` did not write the folder, or did not finish it.
        ValueError: `per_label` is below 1.
    """
    if per_label < 1:
        raise ValueError(f"per_label must be at least 1 example, got {per_label}")
    page = _page(read_extended(folder), _steps_of(folder), per_label, seed, around, blind)
    write_text(out, render_labels(page))


def _steps_of(folder: Path) -> dict[int, list[dict[str, Any]]]:
    """Return the entries of each step in `extend.json`, one per round; nothing if the file is missing or damaged."""
    rounds: dict[int, list[dict[str, Any]]] = {}
    try:
        for step in json_of((folder / COUNTS).read_bytes())["steps"]:
            rounds.setdefault(step["step"], []).append(step)
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return rounds


def _page(
    table: pa.Table,
    recorded: Mapping[int, Sequence[Mapping[str, Any]]],
    per_label: int,
    seed: int,
    around: int,
    blind: bool,
) -> LabelPage:
    steps, labels, doubt = np.asarray(table["step"]), np.asarray(table["label"].fill_null(MISSING)), _certainty(table)
    place = {name: row for row, name in enumerate(table["dialogue_id"].to_pylist())}
    counts: dict[tuple[int, str], list[int]] = {}
    names = label_set_of(table.schema).labels
    drawn: dict[str, list[Example]] = {RANDOM: [], WORST: []}
    for step in np.unique(steps).tolist():
        method = table["method"][int(np.argmax(steps == step))].as_py()
        counts[step, method] = [int(((steps == step) & (labels == label)).sum()) for label in range(len(names))]
        for label in range(len(names)):
            rows = np.flatnonzero((steps == step) & (labels == label))
            for row, draw in _draw(rows, doubt, per_label, Random(f"{seed} {step} {label}")):
                drawn[draw].append(_example(table, place, row, draw, len(rows), names, around))
    for examples in drawn.values():
        Random(f"{seed} order").shuffle(examples)
    return LabelPage(
        f"{counted(sum(map(sum, counts.values())), 'labelled dialogues')}: are the labels right?",
        EXTENDED,
        names,
        [*drawn[RANDOM], *drawn[WORST]],
        blind,
        [(str(step), f"{step} {method}") for step, method in counts],
        _about(counts, recorded, names),
    )


def _certainty(table: pa.Table) -> Floats:
    """Return how sure each label is, by the measure of its method; comparable only within one step."""
    width = len(label_set_of(table.schema))
    soft = np.asarray(table["soft_label"].combine_chunks().flatten(), np.float32).reshape(len(table), width)
    labels = np.asarray(table["label"].fill_null(0))
    sure: Floats = soft[np.arange(len(table)), labels]
    for name in ("similarity", "confidence"):
        values = np.asarray(table[name].to_numpy(), np.float32)
        sure = np.where(np.isnan(values), sure, values)
    return sure


def _draw(rows: Ints, certainty: Floats, number: int, random: Random) -> list[tuple[int, str]]:
    """Return random rows, which represent all, then the least certain of the others."""
    chosen = random.sample(rows.tolist(), min(number, len(rows)))
    rest = np.setdiff1d(rows, chosen)
    worst = rest[np.argsort(certainty[rest], kind="stable")][:number].tolist()
    return [*((row, RANDOM) for row in chosen), *((row, WORST) for row in worst)]


def _example(
    table: pa.Table, place: Mapping[str, int], row: int, draw: str, rows: int, names: Sequence[str], around: int
) -> Example:
    record = table.slice(row, 1).to_pylist()[0]
    seed_row = place.get(record["seed_id"]) if record["seed_id"] is not None else None
    texts = _texts(record)
    earlier = max(0, len(texts) - 1 - around)
    lines = [Line(text, record["dialogue_id"], number, ()) for number, text in enumerate(texts, 1)][earlier:]
    return Example(
        item=record["dialogue_id"],
        label=names[record["label"]],
        rows=rows,
        draw=draw,
        lines=[*lines[:-1], replace(lines[-1], judged=True)],
        earlier=earlier,
        facts={name: record[name] for name in ("step", "method", "dialogue_id", "split", "round")},
        why=_why(record, seed_row is not None),
        model=() if record["similarity"] is not None else _most_probable(np.asarray(record["soft_label"]), names),
        of="fractions of the answers" if record["confidence"] is None else "probabilities",
        seed=[] if seed_row is None else _texts(table.slice(seed_row, 1).to_pylist()[0]),
    )


def _why(record: Mapping[str, Any], known: bool) -> str:
    if record["similarity"] is not None:
        missing = "" if known else ", which is not in this data set"
        return f"cosine {record['similarity']:.3f} with {record['seed_id']}{missing}"
    return "" if record["confidence"] is None else f"confidence {record['confidence']:.3f}"


def _most_probable(soft: Floats, names: Sequence[str]) -> list[tuple[str, float]]:
    order = np.argsort(-soft, kind="stable")[:4].tolist()
    return [(names[label], float(soft[label])) for label in order if soft[label] >= 0.005]


def _texts(record: dict[str, Any]) -> list[str]:
    return [turn["text"] for turn in record["turns"]]


def _about(counts: _Counts, recorded: Mapping[int, Sequence[Mapping[str, Any]]], names: Sequence[str]) -> str:
    """Return how the labels were made, as HTML: a table of labels by step, and what each step read and rejected."""
    steps = "".join(
        f"<dt>{_title(step, method)}</dt><dd>label by {METHODS.get(method, 'a method that this page does not know')}"
        f"{''.join(f'<br>{_facts(record)}' for record in recorded.get(step, ()))}</dd>"
        for step, method in counts
    )
    return (
        '<details><summary>Dialogues by label and step</summary><div class="scroll"><table>\n'
        f"{_table(counts, names)}\n</table></div><dl>{steps}</dl></details>"
    )


def _title(step: int, method: str) -> str:
    return f"Step {step}: {escape(method)}" if step else "The seed: crowd"


def _table(counts: _Counts, names: Sequence[str]) -> str:
    heads = "".join(f'<th scope="col">{step} {escape(method)}</th>' for step, method in counts)
    totals = "".join(f"<td>{sum(own):,}</td>" for own in counts.values())
    lines = [
        f'<thead><tr><th scope="col">label</th>{heads}</tr></thead>',
        f'<tbody><tr class="total"><th scope="row">all</th>{totals}</tr>',
    ]
    for label, name in enumerate(names):
        cells = "".join(_cell(step, escape(name), own[label], max(own)) for (step, _), own in counts.items())
        lines.append(f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>')
    return "\n".join([*lines, "</tbody>"])


def _cell(step: int, label: str, count: int, largest: int) -> str:
    if not count:
        return '<td class="none">0</td>'
    bar = f'<i style="width:{max(1, round(100 * count / largest))}%"></i>'
    return (
        f'<td><a href="#filters" data-step="{step}" data-label="{label}" title="judge {label} of step '
        f'{step}">{count:,}{bar}</a></td>'
    )


def _facts(record: Mapping[str, Any]) -> str:
    parameters = ", ".join(f"{name} {value}" for name, value in record.get("parameters", {}).items())
    rejected = ", ".join(f"{reason} {count:,}" for reason, count in record.get("rejected", {}).items())
    papers = "" if record.get("papers") is None else f" (the papers: {record['papers']:,})"
    text = (
        f"Round {record.get('round', 1)}: {record.get('read', 0):,} read, {record.get('labelled', 0):,} "
        f"labelled{papers}."
    )
    return escape(
        text + (f" Rejected: {rejected}." if rejected else "") + (f" With {parameters}." if parameters else "")
    )
