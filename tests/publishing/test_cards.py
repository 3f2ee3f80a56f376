"""The card: what it says is what was written."""

import fnmatch

import pytest
import yaml
from datasets import Features
from published_folder import TOKENS, films_of, publish

from edos_dataset.labels import LABELS
from edos_dataset.publishing.cards import dataset_card
from edos_dataset.schema import CONFIGS, features

FILMS = [*films_of("train", 5), *films_of("test", 2)]
STAGES = [
    {"stage": "read", "unit": "files", "read": 1200, "kept": 1198, "rejected": {"empty": 2}},
    {"stage": "clean", "unit": "turns", "read": 9000, "kept": 9000, "rejected": {}},
]
MODEL = {
    "metrics": {"test (own split)": {"accuracy": 0.515, "macro_f1": 0.4, "top_3_accuracy": 0.75, "ece": 0.02, "examples": 3221}},
    "licence_of_the_data": "CC BY-NC 4.0",
}


def card(tmp_path, configs=CONFIGS, films=FILMS, models=None, stages=()):
    folder = tmp_path / "edos"
    text = dataset_card(publish(folder, films, configs), "de", models or {}, stages)
    _, header, body = text.split("---\n", 2)
    return yaml.safe_load(header), body, folder


def test_header(tmp_path):
    header, _, _ = card(tmp_path)
    assert header["language"] == ["de"]
    assert header["license"] == "other"
    assert header["size_categories"] == ["n<1K"]
    assert [config["config_name"] for config in header["configs"]] == list(CONFIGS)
    assert [config.get("default", False) for config in header["configs"]] == [True, False, False]


def test_numbers(tmp_path):
    header, _, folder = card(tmp_path)
    assert [info["config_name"] for info in header["dataset_info"]] == list(CONFIGS)
    for info in header["dataset_info"]:
        assert {split["name"]: split["num_examples"] for split in info["splits"]} == {"train": 5, "test": 2}
        assert info["dataset_size"] == sum(split["num_bytes"] for split in info["splits"])
        assert info["download_size"] == sum(path.stat().st_size for path in (folder / info["config_name"]).iterdir())
        assert Features._from_yaml_list(info["features"]) == features(info["config_name"])


def test_every_file_belongs_to_one_split(tmp_path):
    header, _, folder = card(tmp_path)
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet")]
    assert len(files) == len(CONFIGS) * 2
    for file in files:
        owners = [
            (config["config_name"], entry["split"]) for config in header["configs"] for entry in config["data_files"] if fnmatch.fnmatch(file, entry["path"])
        ]
        assert owners == [(file.partition("/")[0], file.partition("/")[2].partition("-")[0])]


@pytest.mark.parametrize("configs", [["os"], ["os", "edos_initial", "edos"], ["edos_initial"]])
def test_default_is_the_first_of_those_that_are_there(tmp_path, configs):
    header, body, _ = card(tmp_path, configs)
    names = [name for name in CONFIGS if name in configs]
    assert [config["config_name"] for config in header["configs"]] == names
    assert header["configs"][0]["default"] is True
    assert ("## Labels" in body) == (configs != ["os"])
    for config in CONFIGS:
        assert (f'load_dataset("edos", "{config}")' in body) == (config in configs)


def test_flaws_come_first(tmp_path):
    _, body, _ = card(tmp_path)
    headings = [line for line in body.splitlines() if line.startswith("## ")]
    assert headings[0] == "## Know its flaws first"


def test_tables(tmp_path):
    _, body, _ = card(tmp_path, models={"weak-v1": MODEL, "custom": {}}, stages=STAGES)
    tokens = TOKENS * len(FILMS)
    assert f"| `os` | 7 | 5 / 0 / 2 | 14 | 2.00 | {tokens} | {TOKENS / 2:.2f} |" in body
    assert "| read | files | 1,200 | 1,198 | empty 2 |" in body
    assert "| clean | turns | 9,000 | 9,000 | none |" in body
    assert "| `weak-v1` | 51.5% | 40.0% | 75.0% | 2.0% | 3,221 held-out examples | CC BY-NC 4.0 |" in body
    assert next(line for line in body.splitlines() if line.startswith("| `custom`")).endswith("| not stated |")
    labels = {LABELS[int(film[2:]) % 41] for film in FILMS}
    assert {line.split(" | ")[0][2:] for line in body.splitlines() if line.endswith("% |") and line.split(" | ")[0][2:] in LABELS} == labels


def test_nothing_at_all(tmp_path):
    header, body, _ = card(tmp_path, films=[])
    assert header["configs"] == header["dataset_info"] == []
    assert "| `edos` | 0 | 0 / 0 / 0 | 0 | 0.00 | 0 | 0.00 |" in body
