"""What a corpus step in partitions must say of itself; what it decides, tests/cleaning/test_duplicates.py shows."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.partitions import PartitionedStep, decide_in_parts

NO_ROWS = pa.table({})


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("limit_of_key", None),
        ("partition_bytes", None),
        ("count", (Path("0.parquet"),)),
        ("keys", (NO_ROWS,)),
        ("occurrences", (NO_ROWS, np.zeros(0, np.uint64))),
        ("surplus", (NO_ROWS,)),
    ],
)
def test_what_a_step_does_not_define_is_named(name, arguments):
    with pytest.raises(TypeError, match=f"PartitionedStep defines no {name}"):
        value = getattr(PartitionedStep(), name)
        value(*arguments)


def test_without_shards_nothing_leaves(tmp_path):
    assert decide_in_parts(PartitionedStep(), [], tmp_path, LocalEngine()) == []
