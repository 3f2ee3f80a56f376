"""Pandas is imported no earlier than somebody asks for it, and Arrow knows its columns from then on."""

import subprocess
import sys

CODE = """
import sys
from edos_dataset.runs.lazy_pandas import without_pandas
{before}
without_pandas()
import pyarrow as pa
assert pa.array(["a", None]).null_count == 1
print("pandas" in sys.modules)
import edos_dataset.runs.run, edos_dataset.recipes.subtitles
print("pandas" in sys.modules)
{asks}
import pandas as pd
print(pa.array(pd.Series([1.0, float("nan")])).null_count, pa.array(pd.Categorical(["a", "b"])).type.num_fields)
print(pa.table({{"a": [1]}}).to_pandas().a.tolist(), pa.Table.from_pandas(pd.DataFrame({{"a": [2]}})).to_pydict())
print(any(type(finder).__module__.startswith("edos_dataset") for finder in sys.meta_path))
"""


def printed(before="", asks=""):
    code = CODE.format(before=before, asks=asks)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


KNOWN = ["1 0", "[1] {'a': [2]}", "False"]
"""What Arrow makes of pandas: not a number is missing, a categorical is encoded as a dictionary."""


def test_pandas_waits_until_it_is_asked_for_and_is_known_then():
    assert printed() == ["False", "False", *KNOWN]


def test_who_needs_pandas_within_arrow_gets_it():
    assert printed(asks="pa.array([1]).to_pandas()") == ["False", "False", *KNOWN]


def test_pandas_that_is_there_already_is_left_alone():
    assert printed(before="import pandas") == ["True", "True", *KNOWN]
    assert printed(before="import pyarrow; pyarrow.array([1]); assert 'pandas' in sys.modules") == [
        "True",
        "True",
        *KNOWN,
    ]
