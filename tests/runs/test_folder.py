"""The folder of a command: one process at a time, nobody else's, and filled at one stroke."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from edos_dataset.runs.folder import FolderError, OutputFolder
from processes import in_another_process

LOCK = (
    "import sys, pathlib, edos_dataset.runs.folder as s\nwith s.OutputFolder(pathlib.Path(sys.argv[1]), 'toy'): "
    "print('ready', "
    "flush=True); sys.stdin.read()"
)


@pytest.mark.parametrize("prepare", [lambda out: None, Path.mkdir], ids=["new", "empty"])
def test_lock_and_lock_again(tmp_path, prepare):
    out = tmp_path / "out"
    prepare(out)
    for _ in range(2):
        with OutputFolder(out, "toy"):
            assert (out / ".run" / "process").read_text() == str(os.getpid())


def test_a_second_process_is_refused_with_the_number_of_the_first(tmp_path):
    out = tmp_path / "out"
    with subprocess.Popen([sys.executable, "-c", LOCK, out], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout.readline() == b"ready\n"
        with pytest.raises(FolderError, match=f"process {first.pid} is running in"), OutputFolder(out, "toy"):
            pass
        first.kill()
    with OutputFolder(out, "toy"):  # the lock went with the process
        assert (out / ".run" / "process").read_text() == str(os.getpid())


def test_the_lock_goes_after_an_error(tmp_path):
    with pytest.raises(PermissionError, match="a file of the user"), OutputFolder(tmp_path, "toy"):
        raise PermissionError(
            13, "a file of the user's cannot be read", "film.srt"
        )  # not about the folder: it comes through as it is
    with OutputFolder(tmp_path, "toy"):
        pass


def test_temporary_files_of_killed_processes_go(tmp_path):
    with OutputFolder(tmp_path, "toy"):
        pass
    (tmp_path / ".run" / "01-toy").mkdir()
    litter = [
        tmp_path / ".manifest.json.12.tmp",
        tmp_path / ".run" / ".x.json.345.tmp",
        tmp_path / ".run" / "01-toy" / ".00000.parquet.6.tmp",
    ]
    mine = [tmp_path / "notes.tmp", tmp_path / ".hidden", tmp_path / ".a.tmp"]
    for path in [*litter, *mine]:
        path.write_text("")
    with OutputFolder(tmp_path, "toy"):
        assert [path.exists() for path in litter] == [False] * 3
        assert [path.exists() for path in mine] == [True] * 3


def make_file(out):
    out.write_text("")


def make_foreign(out):
    out.mkdir()
    (out / "thesis.tex").write_text("")


def make_hidden(out):
    out.mkdir()
    (out / ".run").write_text("a file")


@pytest.mark.parametrize("prepare", [make_file, make_foreign, make_hidden])
def test_a_foreign_folder_is_refused_and_left_alone(tmp_path, prepare):
    out = tmp_path / "out"
    prepare(out)
    before = sorted(tmp_path.rglob("*"))
    with (
        pytest.raises(FolderError, match="(holds no run of this package|is no folder): give a new or empty folder"),
        OutputFolder(out, "toy"),
    ):
        pass
    assert sorted(tmp_path.rglob("*")) == before


TRY = """
import os, sys, pathlib
import edos_dataset.runs.folder as s
os.getuid() or os.setuid(65534)  # root may write anywhere, nobody may not
try:
    with s.OutputFolder(pathlib.Path(sys.argv[1]), "toy"): print("locked")
except s.FolderError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("mode", "name"), [(0o555, "out"), (0o555, "."), (0o000, "out")], ids=["new in it", "itself", "not even readable"]
)
def test_an_unwritable_folder_is_refused(mode, name):
    with tempfile.TemporaryDirectory() as folder:  # not tmp_path, whose parents only its owner can enter
        parent = Path(folder) / "parent"
        parent.mkdir()
        Path(folder).chmod(0o755)
        parent.chmod(mode)
        done = in_another_process(TRY, parent / name)
        parent.chmod(0o755)
    assert done.stdout.startswith("cannot write to "), done
    assert "give a folder that you may write to as --out" in done.stdout


def test_a_folder_of_another_command_is_refused(tmp_path):
    with OutputFolder(tmp_path, "curate"):
        pass
    with pytest.raises(FolderError, match="was written by `edos curate`, and what it holds would be lost"):
        OutputFolder(tmp_path, "label").__enter__()


@pytest.mark.parametrize("record", [None, "[", '{"command": "curate"}', '{"package": "other", "command": "curate"}'])
def test_a_run_without_our_record_is_not_ours(tmp_path, record):
    (tmp_path / ".run" / "configurations").mkdir(parents=True)
    (tmp_path / "os").mkdir()
    (tmp_path / "os" / "mycode.py").write_text("x = 1")
    if record:
        (tmp_path / ".run" / "made_by.json").write_text(record)
    with pytest.raises(FolderError, match="another program, or by an earlier version"):
        OutputFolder(tmp_path, "curate").__enter__()
    assert (tmp_path / "os" / "mycode.py").read_text() == "x = 1"


def test_a_folder_whose_process_was_killed_before_the_record_is_taken(tmp_path):
    (tmp_path / ".run").mkdir()
    (tmp_path / ".run" / "lock").write_text("")
    with OutputFolder(tmp_path, "curate"):
        assert json.loads((tmp_path / ".run" / "made_by.json").read_text())["command"] == "curate"


def test_only_the_process_that_leads_holds_the_folder(tmp_path):
    with OutputFolder(tmp_path, "toy"), OutputFolder(tmp_path, "toy", leads=False) as other:
        assert other.run == tmp_path / ".run"
