"""Corpora of few films: no split is empty, or the end of the run says so with a remedy."""

import json
import shutil

import pytest

from command_line import edos

NAMES = ("number-nine-gallows-lane", "the-saltmarsh-list", "the-pigeon-job")


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    folder = tmp_path_factory.mktemp("few")
    assert edos("sample", folder / "sample").exit_code == 0
    for number in (2, 3):
        (folder / str(number)).mkdir()
        for name in NAMES[:number]:
            shutil.copy(folder / "sample" / "srt" / f"{name}.srt", folder / str(number))
    return folder


def curated(films, number, out, *options):
    done = edos("curate", films / str(number), "--out", out, "--no-labels", "--workers", 1, "--json", *options)
    assert done.exit_code == 0, done.stderr
    manifest = json.loads(done.stdout)
    return list(manifest["configs"]["os"]["splits"].values()), manifest.get("remarks", [])


def test_each_of_three_films_goes_to_a_split_of_its_own(films, tmp_path):
    splits, remarks = curated(films, 3, tmp_path / "edos")
    assert all(splits)
    assert len(remarks) == 1 and "80/10/10 would be empty with only 3 films" in remarks[0]


def test_two_films_leave_a_split_empty_and_that_is_said(films, tmp_path):
    splits, remarks = curated(films, 2, tmp_path / "edos", "--split-seed", 1)
    assert [bool(each) for each in splits] == [True, True, False]
    assert remarks[-1] == "the test split is empty with only 2 films: add films"
    assert "the test split is empty" in edos("inspect", tmp_path / "edos").stdout


def test_papers_divides_by_hash_alone_unless_shares_are_asked_for(films, tmp_path):
    splits, remarks = curated(films, 3, tmp_path / "edos", "--recipe", "papers")
    assert splits[1] == 0
    assert "give --splits 80/10/10, to have one in each split" in remarks[-1]
    options = ("--recipe", "papers", "--splits", "60/20/20")
    refused = edos("curate", films / "3", "--out", tmp_path / "edos", "--no-labels", "--workers", 1, *options)
    assert refused.exit_code == 1 and "--splits 80/10/10 → 60/20/20" in refused.stderr
    splits, _ = curated(films, 3, tmp_path / "edos", *options, "--force")
    assert all(splits)
    assert "--splits 60/20/20" in (tmp_path / "edos" / "README.md").read_text()


def test_wrong_shares_are_refused_before_anything_is_read(tmp_path):
    refused = edos("curate", tmp_path / "none", "--out", tmp_path / "edos", "--splits", "half")
    assert refused.exit_code == 1 and "as in 80/10/10" in refused.stderr
