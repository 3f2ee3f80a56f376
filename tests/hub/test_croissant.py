"""Croissant metadata: mlcroissant finds nothing wrong with them, and reads by them the records
that `datasets` loads.
"""

import hashlib
import json
import logging
from dataclasses import dataclass

import mlcroissant
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Features, List, Value, load_dataset

from edos_dataset.hub.croissant import croissant
from edos_dataset.labels import LABELS
from edos_dataset.publishing.cards.dataset import dataset_card
from edos_dataset.publishing.cards.headers import single_header
from edos_dataset.publishing.front_matter import join_card
from edos_dataset.schema import CONFIGS
from published_folder import films_of, publish

URL = "https://huggingface.co/datasets/ns/edos"
FILMS = [*films_of("train", 5), *films_of("validation", 1), *films_of("test", 2)]


@dataclass(frozen=True)
class Facts:
    size: int
    sha256: str


def facts_of(folder):
    paths = sorted(path for path in folder.rglob("*.parquet"))
    return {
        path.relative_to(folder).as_posix(): Facts(path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in paths
    }


def configs_of(files):
    found = {}
    for path in files:
        config, _, name = path.partition("/")
        found.setdefault(config, {})[path] = name.partition("-")[0]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("croissant") / "edos"
    written = publish(folder, FILMS, CONFIGS, rows_a_file=2)  # train in three files
    (folder / "README.md").write_text(dataset_card(written, "en", {}, []), encoding="utf-8")
    return folder


def text_of(folder):
    files = facts_of(folder)
    return croissant(
        "ns/edos", URL, "1.2.0", (folder / "README.md").read_text(encoding="utf-8"), files, configs_of(files)
    )


@pytest.fixture(scope="module")
def read(folder):
    return mlcroissant.Dataset(json.loads(text_of(folder)), mapping={"repo": str(folder)})


def test_nothing_is_wrong_with_it(folder, read, caplog):
    with caplog.at_level(logging.WARNING):
        mlcroissant.Dataset(json.loads(text_of(folder)))
    assert "not standard" not in caplog.text
    issues = read.metadata.ctx.issues
    assert not issues.errors
    # A version's metadata must be the same whenever they are made, so they have no date.
    assert [warning for warning in issues.warnings if "datePublished" not in warning] == []


def test_equal_files_give_equal_text(folder):
    assert text_of(folder) == text_of(folder)


def test_files(folder):
    distribution = json.loads(text_of(folder))["distribution"]
    objects = {
        entry["@id"]: entry for entry in distribution if entry["@type"] == "cr:FileObject" and entry["@id"] != "repo"
    }
    assert objects.keys() == facts_of(folder).keys()
    for path, entry in objects.items():
        content = (folder / path).read_bytes()
        assert entry["sha256"] == hashlib.sha256(content).hexdigest() and entry["contentSize"] == f"{len(content)} B"
        assert (
            entry["contentUrl"] == f"{URL}/resolve/v1.2.0/{path}" and entry["encodingFormat"] == "application/x-parquet"
        )
    repository = next(entry for entry in distribution if entry["@id"] == "repo")
    assert repository["contentUrl"] == f"{URL}/tree/refs%2Ftags%2Fv1.2.0"


def test_facts_from_the_card(folder):
    metadata = json.loads(text_of(folder))
    assert (
        metadata["license"] == "subtitle-text-is-copyrighted"
        and metadata["inLanguage"] == "en"
        and "empathy" in metadata["keywords"]
    )
    assert (
        metadata["version"] == "1.2.0" and metadata["url"] == URL and metadata["alternateName"] == ["ns/edos", "EDOS"]
    )
    assert (
        metadata["description"].startswith("8 dialogues with 16 turns from 8 subtitle files")
        and "##" not in metadata["description"]
    )
    assert metadata["citeAs"].startswith("@inproceedings{welivita-etal-2021-large")


def plain(value):
    """Return a record of mlcroissant without the ids of its fields, texts as texts."""
    if isinstance(value, dict):
        return {key.rpartition("/")[2]: plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value.decode() if isinstance(value, bytes) else value


def comparable(row, split):
    """Return a row of `datasets` as mlcroissant can read it: lists of structs in lists of structs it does not."""
    turns = [{key: value for key, value in turn.items() if key != "top"} for turn in row["turns"]]
    return {**row, "turns": turns, "split": split}


@pytest.mark.parametrize("config", CONFIGS)
def test_records_are_those_that_datasets_loads(folder, read, tmp_path, config):
    loaded = load_dataset(str(folder), config, cache_dir=str(tmp_path))
    wanted = {row["dialogue_id"]: comparable(row, split) for split, rows in loaded.items() for row in rows}
    found = {}
    for record in read.records(config):
        row = plain({key: value for key, value in record.items() if key.count("/") == 1})
        found[row["dialogue_id"]] = row
    assert found == wanted and len(found) == len(FILMS)


def test_one_split_alone(read):
    assert {record["edos/split"] for record in read.records("edos", filters={"edos/split": "test"})} == {b"test"}
    assert len(list(read.records("edos", filters={"edos/split": "test"}))) == 2


def test_splits_and_label_names_are_record_sets(read):
    assert [record["os_splits/split"] for record in read.records("os_splits")] == ["test", "train", "validation"]
    assert [record["label_names/name"] for record in read.records("label_names")] == list(LABELS)


def test_lists_in_lists_are_described(folder):
    sets = {entry["@id"]: entry for entry in json.loads(text_of(folder))["recordSet"]}
    turns = next(field for field in sets["edos"]["field"] if field["name"] == "turns")
    assert (turns["isArray"], turns["arrayShape"]) == (True, "-1")
    fields = {field["name"]: field for field in turns["subField"]}
    assert fields["sentence_ids"]["dataType"] == "cr:Int32" and fields["sentence_ids"]["isArray"]
    assert {field["name"]: field["dataType"] for field in fields["top"]["subField"]} == {
        "label": "cr:Int64",
        "probability": "cr:Float32",
    }
    assert "label_names" in fields["label"]["description"]
    assert "label" not in {
        field["name"] for field in next(field for field in sets["os"]["field"] if field["name"] == "turns")["subField"]
    }


SEED = Features(
    {
        "dialogue_id": Value("string"),
        "turns": List({"text": Value("string")}),
        "label": ClassLabel(names=list(LABELS)),
        "soft_label": List(Value("float32"), length=41),
        "answers": List({"worker": Value("string"), "label": ClassLabel(names=["yes", "no"]), "sure": Value("bool")}),
    }
)


def test_other_configs(tmp_path):
    """Labels of two kinds, lists of a fixed length, and a split that is not there."""
    answers = [{"worker": "w", "label": 1, "sure": True}, {"worker": "v", "label": None, "sure": False}]
    rows = [
        {"dialogue_id": "a", "turns": [{"text": "Hi."}], "label": 40, "soft_label": [1 / 64] * 41, "answers": answers}
    ]
    (tmp_path / "amt_seed").mkdir()
    pq.write_table(
        pa.Table.from_pylist(rows, SEED.arrow_schema), tmp_path / "amt_seed" / "train-00000-of-00001.parquet"
    )
    head = single_header(
        "amt_seed", SEED, "Seed", [], ["train"], licence="cc-by-4.0", rows=1, annotators="crowdsourced"
    )
    (tmp_path / "README.md").write_text(join_card(head, "\n# A seed\n\n## Load\n\nso\n"))
    metadata = json.loads(text_of(tmp_path))
    assert metadata["description"] == "A seed" and "citeAs" not in metadata
    assert [entry["@id"] for entry in metadata["recordSet"]] == [
        "label_names",
        "label_names_2",
        "amt_seed_splits",
        "amt_seed",
    ]
    fields = {field["name"]: field for field in metadata["recordSet"][-1]["field"]}
    assert fields["soft_label"]["arrayShape"] == "41"
    assert fields["label"]["description"].endswith("label_names.") and fields["answers"]["subField"][1][
        "description"
    ].endswith("label_names_2.")
    dataset = mlcroissant.Dataset(metadata, mapping={"repo": str(tmp_path)})
    assert not dataset.metadata.ctx.issues.errors
    (record,) = dataset.records("amt_seed")
    assert plain(record) == {**rows[0], "split": "train"}


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ("# EDOS\n", "no YAML between two lines of dashes"),
        ("---\nlicense: other\n---\n# EDOS\n", "no dataset_info with features for the config 'edos'"),
        (
            "---\ndataset_info:\n- config_name: edos\n  features:\n  - name: sound\n    dtype: audio\n---\n# E\n",
            "the column sound is of the type .*Audio",
        ),
    ],
)
def test_what_cannot_be_described(card, message):
    with pytest.raises(ValueError, match=message):
        croissant(
            "ns/edos",
            URL,
            "1.0.0",
            card,
            {"edos/train-0.parquet": Facts(1, "0" * 64)},
            {"edos": {"edos/train-0.parquet": "train"}},
        )
