"""The folder of a command: one process at a time, nobody else's, and filled atomically."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from edos_dataset.runs.folder import FolderError, OutputFolder, check_out_file, config_files, configs_in, only_file
from edos_dataset.runs.shards import temporary_beside
from edos_dataset.schema import CONFIGS, REGISTRY, arrow_schema
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
    ended = in_another_process("import os; print(os.getpid())").stdout.strip()
    here = temporary_beside(tmp_path / "manifest.json")
    litter = [
        here.with_name(here.name.replace(str(os.getpid()), ended)),
        tmp_path / ".run" / ".x.json.345.tmp",
        tmp_path / ".run" / "01-toy" / ".00000.parquet.6.tmp",
    ]
    mine = [tmp_path / name for name in ("notes.tmp", ".hidden", ".a.tmp", ".draft.1234.tmp")]
    for path in [*litter, *mine]:
        path.write_text("")
    with OutputFolder(tmp_path, "toy"):
        assert [path.exists() for path in litter] == [False] * 3
        assert [path.exists() for path in mine] == [True] * 4


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


@pytest.mark.parametrize(
    "record",
    [
        None, "", "[", "[]", "null", "\\ud800", "[" * 100_000, '{"command": "curate"}', '["edos-dataset", "curate"]',
        '{"package": "other", "command": "curate"}', '{"package": "edos-dataset", "command": ["curate"]}',
        '{"package": "edos-dataset"}', '{"package": "edos-dataset", "command": null}',
    ],
)  # fmt: skip
def test_a_run_without_our_record_is_not_ours(tmp_path, record):
    (tmp_path / ".run" / "configurations").mkdir(parents=True)
    (tmp_path / "os").mkdir()
    (tmp_path / "os" / "mycode.py").write_text("x = 1")
    if record:
        (tmp_path / ".run" / "made_by.json").write_text(record)
    with pytest.raises(FolderError, match="another program, or by an earlier version"):
        OutputFolder(tmp_path, "curate").__enter__()
    assert (tmp_path / "os" / "mycode.py").read_text() == "x = 1"


@pytest.mark.parametrize("left", ["lock", "process", ".process.ab12cd.77.tmp", ".made_by.json.ab12cd.77.tmp"])
def test_a_folder_whose_process_was_killed_before_the_record_is_taken(tmp_path, left):
    (tmp_path / ".run").mkdir()
    (tmp_path / ".run" / left).write_text("")
    with OutputFolder(tmp_path, "curate"):
        assert json.loads((tmp_path / ".run" / "made_by.json").read_text())["command"] == "curate"


@pytest.mark.parametrize("place", [".run", ".run/lock", ".run/01-toy", ".run/prepared", ".run/01-toy/decision"])
def test_links_in_place_of_what_is_ours_are_not_followed(tmp_path, place):
    out, mine = tmp_path / "out", tmp_path / "mine"
    with OutputFolder(out, "toy"):
        pass
    (out / ".run" / "01-toy").mkdir()
    mine.mkdir()
    (mine / "notes").write_text("mine")
    link = out / place
    if link.exists():
        link.rename(tmp_path / "aside")
    link.symlink_to(mine / "notes" if place.endswith("lock") else mine)
    with pytest.raises(FolderError, match="is a symbolic link"), OutputFolder(out, "toy"):
        pass
    assert link.is_symlink() and [path.read_text() for path in mine.iterdir()] == ["mine"]


@pytest.mark.parametrize("said", ["", "x\\x1b[31m", "12\nINFO all is well"])
def test_the_holder_is_a_number_or_not_told(tmp_path, said):
    with OutputFolder(tmp_path, "toy"):
        (tmp_path / ".run" / "process").write_text(said)
        with pytest.raises(FolderError, match="^another process is running in"), OutputFolder(tmp_path, "toy"):
            pass


def test_a_file_is_replaced_by_leave_alone(tmp_path):
    out, ended = tmp_path / "a.jsonl", in_another_process("import os; print(os.getpid())").stdout.strip()
    here = temporary_beside(out)
    left = here.with_name(here.name.replace(str(os.getpid()), ended))
    left.write_text("half")
    assert check_out_file(out) == out and not left.exists()
    out.write_text("mine")
    with pytest.raises(FolderError, match=r"a\.jsonl is there already: give another --out, or --force"):
        check_out_file(out)
    assert check_out_file(out, force=True) == out and out.read_text() == "mine"


def test_only_the_process_that_leads_holds_the_folder(tmp_path):
    with OutputFolder(tmp_path, "toy"), OutputFolder(tmp_path, "toy", is_main=False) as other:
        assert other.run == tmp_path / ".run"


def write(folder, config, *names):
    (folder / config).mkdir()
    for name in names:
        pq.write_table(arrow_schema(config).empty_table(), folder / config / name)


def test_configs_come_in_the_order_of_the_registry(tmp_path):
    for config in reversed(REGISTRY):
        write(tmp_path, config, "train-00000-of-00001.parquet")
    (tmp_path / "other").mkdir()
    assert configs_in(tmp_path) == list(REGISTRY)
    assert configs_in(tmp_path, CONFIGS) == list(CONFIGS)
    only_file(tmp_path, "edos", "train").unlink()
    assert configs_in(tmp_path, CONFIGS) == ["edos_initial", "os", "scripts"], "a folder without files has no config"


def test_files_come_by_split_in_the_order_of_their_rows(tmp_path):
    write(
        tmp_path, "os", *(f"train-{number:05d}-of-00003.parquet" for number in (2, 0, 1)), "test-00000-of-00001.parquet"
    )
    files = config_files(tmp_path, "os")
    assert list(files) == ["train", "test"] and [path.name[6:11] for path in files["train"]] == [
        "00000",
        "00001",
        "00002",
    ]
    assert files["test"] == [only_file(tmp_path, "os", "test")]
    assert config_files(tmp_path, "edos") == {}
