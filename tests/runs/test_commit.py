"""A set takes the place of another one together, wherever the process dies."""

import pytest

from edos_dataset.runs.folder import FolderError, OutputFolder, check_whole
from sudden_death import every_death, files_in

OLD = {
    "README.md": "old",
    "manifest.json": "old",
    "picture.png": "old",
    "edos/train": "old",
    "os/train": "old",
    "os/test": "old",
}
NEW = {"README.md": "new", "manifest.json": "new", "recipe.yaml": "new", "os/train": "new", "seed/train": "new"}
RECORD = ".run/record.json"


def commit(folder, files, keep=()):
    prepared = folder.prepare(keep)
    for name, text in files.items():
        (prepared / name).parent.mkdir(parents=True, exist_ok=True)
        (prepared / name).write_text(text)
    folder.commit()


def put(out, files, keep=()):
    with OutputFolder(out, "toy") as folder:
        commit(folder, files, keep)


def texts(out):
    return {name: content.decode() for name, content in files_in(out).items()}


def test_a_set_replaces_the_one_before_and_nothing_else(tmp_path):
    put(tmp_path, OLD)
    (tmp_path / "notes").write_text("mine")
    put(tmp_path, NEW)
    assert texts(tmp_path) == {**NEW, "notes": "mine"}
    left = {path.name for path in (tmp_path / ".run").iterdir()}
    assert left == {"lock", "made_by.json", "process", "committed.json"}


def test_what_is_kept_stays_and_is_of_the_set(tmp_path):
    put(tmp_path, OLD)
    stamp = (tmp_path / "os" / "test").stat().st_mtime_ns
    put(tmp_path, {"README.md": "new"}, keep=["os/train", "os/test"])
    assert texts(tmp_path) == {"README.md": "new", "os/train": "old", "os/test": "old"}
    assert (tmp_path / "os" / "test").stat().st_mtime_ns == stamp
    put(tmp_path, {"README.md": "last"})
    assert texts(tmp_path) == {"README.md": "last"}


@pytest.mark.parametrize("before", [{}, OLD], ids=["new", "over another"])
def test_killed_at_any_step(tmp_path, before):
    def start(moment):
        out = tmp_path / str(moment)
        if before:
            put(out, before)
        return OutputFolder(out, "toy").__enter__()

    seen = set()
    for moment, folder in every_death(start, lambda folder: commit(folder, {**NEW, RECORD: "new"})):
        folder.__exit__(None, None, None)
        out, there = folder.path, texts(folder.path)
        data = {text for name, text in there.items() if "/" in name}
        assert data <= {there.get("README.md")}, f"{moment}: a card over data of another set"
        for name, text in there.items():
            assert (before.get(name) == text) or (NEW.get(name) == text), f"{moment}: {name} is neither old nor new"
        try:
            check_whole(out)
        except FolderError as error:
            assert "is unfinished: `edos toy` is putting its files in place" in str(error)
            seen.add("refused")
        else:
            assert there in (before, NEW), f"{moment}: a half set is taken for whole"
            seen.add("old" if there == before else "new")
        with OutputFolder(out, "toy"):
            assert texts(out) in (before, NEW), f"{moment}: the next command does not finish what was begun"
            check_whole(out)
        put(out, {**NEW, RECORD: "new"})
        assert texts(out) == NEW and (out / RECORD).read_text() == "new"
        assert {path.name for path in (out / ".run").iterdir()} == {
            "lock", "made_by.json", "process", "committed.json", "record.json"
        }  # fmt: skip
    assert moment == 0 and seen == {"old", "refused", "new"}


UNCOMMITTED = {
    "a card": lambda out: (out / "recipe.yaml").write_text("mine"),
    "a file among the data": lambda out: (out / "os" / "mycode.py").write_text("mine"),
    "a file among data that go": lambda out: (out / "edos" / "mycode.py").write_text("mine"),
    "a file in a folder of data": lambda out: ((out / "seed").mkdir(), (out / "seed" / "mine").write_text("mine")),
    "a file for a folder": lambda out: (out / "seed").write_text("mine"),
    "a link that leads nowhere": lambda out: (out / "seed").symlink_to(out / "nowhere"),
}


@pytest.mark.parametrize("name", UNCOMMITTED)
def test_what_no_command_put_there_is_not_lost(tmp_path, name):
    put(tmp_path, OLD)
    UNCOMMITTED[name](tmp_path)
    before = texts(tmp_path)
    with pytest.raises(FolderError, match="was not written by `edos toy` and would be lost: move it away"):
        put(tmp_path, NEW)
    assert texts(tmp_path) == before
    check_whole(tmp_path)


def test_a_folder_where_nothing_was_committed_holds_nothing_of_ours(tmp_path):
    with OutputFolder(tmp_path, "toy"):
        (tmp_path / "README.md").write_text("mine")
    with pytest.raises(FolderError, match=r"README\.md was not written"):
        put(tmp_path, NEW)
    assert texts(tmp_path) == {"README.md": "mine"}


def test_a_folder_in_the_place_of_a_file_does_not_stop_a_set_half_way(tmp_path):
    put(tmp_path, OLD)
    (tmp_path / "README.md").unlink()
    (tmp_path / "README.md").mkdir()
    put(tmp_path, NEW)
    assert texts(tmp_path) == NEW
