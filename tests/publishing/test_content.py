"""`load_dataset` returns what a folder holds, not what another one of its name, or the same one, held before."""

import subprocess

import pytest
from datasets import load_dataset

from edos_dataset.labels import LABEL_IDS
from edos_dataset.publishing import published
from edos_dataset.publishing.cards.dataset import Origin
from edos_dataset.publishing.front_matter import KEY, content_of, split_card, stated_content
from edos_dataset.publishing.labels_only import write_labels_only
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.folder import OutputFolder
from edos_dataset.schema import SPLITS
from extended_rows import counts, row, table, write_extended
from published_folder import films_of, write_shards


@pytest.fixture(autouse=True)
def picture(monkeypatch):
    """Drawing takes longer than all else here."""
    monkeypatch.setattr(published, "draw_labels", lambda labels, config, path, of: path.write_bytes(b"picture"))


FILMS = [film for split in SPLITS for film in films_of(split, 2)]


def write_pipeline(out, label, configs=("edos", "os")):
    shards = {config: write_shards(out.parent / "shards", FILMS, config, label=LABEL_IDS[label]) for config in configs}
    with OutputFolder(out, "curate") as folder:
        origin = Origin("edos curate SUBTITLES --out edos", "abc", {})
        published.prepare_published(folder, shards, "en", [], [], origin, LocalEngine())
        folder.commit()


def write_single_config(out, label):
    write_extended(out, {split: table([row(split, ["a", "b"], label)]) for split in SPLITS}, counts({"train": 1}))


def write_labels(out, label):
    write_pipeline(out.parent / "run", label)
    write_labels_only(out.parent / "run", out, "edos", {}, "stages: []\n", {})


WRITERS = {"edos": write_pipeline, "extended": write_single_config, "labels_only": write_labels}


def loaded(folder, config, cache):
    """Return the labels that a folder is said to have, from the cache and streamed."""
    rows = load_dataset(str(folder), config, split="train", cache_dir=str(cache))
    streamed = load_dataset(str(folder), config, split="train", streaming=True)
    assert list(rows) == list(streamed)
    return {turn["label"] for row in rows for turn in ([row] if "label" in row else row["turns"])}


def without_key(folder):
    """Return the YAML of a card as `datasets` would have known it by without the digest."""
    header = split_card((folder / "README.md").read_text())[0]
    for entry in header["configs"]:
        del entry[KEY]
    return header["configs"], header["dataset_info"]


@pytest.mark.parametrize("config", WRITERS)
def test_another_folder_of_the_name_and_the_same_one_made_again(tmp_path, config):
    write, cache = WRITERS[config], tmp_path / "cache"
    first, second = tmp_path / "a" / "seed", tmp_path / "b" / "seed"
    write(first, "sad")
    before = without_key(first)
    assert loaded(first, config, cache) == {LABEL_IDS["sad"]}
    for folder in (second, first):
        write(folder, "joyful")
        assert without_key(folder) == before, "here nothing but the digest tells them apart"
        assert loaded(folder, config, cache) == {LABEL_IDS["joyful"]}


def test_equal_content_has_an_equal_card(tmp_path):
    for top in "ab":
        write_single_config(tmp_path / top / "seed", "sad")
    assert (tmp_path / "a/seed/README.md").read_bytes() == (tmp_path / "b/seed/README.md").read_bytes()


def test_the_digest_is_what_sha256sum_gives(tmp_path):
    write_pipeline(tmp_path / "edos", "sad")
    stated = stated_content((tmp_path / "edos" / "README.md").read_text())
    assert list(stated) == ["edos", "os"] and len(set(stated.values())) == 2
    for config, known in stated.items():
        command = f"sha256sum {config}/*.parquet | sha256sum"
        said = subprocess.check_output(["sh", "-c", command], cwd=tmp_path / "edos", text=True)
        assert known == f"sha256:{said.split()[0]}"


def test_only_the_files_of_a_config_count():
    files = {"os/train-0.parquet": "1", "os/test-0.parquet": "2", "os_more/train-0.parquet": "3"}
    assert content_of("os", files) == content_of("os", dict(reversed(list(files.items())[:2])))
    assert content_of("os", files) != content_of("os", {**files, "os/test-0.parquet": "3"})
    assert content_of("os", files) != content_of("os", {"os/train-0.parquet": "2", "os/test-0.parquet": "1"})
