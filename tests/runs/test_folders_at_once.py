"""Commands that use one folder at the same time, local or in a store: one works, the others are told so, whatever the
first one is making or removing at that moment.
"""

import itertools
from multiprocessing.pool import ThreadPool

import pytest

from edos_dataset.runs.folder import FolderError, OutputFolder
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.stores.paths import place_of
from sudden_death import DeathError, dying_at

COUNTER = itertools.count()
IN_USE = ("is running in", "has just begun in")


@pytest.fixture(params=["local", "store"])
def out(request, tmp_path, monkeypatch):
    if request.param == "local":
        return tmp_path / "out"
    pytest.importorskip("obstore")
    monkeypatch.setenv("EDOS_COPIES", str(tmp_path / "copies"))
    return place_of(f"memory://at-once{next(COUNTER)}/sets/out")


def work_in(folder):
    for phase in ("00-input", "01-turns"):
        write_text(folder.run / phase / "00000.json", "{}")


@pytest.mark.parametrize("end", ["committed", "discarded"])
def test_one_works_and_the_others_are_told_so(out, end):
    done = []

    def begin_again_and_again(_):
        said = set()
        while len(done) < 12:
            try:
                with output_folder(out, "toy") as folder:
                    work_in(folder)
                    if end == "discarded":
                        folder.discard()
                    else:
                        prepared = folder.prepare()
                        for name in ("README.md", "os/train", "edos/train"):
                            write_text(prepared / name, "new")
                        folder.commit()
                done.append(end)
            except FolderError as error:
                said.add(str(error))
        return said

    with ThreadPool(3) as threads:
        told = set().union(*threads.map(begin_again_and_again, range(3), chunksize=1))
    assert [text for text in told if not any(words in text for words in IN_USE)] == []


def test_who_has_waited_does_not_take_the_folder_of_another_command(out):
    """What it saw before it waited for the lock is no longer so."""
    late = output_folder(out, "books", others=True)
    acquire = late._acquire

    def wait():
        with output_folder(out, "curate"):
            pass
        acquire()

    late._acquire = wait
    with pytest.raises(FolderError, match="was written by `edos curate`"):
        late.__enter__()
    with output_folder(out, "curate"):  # and the lock is free
        pass


def test_a_discarded_folder_is_locked_to_its_end(out):
    with output_folder(out, "toy") as folder:
        work_in(folder)
        folder.discard()
        with pytest.raises(FolderError, match="is running in"):
            output_folder(out, "toy").__enter__()
    assert not out.exists()


def test_discarding_removes_nothing_of_others(out):
    with output_folder(out, "toy") as folder:
        work_in(folder)
        write_text(out / "notes", "mine")
        folder.discard()
    assert [path.name for path in out.iterdir()] == ["notes"]


def test_killed_at_any_step_of_discarding(tmp_path):
    for moment in itertools.count(1):
        out = tmp_path / str(moment)
        folder = OutputFolder(out, "toy").__enter__()
        work_in(folder)
        (folder.prepare() / "half").write_text("")
        folder.discard()
        try:
            with dying_at(moment):
                folder.__exit__(None, None, None)
            break
        except DeathError:
            pass
        with OutputFolder(out, "toy") as again:
            again.discard()
        assert not out.exists()
    assert moment > 8 and not out.exists()


def test_a_foreign_folder_of_the_same_name_stays_as_it_was(tmp_path):
    (tmp_path / ".run").mkdir()
    (tmp_path / ".run" / "tests.run.xml").write_text("mine")
    with pytest.raises(FolderError, match="another program"):
        OutputFolder(tmp_path, "toy").__enter__()
    assert [path.name for path in (tmp_path / ".run").iterdir()] == ["tests.run.xml"]
