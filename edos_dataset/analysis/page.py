"""The report page: one HTML file with style, scripts, data, and a bounded sample of dialogues."""

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.analysis.batch import ROWS, batch_of, columns_of
from edos_dataset.analysis.counting import Part
from edos_dataset.analysis.counts import Counts
from edos_dataset.analysis.figures import surprising
from edos_dataset.analysis.label_system import LabelSystem
from edos_dataset.analysis.samples import Dialogue, dialogue_of
from edos_dataset.arrays import Ints
from edos_dataset.palette import style_sheet
from edos_dataset.runs.engines.base import Engine

_SCRIPTS = (
    "base.js",
    "tables.js",
    "drawing.js",
    "pictures.js",
    "flow.js",
    "browser.js",
    "sections.js",
    "more_sections.js",
    "matters.js",
    "start.js",
)


def render(figures: Mapping[str, Any], dialogues: Mapping[str, Any], rejects: Sequence[Mapping[str, Any]]) -> str:
    """Return the HTML of the page.

    Args:
        figures: As returned by `commands.report`.
        dialogues: As returned by `shown_dialogues`.
        rejects: Examples of rejected units, as returned by `rejected_units`.
    """
    assets = files("edos_dataset.analysis") / "page_assets"
    ours = "\n".join(assets.joinpath(name).read_text(encoding="utf-8") for name in _SCRIPTS)
    parts = {
        "@style@": style_sheet(":root", ":root[data-theme=dark]")
        + assets.joinpath("page.css").read_text(encoding="utf-8"),
        "@data@": in_script(to_json({"figures": figures, "shown": dialogues, "rejects": rejects}, None)),
        "@script@": ours,
    }
    page = assets.joinpath("page.html").read_text(encoding="utf-8")
    pieces = page.split("@@")
    return "".join(parts.get(f"@{piece}@", piece) for piece in pieces)


def to_json(content: object, indent: int | None = 1) -> str:
    """Return an object as JSON; NaN and infinity are errors."""
    separators = (",", ":") if indent is None else None
    return json.dumps(content, ensure_ascii=False, indent=indent, allow_nan=False, separators=separators)


def in_script(text: str) -> str:
    """Escape JSON for a script element, so that nothing in it ends the element or begins a comment."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


MOST_BYTES = 5_000_000
"""Largest size of the dialogues in a page."""


def wanted_places(counts: Counts, labels: LabelSystem) -> list[int]:
    """Return the positions of the dialogues that a page shows if there is space, in order of priority."""
    return counts.samples.places(list(_pairs(counts, labels).values()))


def shown_dialogues(
    counts: Counts, labels: LabelSystem, dialogues: Mapping[int, Dialogue], first: Sequence[int] = ()
) -> dict[str, Any]:
    """Return the dialogues that a page shows.

    Args:
        counts: Counts of the dataset.
        labels: Its label set.
        dialogues: Position → dialogue, for all of `wanted_places` and `first`.
        first: Positions of dialogues with a higher priority, to which the page links.

    Returns:
        `dialogues`, each once; `examples`: surprising pair ("before after") → ids; and `doubtful`: label → ids of the
        dialogues with its least confident turns.
    """
    shown: dict[str, Dialogue] = {}
    size = 0
    for dialogue in map(dialogues.__getitem__, (*first, *wanted_places(counts, labels))):
        if dialogue["id"] in shown:
            continue
        bytes_ = len(json.dumps(dialogue, ensure_ascii=False).encode())
        if size + bytes_ <= MOST_BYTES:
            shown[dialogue["id"]] = dialogue
            size += bytes_
    drawn = counts.samples
    return {
        "dialogues": [shown[name] for name in sorted(shown)],
        "examples": {
            name: [entry.name for entry in drawn.pair.groups.get(group, ()) if entry.name in shown]
            for name, group in _pairs(counts, labels).items()
        },
        "doubtful": {
            labels.names[group]: [entry.name for entry in entries if entry.name in shown]
            for group, entries in sorted(drawn.doubtful.groups.items())
        },
    }


def _pairs(counts: Counts, labels: LabelSystem) -> dict[str, int]:
    """Return surprising pair ("before after") → the group of its examples."""
    ids = {name: number for number, name in enumerate(labels.names)}
    return {
        f"{pair['before']} {pair['after']}": ids[pair["before"]] * counts.labels + ids[pair["after"]]
        for pair in surprising(counts.transitions, labels.names)
    }


def dialogues_at(parts: Sequence[Part], places: Iterable[int], engine: Engine) -> dict[int, Dialogue]:
    """Return position → dialogue; each row group that contains one is read once.

    Args:
        parts: All parts, by number.
        places: Part and row in one number, as in `runs.near_duplicates`.
        engine: Engine that reads the parts.
    """
    wanted = np.unique(np.fromiter(places, np.int64))
    numbers, begin = np.unique(wanted >> 32, return_index=True)
    tasks = [(parts[number], here) for number, here in zip(numbers.tolist(), np.split(wanted, begin[1:]), strict=False)]
    found: dict[int, Dialogue] = {}
    for one in engine.map(_dialogues_of_part, tasks):
        found |= one
    return found


def _dialogues_of_part(task: tuple[Part, Ints]) -> dict[int, Dialogue]:
    part, places = task
    found: dict[int, Dialogue] = {}
    with pq.ParquetFile(part.path) as file:
        columns, begin = columns_of(file.schema), part.number << 32
        for group in part.groups:
            end = begin + file.metadata.row_group(group).num_rows
            here = places[np.searchsorted(places, begin) : np.searchsorted(places, end)]
            batches = file.iter_batches(ROWS, row_groups=[group], columns=columns) if len(here) else ()
            for rows in batches:
                inside = here[(here >= begin) & (here < begin + len(rows))]
                batch = batch_of(pa.Table.from_batches([rows]).take(pa.array(inside - begin)), part.split)
                second = batch.second()
                found |= {place: dialogue_of(batch, row, second) for row, place in enumerate(inside.tolist())}
                begin += len(rows)
            begin = end
    return found
