"""`edos download` as a user sees it."""

import json
import os
import subprocess
import sys

import pytest

from command_line import edos
from edos_dataset.downloads import registry
from edos_dataset.downloads.registry import RemoteFile, Source

CONTENT = b"id,text\n1,Good evening\n"


@pytest.fixture
def talk(files, monkeypatch):
    url = files.serve("/talk.csv", CONTENT)
    entry = Source("talk", "Invented talk", "CC BY-NC 4.0", "Nothing commercial.", (RemoteFile(url, "talk/talk.csv"),))
    monkeypatch.setattr(registry, "OTHERS", (*registry.OTHERS, entry))
    monkeypatch.delenv("EDOS_DATA_DIR", raising=False)
    return entry


def test_list(talk):
    done = edos("download")
    assert done.exit_code == 0
    for text in (
        "opensubtitles-LANGUAGE",
        "edos_amt",
        "CC BY-NC-SA 4.0",
        "│ 68 ",
        "pt_br",
        "talk",
        "opensubtitles2024-LA",
    ):
        assert text in done.stdout


def test_what_is_shown_and_done(talk, files, tmp_path):
    done = edos("download", "talk", "--out", tmp_path, "--yes")
    assert done.exit_code == 0
    for text in (
        talk.files[0].url,
        "23 bytes",
        "CC BY-NC 4.0",
        "Nothing commercial.",
        str(tmp_path / "talk" / "talk.csv"),
        "free",
        "nobody states a checksum",
    ):
        assert text in done.stderr
    assert "checked by the size that its server states" in done.stdout
    again = edos("download", "talk", "--out", tmp_path)  # nothing to ask
    assert again.exit_code == 0 and again.stdout == done.stdout


def test_without_a_terminal_nothing_moves(talk, files, tmp_path):
    done = edos("download", "talk", "--out", tmp_path)
    assert done.exit_code == 2
    assert "CC BY-NC 4.0" in done.stderr and "There is no terminal to ask for confirmation: give --yes" in done.stderr
    assert not (tmp_path / "talk").exists()
    assert [method for method, _ in files.files["/talk.csv"].requests] == ["HEAD"]


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_asked_at_a_terminal(talk, tmp_path, monkeypatch, answer, code):
    monkeypatch.setattr("edos_dataset.cli.download._can_ask", lambda: True)
    monkeypatch.setenv("EDOS_DATA_DIR", str(tmp_path))
    done = edos("download", "talk", input=answer)
    assert done.exit_code == code
    assert (tmp_path / "talk" / "talk.csv").exists() is (code == 0)
    assert ("Nothing was downloaded." in done.stderr) is (code == 1)


def test_wrong_use(talk, tmp_path):
    assert "did you mean" in edos("download", "tolk", "--out", tmp_path).stderr
    done = edos("download", "talk")
    assert done.exit_code == 1 and "name one as --out, or in the environment as EDOS_DATA_DIR" in done.stderr
    (tmp_path / "file").write_text("")
    assert "give a folder that you may write to" in edos("download", "talk", "--out", tmp_path / "file").stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_is_told_in_a_sentence(files, tmp_path):
    url = files.serve("/talk.csv", CONTENT * 10_000)
    code = f"""
import resource
from edos_dataset.cli.app import app
from edos_dataset.downloads import registry
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
registry.OTHERS = (registry.Source("talk", "t", "l", "c", (registry.RemoteFile({url!r}, "talk.csv"),)),)
app(["download", "talk", "--out", {str(tmp_path)!r}, "--yes"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"}
    )
    assert done.returncode == 1
    assert (
        "error File too large" in done.stderr
        and "run the same command again" in done.stderr
        and "Traceback" not in done.stderr
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".downloads.lock",
        "talk.csv.part",
        "talk.csv.part.json",
    ]
    assert json.loads((tmp_path / "talk.csv.part.json").read_text())["url"] == url
