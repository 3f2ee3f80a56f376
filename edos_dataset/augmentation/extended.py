"""The config `extended`, which `edos extend` writes: the seed and, in its training split, newly labelled dialogues."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa

from edos_dataset.label_sets.configs import schema_like
from edos_dataset.runs.folder import read_rows
from edos_dataset.schema import EXTENDED, SPLITS

COUNTS = "extend.json"
METHODS = {"crowd": "people", "spread": "the nearest labelled dialogue", "self-label": "a classifier"}
"""Values of the column `method`, and the source of the labels of each."""


def read_extended(folder: Path, splits: Sequence[str] = SPLITS) -> pa.Table:
    """Return the dialogues of the given splits, in this order, with the column `split`.

    Raises:
        FolderError: the folder has no such data set, or it is damaged.
    """
    return read_rows(folder, EXTENDED, splits, partial(schema_like, EXTENDED))
