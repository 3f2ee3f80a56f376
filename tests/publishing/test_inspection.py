"""A finished run, read back."""

import json
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edos_dataset.publishing.inspection import random_dialogues
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.manifest import read_manifest
from published_folder import manifest_of

MANIFEST = manifest_of("os", "edos")


@pytest.fixture
def run(tmp_path):
    """A folder with two configs; the ids of each are 0 to 9, over three files."""
    for config in ("os", "edos"):
        (tmp_path / config).mkdir()
        for name, ids in (
            ("train-00000-of-00002", range(6)),
            ("train-00001-of-00002", range(6, 6)),
            ("test-00000-of-00001", range(6, 10)),
        ):
            pq.write_table(
                pa.table({"dialogue_id": pa.array([f"{config}{number}" for number in ids], pa.string())}),
                tmp_path / config / f"{name}.parquet",
            )
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    return tmp_path


def ids(found):
    return [row["dialogue_id"] for row in found]


def test_manifest(run):
    assert read_manifest(run) == MANIFEST


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "is an empty folder, not one that this package wrote: give a folder that `edos curate` wrote$"),
        ('{"stages": [', "is damaged .* writes it anew"),
        ("[]", "is not the manifest of a run"),
        ('{"name": "a web app"}', "it has no 'stages' or no 'configs'"),
    ],
)
def test_no_manifest(tmp_path, text, message):
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(FolderError, match=message):
        read_manifest(tmp_path)


def test_an_unfinished_run(tmp_path):
    (tmp_path / ".run").mkdir()
    with pytest.raises(FolderError, match="has not finished: give its `edos curate` command again"):
        read_manifest(tmp_path)


def test_a_file_is_no_run(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError, match="file is a file, not a folder: give"):
        read_manifest(tmp_path / "file")


@pytest.mark.parametrize("number", [0, 1, 4, 10, 99])
def test_without_replacement_over_all_splits(run, number):
    found = ids(random_dialogues(run, MANIFEST, number, "os", Random(1)))
    assert len(found) == len(set(found)) == min(number, 10)
    assert set(found) <= {f"os{place}" for place in range(10)}


def test_every_dialogue_has_its_chance(run):
    random = Random(2)
    seen = {dialogue_id for _ in range(200) for dialogue_id in ids(random_dialogues(run, MANIFEST, 1, "os", random))}
    assert seen == {f"os{place}" for place in range(10)}


def test_the_generator_decides(run):
    first, same, other = (ids(random_dialogues(run, MANIFEST, 4, None, Random(seed))) for seed in (3, 3, 4))
    assert first == same != other


def test_the_default_config_is_the_first_that_is_there(run):
    assert ids(random_dialogues(run, MANIFEST, 1, None, Random(1)))[0].startswith("edos")
    only = manifest_of("os")
    assert ids(random_dialogues(run, only, 1, None, Random(1)))[0].startswith("os")


@pytest.mark.parametrize(
    ("configs", "config", "message"),
    [
        ({"os": {}}, "edos", "has no config 'edos'; it has os"),
        ({"os": {}, "edos": {}}, "amt", "it has edos, os"),
        ({}, None, "it has none"),
    ],
)
def test_a_config_that_is_not_there(run, configs, config, message):
    with pytest.raises(FolderError, match=message):
        random_dialogues(run, {"configs": configs}, 1, config, Random(1))
