"""`edos rejects`: what a run dropped, in words; every reason has a meaning."""

import ast
import json
from pathlib import Path

import pytest

import edos_dataset
from command_line import edos
from edos_dataset.cleaning import lines, rules
from edos_dataset.schema import REASONS

LONG = "He said it and he said it and he said it and he said it and he said it and he said it."
SRT = ["Hello there, my friend.", "[DOOR SLAMS]", "What is it now?", LONG, "That is all there is.", "I am so glad."]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with a good film, a copy of it and two broken ones, which kept what it dropped."""
    folder = tmp_path_factory.mktemp("rejects")
    films = folder / "films"
    films.mkdir()
    blocks = [
        f"{number}\n00:00:{2 * number:02d},000 --> 00:00:{2 * number + 1:02d},500\n- {text}\n"
        for number, text in enumerate(SRT, 1)
    ]
    (films / "good.srt").write_text("\n".join(blocks), "utf-8")
    (films / "not so good.srt").write_bytes((films / "good.srt").read_bytes())
    (films / "empty.srt").write_text("")
    (films / "\x1b[31mred.srt").write_text("")
    (films / "notes.pdf").write_text("")
    out = folder / "out"
    done = edos("curate", films, "--out", out, "--no-labels", "--rejects", "--workers", 1, "--max-bad", 1)
    assert done.exit_code == 0, done.stderr
    return out


def test_every_reason_is_counted_and_explained(run):
    shown = edos("rejects", run)
    assert "repetitive" in shown.stdout and REASONS["repetitive"] in shown.stdout
    assert "could not be read:" in shown.stdout and "empty.srt: 0 bytes" in shown.stdout
    assert "not read:" in shown.stdout and "notes.pdf" in shown.stdout
    assert "\x1b" not in shown.stdout, "a file's name steers no terminal"
    told = json.loads(edos("rejects", run, "--json").stdout)
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    assert {(row["stage"], row["reason"]): row["count"] for row in told["reasons"]} == {
        (stage["stage"], reason): count for stage in manifest["stages"] for reason, count in stage["rejected"].items()
    }
    assert (told["quarantined"], told["skipped"]) == (manifest["quarantined"], manifest["input"]["skipped"])
    assert all(row["meaning"] == REASONS[row["reason"]] for row in told["reasons"])


def test_the_texts_themselves(run):
    shown = edos("rejects", run, "--reason", "repetitive").stdout
    assert shown.startswith("clean: repetitive, 1 turn. ") and LONG in shown and "DOOR" not in shown
    assert "DOOR SLAMS" in edos("rejects", run, "--stage", "lines").stdout
    told = json.loads(edos("rejects", run, "--reason", "repetitive", "--json").stdout)
    (unit,) = told["rejects"]
    assert told["kept"] is True and unit["texts"] == [LONG] and unit["path"].endswith("good.srt")
    counts = {row["reason"]: row["count"] for row in json.loads(edos("rejects", run, "--json").stdout)["reasons"]}
    for reason, count in counts.items():
        assert len(json.loads(edos("rejects", run, "--reason", reason, "--json").stdout)["rejects"]) == count


def test_no_more_than_wanted(run):
    shown = edos("rejects", run, "--reason", "empty_file", "--limit", 1).stdout
    assert shown.count(": 0 bytes") == 1 and "1 of 2; --limit shows more" in shown


def test_a_folder_of_an_older_recipe_does_not_count(run, monkeypatch):
    shown = edos("rejects", run, "--stage", "lines").stdout
    stale = run / ".run" / "01-lines"
    stale.mkdir()
    for path in (run / ".run" / "01-sentences").iterdir():
        (stale / path.name).write_bytes(path.read_bytes())
    for path in stale.glob("*.json"):
        path.unlink()
    assert edos("rejects", run, "--stage", "lines").stdout == shown


@pytest.mark.parametrize(
    "asked", [["--reason", "repetitve"], ["--stage", "cap"], ["--stage", "read", "--reason", "music"]]
)
def test_what_was_not_dropped(run, asked):
    failed = edos("rejects", run, *asked)
    assert failed.exit_code == 1
    assert "nothing was dropped with the" in failed.stderr and "clean repetitive" in failed.stderr


def test_a_run_that_kept_nothing(run, tmp_path):
    (tmp_path / "manifest.json").write_bytes((run / "manifest.json").read_bytes())
    shown = edos("rejects", tmp_path, "--reason", "repetitive")
    assert shown.exit_code == 0 and "with --rejects to see it" in shown.stdout
    shown = edos("rejects", tmp_path, "--reason", "empty_file").stdout
    assert "empty.srt: 0 bytes" in shown and "--rejects" not in shown, "the manifest has it"
    [file] = json.loads(edos("rejects", tmp_path, "--json").stdout)["left_out"]
    assert {file["path"], file["kept"]} == {"films/good.srt", "films/not so good.srt"}
    told = f"same_film {file['path']}: near-duplicate of {file['kept']}"
    for asked in (["--reason", "same_film"], ["--stage", "films"], []):
        shown = edos("rejects", tmp_path, *asked).stdout
        assert told in shown and "with --rejects to see it" not in shown
    [unit] = json.loads(edos("rejects", run, "--reason", "same_film", "--json").stdout)["rejects"]
    assert (unit["path"], unit["kept"]) == (file["path"], file["kept"])


def test_a_run_of_many_files_names_the_first_ones(run, tmp_path):
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    manifest["left_out"] *= 30
    next(stage for stage in manifest["stages"] if stage["stage"] == "films")["rejected"]["same_film"] = 1_000
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    shown = edos("rejects", tmp_path, "--limit", 2).stdout
    assert shown.count(": near-duplicate of ") == 2 and "and 998 more" in shown


def test_a_damaged_file_is_told(run, tmp_path):
    from shutil import copytree

    copytree(run, tmp_path / "run")
    next((tmp_path / "run" / ".run" / "01-sentences").glob("*.rejects.parquet")).write_bytes(b"no")
    failed = edos("rejects", tmp_path / "run", "--stage", "lines")
    assert failed.exit_code == 1 and "--rejects again" in failed.stderr


def _texts(node):
    return {leaf.value for leaf in ast.walk(node) if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)}


def _reasons_in(tree):
    """Yield the reason codes that a module's code gives."""
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):  # NAME = "code", then """Reason of ..."""
        docstring = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
        if isinstance(node, ast.Assign) and str(docstring).startswith("Reason"):
            yield from _texts(node.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("ReadError", "_with_reason"):
            given = node.args[0 if node.func.id == "ReadError" else 1]
            yield from _texts(given.body) | _texts(given.orelse) if isinstance(given, ast.IfExp) else _texts(given)
        if (
            isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Extraction"
        ):  # of a book, and why it is empty
            yield from _texts(node.args[2])
        if isinstance(node, ast.FunctionDef) and node.name == "_reason":
            yield from (text for leaf in ast.walk(node) if isinstance(leaf, ast.Return) for text in _texts(leaf))
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "reasons":
            yield from _texts(node.value)


def test_every_reason_that_a_stage_can_give_has_a_meaning():
    given = {*lines.REASONS, *rules.RULES}
    for room in ("runs", "sources", "cleaning", "segmentation", "labeling", "publishing"):
        for path in (Path(edos_dataset.__file__).parent / room).rglob("*.py"):
            given |= set(_reasons_in(ast.parse(path.read_text("utf-8"))))
    assert {"truncated", "other_language", "too_frequent", "not_selected", "text_differs", "single_turn"} <= given
    assert given == set(REASONS), "told, or no longer given"
    assert all(meaning[0].isupper() and meaning.endswith(".") for meaning in REASONS.values())
