"""What is printed, and by which process."""

import json

import pytest

from command_line import edos
from edos_dataset.cli.console import emit, load_call, progress_bars, say


def test_json_is_printed_alone(capsys):
    def tables():
        raise AssertionError("made for nobody")
        yield

    emit({"größe": [1]}, True, tables())
    assert capsys.readouterr().out == '{\n "größe": [\n  1\n ]\n}\n'
    emit({}, False, ["[bold]a table[/bold]"])
    assert capsys.readouterr().out == "a table\n"


def test_lines_stay_whole_and_as_they_are(capsys):
    long = "films:smile:/" + "x" * 300
    say([long], stderr=True)
    assert capsys.readouterr().err == f"{long}\n"


def test_load_call(capsys):
    say([load_call("films [1]", "os")])
    assert capsys.readouterr().out == 'from datasets import load_dataset; ds = load_dataset("films [1]", "os")\n'


@pytest.mark.parametrize(("rank", "prints"), [(None, True), ("0", True), ("1", False)])
def test_only_the_first_process_of_a_launcher_prints(rank, prints, monkeypatch, tmp_path):
    monkeypatch.delenv("RANK", raising=False)
    if rank is not None:
        monkeypatch.setenv("RANK", rank)
    printed = edos("recipe")
    copied = edos("sample", tmp_path / "films")
    assert (printed.exit_code, copied.exit_code) == (0, 0)
    assert bool(printed.stdout) is bool(copied.stdout) is prints
    failed = edos("inspect", tmp_path)
    assert failed.exit_code == 1 and "manifest.json" in failed.stderr, "an error is told by each"


@pytest.mark.parametrize(("rank", "prints"), [("0", True), ("1", False)])
def test_only_the_first_process_of_a_launcher_shows_progress(rank, prints, monkeypatch, capsys):
    monkeypatch.setenv("RANK", rank)
    with progress_bars() as progress:
        progress("label", 1, 2, 40, "turns")
        progress("label", 2, 2, 80, "turns")
    shown = capsys.readouterr().err
    assert all((word in shown) is prints for word in ("label", "2/2 shards", " turns/s")), "a bar says what it counts"


def test_a_result_of_a_follower_is_printed_by_none(monkeypatch, tmp_path):
    """JSON too, on which others rely: two objects are no JSON."""
    edos("sample", tmp_path / "films")
    arguments = [
        "curate",
        tmp_path / "films",
        "--out",
        tmp_path / "edos",
        "--no-labels",
        "--dry-run",
        "--json",
    ]
    assert json.loads(edos(*arguments).stdout)["films"] == 34
    monkeypatch.setenv("RANK", "3")
    assert edos(*arguments).stdout == ""
