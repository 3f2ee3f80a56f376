"""What a finished run dropped: how much for which reason, and, where the run kept it, the text."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.shards import read_record
from edos_dataset.schema import DETAIL, REASON, meaning

_ROWS = 100  # a batch: a row may be a film


def reasons_of(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return why a run dropped what, the stages in their order, the most frequent reasons first: `stage`, `unit`,
    `reason`, `count` and `meaning`.
    """
    return [
        {"stage": stage["stage"], "unit": stage["unit"], "reason": reason, "count": count, "meaning": meaning(reason)}
        for stage in manifest["stages"]
        for reason, count in sorted(stage["rejected"].items(), key=lambda item: (-item[1], item[0]))
    ]


def kept_rejects(run: Path, manifest: Mapping[str, Any]) -> list[Path]:
    """Return the files in which a run kept what it dropped; none if it was not told to.

    Folders of phases that an earlier recipe had are left out.
    """
    parts = manifest.get("runs") or {"": manifest}
    return [path for part, of_part in parts.items() for path in _of_a_run(run / ".run" / part, of_part)]


def _of_a_run(run: Path, manifest: Mapping[str, Any]) -> list[Path]:
    by_number: dict[int, list[tuple[Path, list[str]]]] = defaultdict(list)
    for folder in sorted(run.glob("[0-9][0-9]-*")):
        shards = (path for path in sorted(folder.glob("*.parquet")) if "." not in path.stem)
        record = next((record for path in shards if (record := read_record(path, verify=False))), None)
        if record is not None:
            by_number[int(folder.name[:2])].append((folder, [count.stage for count in record.counts]))
    folders = _chain(by_number, 1, [stage["stage"] for stage in manifest["stages"]])
    return [path for folder in folders or () for path in sorted(folder.glob("*.rejects.parquet"))]


def _chain(
    phases: Mapping[int, Sequence[tuple[Path, list[str]]]], number: int, stages: Sequence[str]
) -> list[Path] | None:
    """Return the folders, from the one of this number on, that together did these stages; None if none did."""
    if not stages:
        return []
    for folder, done in phases.get(number, ()):
        if done and list(stages[: len(done)]) == done:
            rest = _chain(phases, number + 1, stages[len(done) :])
            if rest is not None:
                return [folder, *rest]
    return None


def rejected_units(
    paths: Sequence[Path], manifest: Mapping[str, Any], reason: str | None = None, stage: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield what was dropped, a unit of its stage each, read piece by piece.

    Args:
        paths: as `kept_rejects` gives them.
        manifest: of the run.
        reason: only what was dropped for it.
        stage: only what it dropped.

    Yields:
        `stage`, `reason`, `document` (id of the dialogue, or else of the document), `path` and `detail` (each null
        where it is not known), and `texts`: those of a dialogue's turns, of one turn or line, none of a file.

    Raises:
        FolderError: a file is damaged.
    """
    units = {entry["stage"]: entry["unit"] for entry in manifest["stages"]}
    wanted = [(column, value) for column, value in ((REASON, reason), ("stage", stage)) if value is not None]
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(_ROWS):
                    table = pa.Table.from_batches([batch])
                    for column, value in wanted:
                        table = table.filter(pc.equal(table[column], value))
                    for row in table.to_pylist():
                        yield from _units(row, units[row["stage"]])
        except (OSError, pa.ArrowException, KeyError) as error:
            raise FolderError(
                f"cannot read {path} ({error}): give the command that made it with --rejects again"
            ) from error


def _units(row: Mapping[str, Any], unit: str) -> Iterator[dict[str, Any]]:
    """Yield the units of one row: a row of turns or lines has one for each of them."""
    texts = [member["text"] for member in (row.get("turns" if unit == "dialogues" else unit) or ())]
    facts = {
        "stage": row["stage"],
        "reason": row[REASON],
        "document": row.get("dialogue_id") or row["document_id"],
        "path": (row.get("source") or {}).get("path"),
        "detail": row.get(DETAIL),
    }
    for together in [texts] if unit in ("files", "books", "dialogues") else [[text] for text in texts]:
        yield {**facts, "texts": together}
