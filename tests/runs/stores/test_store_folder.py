"""The folder of a command in a store: a set takes the place of another one together, wherever the process dies, and of
many who would write one does. The store is in memory; `test_s3_runs` has a server.
"""

import itertools
import json
import os
import signal
import time
from multiprocessing.pool import ThreadPool
from threading import Barrier

import pytest

from edos_dataset.runs.folder import FolderError, check_whole
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.runs.shards import replacing, write_text
from edos_dataset.runs.stores import lock
from edos_dataset.runs.stores.paths import READ_ONLY, RemotePath, place_of
from edos_dataset.runs.stores.store import ObjectStore, StoreError
from processes import in_another_process
from sudden_death import DeathError

OLD = {"README.md": "old", "manifest.json": "old", "picture.png": "old", "edos/train": "old", "os/train": "old"}
NEW = {"README.md": "new", "manifest.json": "new", "recipe.yaml": "new", "os/train": "new", "seed/train": "new"}
CHANGES = ("put", "put_if", "copy", "delete")
COUNTER = itertools.count()


@pytest.fixture(autouse=True)
def copies(tmp_path, monkeypatch):
    monkeypatch.setenv("EDOS_COPIES", str(tmp_path / "copies"))


@pytest.fixture
def out():
    return place_of(f"memory://bucket{next(COUNTER)}/sets/edos")


def put(out, files, keep=(), command="toy", force=False):
    with output_folder(out, command, force=force) as folder:
        prepared = folder.prepare(keep)
        for name, text in files.items():
            write_text((folder.shared if "/" in name else prepared) / name, text)  # as workers and the leader do
        folder.commit()


def texts(out):
    return {
        name: path.read_text()
        for path, _ in out.below()
        if not (name := path.relative_to(out).as_posix()).startswith(".run/")
    }


def test_a_set_replaces_the_one_before_and_nothing_else(out):
    put(out, OLD)
    write_text(out / "notes", "mine")
    put(out, NEW)
    assert texts(out) == {**NEW, "notes": "mine"}
    assert {path.name for path, _ in (out / ".run").below()} == {"made_by.json", "committed.json"}
    put(out, {"README.md": "last"}, keep=["os/train"])
    assert texts(out) == {"README.md": "last", "os/train": "new", "notes": "mine"}


@pytest.mark.parametrize("before", [{}, OLD], ids=["new", "over another"])
def test_killed_at_any_step(before, monkeypatch):
    monkeypatch.setattr(lock, "DEAD", -1.0)  # a killed process counts as dead at once
    seen = set()
    for moment in itertools.count(1):
        out = place_of(f"memory://bucket{next(COUNTER)}/edos")
        if before:
            put(out, before)
        calls = itertools.count(1)
        with monkeypatch.context() as patch:
            for name in CHANGES:
                patch.setattr(ObjectStore, name, mortal(getattr(ObjectStore, name), calls, moment))
            try:
                put(out, NEW)
                break
            except DeathError:
                pass
        left = texts(out)
        whole = left in (before, NEW)
        if not whole:  # then readers of ours refuse it, and no card stands over data of another set
            with pytest.raises(FolderError, match="is unfinished"):
                check_whole(out)
            card = left.get("README.md")
            assert all(text == card for name, text in left.items() if "/" in name), left
        with output_folder(out, "toy"):
            pass
        after = texts(out)
        assert after in (before, NEW)
        check_whole(out)
        seen.add((whole, after == NEW))
        put(out, {"README.md": "last"})  # and nothing of what was prepared before
        assert texts(out) == {"README.md": "last"}
    assert moment > 15 and seen >= {(True, False), (False, True)}


def mortal(method, calls, moment):
    def call(self, *arguments):
        if next(calls) >= moment:  # the dead do nothing more
            raise DeathError
        return method(self, *arguments)

    return call


def test_what_is_not_ours_stays(out):
    put(out, OLD)
    write_text(out / "os" / "train", "edited")
    with pytest.raises(FolderError, match="not as `edos toy` wrote it"):
        put(out, NEW)
    write_text(out / "os" / "mine", "x")
    with pytest.raises(FolderError, match="memory://.*/os/mine was not written by `edos toy`"):
        put(out, NEW, force=True)
    (out / "os" / "mine").unlink()
    put(out, NEW, force=True)
    assert texts(out) == NEW
    with pytest.raises(FolderError, match="was written by `edos toy`"):
        put(out, NEW, command="curate")
    other = place_of("memory://thesis/x")
    write_text(other / "thesis.tex", "x")
    with pytest.raises(FolderError, match="is not empty and holds no run"):
        put(other, NEW)


def test_one_holds_a_folder(out):
    with output_folder(out, "toy"):
        message = f"process {os.getpid()} on .* is running in {out} .its last sign of life was . s ago"
        with pytest.raises(FolderError, match=message), output_folder(out, "toy"):
            pass
    put(out, OLD)  # it is free again


def test_a_dead_owner_holds_nothing(out, monkeypatch):
    ended = int(in_another_process("import os; print(os.getpid())").stdout)
    held = out / ".run" / "lock"
    with output_folder(out, "toy"):
        owner = json.loads(held.read_text())
    write_text(held, json.dumps(owner | {"process": ended}))
    put(out, OLD)  # of this machine: at once
    write_text(held, json.dumps(owner | {"process": ended, "space": "another container"}))
    with pytest.raises(FolderError, match=f"process {ended}"):
        put(out, NEW)
    monkeypatch.setattr(lock, "DEAD", 0.3)
    time.sleep(0.4)
    put(out, NEW)
    assert texts(out) == NEW


def test_who_was_killed_at_the_first_step_leaves_the_folder_free(out, monkeypatch):
    """Who finds a lock asks the store for the time by an object of its own, before the folder has a record."""
    held = out / ".run" / "lock"
    write_text(held, "{}")
    with monkeypatch.context() as killed:
        killed.setattr(RemotePath, "unlink", lambda *_, **__: None)
        with pytest.raises(FolderError, match="somebody is running in"):
            put(out, OLD)
    assert any(path.name.startswith("clock-") for path in (out / ".run").iterdir())
    held.unlink()
    put(out, NEW)
    assert texts(out) == NEW


@pytest.mark.parametrize("local", [False, True], ids=["store", "local"])
@pytest.mark.parametrize("left", ["nothing", "a set", "a dead owner"])
def test_of_three_who_begin_at_once_one_goes_on(out, tmp_path, local, left):
    """And the others are told who has the folder; never do all three stop."""
    ended = int(in_another_process("import os; print(os.getpid())").stdout)
    for number in range(10):
        folder = tmp_path / str(number) if local else out / str(number)
        if left != "nothing":
            put(folder, OLD)
        if left == "a dead owner" and not local:  # the system itself frees a local lock
            with output_folder(folder, "toy"):
                owner = json.loads((folder / ".run" / "lock").read_text())
            write_text(folder / ".run" / "lock", json.dumps(owner | {"process": ended}))
        together, tried = Barrier(3), Barrier(3)

        def begin(_, folder=folder, together=together, tried=tried):
            together.wait()
            try:
                with output_folder(folder, "toy") as held:
                    tried.wait()
                    write_text(held.prepare() / "README.md", "new")
                    held.commit()
                    return "won"
            except FolderError as error:
                tried.wait()
                return str(error)

        with ThreadPool(3) as threads:
            said = sorted(threads.map(begin, range(3), chunksize=1))
        assert said.count("won") == 1, said
        assert all("is running in" in text or "has just begun in" in text for text in said if text != "won"), said
        assert (folder / "README.md").read_text() == "new"


@pytest.fixture
def interruptible():
    """Ctrl-C is not ignored, as it is where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_who_has_lost_the_lock_stops(out, monkeypatch, interruptible):
    monkeypatch.setattr(lock, "BEAT", 0.05)
    with pytest.raises(FolderError, match="another process has taken"), output_folder(out, "toy"):
        time.sleep(0.2)  # signs of life
        for _ in range(50):
            write_text(out / ".run" / "lock", json.dumps({"id": "another"}))
            time.sleep(0.2)
    assert json.loads((out / ".run" / "lock").read_text()) == {"id": "another"}  # whose it is by now


def test_paths_of_stores():
    path = place_of("s3://bucket/a/b.parquet")
    assert isinstance(path, RemotePath) and str(path) == "s3://bucket/a/b.parquet" == path.as_posix()
    assert str(path.with_suffix(".json")) == "s3://bucket/a/b.json" and str(path.parent / "c") == "s3://bucket/a/c"
    assert place_of(os.path.normpath("s3://bucket/a")) == place_of("s3://bucket/a")  # as `Path` writes it
    assert path.key == "a/b.parquet" and not isinstance(place_of("films/s3"), RemotePath)
    for refused in ("s3://KEY:hidden@bucket/x", "s3://bucket/x?X-Amz-Signature=hidden"):
        with pytest.raises(StoreError) as raised:
            place_of(refused)
        assert "hidden" not in str(raised.value)
    with pytest.raises(StoreError, match="edos publish"), replacing(place_of(f"{READ_ONLY[0]}://datasets/a/b/x")):
        pass
    with pytest.raises(TypeError, match="is written by"):
        path.write_text("x")
