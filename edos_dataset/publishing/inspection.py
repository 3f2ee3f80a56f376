"""Inspection of a finished folder or a loaded dataset: its contents, random dialogues, and what was rejected."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.arrays import unnest
from edos_dataset.label_sets import DEFAULT, LabelSet, label_set_of, load_label_set
from edos_dataset.runs.arguments import fault_of
from edos_dataset.runs.folder import FolderError, config_files, configs_in
from edos_dataset.runs.manifest import NAME, read_manifest
from edos_dataset.runs.shards import read_record
from edos_dataset.runs.stores.paths import readable
from edos_dataset.schema import DETAIL, KEPT_FILE, REASON, REGISTRY, meaning

Tables = Callable[[], Iterator[pa.Table]]
"""Returns the rows of a config in batches, from the beginning at each call."""

_ROWS = 1_000
_REJECTED_ROWS = 100  # per batch, as a row may be a film


@dataclass(frozen=True)
class Wanted:
    """Conditions on dialogues: certainty within limits, and a label that meets all conditions on labels.

    Attributes:
        labels: Ids of the accepted labels; empty for any.
        least: Smallest confidence of the label, 0 to 1; for a label by people, its fraction in `soft_label`.
        most: Largest confidence of the label.
        least_certainty: Smallest certainty of the dialogue, 0 to 1, which excludes dialogues without certainty.
        most_certainty: Largest certainty of the dialogue, which excludes dialogues without certainty.
    """

    labels: tuple[int, ...] = ()
    least: float | None = None
    most: float | None = None
    least_certainty: float | None = None
    most_certainty: float | None = None

    @property
    def all(self) -> bool:
        """Whether every dialogue is wanted."""
        return self == Wanted()

    def places(self, table: pa.Table) -> np.ndarray:
        """Return the indices of the dialogues of a table that fulfil the conditions.

        Raises:
            ValueError: There are conditions on labels or on certainty, and the dialogues have none.
        """
        good = np.ones(len(table), bool)
        if self.labels or (self.least, self.most) != (None, None):
            rows, labels, confidences = _labels(table)
            right = np.isin(labels, self.labels) if self.labels else labels >= 0
            good = np.bincount(rows[right & _between(confidences, self.least, self.most)], minlength=len(table)) > 0
        if (self.least_certainty, self.most_certainty) != (None, None):
            good &= _between(_certainties(table), self.least_certainty, self.most_certainty)
        places: np.ndarray = np.flatnonzero(good)
        return places


def _between(values: np.ndarray, least: float | None, most: float | None) -> np.ndarray:
    """Return which values are within limits, either of which may be missing; NaN is only without limits."""
    inside = np.ones(len(values), bool)
    if least is not None:
        inside &= values >= least
    if most is not None:
        inside &= values <= most
    return inside


def _certainties(table: pa.Table) -> np.ndarray:
    """Return the certainty of each dialogue of a table, NaN for none."""
    if "certainty" not in table.column_names:
        raise ValueError("the config has no column `certainty` to select by; name another with --config")
    certainties: np.ndarray = table["certainty"].to_numpy().astype(float)
    return certainties


def _labels(table: pa.Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the labels of a table: the row, the label (-1 for none) and the confidence (NaN for none) of each."""
    if "label" in table.column_names:  # of the last turn
        labels = pc.fill_null(table["label"], -1).to_numpy()
        return np.arange(len(table)), labels, np.array([confidence_of(row) for row in _facts(table)], float)
    turns, offsets = unnest(table, "turns")
    if turns.type.get_field_index("label") < 0:
        raise ValueError("the config has no labels to select by; name another with --config")
    rows = np.repeat(np.arange(len(table)), np.diff(offsets))
    labels = pc.fill_null(turns.field("label"), -1).to_numpy(zero_copy_only=False)
    return rows, labels, turns.field("confidence").to_numpy(zero_copy_only=False).astype(float)


def _facts(table: pa.Table) -> list[dict[str, Any]]:
    names = [name for name in ("label", "confidence", "soft_label") if name in table.column_names]
    facts: list[dict[str, Any]] = table.select(names).to_pylist()
    return facts


def confidence_of(dialogue: Mapping[str, Any]) -> float | None:
    """Return the confidence of the label of a dialogue's last turn: its own, or its fraction in the soft label."""
    own: float | None = dialogue.get("confidence")
    if own is not None or dialogue["label"] is None or not dialogue.get("soft_label"):
        return own
    return float(dialogue["soft_label"][dialogue["label"]])


def folder_facts(folder: Path) -> dict[str, Any]:
    """Return the manifest of a folder, or for one without stages only its `configs`, each with its `splits` (split →
    dialogues).

    Raises:
        FolderError: No command of this package wrote it, or it is not finished.
    """
    configs = configs_in(folder) if folder.is_dir() else []
    if (folder / NAME).exists() or ((folder / ".run").exists() and not configs):
        return read_manifest(folder)
    if not configs:
        raise FolderError(
            f"{fault_of(folder)}: give what `edos curate`, `books`, `label`, `hydrate`, `labels-only`, `crowd seed` or "
            "`extend` wrote, or a dataset of the Hub as NAMESPACE/NAME"
        )
    return {"configs": {name: {"splits": _sizes(folder, name)} for name in configs}}


def _sizes(folder: Path, config: str) -> dict[str, int]:
    files = config_files(folder, config)
    return {split: sum(pq.read_metadata(readable(path)).num_rows for path in paths) for split, paths in files.items()}


def label_set_in(run: Path, manifest: Mapping[str, Any], config: str | None) -> LabelSet:
    """Return the label set of a folder's config; the arguments are those of `random_dialogues`. If the config or its
    files are missing, return that of EDOS.
    """
    name = config or next((name for name in REGISTRY if name in manifest["configs"]), "")
    path = next(iter(sorted((run / name).glob("*.parquet"))), None) if name in REGISTRY else None
    try:
        return load_label_set(DEFAULT) if path is None else label_set_of(pq.read_schema(readable(path)))
    except (OSError, pa.ArrowException):
        return load_label_set(DEFAULT)  # `random_dialogues` reports what is wrong with the file


def random_dialogues(
    run: Path,
    manifest: Mapping[str, Any],
    number: int,
    config: str | None,
    random: Random,
    wanted: Wanted | None = None,
) -> list[dict[str, Any]]:
    """Return random dialogues of a folder's config, drawn without replacement from all splits.

    Args:
        run: The folder.
        manifest: Its manifest, or the result of `folder_facts`.
        number: Number of dialogues; all, if there are fewer.
        config: One of its configs, or None for the first of `schema.REGISTRY` that it has.
        random: The random generator.
        wanted: Conditions; None for all dialogues.

    Raises:
        FolderError: The folder has no such config, or a file is damaged.
        ValueError: There are conditions on labels or on certainty, and the config has none.
    """
    configs = [name for name in REGISTRY if name in manifest["configs"]]
    config = config or next(iter(configs), "")
    if config not in configs:
        raise FolderError(f"{run} has no config {config!r}; it has {', '.join(configs) or 'none'}")
    paths = sorted((run / config).glob("*.parquet"))

    def tables() -> Iterator[pa.Table]:
        for path in paths:
            with pq.ParquetFile(readable(path)) as file:
                for batch in file.iter_batches(_ROWS):
                    yield pa.Table.from_batches([batch])

    try:
        total = sum(pq.read_metadata(readable(path)).num_rows for path in paths)
        return draw(tables, number, random, wanted or Wanted(), total)
    except (OSError, pa.ArrowException) as error:
        raise FolderError(f"cannot read the files of {run / config} ({error}): make the folder again") from error


def draw(tables: Tables, number: int, random: Random, wanted: Wanted, total: int) -> list[dict[str, Any]]:
    """Return random dialogues, drawn without replacement.

    Args:
        tables: Their rows, `total` in all; read twice, or once where all dialogues are wanted.
        number: Number of dialogues; all that fulfil the conditions, if there are fewer.
        random: The random generator.
        wanted: Conditions.
        total: Number of rows.
    """
    places: range | list[int] = range(total) if wanted.all else []
    if isinstance(places, list):
        first = 0
        for table in tables():
            places += (wanted.places(table) + first).tolist()
            first += len(table)
    rows = sorted(random.sample(places, min(number, len(places))))
    drawn: list[dict[str, Any]] = []
    first = 0
    for table in tables() if rows else ():
        here = [row - first for row in rows if first <= row < first + len(table)]
        first += len(table)
        if here:
            drawn += table.take(pa.array(here)).to_pylist()
        if len(drawn) == len(rows):
            break
    return drawn


def reasons_of(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the reasons for which a run rejected something, by stage, the most frequent first: `stage`, `unit`,
    `reason`, `count` and `meaning`.
    """
    return [
        {"stage": stage["stage"], "unit": stage["unit"], "reason": reason, "count": count, "meaning": meaning(reason)}
        for stage in manifest["stages"]
        for reason, count in sorted(stage["rejected"].items(), key=lambda item: (-item[1], item[0]))
    ]


def kept_rejects(run: Path, manifest: Mapping[str, Any]) -> list[Path]:
    """Return the files in which a run kept its rejects; none without --rejects.

    Folders of phases of an earlier recipe are left out.
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
    """Return the folders, from this number on, that together ran these stages; None if there are none."""
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
    """Yield what was rejected, one unit of its stage at a time, read in batches.

    Args:
        paths: The result of `kept_rejects`.
        manifest: Manifest of the run.
        reason: Only units rejected for this reason.
        stage: Only units rejected by this stage.

    Yields:
        `stage`, `reason`, `document` (id of the dialogue, or else of the document), `path`, `detail` and `kept`, the
        path of the file that is kept instead (null where not known), and `texts`: those of a dialogue's turns, of one
        turn or line, none of a file.

    Raises:
        FolderError: A file is damaged.
    """
    units = {entry["stage"]: entry["unit"] for entry in manifest["stages"]}
    wanted = [(column, value) for column, value in ((REASON, reason), ("stage", stage)) if value is not None]
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(_REJECTED_ROWS):
                    table = pa.Table.from_batches([batch])
                    for column, value in wanted:
                        table = table.filter(pc.equal(table[column], value))
                    for row in table.to_pylist():
                        yield from _units(row, units[row["stage"]])
        except (OSError, pa.ArrowException, KeyError) as error:
            raise FolderError(
                f"cannot read {path} ({error}): run the command that made it with --rejects again"
            ) from error


def _units(row: Mapping[str, Any], unit: str) -> Iterator[dict[str, Any]]:
    """Yield the units of one row; a row of turns or lines has one for each of them."""
    texts = [member["text"] for member in (row.get("turns" if unit == "dialogues" else unit) or ())]
    facts = {
        "stage": row["stage"],
        "reason": row[REASON],
        "document": row.get("dialogue_id") or row["document_id"],
        "path": (row.get("source") or {}).get("path"),
        "detail": row.get(DETAIL),
        "kept": row.get(KEPT_FILE),
    }
    for together in [texts] if unit in ("files", "books", "dialogues") else [[text] for text in texts]:
        yield {**facts, "texts": together}
