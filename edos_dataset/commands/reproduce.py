"""The verb `reproduce`: every claim, table and figure of the papers beside the same figure of ours."""

import json
import os
from collections.abc import Sequence
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from edos_dataset.commands.options import Result, verb
from edos_dataset.commands.progress import steps
from edos_dataset.reproduction import Data, Row, load_rows
from edos_dataset.reproduction import reproduce as measured
from edos_dataset.reproduction.page import markdown, page, summary
from edos_dataset.reproduction.results import Result as Reproduced
from edos_dataset.reproduction.rows import COSTS, MEASURED
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.stores.paths import local_place
from edos_dataset.version import __version__
from edos_dataset.wording import counted

SUFFIXES = (".html", ".md", ".json")


@verb
def reproduce(
    names: Sequence[str] = (),
    *,
    cost: str | None = None,
    data: str | Path | None = None,
    run: str | Path | None = None,
    results: str | Path = "reproduced",
    out: str | Path | None = None,
    progress: bool | None = None,
) -> Result:
    """Set the papers' figures beside those of public data and of a run of yours, as `edos reproduce` does.

    Args:
        names: rows such as "E44"; by default all.
        cost: only rows that take at most this long: "seconds" or "minutes"; by default all are shown, and those that
            take seconds or minutes are measured.
        data: folder of the data sets, as `edos download` fills it; by default EDOS_DATA_DIR.
        run: folder written by `edos curate`, for the column "ours on yours".
        results: folder in which the commands of the long rows wrote; its figures are collected.
        out: page to write, with Markdown and JSON of the same name beside it.
        progress: whether to say what is measured, by default in terminals and notebooks.

    Returns:
        `rows`, for each its `row`, `paper`, `at`, `claim`, `cost`, `verdict`, `reason`, `here`, `command` and
        `figures`: name → `paper`, `authors`, `ours` and `yours`, the last three with `value`, `low`, `high`, `number`
        and `seed`, or null; `verdicts`, how many rows have each; `inputs`, the SHA-256 of each file read; and `date`
        and `version`.

    Raises:
        ValueError: a row or a cost is unknown; the message has the nearest.
    """
    rows = chosen(names, cost)
    folder = data if data is not None else os.environ.get("EDOS_DATA_DIR") or None
    place = None if out is None else local_place(out, "--out of `edos reproduce`")
    if place is not None and place.suffix not in SUFFIXES:
        raise ValueError(f"--out {out}: give a page, such as papers.html; .md and .json are written beside it")
    read = Data(None if folder is None else Path(folder), None if run is None else Path(run), Path(results))
    done: list[Reproduced] = []
    with steps(progress) as say:
        for row in rows:
            if row.cost in MEASURED:
                say(f"measuring {row.name}, {row.claim[:60]}")
            done += measured([row], read)
    content: dict[str, Any] = {
        "date": date.today().isoformat(),
        "version": __version__,
        "verdicts": summary(done),
        "inputs": read.inputs(),
        "rows": [it.as_dict() for it in done],
    }
    if place is not None:
        _write(place, done, content)
    return Result("reproduce", content | {"results": done}, place, summary(done))


def chosen(names: Sequence[str] = (), cost: str | None = None) -> list[Row]:
    """Return the rows of these names, or all, that take at most this long.

    Raises:
        ValueError: a row or a cost is unknown.
    """
    rows = {row.name: row for row in load_rows()}
    for name in names:
        if name not in rows:
            near = get_close_matches(name.upper(), rows, 3, 0.5)
            meant = f"; did you mean {' or '.join(near)}?" if near else ""
            raise ValueError(f"no row {name!r} among {counted(len(rows), 'rows')}: edos reproduce --list{meant}")
    if cost is not None and cost not in MEASURED:
        raise ValueError(f"--class {cost}: give one of {', '.join(MEASURED)}; the others are not measured here")
    wanted = list(rows.values()) if not names else [rows[name] for name in names]
    limit = len(COSTS) if cost is None else COSTS.index(cost)
    return [row for row in wanted if COSTS.index(row.cost) <= limit]


def _write(place: Path, done: Sequence[Reproduced], content: dict[str, Any]) -> None:
    texts = {
        ".html": page(done, content["date"], __version__),
        ".md": markdown(done),
        ".json": json.dumps(content, indent=1, ensure_ascii=False) + "\n",
    }
    place.parent.mkdir(parents=True, exist_ok=True)
    for suffix, text in texts.items():
        write_text(place.with_suffix(suffix), text)
