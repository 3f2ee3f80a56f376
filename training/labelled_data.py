"""A data set with labels of one's own, as `edos crowd seed` (config `amt_seed`) and `edos extend` (config `extended`) write it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.crowd.splits import Bools, Ints
from edos_dataset.labeling.heads import Floats
from edos_dataset.labels import LABELS
from edos_dataset.shards import FolderError

CONFIGS = ("extended", "amt_seed")
CROWD = "crowd"
_COLUMNS = ("turns", "label", "soft_label")
_TOLERANCE = 0.01  # of the sum of a soft label, which is stored in single precision


@dataclass(frozen=True)
class LabelledRows:
    """Rows of one split; those without a label are left out.

    Attributes:
        dialogues: turns, oldest first; the label is of the last one.
        labels: [n] ids.
        soft: float32 [n, 41], probabilities by label id.
        methods: [n], what gave the label: "crowd", "spread" or "self-label".
        steps: [n], number of the step that gave it, 0 for the seed.
    """

    dialogues: list[list[str]]
    labels: Ints
    soft: Floats
    methods: list[str]
    steps: Ints

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.dialogues)

    @property
    def by_people(self) -> Bools:
        """[n], whether people gave the label."""
        return np.array([method == CROWD for method in self.methods], bool)


def labelled_files(folder: Path) -> dict[str, list[Path]]:
    """Return the Parquet files of every split that is there.

    Raises:
        FolderError: the folder holds none of the configs, or no training split.
    """
    config = next((folder / name for name in CONFIGS if (folder / name).is_dir()), None)
    if config is None:
        raise FolderError(f"{folder} has no folder {' or '.join(CONFIGS)}: give one that `edos crowd seed` or `edos extend` wrote")
    found = {split: sorted(config.glob(f"{split}-*.parquet")) for split in ("train", "validation", "test")}
    if not found["train"]:
        raise FolderError(f"{config} has no train-*.parquet: give a folder that `edos crowd seed` or `edos extend` wrote")
    return {split: paths for split, paths in found.items() if paths}


def read_labelled_rows(folder: Path, split: str) -> LabelledRows:
    """Read a split; one that is not there is empty. A file without the columns `method` and `step` is a seed: its labels are people's.

    Raises:
        FolderError: as by `labelled_files`.
        ValueError: a file is no Parquet file, lacks a column, or a row has no turns, an unknown label or no probabilities over the labels.
    """
    parts = [_read_file(path) for path in labelled_files(folder).get(split, [])]
    labels, steps = (np.concatenate([np.zeros(0, np.int64), *(getattr(part, name) for part in parts)]) for name in ("labels", "steps"))
    soft = np.concatenate([np.zeros((0, len(LABELS)), np.float32), *(part.soft for part in parts)])
    return LabelledRows([turns for part in parts for turns in part.dialogues], labels, soft, [name for part in parts for name in part.methods], steps)


def _read_file(path: Path) -> LabelledRows:
    try:
        with pq.ParquetFile(path) as file:
            there = file.schema_arrow.names
            if missing := [name for name in _COLUMNS if name not in there]:
                raise ValueError(f"{path}: needs the columns {', '.join(_COLUMNS)}; {', '.join(missing)} is not among its {', '.join(there)}")
            table = file.read(columns=[*_COLUMNS, *(name for name in ("method", "step") if name in there)])
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} is not a readable Parquet file: {error}") from error
    kept = np.flatnonzero(table["label"].is_valid().to_numpy(zero_copy_only=False))
    columns = table.take(kept).to_pydict()
    dialogues = [[turn["text"] for turn in turns or []] for turns in columns["turns"]]
    for row, turns, label, soft in zip(kept.tolist(), dialogues, columns["label"], columns["soft_label"], strict=True):
        if problem := _problem(turns, label, soft):
            raise ValueError(f"{path}, row {row}: {problem}")
    steps = np.array(columns.get("step", [0] * len(kept)), np.int64)
    soft_labels = np.array(columns["soft_label"], np.float32).reshape(-1, len(LABELS))
    return LabelledRows(dialogues, np.array(columns["label"], np.int64), soft_labels, columns.get("method", [CROWD] * len(kept)), steps)


def _problem(turns: list[str], label: object, soft: list[float] | None) -> str | None:
    """Return what is wrong with a row, or None."""
    if not turns or not all(isinstance(turn, str) for turn in turns):
        return "has no turns, or one without a text"
    if not isinstance(label, int) or not 0 <= label < len(LABELS):
        return f"label is {label!r}; expected an id from 0 to {len(LABELS) - 1}, in the order of edos_dataset.labels.LABELS"
    if soft is None or len(soft) != len(LABELS) or None in soft or min(soft) < 0 or not abs(sum(soft) - 1) <= _TOLERANCE:
        return f"soft_label is no list of {len(LABELS)} probabilities that sum to 1"
    return None
