"""Versions of a data set on the local Hub: what gets there, what may follow, and that nothing is ever half there."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edos_dataset.hub.remote import HubError
from edos_dataset.hub.versions import CHANGELOG, Version, read_rows
from published_folder import FILMS, REPO, V1, V2, V11, content, films_of, remote, run
from published_versions import KEY, as_published, assert_published, paths, publish, state


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
    """The tag comes last, after the listing that verifies; and a wrong user is reported before anything else."""
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
    with pytest.raises(HubError, match=r"v1\.0\.0 is published .*README\.md.* never moves: .* 1\.0\.1 or later"):
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
        (FILMS[1:], ("edos", "os"), V11, r"config edos: 1 of 10 dialogues were removed.* 2\.0\.0 or later"),
        (FILMS, ("edos",), V11, r"config os: 10 of 10 dialogues were removed.* 2\.0\.0 or later"),
        (
            [*FILMS, *films_of("train", 7)[6:]],
            ("edos", "os"),
            Version(1, 0, 1),
            r"config edos: 1 new dialogue.* 1\.1\.0 or later",
        ),
        (
            FILMS,
            ("edos", "os", "edos_initial"),
            Version(1, 0, 1),
            r"config edos_initial: 10 new dialogues.* 1\.1\.0 or later",
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
