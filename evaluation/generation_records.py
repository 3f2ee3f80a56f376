"""The records of `generation.py`: a JSON file for each cell of the matrix, and one that tells of the sets."""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edos_dataset.runs.shards import write_text

MATRIX = "matrix.json"
REFERENCES = ("RT", "GT")
"""Rows that are no models: answers of the training part drawn at random, and the true ones."""


def slug(text: str) -> str:
    """Return a name as files can have it."""
    return re.sub(r"[^\w.-]+", "-", text)


def read_cell(path: Path, key: str) -> dict[str, Any] | None:
    """Return the cell that a file keeps under a key; None where there is none, or it is torn."""
    with suppress(OSError, ValueError, AttributeError):
        cell: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if cell.get("key") == key:
            return cell
    return None


def kept_cell(path: Path, key: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the cell that a file keeps under a key; make and keep it, with the seconds that took, where there is none.

    The file is whole or absent; one of another key, or torn by other means, is made again.
    """
    if (kept := read_cell(path, key)) is not None:
        return kept
    began = time.monotonic()
    cell = {"key": key, **make()}
    cell["seconds"] = round(time.monotonic() - began, 1)
    write_text(path, as_json(cell))
    return cell


@dataclass(frozen=True)
class Ahead:
    """What is still to be measured of a model.

    Attributes:
        cells: of the model, kept ones too.
        lacking: those that no record keeps.
        answers: to be written for them.
        seconds: that these may take, at the pace of the first few.
    """

    cells: int
    lacking: int
    answers: int
    seconds: float


def told_ahead(parts: Sequence[Ahead]) -> str:
    """Return a sentence on what is to be measured, and how long it may take."""
    cells, lacking, answers = (sum(getattr(part, name) for part in parts) for name in ("cells", "lacking", "answers"))
    if not lacking:
        return f"all {cells} cells of the models are kept"
    minutes = sum(part.seconds for part in parts) / 60
    return (
        f"{lacking} of {cells} cells of the models are to be measured, {answers:,} answers: about "
        f"{max(1, round(minutes)):,} min at the pace of each model's first few; perplexities and measures come on top"
    )


def as_json(content: Mapping[str, Any]) -> str:
    """Return a record as it is written."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def read_records(records: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what `matrix.json` tells, and the cells of the same sets and contexts in the order of their rows: models,
    those of the last run first, then RT and GT. Cells of other contexts are passed over.

    Raises:
        ValueError: there are no records, or one is damaged.
    """
    path = records / MATRIX
    if not path.is_file():
        raise ValueError(f"{path} is not there: name the folder of --records of a run that measured")
    content = _read(path)
    digests = {name: held["digest"] for name, held in content["sets"].items()}
    cells = [_read(each) for each in sorted(records.glob("*--*.json"))]
    cells = [cell for cell in cells if digests.get(cell["set"]) == cell["digest"]]
    names = content["models"]

    def place(cell: Mapping[str, Any]) -> tuple[int, int, str, bool]:
        name = cell.get("model")
        if name is None:
            return 2, REFERENCES.index(cell["row"]), "", False
        known = name in names
        return int(not known), names.index(name) if known else 0, name, cell["condition"] == "predicted"

    return content, sorted(cells, key=place)


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no record of a cell: {error}; remove it, and measure again") from error
    return found
