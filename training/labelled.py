"""A data set with labels of one's own, as `edos crowd seed` (config `amt_seed`) and `edos extend` (config `extended`)
write it.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from edos_dataset.arrays import Bools, Ints
from edos_dataset.augmentation.labelled import READABLE, Labelled, labelled_path, read_labelled
from edos_dataset.labels import LABELS
from edos_dataset.runs.folder import FolderError
from edos_dataset.schema import SPLITS

PEOPLE = "crowd"


@dataclass(frozen=True)
class LabelledRows:
    """Rows of one split; those without a label are left out.

    Attributes:
        rows: dialogues, labels, soft labels and weights (1, unless the set has a column `weight`).
        methods: [n], what gave the label: "crowd", "spread" or "self-label".
        steps: int64 [n], number of the step that gave it, 0 for the seed.
    """

    rows: Labelled
    methods: list[str]
    steps: Ints

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    @property
    def by_people(self) -> Bools:
        """[n], whether people gave the label."""
        return np.array([method == PEOPLE for method in self.methods], bool)

    def take(self, chosen: Bools) -> Labelled:
        """Return some of the rows, by mask."""
        turns = [turns for turns, keep in zip(self.rows.turns, chosen.tolist(), strict=True) if keep]
        return Labelled(turns, self.rows.labels[chosen], self.rows.targets[chosen], self.rows.weights[chosen])


def labelled_files(folder: Path) -> dict[str, Path]:
    """Return the Parquet file of every split that is there.

    Raises:
        FolderError: the training split is not.
    """
    files = {split: path for split in SPLITS if (path := labelled_path(folder, split))}
    if "train" not in files:
        raise FolderError(
            f"{folder} has no {' or '.join(READABLE)}/train-00000-of-00001.parquet: give a folder that `edos crowd "
            "seed` or `edos extend` wrote"
        )
    return files


def read_labelled_rows(folder: Path, split: str) -> LabelledRows:
    """Read a split; one that is not there is empty. A file without the columns `method` and `step` is a seed: its
    labels are people's.

    Raises:
        FolderError: as by `labelled_files`.
        ValueError: as by `read_labelled`.
    """
    path = labelled_files(folder).get(split)
    if path is None:
        nothing = np.zeros((0, len(LABELS)), np.float32)
        return LabelledRows(Labelled([], np.zeros(0, np.int64), nothing, nothing[:, 0]), [], np.zeros(0, np.int64))
    rows = read_labelled(folder, split)
    with pq.ParquetFile(path) as file:
        there = [name for name in ("method", "step") if name in file.schema_arrow.names]
        table = file.read(columns=["label", *there])
    columns = table.filter(table["label"].is_valid()).to_pydict()
    return LabelledRows(
        rows, columns.get("method", [PEOPLE] * len(rows)), np.array(columns.get("step", [0] * len(rows)), np.int64)
    )
