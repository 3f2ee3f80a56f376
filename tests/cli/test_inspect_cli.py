"""`edos inspect` of folders of every config and of the Hub; what it refuses."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import edos
from edos_dataset.labels import LABELS
from edos_dataset.schema import REGISTRY, arrow_schema

SAD, PROUD = LABELS.index("sad"), LABELS.index("proud")


def rows(config):
    """Two dialogues: a sad one, 0.9 sure, and a proud one, 0.4 sure, each after a neutral turn."""
    found = []
    for number, (label, sure) in enumerate([(SAD, 0.9), (PROUD, 0.4)]):
        turns = [
            {"text": f"Turn {place} of {number}.\x1b[31m", "text_sha256": "ab" * 32, "label": given, "confidence": how}
            for place, (given, how) in enumerate([(40, 1.0), (label, sure)])
        ]
        soft = [1 - sure if place == 40 else sure if place == label else 0.0 for place in range(41)]
        more = {"label": label, "soft_label": soft, "confidence": None if config == "amt_seed" else sure}
        found.append({"dialogue_id": f"d{number}\x1b]0;x\x07", "turns": turns, **more})
    return found


@pytest.fixture
def folder(tmp_path):
    def write(config):
        (tmp_path / "ours" / config).mkdir(parents=True)
        table = pa.Table.from_pylist(rows(config), schema=arrow_schema(config))
        pq.write_table(table, tmp_path / "ours" / config / "train-00000-of-00001.parquet")
        return tmp_path / "ours"

    return write


@pytest.mark.parametrize("config", REGISTRY)
def test_a_folder_of_any_config_is_shown_and_cannot_steer_the_terminal(folder, config):
    shown = edos("inspect", folder(config))
    assert shown.exit_code == 0, shown.stderr
    assert "d0" in shown.stdout and ("Turn 1 of 1." in shown.stdout or config == "labels_only")
    assert ("sad" in shown.stdout and "0.90" in shown.stdout) is (config != "os")
    assert not set(shown.stdout) & {"\x1b", "\x07"}


@pytest.mark.parametrize("config", [name for name in REGISTRY if name != "os"])
@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (["--label", "sad"], {"d0"}),
        (["--label", "Sad", "--label", "proud"], {"d0", "d1"}),
        (["--label", "sad", "--max-confidence", 0.5], set()),
        (["--label", "proud", "--min-confidence", 0.3], {"d1"}),
        (["--max-confidence", 0.5], {"d1"}),
    ],
)
def test_dialogues_by_label_and_confidence(folder, config, asked, expected):
    shown = edos("inspect", folder(config), *asked, "--json")
    assert {row["dialogue_id"][:2] for row in json.loads(shown.stdout)["dialogues"]} == expected


def test_json_keeps_its_content_and_steers_nothing(folder):
    printed = edos("inspect", folder("edos"), "--json").stdout
    assert not set(printed) & {"\x1b", "\x07"}
    assert json.loads(printed)["dialogues"][0]["dialogue_id"] == "d0\x1b]0;x\x07"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "is no folder that this package wrote: it has neither a manifest.json nor Parquet files of a config"),
        (["--revision", "v1"], "--revision is for a data set of the Hub"),
        (["--label", "glad"], "unknown label 'glad': expected one of afraid"),
    ],
)
def test_what_is_no_folder_of_ours(tmp_path, arguments, message):
    failed = edos("inspect", tmp_path, *arguments)
    assert failed.exit_code == 1 and message in failed.stderr


def test_labels_of_dialogues_without_any(folder):
    failed = edos("inspect", folder("os"), "--label", "sad")
    assert failed.exit_code == 1 and "has no labels" in failed.stderr


def test_nothing_that_is_asked_for_is_said(folder):
    assert "no dialogue is what" in edos("inspect", folder("edos"), "--label", "lonely").stdout


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_confidence_is_a_share(tmp_path, share):
    assert edos("inspect", tmp_path, "--min-confidence", share).exit_code == 2


def test_a_data_set_of_the_hub(folder, monkeypatch):
    """The Hub's part, `datasets`, is replaced: what it gives is a dictionary of splits."""
    import datasets

    from edos_dataset.releases import load

    part = datasets.Dataset(pq.read_table(folder("amt_seed") / "amt_seed"))
    asked = []
    monkeypatch.setattr(datasets, "get_dataset_config_names", lambda name, revision: ["amt_seed", "edos"])
    monkeypatch.setattr(datasets, "get_dataset_default_config_name", lambda name, revision: "amt_seed")
    monkeypatch.setattr(load, "load", lambda *given, **named: asked.append((given, named)) or {"train": part})
    shown = edos("inspect", "me/seed", "--revision", "v1.0.0", "--label", "proud")
    assert asked == [(("me/seed", "amt_seed"), {"revision": "v1.0.0"})]
    assert "d1" in shown.stdout and "d0" not in shown.stdout and "name it with --config" in shown.stdout
    part = part.remove_columns("turns")
    assert "holds no dialogues of ours: its columns are" in edos("inspect", "me/seed").stderr


def test_what_the_hub_does_not_give(monkeypatch):
    import datasets

    def nothing(*_, **__):
        raise ConnectionError("no network")

    monkeypatch.setattr(datasets, "get_dataset_config_names", nothing)
    failed = edos("inspect", "me/seed")
    assert (
        failed.exit_code == 1 and "neither a folder here nor a data set that the Hub gave (no network)" in failed.stderr
    )
