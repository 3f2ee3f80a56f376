"""Every measured figure of the README, BENCHMARKS.md and the explanations is that of the record it comes from."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from edos_dataset.reproduction.stated import Stated, as_printed, checkout_of, value_at

ROOT = Path(__file__).parents[2]
STATED = Stated(ROOT)


@pytest.mark.parametrize("claim", STATED.claims, ids=lambda claim: f"{claim.record}-{claim.figure}-{claim.place}")
def test_the_record_says_so(claim):
    assert STATED.fault_of(claim) is None


@pytest.mark.parametrize("page", STATED.pages, ids=lambda page: page.name)
def test_every_figure_has_a_record(page):
    assert STATED.untraced(page) == []


def test_no_figure_is_kept_that_no_page_has():
    assert STATED.unsaid() == []


def checkout(folder, *, readme="Right in 61.5 % of 1,200 turns [59.0–64.1], with Python 3.11, see Section 3.1.\n"):
    """A checkout of three figures: one with its record, one of the paper, and one of which the record is gone."""
    for name in ("docs/explanation", "docs/reference", "evaluation"):
        (folder / name).mkdir(parents=True)
    (folder / "README.md").write_text(readme)
    (folder / "BENCHMARKS.md").write_text("Nothing.\n")
    (folder / "docs" / "reference" / "models.md").write_text("None.\n")
    record = {"v1.0": {"right": 0.6149, "interval": [0.59, 0.6412]}}
    (folder / "evaluation" / "turns.json").write_text(json.dumps(record))
    (folder / "docs" / "figures.yaml").write_text(
        "records:\n"
        "  evaluation/turns.json: {61.5 %: v1.0.right, 59.0: v1.0.interval.0, 64.1: v1.0.interval.1}\n"
        "others: {'1,200': the paper}\n"
    )
    return folder


def test_a_checkout_whose_figures_hold(tmp_path):
    assert list(Stated(checkout(tmp_path)).faults()) == []
    assert checkout_of(tmp_path / "docs", tmp_path) == tmp_path


def test_what_is_wrong_is_told_line_by_line(tmp_path):
    stated = Stated(checkout(tmp_path, readme="Right in 61.5 % and 77.7 % of 1,200 turns [59.0–65.1].\n"))
    (tmp_path / "evaluation" / "turns.json").write_text('{"v1.0": {"right": 0.7, "interval": [0.59]}}')
    assert list(stated.faults()) == [
        "61.5 %: evaluation/turns.json says 70.0 % at v1.0.right",
        "64.1: evaluation/turns.json has nothing at v1.0.interval.1",
        "65.1: README.md states it, and docs/figures.yaml names no record of it",
        "77.7 %: README.md states it, and docs/figures.yaml names no record of it",
        "64.1: docs/figures.yaml names it, and no page states it",
    ]
    (tmp_path / "evaluation" / "turns.json").unlink()
    assert next(stated.faults()) == "61.5 %: there is no record evaluation/turns.json"


def test_values_and_their_forms():
    assert value_at({"a.b": [{"c": 3}]}, "a.b.0.c") == 3
    with pytest.raises(KeyError):
        value_at({"a": [1]}, "a.1")
    assert [as_printed(0.4321, form) for form in ("43 %", "43.2", "0.43")] == ["43 %", "43.2", "0.43"]
    assert as_printed(1234.5678, "1,234.6") == "1,234.6"


def test_the_command(tmp_path):
    command = [sys.executable, "-m", "edos_dataset", "reproduce", "--check"]
    checkout(tmp_path / "fine")
    found = subprocess.run(command, cwd=tmp_path / "fine", capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (0, "3 figures of 3 pages are those of their records\n")
    (tmp_path / "fine" / "README.md").write_text("Right in 62 %.\n")
    found = subprocess.run(command, cwd=tmp_path / "fine", capture_output=True, text=True)
    assert found.returncode == 1 and "62 %: README.md states it" in found.stdout
