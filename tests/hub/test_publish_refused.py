"""What `edos publish` refuses, survives or reports: unsuitable folders, and failures of the Hub."""

import shutil

import pyarrow.parquet as pq
import pytest
from huggingface_hub import CommitOperationAdd

from edos_dataset.hub.contents import held
from edos_dataset.hub.remote import HubError, Remote
from edos_dataset.runs.folder import FolderError
from local_hub.server import LocalHub
from published_folder import FILMS, V1, V11, content, films_of, run
from published_versions import KEY, assert_published, publish, state


def forget_a_config(folder):
    card = (folder / "README.md").read_text()
    (folder / "README.md").write_text(card.replace("path: os/train-*", "path: os/test-*"))


def cut_a_file(folder):
    path = next(folder.glob("os/train-*"))
    path.write_bytes(path.read_bytes()[:-10])


def swap_files(folder):
    first, second = sorted(folder.glob("os/train-*"))
    first.write_bytes(second.read_bytes())


def relabel(folder):
    """Put other labels, of as many rows, under the card."""
    path = next(folder.glob("edos/test-*"))
    table = pq.read_table(path)
    pq.write_table(table.take(list(reversed(range(len(table))))), path)


BROKEN = {
    "stray data": (
        lambda folder: (folder / "os" / "more.parquet").write_bytes(b""),
        r"no config .* names os/more\.parquet",
    ),
    "stray csv": (lambda folder: (folder / "mine.csv").write_text("a"), r"names mine\.csv"),
    "config without files": (lambda folder: shutil.rmtree(folder / "os"), r"no file matches 'os/train-\*'"),
    "file without config": (
        forget_a_config,
        r"names os/train-00000-of-00002\.parquet, os/train-00001-of-00002\.parquet",
    ),
    "no yaml": (lambda folder: (folder / "README.md").write_text("# EDOS\n"), "names no configs"),
    "cut": (cut_a_file, "not a complete Parquet file"),
    "other rows": (swap_files, "states 6 dialogues in the split train of os, and its files have 4"),
    "no card": (lambda folder: (folder / "README.md").unlink(), "unfinished"),
    "no manifest": (lambda folder: (folder / "manifest.json").unlink(), "unfinished"),
    "stopped while put in place": (lambda folder: (folder / ".run" / "commit.json").write_text("{}"), "unfinished"),
    "other labels": (relabel, "edos is not the data that its card was written for: run the command"),
    "no folder": (shutil.rmtree, "is not a folder"),
    "empty": (
        lambda folder: (shutil.rmtree(folder), folder.mkdir()),
        "is an empty folder, not one that this package wrote",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_folder_that_is_not_right_is_refused(hub, folder, name):
    damage, message = BROKEN[name]
    if name == "other rows":
        run(folder, rows_a_file=4)
    damage(folder)
    with pytest.raises(FolderError, match=message):
        publish(hub, folder)
    assert not hub.repos


def test_a_run_at_work_is_refused(hub, folder):
    with held(folder), pytest.raises(FolderError, match="another command is writing"):
        publish(hub, folder)
    publish(hub, folder)


# What the Hub may do.


@pytest.mark.parametrize(
    ("token", "message"),
    [("hf_unknown", "does not accept the token"), ("hf_reader", "may not write"), ("hf_other", "may not write|rights")],
)
def test_wrong_tokens(hub, folder, token, message):
    with pytest.raises(HubError, match=message):
        publish(hub, folder, token=token)
    assert not hub.repos


def test_no_token(hub, folder, monkeypatch):
    monkeypatch.setattr("huggingface_hub.hf_api.get_token", lambda: None)
    with pytest.raises(HubError, match="there is no token"):
        publish(hub, folder, token=None)


def test_no_network(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with LocalHub(tmp_path / "gone") as gone:
        pass
    with pytest.raises(HubError, match="cannot be reached"):
        publish(gone, folder)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(HubError, match="HF_HUB_OFFLINE is set"):
        publish(gone, folder)


@pytest.mark.parametrize("name", ["edos", "ns/", "a/b/c"])
def test_no_name(name):
    with pytest.raises(HubError, match="NAMESPACE/NAME"):
        Remote(name)


WRITES = ("create", "preupload", "lfs_batch", "lfs_upload", "commit", "tag")


@pytest.mark.parametrize("route", ["whoami", "info", "refs", "tree", "create", "commit", "tag"])
@pytest.mark.parametrize(
    "failure",
    [{"status": 429, "headers": {"Retry-After": "0"}}, {"status": 503}, {"cut": "before"}, {"cut": "after"}],
    ids=str,
)
def test_what_passes_is_outlasted(hub, folder, route, failure):
    hub.fail(route, **failure)
    publish(hub, folder)
    assert_published(hub, folder)
    assert [entry.title for entry in hub.repos[KEY].log("main")] == [
        "Release 1.0.0",
        "initial commit",
    ]  # a lost answer makes no second commit


def test_a_large_file_is_sent_again(hub, folder):
    hub.fail("lfs_upload", 500, skip=1)  # huggingface_hub itself waits a second
    publish(hub, folder)
    assert_published(hub, folder)


@pytest.mark.parametrize(
    ("route", "failure", "message"),
    [
        ("create", {"status": 402, "message": "Payment required"}, "storage is full"),
        ("lfs_batch", {"status": 403, "message": "Private repository storage limit reached"}, "storage is full"),
        ("lfs_upload", {"status": 413, "message": "Payload too large"}, "storage is full"),
        ("preupload", {"status": 403, "message": "Forbidden"}, "may not write"),
        ("commit", {"status": 412, "message": "A commit has happened since"}, "someone else"),
        ("commit", {"status": 503, "times": 99}, r"in 5 attempts \(503.*run the same command again later"),
        ("commit", {"cut": "before", "times": 99}, "cannot be reached"),
        ("tag", {"status": 500, "times": 99}, "could not create the tag"),
    ],
    ids=str,
)
def test_a_failure_that_stays(hub, folder, route, failure, message):
    """What the version changes is there wholly or not at all, and the same call later goes on."""
    publish(hub, folder)
    before = state(hub)
    run(folder, [*FILMS, *films_of("train", 7)[6:]])
    if route == "create":
        hub.repos.clear()
    hub.fail(route, **failure)
    with pytest.raises(HubError, match=message):
        publish(hub, folder, V1 if route == "create" else V11)
    if route == "create":
        assert not hub.repos
        return
    branches, tags = state(hub)
    assert tags == before[1]
    assert branches == before[0] or route == "tag"
    commits, sent = len(hub.repos[KEY].commits), hub.called("lfs_upload")
    hub.fail(route, 500, times=0)
    publish(hub, folder, V11)
    assert_published(hub, folder, V11)
    assert len(hub.repos[KEY].commits) == (commits if route == "tag" else commits + 1)
    if route in ("commit", "tag"):
        assert hub.called("lfs_upload") == sent  # what was sent is not sent again


@pytest.mark.parametrize("step", ["comparing", "uploading"])
def test_a_data_file_that_changes_meanwhile_stops_it_before_the_commit(hub, folder, step):
    path = next(folder.glob("os/train-*"))

    def change(said):
        if said.startswith(step):
            path.write_bytes(path.read_bytes()[::-1])

    with pytest.raises(FolderError, match=r"train-.*parquet changed while it was being published"):
        publish(hub, folder, say=change)
    assert not hub.called("commit") and (not hub.repos or state(hub)[1] == {})


def test_a_small_file_is_sent_as_it_was_read(hub, folder):
    """The bytes that were looked at go, whatever happens to the file meanwhile."""
    before = (folder / "manifest.json").read_bytes()

    def change(step):
        if step.startswith("uploading"):
            (folder / "manifest.json").write_text("{}")

    publish(hub, folder, say=change)
    assert content(hub, hub.repos[KEY].at("v1.0.0"), "manifest.json") == before


def test_what_arrived_otherwise_gets_no_tag(hub, folder, monkeypatch):
    """The listing is compared with what was meant, by hash."""
    monkeypatch.setattr("edos_dataset.hub.publish.CommitOperationAdd", lambda path, _: CommitOperationAdd(path, b"{}"))
    with pytest.raises(HubError, match=r"is not what was sent \(.*so it got no tag"):
        publish(hub, folder)
    assert state(hub)[1] == {}
