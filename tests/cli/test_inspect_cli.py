"""`edos inspect` of folders of every config and of the Hub; what it refuses."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import edos
from edos_dataset.labels import LABELS
from edos_dataset.schema import LAST_TURN_LABEL_CONFIGS, REGISTRY, arrow_schema

SAD, PROUD = LABELS.index("sad"), LABELS.index("proud")


def rows(config):
    """Two dialogues: a sad one, its label and itself 0.9 sure, and a proud one, 0.4 sure, each after a neutral turn."""
    found = []
    for number, (label, surely) in enumerate([(SAD, 0.9), (PROUD, 0.4)]):
        turns = [
            {"text": f"Turn {place} of {number}.\x1b[31m", "text_sha256": "ab" * 32, "label": given, "confidence": how}
            for place, (given, how) in enumerate([(40, 1.0), (label, surely)])
        ]
        sureness = {"certainty": 0.9 - 0.5 * number, "expected_errors": 0.1 + 0.5 * number}
        soft = [1 - surely if place == 40 else surely if place == label else 0.0 for place in range(41)]
        more = {"label": label, "soft_label": soft, "confidence": None if config == "amt_seed" else surely}
        found.append({"dialogue_id": f"d{number}\x1b]0;x\x07", "turns": turns, **sureness, **more})
    return found


def sure(config):
    """Whether it says how sure dialogues are: not of those that people labelled, nor of books."""
    return "certainty" in arrow_schema(config).names


LABELLED = [name for name, config in REGISTRY.items() if config.labelled != "nothing"]


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
    assert ("sad" in shown.stdout and "0.90" in shown.stdout) is (config in LABELLED)
    for line in ("certainty 0.90, 0.1 errors expected", "certainty 0.40, 0.6 errors expected"):
        assert (line in shown.stdout) is sure(config)
    assert not set(shown.stdout) & {"\x1b", "\x07"}


@pytest.mark.parametrize("config", LABELLED)
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


@pytest.mark.parametrize("config", [name for name in REGISTRY if sure(name)])
@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (["--min-certainty", 0.5], {"d0"}),
        (["--max-certainty", 0.5], {"d1"}),
        (["--min-certainty", 0.1, "--max-certainty", 0.95], {"d0", "d1"}),
        (["--min-certainty", 0.5, "--max-certainty", 0.6], set()),
    ],
)
def test_dialogues_by_certainty(folder, config, asked, expected):
    shown = edos("inspect", folder(config), *asked, "--json")
    assert {row["dialogue_id"][:2] for row in json.loads(shown.stdout)["dialogues"]} == expected


@pytest.mark.parametrize(("label", "expected"), [("sad", {"d0"}), ("proud", set())])
def test_certainty_and_label_are_both_asked_for(folder, label, expected):
    shown = edos("inspect", folder("edos"), "--min-certainty", 0.5, "--label", label, "--json")
    assert {row["dialogue_id"][:2] for row in json.loads(shown.stdout)["dialogues"]} == expected


def test_dialogues_of_which_nothing_is_known_are_not_sure(folder):
    path = folder("os") / "os" / "train-00000-of-00001.parquet"
    table = pq.read_table(path)
    for name in ("certainty", "expected_errors"):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, pa.array([None, 0.4], pa.float32()))
    pq.write_table(table, path)
    out = path.parents[1]
    assert edos("inspect", out).stdout.count("errors expected") == 1
    for asked in ("--min-certainty", "--max-certainty"):
        shown = edos("inspect", out, asked, 0.4 + 1e-6 if asked.startswith("--max") else 0.3, "--json")
        assert [row["dialogue_id"][:2] for row in json.loads(shown.stdout)["dialogues"]] == ["d1"]


@pytest.mark.parametrize("config", LAST_TURN_LABEL_CONFIGS)
@pytest.mark.parametrize("asked", ["--min-certainty", "--max-certainty"])
def test_certainty_of_dialogues_without_any(folder, config, asked):
    failed = edos("inspect", folder(config), asked, 0.5)
    assert failed.exit_code == 1 and "has no column `certainty`" in failed.stderr and "--config" in failed.stderr


def test_json_keeps_its_content_and_steers_nothing(folder):
    printed = edos("inspect", folder("edos"), "--json").stdout
    assert not set(printed) & {"\x1b", "\x07"}
    assert json.loads(printed)["dialogues"][0]["dialogue_id"] == "d0\x1b]0;x\x07"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "is an empty folder, not one that this package wrote: give what `edos curate`"),
        (["--revision", "v1"], "--revision is for a data set of the Hub"),
    ],
)
def test_what_is_no_folder_of_ours(tmp_path, arguments, message):
    failed = edos("inspect", tmp_path, *arguments)
    assert failed.exit_code == 1 and message in failed.stderr


def test_labels_of_dialogues_without_any(folder):
    failed = edos("inspect", folder("os"), "--label", "sad")
    assert failed.exit_code == 1 and "has no labels" in failed.stderr


def test_nothing_that_is_asked_for_is_said(folder):
    asked = ("inspect", folder("edos"), "--label", "lonely")
    shown = edos(*asked).stdout
    assert "no dialogue matches" in shown
    assert "┃" not in shown and "┃" in edos(*asked, "--tables").stdout, "tables are shown on demand"


@pytest.mark.parametrize("share", [-0.1, 1.1])
@pytest.mark.parametrize("asked", ["--min-confidence", "--max-certainty"])
def test_a_confidence_is_a_share(tmp_path, asked, share):
    assert edos("inspect", tmp_path, asked, share).exit_code == 2


def test_a_data_set_of_the_hub(folder, monkeypatch):
    """The Hub's part, `datasets`, is replaced: what it gives is a dictionary of splits."""
    import datasets

    from edos_dataset.commands import inspect

    part = datasets.Dataset(pq.read_table(folder("amt_seed") / "amt_seed"))
    asked = []
    monkeypatch.setattr(datasets, "get_dataset_config_names", lambda name, revision: ["amt_seed", "edos"])
    monkeypatch.setattr(datasets, "get_dataset_default_config_name", lambda name, revision: "amt_seed")
    monkeypatch.setattr(inspect, "load", lambda *given, **named: asked.append((given, named)) or {"train": part})
    shown = edos("inspect", "me/seed", "--revision", "v1.0.0", "--label", "proud", "--tables")
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
