"""The local Hub against `huggingface_hub` and `datasets` as they are: what they send, it understands, and what it
answers, they do.
"""

import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import CommitOperationAdd, HfApi, HfFileSystem
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

REPO = "ns/toy"


@pytest.fixture
def api(hub):
    return HfApi(endpoint=hub.url, token="hf_ns")


@pytest.fixture
def folder(tmp_path):
    """A data set of one config and three rows."""
    path = tmp_path / "toy"
    (path / "letters").mkdir(parents=True)
    pq.write_table(pa.table({"letter": ["a", "b", "c"]}), path / "letters" / "train-00000-of-00001.parquet")
    (path / "README.md").write_text(
        "---\nconfigs:\n- config_name: letters\n  data_files:\n  - split: train\n    path: letters/train-*\n---\n# "
        "Toy\n"
    )
    return path


@pytest.mark.parametrize("kind", ["dataset", "model", "space"])
def test_the_life_of_a_repository(api, hub, folder, tmp_path, kind):
    hub.page = 2  # listings come in pages
    more = {"space_sdk": "static"} if kind == "space" else {}
    api.create_repo(REPO, repo_type=kind, **more)
    with pytest.raises(HfHubHTTPError, match="409"):
        api.create_repo(REPO, repo_type=kind, **more)
    api.create_repo(REPO, repo_type=kind, exist_ok=True, **more)
    first = api.upload_folder(repo_id=REPO, folder_path=folder, repo_type=kind)
    api.create_tag(REPO, tag="v1.0.0", revision=first.oid, repo_type=kind)
    again = api.upload_folder(repo_id=REPO, folder_path=folder, repo_type=kind)
    assert again.oid == first.oid  # nothing changed, no commit
    second = api.upload_file(path_or_fileobj=b"more", path_in_repo="notes/more.txt", repo_id=REPO, repo_type=kind)
    assert sorted(api.list_repo_files(REPO, repo_type=kind)) == [
        ".gitattributes",
        "README.md",
        "letters/train-00000-of-00001.parquet",
        "notes/more.txt",
    ]
    assert "notes/more.txt" not in api.list_repo_files(REPO, repo_type=kind, revision="v1.0.0")
    assert {tag.name: tag.target_commit for tag in api.list_repo_refs(REPO, repo_type=kind).tags} == {
        "v1.0.0": first.oid
    }
    assert [commit.commit_id for commit in api.list_repo_commits(REPO, repo_type=kind)][:2] == [second.oid, first.oid]
    for name in ("README.md", "letters/train-00000-of-00001.parquet"):
        got = api.hf_hub_download(REPO, name, repo_type=kind, revision="v1.0.0", cache_dir=tmp_path / "cache")
        assert Path(got).read_bytes() == (folder / name).read_bytes()
    api.create_branch(REPO, branch="old", revision="v1.0.0", repo_type=kind)
    assert api.repo_info(REPO, repo_type=kind, revision="old").sha == first.oid
    api.delete_branch(REPO, branch="old", repo_type=kind)
    api.delete_tag(REPO, tag="v1.0.0", repo_type=kind)
    with pytest.raises(RevisionNotFoundError):
        api.repo_info(REPO, repo_type=kind, revision="v1.0.0")
    api.delete_file("notes/more.txt", REPO, repo_type=kind)
    with pytest.raises(EntryNotFoundError):
        api.hf_hub_download(REPO, "notes/more.txt", repo_type=kind, cache_dir=tmp_path / "cache")


def test_rights(api, hub):
    assert api.whoami()["name"] == "ns"
    with pytest.raises(HfHubHTTPError, match="Invalid user token"):
        HfApi(endpoint=hub.url, token="hf_unknown").whoami()
    with pytest.raises(HfHubHTTPError, match="403"):
        HfApi(endpoint=hub.url, token="hf_other").create_repo(REPO)
    api.create_repo(REPO, private=True)
    operation = CommitOperationAdd("a.txt", b"a")
    for token in ("hf_other", "hf_reader"):
        with pytest.raises(HfHubHTTPError):
            HfApi(endpoint=hub.url, token=token).create_commit(REPO, [operation], commit_message="no")
    assert HfApi(endpoint=hub.url, token="hf_reader").repo_info(REPO).private
    with pytest.raises(RepositoryNotFoundError):
        HfApi(endpoint=hub.url, token="hf_other").repo_info(REPO)
    with pytest.raises(RepositoryNotFoundError):
        HfApi(endpoint=hub.url, token=False).repo_info(REPO)


def test_a_stale_parent_is_refused(api):
    api.create_repo(REPO)
    parent = api.repo_info(REPO).sha
    api.create_commit(REPO, [CommitOperationAdd("a.txt", b"a")], commit_message="one", parent_commit=parent)
    with pytest.raises(HfHubHTTPError, match="412"):
        api.create_commit(REPO, [CommitOperationAdd("a.txt", b"b")], commit_message="two", parent_commit=parent)


def test_failures(api, hub):
    hub.fail("create", 403, message="storage quota")
    with pytest.raises(HfHubHTTPError, match="storage quota"):
        api.create_repo(REPO)
    assert not hub.repos
    hub.fail("create", cut="before")
    with pytest.raises(Exception, match="disconnected"):
        api.create_repo(REPO)
    assert not hub.repos
    hub.fail("create", cut="after")
    with pytest.raises(Exception, match="disconnected"):
        api.create_repo(REPO)
    assert hub.repos  # created, but the error was not reported
    hub.fail("lfs_upload", 429, headers={"Retry-After": "0"})
    api.upload_file(path_or_fileobj=b"12345", path_in_repo="a.bin", repo_id=REPO)
    assert hub.called("lfs_upload") == 2


def test_ranges_and_a_cut_within(api, hub, tmp_path):
    api.create_repo(REPO)
    content = bytes(range(256)) * 8000
    api.upload_file(path_or_fileobj=content, path_in_repo="a.bin", repo_id=REPO)
    hub.fail("resolve", cut="within", skip=1)  # after the HEAD
    got = api.hf_hub_download(REPO, "a.bin", cache_dir=tmp_path)
    assert Path(got).read_bytes() == content  # the client asked for the rest
    with HfFileSystem(endpoint=hub.url, token="hf_ns", skip_instance_cache=True).open(f"{REPO}/a.bin") as file:
        file.seek(1000)
        assert file.read(10) == content[1000:1010]


LOAD = """
import sys
from datasets import load_dataset
found = load_dataset(sys.argv[1], "letters", revision="v1.0.0")
streamed = load_dataset(sys.argv[1], "letters", revision="v1.0.0", streaming=True)
print(found["train"]["letter"][:], [row["letter"] for row in streamed["train"]])
"""


def test_load_dataset_in_a_fresh_process(api, environment, folder, tmp_path):
    api.create_repo(REPO, repo_type="dataset", private=True)
    commit = api.upload_folder(repo_id=REPO, folder_path=folder, repo_type="dataset")
    api.create_tag(REPO, tag="v1.0.0", revision=commit.oid, repo_type="dataset")
    api.delete_file("letters/train-00000-of-00001.parquet", REPO, repo_type="dataset")  # main has moved on
    done = subprocess.run(
        ["python", "-c", LOAD, REPO], env=environment, capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['a', 'b', 'c'] ['a', 'b', 'c']"
