"""Reading a finished folder, or a loaded data set, back: what it has, and a few of its dialogues."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.arrays import unnest
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.manifest import NAME, read_manifest
from edos_dataset.runs.stores.transfer import readable
from edos_dataset.runs.tables import config_files, configs_in
from edos_dataset.schema import REGISTRY

Tables = Callable[[], Iterator[pa.Table]]
"""Gives the rows of a config, piece by piece, from the beginning each time."""

_ROWS = 1_000


@dataclass(frozen=True)
class Wanted:
    """Which dialogues are wanted: those that are as sure as this, and have a label that is all of this.

    Attributes:
        labels: ids, one of which it is; empty for any.
        least: confidence that it has at least, 0 to 1. Of a label that people gave it is the share in `soft_label`.
        most: and at most.
        least_certainty: certainty that the dialogue has at least, 0 to 1; one without certainty is not wanted then.
        most_certainty: and at most; likewise.
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
        """Return the rows of a table of dialogues that are wanted.

        Raises:
            ValueError: the dialogues have no labels, or no certainty, and such are wanted.
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
    """Return which values are in a range, as far as it has ends; NaN is in none that has one."""
    inside = np.ones(len(values), bool)
    if least is not None:
        inside &= values >= least
    if most is not None:
        inside &= values <= most
    return inside


def _certainties(table: pa.Table) -> np.ndarray:
    """Return the certainty of each dialogue of a table, NaN for none."""
    if "certainty" not in table.column_names:
        raise ValueError("the config has no column `certainty`, so none can be asked for; name another with --config")
    certainties: np.ndarray = table["certainty"].to_numpy().astype(float)
    return certainties


def _labels(table: pa.Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the labels of a table: the row, the label (-1 for none) and the confidence (NaN for none) of each."""
    if "label" in table.column_names:  # of the last turn
        labels = pc.fill_null(table["label"], -1).to_numpy()
        return np.arange(len(table)), labels, np.array([confidence_of(row) for row in _facts(table)], float)
    turns, offsets = unnest(table, "turns")
    if turns.type.get_field_index("label") < 0:
        raise ValueError("the config has no labels, so none can be asked for; name another with --config")
    rows = np.repeat(np.arange(len(table)), np.diff(offsets))
    labels = pc.fill_null(turns.field("label"), -1).to_numpy(zero_copy_only=False)
    return rows, labels, turns.field("confidence").to_numpy(zero_copy_only=False).astype(float)


def _facts(table: pa.Table) -> list[dict[str, Any]]:
    names = [name for name in ("label", "confidence", "soft_label") if name in table.column_names]
    facts: list[dict[str, Any]] = table.select(names).to_pylist()
    return facts


def confidence_of(dialogue: Mapping[str, Any]) -> float | None:
    """Return the confidence of the label of a dialogue's last turn: its own, or its share in the soft label."""
    own: float | None = dialogue.get("confidence")
    if own is not None or dialogue["label"] is None or not dialogue.get("soft_label"):
        return own
    return float(dialogue["soft_label"][dialogue["label"]])


def folder_facts(folder: Path) -> dict[str, Any]:
    """Return what a folder of ours says of itself: its manifest, or for one without stages, its `configs` alone, each
    with its `splits` (split → dialogues).

    Raises:
        FolderError: no command of this package wrote it, or it is not finished.
    """
    configs = configs_in(folder) if folder.is_dir() else []
    if (folder / NAME).exists() or ((folder / ".run").exists() and not configs):
        return read_manifest(folder)
    if not configs:
        raise FolderError(
            f"{folder} is no folder that this package wrote: it has neither a {NAME} nor Parquet files of a config "
            f"({', '.join(REGISTRY)}). Give what `edos curate`, `books`, `label`, `hydrate`, `labels-only`, `crowd "
            "seed` or `extend` wrote, or a data set of the Hub as NAMESPACE/NAME"
        )
    return {"configs": {name: {"splits": _sizes(folder, name)} for name in configs}}


def _sizes(folder: Path, config: str) -> dict[str, int]:
    files = config_files(folder, config)
    return {split: sum(pq.read_metadata(readable(path)).num_rows for path in paths) for split, paths in files.items()}


def random_dialogues(
    run: Path,
    manifest: Mapping[str, Any],
    number: int,
    config: str | None,
    random: Random,
    wanted: Wanted | None = None,
) -> list[dict[str, Any]]:
    """Return dialogues of a folder's config, drawn without replacement over all splits.

    Args:
        run: the folder.
        manifest: its manifest, or as `folder_facts` gives it.
        number: how many; all, if there are fewer.
        config: one of its configs, or None for the first of `schema.REGISTRY` that it has.
        random: the generator to draw with.
        wanted: which; None is all.

    Raises:
        FolderError: the folder has no such config, or a file is damaged.
        ValueError: the config has no labels, or no certainty, and such are wanted.
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
    """Return dialogues, drawn without replacement.

    Args:
        tables: their rows, `total` in all; read twice, or once where all are wanted.
        number: how many; all that are wanted, if there are fewer.
        random: the generator to draw with.
        wanted: which.
        total: number of rows.
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
