"""The table of devices has what was measured."""

import json
from pathlib import Path

import pytest

from edos_dataset.planning.machines import devices

MEASURED = Path(__file__).parents[2] / "benchmarks" / "plan.json"


@pytest.mark.skipif(not MEASURED.exists(), reason="no checkout")
@pytest.mark.parametrize(("figure", "digits"), [("core_gflops", 0), ("host_share", 3)])
def test_what_is_said_to_be_measured_was(figure, digits):
    entry = devices()["encoder"][figure]
    assert "benchmarks/plan.json" in entry["source"]
    assert entry["value"] == pytest.approx(round(json.loads(MEASURED.read_text())["encoder"][figure], digits))
