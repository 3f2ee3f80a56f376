"""`edos publish` against the local Hub: what gets there, what is refused, and that nothing is ever half there."""

import json
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from edos_dataset.cli.app import app
from edos_dataset.hub import publish as publishing
from edos_dataset.hub.changes import read_rows
from edos_dataset.hub.composition import reading, versioned
from edos_dataset.hub.contents import held
from edos_dataset.hub.failures import HubError
from edos_dataset.hub.remote import Remote
from edos_dataset.hub.versions import CHANGELOG, Version
from edos_dataset.runs.folder import FolderError
from local_hub.server import LocalHub
from published_folder import FILMS, REPO, V1, V2, V11, content, films_of, remote, run

KEY = ("datasets", REPO)


@pytest.fixture
def folder(tmp_path):
    return run(tmp_path / "run" / "edos")


def publish(hub, folder, version=V1, **options):
    token = options.pop("token", "hf_ns")
    with reading([folder]) as found:
        return publishing.publish(found, remote(hub, token), version, **options)


def paths(folder):
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() and ".run" not in path.parts
    )


def state(hub):
    """Return what the repository points to: its branches and tags."""
    repo = hub.repos[KEY]
    return dict(repo.branches), dict(repo.tags)


def as_published(folder, path, version=V1):
    """Return the bytes of a file of the folder as a version has them: the card says which version it is."""
    found = (folder / path).read_bytes()
    return versioned(found.decode(), str(version)).encode() if path == "README.md" else found


def assert_published(hub, folder, version=V1):
    repo = hub.repos[KEY]
    commit = repo.at(version.tag)
    assert sorted(commit.files) == sorted([".gitattributes", CHANGELOG, "croissant.json", *paths(folder)])
    for path in paths(folder):
        assert content(hub, commit, path) == as_published(folder, path, version)


def test_first_version(hub, folder):
    plan, commit = publish(hub, folder)
    repo = hub.repos[KEY]
    assert repo.tags == {"v1.0.0": commit} and repo.branches == {"main": commit}
    assert [entry.title for entry in repo.log("main")] == ["Release 1.0.0", "initial commit"]
    assert_published(hub, folder)
    assert not repo.private
    assert b"| `edos` | 10 |" in content(hub, repo.at("main"), CHANGELOG)
    assert plan.previous is None


def test_order_of_the_calls(hub, folder):
    """The tag comes last, after the listing that verifies; and the wrong user is told before anything else."""
    publish(hub, folder)
    routes = [route for route, _, _ in hub.calls]
    assert routes[0] == "whoami"
    assert routes[-1] == "tag"
    assert routes.count("commit") == 1
    assert routes.index("commit") < len(routes) - 1 - routes[::-1].index("tree") < routes.index("tag")


def test_again_changes_nothing(hub, folder):
    publish(hub, folder)
    before, made = state(hub), len(hub.repos[KEY].commits)
    plan, commit = publish(hub, folder)
    assert plan.published == commit == before[1]["v1.0.0"]
    assert state(hub) == before and len(hub.repos[KEY].commits) == made
    assert hub.called("commit") == 1


def test_a_tag_never_moves(hub, folder):
    publish(hub, folder)
    before = state(hub)
    (folder / "README.md").write_text((folder / "README.md").read_text() + "\nmore\n")
    with pytest.raises(HubError, match=r"v1\.0\.0 is published .*README\.md.* never moves: .* 1\.0\.1 or more"):
        publish(hub, folder)
    assert state(hub) == before
    publish(hub, folder, Version(1, 0, 1))
    assert state(hub)[1]["v1.0.0"] == before[1]["v1.0.0"]


def test_second_version(hub, folder):
    publish(hub, folder)
    first = state(hub)[1]["v1.0.0"]
    hub.repos[KEY].commit(
        "main",
        "by hand",
        {**hub.repos[KEY].at("main").files, "notes.txt": hub.repos[KEY].at("main").files["README.md"]},
    )
    more = films_of("train", 9)[6:]
    run(folder, [*FILMS, *more], rows_a_file=100)
    uploads = hub.called("lfs_upload")
    plan, _ = publish(hub, folder, V11)
    changes = {
        change.config: (change.before, change.after, change.added, change.removed, change.texts)
        for change in plan.changes
    }
    assert changes == {"edos": (10, 13, 3, 0, 0), "os": (10, 13, 3, 0, 0)}
    files = hub.repos[KEY].at("v1.1.0").files
    assert "notes.txt" in files  # what people put there stays
    assert sorted(path for path in files if path.endswith(".parquet")) == [
        path for path in paths(folder) if path.endswith(".parquet")
    ]  # the others are gone
    assert hub.called("lfs_upload") - uploads == 2  # train of both configs; validation and test are there
    log = content(hub, hub.repos[KEY].at("main"), CHANGELOG).decode()
    assert log.index("## 1.1.0") < log.index("## 1.0.0")
    assert "| `edos` | 13 | 3 | 0 | 0 | 0 | 0 |" in log
    assert state(hub)[1]["v1.0.0"] == first


def test_of_the_previous_version_only_ids_texts_and_labels_move(hub, tmp_path):
    table = pa.table(
        {
            "dialogue_id": [str(row) for row in range(3_000)],
            "label": [0] * 3_000,
            "path": [os.urandom(100).hex() for _ in range(3_000)],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1_000)
    there = remote(hub)
    there.create(private=False)
    there.api.upload_file(
        path_or_fileobj=tmp_path / "a.parquet", path_in_repo="a.parquet", repo_id=REPO, repo_type="dataset"
    )
    rows = read_rows({"a.parquet": "train"}, lambda path: there.opened(path, "main"))
    assert len(rows.ids) == 3_000
    assert 0 < hub.sent["a.parquet"] < (tmp_path / "a.parquet").stat().st_size / 2


@pytest.mark.parametrize(
    ("films", "configs", "version", "why"),
    [
        (FILMS[1:], ("edos", "os"), V11, r"config edos: 1 of 10 dialogues are gone.* 2\.0\.0 or more"),
        (FILMS, ("edos",), V11, r"config os: 10 of 10 dialogues are gone.* 2\.0\.0 or more"),
        (
            [*FILMS, *films_of("train", 7)[6:]],
            ("edos", "os"),
            Version(1, 0, 1),
            r"config edos: 1 new dialogues.* 1\.1\.0 or more",
        ),
        (
            FILMS,
            ("edos", "os", "edos_initial"),
            Version(1, 0, 1),
            r"config edos_initial: 10 new dialogues.* 1\.1\.0 or more",
        ),
    ],
)
def test_too_small_a_step_is_refused_before_a_byte_moves(hub, folder, films, configs, version, why):
    publish(hub, folder)
    before, calls = state(hub), hub.called("preupload", "lfs_batch", "lfs_upload", "commit", "tag", "branch")
    run(folder, films, configs)
    with pytest.raises(ValueError, match=why):
        publish(hub, folder, version)
    assert state(hub) == before
    assert hub.called("preupload", "lfs_batch", "lfs_upload", "commit", "tag", "branch") == calls


def test_an_older_line_needs_a_branch(hub, folder):
    publish(hub, folder)
    run(folder, FILMS[1:])
    publish(hub, folder, V2)
    run(folder, [*FILMS, *films_of("train", 7)[6:]])
    with pytest.raises(HubError, match=r"is at 2\.0\.0 already"):
        publish(hub, folder, V11)
    main = state(hub)[0]["main"]
    plan, commit = publish(hub, folder, V11, branch="one")
    assert plan.previous == V1
    assert state(hub)[0] == {"main": main, "one": commit}
    assert [entry.title for entry in hub.repos[KEY].log("one")] == ["Release 1.1.0", "Release 1.0.0", "initial commit"]
    assert b"2.0.0" not in content(hub, hub.repos[KEY].at("one"), CHANGELOG)
    assert_published(hub, folder, V11)


def test_first_version_on_a_branch(hub, folder):
    _, commit = publish(hub, folder, branch="draft")
    branches, tags = state(hub)
    assert branches["draft"] == tags["v1.0.0"] == commit != branches["main"]


def test_dry_run_changes_nothing(hub, folder):
    plan, commit = publish(hub, folder, dry_run=True)
    assert commit is None
    assert sorted(plan.uploads) == sorted([CHANGELOG, "croissant.json", *paths(folder)])
    assert {
        path: plan.contents.files[path].size for path in plan.uploads if path not in (CHANGELOG, "croissant.json")
    } == {path: len(as_published(folder, path)) for path in paths(folder)}
    assert not hub.repos
    assert {method for _, method, _ in hub.calls} == {"GET"}
    publish(hub, folder)
    before = state(hub)
    run(folder, [*FILMS, *films_of("train", 7)[6:]])
    plan, commit = publish(hub, folder, V11, dry_run=True)
    assert commit is None and state(hub) == before
    assert plan.changes[0].added == 1


def test_private(hub, folder):
    publish(hub, folder, private=True)
    assert hub.repos[KEY].private
    publish(hub, folder, private=True)
    hub.repos[KEY].private = False
    (folder / "manifest.json").write_text("{}")
    before = state(hub)
    with pytest.raises(HubError, match="is public"):
        publish(hub, folder, Version(1, 0, 1), private=True)
    assert state(hub) == before


# What the folder is refused for.


def forget_a_config(folder):
    card = (folder / "README.md").read_text()
    (folder / "README.md").write_text(card.replace("path: os/train-*", "path: os/test-*"))


def cut_a_file(folder):
    path = next(folder.glob("os/train-*"))
    path.write_bytes(path.read_bytes()[:-10])


def swap_files(folder):
    first, second = sorted(folder.glob("os/train-*"))
    first.write_bytes(second.read_bytes())


BROKEN = {
    "stray data": (
        lambda folder: (folder / "os" / "more.parquet").write_bytes(b""),
        r"no config .* names os/more\.parquet",
    ),
    "stray csv": (lambda folder: (folder / "mine.csv").write_text("a"), r"names mine\.csv"),
    "config without files": (lambda folder: shutil.rmtree(folder / "os"), r"no file is 'os/train-\*'"),
    "file without config": (
        forget_a_config,
        r"names os/train-00000-of-00002\.parquet, os/train-00001-of-00002\.parquet",
    ),
    "no yaml": (lambda folder: (folder / "README.md").write_text("# EDOS\n"), "names no configs"),
    "cut": (cut_a_file, "no whole Parquet file"),
    "other rows": (swap_files, "says 6 dialogues in the split train of os, and its files have 4"),
    "no card": (lambda folder: (folder / "README.md").unlink(), "unfinished"),
    "no manifest": (lambda folder: (folder / "manifest.json").unlink(), "unfinished"),
    "stopped while put in place": (lambda folder: (folder / ".run" / "prepared").mkdir(), "unfinished"),
    "not as written": (
        lambda folder: (folder / ".run" / "published.json").write_text(
            json.dumps({"files": {"os/test-00000-of-00001.parquet": "0"}})
        ),
        "not as the run wrote it",
    ),
    "no folder": (shutil.rmtree, "is no folder"),
    "empty": (lambda folder: (shutil.rmtree(folder), folder.mkdir()), "no command of this package has written it"),
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
        ("create", {"status": 402, "message": "Payment required"}, "no room"),
        ("lfs_batch", {"status": 403, "message": "Private repository storage limit reached"}, "no room"),
        ("lfs_upload", {"status": 413, "message": "Payload too large"}, "no room"),
        ("preupload", {"status": 403, "message": "Forbidden"}, "may not write"),
        ("commit", {"status": 412, "message": "A commit has happened since"}, "someone else"),
        ("commit", {"status": 503, "times": 99}, r"at 5 tries \(503.*give the same command again later"),
        ("commit", {"cut": "before", "times": 99}, "cannot be reached"),
        ("tag", {"status": 500, "times": 99}, "could not make the tag"),
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


def test_what_arrived_otherwise_gets_no_tag(hub, folder):
    """A file that changes after it was hashed: the listing shows it."""

    def change(step):
        if step.startswith("uploading"):
            (folder / "manifest.json").write_text("{}")

    with pytest.raises(HubError, match=r"not what was sent \(manifest\.json\), so it got no tag"):
        publish(hub, folder, say=change)
    assert state(hub)[1] == {}


# The command.


@pytest.fixture
def edos(hub, monkeypatch, tmp_path):
    """Return a function that gives `edos publish` its arguments and returns its exit code and what it printed."""
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
    monkeypatch.setattr(
        "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", hub.url + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setenv("HF_TOKEN", "hf_ns")
    monkeypatch.setenv("COLUMNS", "400")

    def call(*arguments):
        done = CliRunner().invoke(app, ["publish", *map(str, arguments)])
        return done.exit_code, done.output

    return call


def test_command(hub, folder, edos):
    arguments = (folder, "--repo", REPO, "--version")
    code, told = edos(*arguments, "1.0.0", "--dry-run")
    assert code == 0 and not hub.repos
    for path in paths(folder):
        assert f"{len(as_published(folder, path)):,} {path}" in told
    assert ".run" not in told
    assert "edos 10, os 10 dialogues" in told
    assert "nothing was changed" in told
    assert "the text of subtitles goes into a repository that everybody may read" in told
    assert "everybody may read" not in edos(*arguments, "1.0.0", "--dry-run", "--private")[1]
    code, told = edos(*arguments, "1.0.0")
    assert code == 0
    assert f'load_dataset("{REPO}", revision="v1.0.0")' in told
    assert_published(hub, folder)
    assert "v1.0.0 is already published with this content" in edos(*arguments, "v1.0.0")[1]
    run(folder, [*FILMS, *films_of("train", 7)[6:]], rows_a_file=9)
    code, told = edos(*arguments, "1.0.1")
    assert code == 1 and "1.0.1 is too small a step after 1.0.0" in told
    code, told = edos(*arguments, "1.1.0", "--dry-run")
    assert "delete edos/train-00001-of-00002.parquet" in told
    assert "1.1.0 after 1.0.0; the data ask for a minor step at least" in told
    assert "edos: 11 dialogues, 1 added, 0 removed" in told


def test_command_as_json(hub, folder, edos, tmp_path):
    code, told = edos(folder, "--repo", REPO, "--version", "1.0.0", "--json", "--private")
    report = json.loads(told[told.index("{") : told.rindex("}") + 1])
    assert code == 0
    assert (report["version"], report["commit"], report["previous"]) == ("1.0.0", state(hub)[1]["v1.0.0"], None)
    assert sorted(report["uploads"]) == sorted([CHANGELOG, "croissant.json", *paths(folder)])
    assert hub.repos[KEY].private


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "--repo", REPO, "--version", "1.0.0"], "nowhere is no folder"),
        (["FOLDER", "--repo", "edos", "--version", "1.0.0"], "NAMESPACE/NAME"),
        (["FOLDER", "--repo", REPO, "--version", "1.0"], "three numbers"),
        (["FOLDER", "--repo", REPO, "--version", "1.0.0", "--token", "hf_wrong"], "does not accept the token"),
    ],
)
def test_mistakes_are_explained(edos, folder, arguments, message):
    code, told = edos(*(folder if argument == "FOLDER" else argument for argument in arguments))
    assert code == 1
    assert message in told
