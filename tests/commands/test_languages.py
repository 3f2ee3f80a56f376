"""One language a run: found in the files, said in one place, and told where a model does not know it."""

import json
from pathlib import Path

import datasets
import pytest
import yaml

from command_line import edos
from edos_dataset.commands.corpus_runs import language_remarks
from edos_dataset.commands.curate import curate, language_of
from edos_dataset.recipes.subtitles import pipeline_of
from edos_dataset.runs.recipes import RecipeError, dump_recipe, override
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.sources.inventory import find_films
from edos_dataset.sources.read import OTHER_LANGUAGE, ReadFilms

SAMPLE = Path(__file__).parents[2] / "edos_dataset" / "sample" / "films" / "srt"
GERMAN, HUNGARIAN, ENGLISH = "der-goldene-hirsch.srt", "ket-novero-haza.srt", "the-pigeon-job.srt"


@pytest.fixture
def subtitles(tmp_path: Path) -> Path:
    folder = tmp_path / "subs"
    folder.mkdir()
    for name in (GERMAN, HUNGARIAN, ENGLISH):
        (folder / name).write_bytes((SAMPLE / name).read_bytes())
    return folder


def read(folder: Path, language: str = "en", **parameters: object) -> dict[str, tuple[str | None, str | None]]:
    """Return language and reason of each file."""
    table = ReadFilms(language=language, **parameters)(find_films([folder], language).films)
    return {row["document_id"]: (row["language"], row["reason"]) for row in table.to_pylist()}


@pytest.mark.parametrize(("language", "kept"), [("en", ENGLISH), ("de", GERMAN)])
def test_files_in_other_languages_leave_uncounted_as_bad(subtitles: Path, language: str, kept: str) -> None:
    found = read(subtitles, language)
    assert {name: reason for name, (_, reason) in found.items()} == {
        f"subs/{name}": None if name == kept else OTHER_LANGUAGE for name in (GERMAN, HUNGARIAN, ENGLISH)
    }
    assert {name: code for name, (code, _) in found.items()} == {
        f"subs/{GERMAN}": "de", f"subs/{HUNGARIAN}": "hu", f"subs/{ENGLISH}": "en"
    }  # fmt: skip
    stage = ReadFilms(language=language)
    table = stage(find_films([subtitles], language).films)
    assert stage.notes(table.filter(table["reason"].is_valid())) == []
    tally = {key: count for key, count in stage.tally(table).items() if key.startswith("other")}
    assert tally == {f"other language: {code}": 1 for code in ("de", "en", "hu") if code != language}


def test_detection_can_be_left_out(subtitles: Path) -> None:
    assert set(read(subtitles, detect_language=False).values()) == {("en", None)}


def test_the_file_in_the_language_wanted_wins(tmp_path: Path) -> None:
    """Even where another one of the film is longer, and is said to be in the language wanted."""
    (tmp_path / "film.en.srt").write_bytes((SAMPLE / GERMAN).read_bytes())
    (tmp_path / "film.srt").write_bytes((SAMPLE / ENGLISH).read_bytes()[:6000])
    found = read(tmp_path)
    assert {Path(name).name: reason for name, (_, reason) in found.items()} == {
        "film.en.srt": OTHER_LANGUAGE, "film.srt": None
    }  # fmt: skip


def test_an_inventory_for_another_language_gives_nothing(tmp_path: Path) -> None:
    """What the path says counts for the stage, too, so a pipeline cannot read what it is not for."""
    (tmp_path / "film.de.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nJa.\n")
    [row] = ReadFilms()(find_films([tmp_path], "de").films).to_pylist()
    assert (row["reason"], row["detail"].split(": ")[1]) == (
        OTHER_LANGUAGE, "its path says it is in de, wanted is 'en'"
    )  # fmt: skip


def test_a_pipeline_says_its_language_once() -> None:
    stages = yaml.safe_load(dump_recipe(pipeline_of(language="de")))["stages"]
    said = [stage for stage in stages if "language" in json.dumps(stage).replace("detect_language", "")]
    [(stage, settings)] = [pair for one in said for pair in one.items()]
    assert stage == "read" and settings["language"] == "de"
    assert language_of(pipeline_of(settings=["read.language=fr"])) == "fr"


def test_a_recipe_keeps_its_language(tmp_path: Path) -> None:
    """The default of `--language` does not overrule it."""
    (tmp_path / "recipe.yaml").write_text(dump_recipe(pipeline_of(language="no")))
    assert language_of(pipeline_of(tmp_path / "recipe.yaml")) == "no"
    assert language_of(pipeline_of(tmp_path / "recipe.yaml", language="de")) == "de"


@pytest.mark.parametrize("code", ["no", "yes", "on", "off", "null", "1"])
def test_a_code_is_a_text(code: str) -> None:
    """YAML reads some of them as truth values; `no` alone is a language."""
    for make in (
        lambda: pipeline_of(language=code),
        lambda: override([ReadFilms()], [f"read.language={code}"]),
    ):
        if code == "no":
            assert language_of(make()) == "no"
        else:
            with pytest.raises(RecipeError, match=f"no language has the code '{code}'"):
                make()


def test_what_is_not_there_cannot_be_set() -> None:
    for stage in ("lines", "turns"):
        with pytest.raises(RecipeError, match=f"stage '{stage}' has no parameter 'language'; there is read.language"):
            pipeline_of(settings=[f"{stage}.language=de"])


def test_norwegian_is_norwegian_in_all_that_is_written(subtitles: Path, tmp_path: Path) -> None:
    pipeline = pipeline_of(language="no", labels=False, settings=["read.detect_language=false"])
    out = tmp_path / "out"
    manifest = curate(find_films([subtitles], "no"), out, pipeline)
    assert manifest is not None
    for text in (manifest["recipe"], (out / "recipe.yaml").read_text()):
        assert yaml.safe_load(text)["stages"][0]["read"]["language"] == "no"
    assert yaml.safe_load((out / "README.md").read_text().split("---")[1])["language"] == ["no"]
    rows = datasets.load_dataset(str(out), "os", cache_dir=str(tmp_path / "cache"))["train"]
    assert set(rows["language"]) == {"no"}
    turns, splits = manifest["remarks"]
    assert "does not know Norwegian" in turns
    assert splits.startswith("splits of 80/10/10 would be empty with only 3 films")


@pytest.mark.parametrize("command", ["curate", "segment"])
@pytest.mark.parametrize(("code", "hint"), [("english", "did you mean 'en'"), ("xx", "give one of ISO 639")])
def test_an_unknown_language_is_wrong_usage(command: str, code: str, hint: str, subtitles: Path) -> None:
    done = edos(command, subtitles, "--out", subtitles.parent / "out", "--language", code)
    assert done.exit_code == 2
    assert hint in " ".join(done.stderr.replace("│", " ").split())
    assert not (subtitles.parent / "out").exists()


def test_what_does_not_know_the_language_is_said_once() -> None:
    assert language_remarks(pipeline_of(), "en_GB") == []
    assert language_remarks(pipeline_of(labels=False, settings=["turns.scorer=rules"]), "de") == []
    turns, labels = language_remarks(pipeline_of(language="de", weak_model="fast", model="general"), "de")
    assert turns == f"turns are found by 'marks': the scorer '{SegmentTurns.scorer}' does not know German"
    assert labels.startswith("the labels are unreliable: 'fast' and 'general' know no German;")


def test_labels_of_dialogues_in_another_language(tmp_path: Path) -> None:
    dialogues = {
        "a": ["I lost my job today.", "Oh no, what happened to you?"],
        "b": ["Ich habe heute meine Arbeit verloren.", "Oh nein, was ist denn passiert?"],
        "c": ["Ja.", "Nein!"],  # too few words to say so
        "d": ["Я сегодня потерял работу, и мне очень грустно.", "Что же случилось с тобой на этот раз?"],
    }
    lines = [json.dumps({"dialogue_id": name, "turns": turns}) for name, turns in dialogues.items()]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    done = edos(
        "label",
        tmp_path / "in.jsonl",
        "--model",
        "fast",
        "--out",
        tmp_path / "out.jsonl",
        "--workers",
        1,
        "--device",
        "cpu",
    )
    assert done.exit_code == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert said.endswith(
        "2 of 4 dialogues don't look English; model 'fast' knows English only: for others give a --model that knows "
        "them, such as a classifier of the Hub or openai:MODEL"
    )
