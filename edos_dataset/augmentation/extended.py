"""The data set that `edos extend` writes, the config `extended`: the seed and, in its training part, what got a label
from it.
"""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from edos_dataset.runs.tables import read_rows
from edos_dataset.schema import EXTENDED, SPLITS

COUNTS = "extend.json"
METHODS = {"crowd": "people", "spread": "the nearest labelled dialogue", "self-label": "a classifier"}
"""Each method of the column `method`, and who gave its labels."""


def read_extended(folder: Path, splits: Sequence[str] = SPLITS) -> pa.Table:
    """Return the dialogues of some splits, in their order, with the column `split`.

    Raises:
        FolderError: the folder holds none, or damaged ones.
    """
    return read_rows(folder, EXTENDED, splits)
