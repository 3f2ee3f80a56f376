"""A manifest is accepted in the form in which it is written; any other one is reported by all that read it."""

import json

import pytest

from command_line import edos
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.manifest import NAME, Manifest, read_manifest, stage_entry
from edos_dataset.runs.shards import StageCount

CONFIG = {"dialogues": 2, "turns": 5, "tokens": 20, "turns_per_dialogue": 2.5, "tokens_per_turn": 4.0}


@pytest.fixture
def manifest(tmp_path):
    return Manifest(
        recipe="stages: []",
        fingerprint="f",
        input={"films": 1, "files": 2, "skipped": [["a.txt", "not_subtitles: suffix .txt"]]},
        stages=[stage_entry(StageCount("read", "files", 2, 1, {"empty_file": 1}, {"bad times": 0}, 0.5))],
        quarantined=[{"path": "b.srt", "reason": "empty_file", "detail": "0 bytes"}],
        configs={"os": {**CONFIG, "splits": {"train": 2}, "bytes": 7}},
    ).write(tmp_path)


def test_what_is_written_is_read(manifest, tmp_path):
    assert read_manifest(tmp_path) == manifest
    assert "empty_file" in edos("inspect", tmp_path, "--dialogues", 0).stdout


@pytest.mark.parametrize(
    ("certainty", "shown"), [({}, False), ({"certainty": None}, False), ({"certainty": 0.5}, True)]
)
def test_a_config_may_say_how_sure_it_is(manifest, tmp_path, certainty, shown):
    """Manifests of earlier versions don't."""
    manifest["configs"]["os"] |= certainty
    (tmp_path / NAME).write_text(json.dumps(manifest))
    assert read_manifest(tmp_path) == manifest
    table = edos("inspect", tmp_path, "--dialogues", 0).stdout
    assert "certainty" in table and ("0.50" in table) == shown


@pytest.mark.parametrize("certainty", [True, "0.5", [0.5], {}])
def test_certainty_of_another_form_is_told(manifest, tmp_path, certainty):
    manifest["configs"]["os"]["certainty"] = certainty
    (tmp_path / NAME).write_text(json.dumps(manifest))
    with pytest.raises(FolderError, match="'configs' is not what the command"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("value", [None, True, "x", [], {}, [1], {"a": 1}, "gone"])
def test_another_form_is_told(manifest, tmp_path, value):
    """No value of another type, wherever it stands, becomes a traceback of a command that shows the folder."""
    places = [(manifest, name) for name in ("input", "stages", "quarantined", "configs", "recipe")]
    places += [(manifest[name][0], key) for name in ("stages", "quarantined") for key in list(manifest[name][0])]
    places += [(manifest["input"], key) for key in ("films", "files", "skipped")]
    places += [(manifest["configs"], "os"), *((manifest["configs"]["os"], key) for key in CONFIG)]
    refused = 0
    for holder, key in places:
        before = holder[key]
        holder[key] = value
        if value == "gone":
            del holder[key]
        (tmp_path / NAME).write_text(json.dumps(manifest))
        holder[key] = before
        done = edos("inspect", tmp_path, "--dialogues", 0)
        try:
            read_manifest(tmp_path)
        except FolderError:
            refused += 1
            assert done.exit_code == 1 and NAME in done.stderr
        else:
            assert done.exit_code == 0 or done.stderr.startswith("error ")  # no configs are a form, too
    assert refused > len(places) / 2
