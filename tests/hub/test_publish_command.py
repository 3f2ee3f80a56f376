"""`edos publish` as a user sees it, against the local Hub."""

import json

import pytest
from typer.testing import CliRunner

from edos_dataset.cli.app import app
from edos_dataset.hub.versions import CHANGELOG
from published_folder import FILMS, REPO, films_of, run
from published_versions import KEY, as_published, assert_published, paths, state


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
    code, output = edos(*arguments, "1.0.0", "--dry-run")
    assert code == 0 and not hub.repos
    for path in paths(folder):
        assert f"{len(as_published(folder, path)):,} {path}" in output
    assert ".run" not in output
    assert "edos 10, os 10 dialogues" in output
    assert "nothing was changed" in output
    assert "the text of subtitles goes into a repository that everybody may read" in output
    assert "everybody may read" not in edos(*arguments, "1.0.0", "--dry-run", "--private")[1]
    code, output = edos(*arguments, "1.0.0")
    assert code == 0
    assert f'load_dataset("{REPO}", revision="v1.0.0")' in output
    assert_published(hub, folder)
    assert "v1.0.0 is already published with this content" in edos(*arguments, "v1.0.0")[1]
    run(folder, [*FILMS, *films_of("train", 7)[6:]], rows_a_file=9)
    code, output = edos(*arguments, "1.0.1")
    assert code == 1 and "1.0.1 is too small a step after 1.0.0" in output
    code, output = edos(*arguments, "1.1.0", "--dry-run")
    assert "delete edos/train-00001-of-00002.parquet" in output
    assert "1.1.0 after 1.0.0; the data ask for a minor step at least" in output
    assert "edos: 11 dialogues, 1 added, 0 removed" in output


def test_command_as_json(hub, folder, edos, tmp_path):
    code, output = edos(folder, "--repo", REPO, "--version", "1.0.0", "--json", "--private")
    report = json.loads(output[output.index("{") : output.rindex("}") + 1])
    assert code == 0
    assert (report["version"], report["commit"], report["previous"]) == ("1.0.0", state(hub)[1]["v1.0.0"], None)
    assert sorted(report["uploads"]) == sorted([CHANGELOG, "croissant.json", *paths(folder)])
    assert hub.repos[KEY].private


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "--repo", REPO, "--version", "1.0.0"], "nowhere is not a folder"),
        (["FOLDER", "--repo", "edos", "--version", "1.0.0"], "NAMESPACE/NAME"),
        (["FOLDER", "--repo", REPO, "--version", "1.0"], "three numbers"),
        (["FOLDER", "--repo", REPO, "--version", "1.0.0", "--token", "hf_wrong"], "does not accept the token"),
    ],
)
def test_mistakes_are_explained(edos, folder, arguments, message):
    code, output = edos(*(folder if argument == "FOLDER" else argument for argument in arguments))
    assert code == 1
    assert message in output


def test_views_become_configs(hub, folder, edos):
    before = set(folder.rglob("*"))
    code, output = edos(folder, "--repo", REPO, "--version", "1.0.0", "--views", "flat,messages")
    assert code == 0, output
    assert "edos 10, os 10" in output and "messages 10" in output
    assert {path for path in folder.rglob("*") if path.name != "lock"} == before
    assert "expected one or more of" in edos(folder, "--repo", REPO, "--version", "1.1.0", "--views", "x")[1]
