"""A folder of `edos books` with several languages: all of them are read where none is named."""

import json
import shutil
from collections import Counter

import pytest
from datasets import concatenate_datasets

import edos_dataset
from edos_dataset.commands import report
from edos_dataset.commands.books import books
from edos_dataset.recipes.books import books_pipeline
from edos_dataset.releases.reported import Asked, open_reported
from edos_dataset.runs.manifest import read_manifest
from edos_dataset.sources.inventory import find_books
from sample_books import write_books

SHARD = 20_000  # bytes; about a book


@pytest.fixture(scope="module")
def two_languages(tmp_path_factory):
    """A folder of English books with labels and German ones without; nobody writes in it."""
    folder = tmp_path_factory.mktemp("languages")
    for language, numbers, model in (("en", range(3), "fast"), ("de", range(3, 6), None)):
        source = write_books(folder / language, numbers, language)
        pipeline = books_pipeline(language=language, model=model, labels=None if model else False)
        books(find_books([source], language), folder / "gutenberg", pipeline, shard_bytes=SHARD)
    return folder / "gutenberg"


def concatenated(loaded):
    return concatenate_datasets(list(loaded.values()))


def _sizes(out):
    return {name: config["dialogues"] for name, config in read_manifest(out)["configs"].items()}


def test_all_languages_are_loaded_together(two_languages):
    sizes = _sizes(two_languages)
    rows = concatenated(edos_dataset.load(str(two_languages)))
    assert Counter(rows["language"]) == {"en": sizes["gutenberg_en"], "de": sizes["gutenberg_de"]}
    for row in rows:
        assert {turn["label"] is None for turn in row["turns"]} == {row["language"] == "de"}
    only = concatenated(edos_dataset.load(str(two_languages), "gutenberg_de"))
    assert len(only) == sizes["gutenberg_de"] and "label" not in only[0]["turns"][0]
    chats = concatenated(edos_dataset.load(str(two_languages), view="messages"))
    assert len(chats) == len(rows)


def test_all_languages_are_labelled_together(two_languages, tmp_path):
    out = tmp_path / "labelled.jsonl"
    with pytest.warns(UserWarning, match="look English"):
        edos_dataset.label(two_languages, "fast", out=out)
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert Counter(line["language"] for line in lines) == {
        name.removeprefix("gutenberg_"): size for name, size in _sizes(two_languages).items()
    }
    with pytest.warns(UserWarning, match="look English"):
        edos_dataset.label(two_languages, "fast", out=tmp_path / "one.jsonl", config="gutenberg_de")
    ones = [json.loads(line) for line in (tmp_path / "one.jsonl").read_text("utf-8").splitlines()]
    assert ones == [line for line in lines if line["language"] == "de"]


def test_all_languages_are_in_a_report(two_languages, tmp_path):
    found = report.report(Asked(str(two_languages)), out=tmp_path / "r.html", pictures=False)
    sizes = _sizes(two_languages)
    [data] = found["data"]
    assert data["name"] == "gutenberg (gutenberg_en, gutenberg_de)"
    assert data["sizes"]["dialogues"] == sum(sizes.values()) == found["manifest"]["counts"]["dialogues"]
    one = report.report(Asked(str(two_languages), "gutenberg_de"), out=tmp_path / "one.html", pictures=False)
    assert one["data"][0]["sizes"]["dialogues"] == sizes["gutenberg_de"]


def test_languages_with_different_labels_are_not_mixed(two_languages, tmp_path):
    out = tmp_path / "gutenberg"
    shutil.copytree(two_languages, out)
    pipeline = books_pipeline(language="de", model="fast", label_map="ekman7")
    source = two_languages.parent / "de"
    books(find_books([source], "de"), out, pipeline, shard_bytes=SHARD, force=True)
    told = "edos41 in gutenberg_en and of ekman7 in gutenberg_de: give one of them as config"
    for call in (edos_dataset.load, lambda folder: open_reported(Asked(folder), tmp_path)):
        with pytest.raises(ValueError, match=told):
            call(str(out))
    assert concatenated(edos_dataset.load(str(out), "gutenberg_de")).features
