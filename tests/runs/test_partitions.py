"""What a corpus step in partitions must say of itself; what it decides, tests/cleaning/test_duplicates.py shows."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.partitions import PartitionedStep, decide_in_parts
from edos_dataset.runs.passage import partitions_for

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


@pytest.mark.parametrize(
    ("units", "memory", "parts"),
    [
        (0, 1 << 30, 1),
        (10, 1 << 30, 1),
        (1_000_001, 1 << 30, 3),
        (10**9, 1 << 30, 256),  # the workers are busy with fewer than 500,000 units each
        (10**10, 1 << 30, 932),  # what the memory takes
        (10**10, 1 << 20, 10_000),
    ],
)
def test_partitions_fit_the_memory_and_are_no_more_than_keep_workers_busy(units, memory, parts):
    assert partitions_for(units, 100, memory) == parts
