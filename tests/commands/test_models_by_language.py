"""The labelers that are chosen by language."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from command_line import edos
from edos_dataset.commands.corpus_runs import language_remarks
from edos_dataset.commands.labelled_objects import model_for
from edos_dataset.labeling.stages import AnnotateDialogues, LabelTurns
from edos_dataset.recipes.books import books_pipeline
from edos_dataset.recipes.subtitles import pipeline_of
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.releases.formats.several import SeveralFiles, files_in

GERMAN = [
    "Ich habe heute meine Arbeit verloren.", "Oh nein, was ist denn passiert?", "Das weiß ich nicht, und es ist egal.",
    "Sie haben mir nicht gesagt, was sie wollen.", "Das ist nicht gut. Wir sind aber bei dir.",
]  # fmt: skip
ENGLISH = ["I lost my job today.", "Oh no, what happened to you?", "I do not know that.", "What was it with the money?"]
FINNISH = ["En ole nyt kotona, mutta olen kohta.", "Ja mitä sitten? Se ei ole totta.", "Niin, kun minun on mentävä."]


def models_of(pipeline: Any) -> list[str]:
    return [item.model for item in pipeline if isinstance(item, LabelTurns)]


@pytest.mark.parametrize("recipe", ["default", "papers"])
def test_subtitles_are_labelled_by_a_model_that_knows_their_language(recipe: str) -> None:
    english = {"default": ["weak", "general"], "papers": ["weak", "dialogue"]}[recipe]
    assert models_of(pipeline_of(recipe)) == models_of(pipeline_of(recipe, language="en_GB")) == english
    assert models_of(pipeline_of(recipe, language="pt_br")) == ["multilingual", "multilingual"]
    assert models_of(pipeline_of(recipe, language="de", model="fast")) == ["multilingual", "fast"]
    assert models_of(pipeline_of("scripts", language="hu")) == ["multilingual"]


def test_subtitles_in_a_language_that_no_model_knows_have_no_labels_and_that_is_said() -> None:
    pipeline = pipeline_of(language="fi")
    assert models_of(pipeline) == []
    _, said = language_remarks(pipeline, "fi")
    assert said.startswith("there are no labels: no model that comes with edos-dataset knows Finnish")
    assert len(language_remarks(pipeline, "fi", labels=False)) == 1, "they were not wanted"
    assert models_of(pipeline_of(language="fi", model="general")) == ["weak", "general"], "a model that was asked for"


def test_books_are_labelled_by_a_model_that_knows_their_language() -> None:
    assert models_of(books_pipeline()) == ["general"]
    assert models_of(books_pipeline(language="hu")) == ["multilingual"]
    assert models_of(books_pipeline(language="hu", model="fast")) == ["fast"]
    assert models_of(books_pipeline(language="hu", labels=False)) == []
    said = language_remarks(books_pipeline(language="hu"), "hu")
    assert said == ["the labels are by the model 'multilingual', since the texts are Hungarian"]


def priors_of(pipeline: Any) -> list[object]:
    return [item.priors for item in pipeline if isinstance(item, AnnotateDialogues)]


def test_the_model_that_the_language_chooses_is_weighed_unless_a_user_says_otherwise() -> None:
    for build in (pipeline_of, books_pipeline):
        assert priors_of(build(language="de")) == ["films"]
        assert priors_of(build(language="en")) == priors_of(build(language="de", model="general")) == [None]
        assert priors_of(build(language="de", settings=["annotate.priors=null"])) == [None]
        assert priors_of(build(language="de", settings=["annotate.priors=none"])) == ["none"]
        assert priors_of(build(language="de", settings=["annotate.model=openai:m"])) == [None]
    assert (
        priors_of(pipeline_of("papers", language="de")) == priors_of(books_pipeline("papers", language="de")) == [None]
    )
    assert priors_of(pipeline_of("scripts", language="hu")) == ["films"]
    weighed = AnnotateDialogues(model="multilingual", priors="films")
    weighed.check()
    assert weighed.source.startswith("multilingual-e5+films@")


@pytest.mark.parametrize(("texts", "model"), [(GERMAN, "multilingual"), (ENGLISH, "general"), (FINNISH, "general")])
def test_dialogues_are_labelled_by_a_model_that_knows_the_language_of_the_first(
    texts: list[str], model: str, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps({"dialogue_id": "a", "turns": texts}) + "\n", encoding="utf-8")
    for given in ([texts], path, str(path), files_in([path, path])):
        found, said = model_for(given, Selection(), None, None)
        assert found == model, given
        assert bool(said) == (model == "multilingual")
    assert isinstance(files_in([path, path]), SeveralFiles)


def test_a_language_that_is_given_is_believed() -> None:
    assert model_for([ENGLISH], Selection(), None, "de") == (
        "multilingual",
        ["labelled by 'multilingual', since the texts are German"],
    )
    assert model_for([GERMAN], Selection(), None, "en") == ("general", [])
    assert model_for([GERMAN], Selection(), "fast", None) == ("fast", [])


@pytest.mark.parametrize(
    ("model", "language", "message"),
    [("fast", "de", "both|one of the two"), (None, "fi", "no model that comes with edos-dataset knows Finnish")],
)
def test_a_language_that_cannot_choose_is_refused(model: Any, language: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model_for([ENGLISH], Selection(), model, language)


@pytest.mark.parametrize("source", ["-", "/dev/stdin", "nowhere.jsonl", "owner/data"])
def test_what_cannot_be_read_twice_is_taken_for_english(source: str) -> None:
    assert model_for(source, Selection(), None, None) == ("general", [])


SPANISH = ["¿Por qué me dejaste sola esta noche?", "Lo siento mucho, mi amor, no volverá a pasar."]
SHORT = ["Nein!", "Doch!"]


def sources_of(stage: AnnotateDialogues, dialogues: list[list[str]]) -> list[str]:
    """Return the model that labelled each dialogue."""
    table = pa.table({"turns": [[{"text": text} for text in texts] for texts in dialogues]})
    return [row["turns"][0]["label_source"].partition("@")[0] for row in stage(table).to_pylist()]


def test_dialogues_in_other_languages_are_labelled_by_the_model_that_knows_them() -> None:
    stage = AnnotateDialogues(others="multilingual")
    mixed = [ENGLISH, GERMAN, SHORT, FINNISH, SPANISH, ENGLISH]
    general, other = "general-minilm", "multilingual-e5"
    assert sources_of(stage, mixed) == [general, other, general, general, other, general]
    assert sources_of(stage, [GERMAN, SPANISH]) == [other, other]
    assert sources_of(stage, [ENGLISH]) == sources_of(AnnotateDialogues(), [GERMAN])[:1] == [general]
    assert stage(pa.table({"turns": pa.array([], pa.list_(pa.struct({"text": pa.string()})))})).num_rows == 0
    assert stage.inputs().keys() == {"model", "others"} and len(stage.records()) == 2
    assert AnnotateDialogues().inputs().keys() == {"model"}
    table = pa.table({"turns": [[{"text": text} for text in texts] for texts in mixed]})
    both = stage(table).take([1, 4])
    assert both.equals(stage.for_others(table.take([1, 4]))), "in the order of the source, as the model alone"


def test_a_command_without_a_model_labels_each_language_by_its_own(tmp_path: Path) -> None:
    path, out = tmp_path / "mixed.jsonl", tmp_path / "out.jsonl"
    rows = [
        {"dialogue_id": name, "turns": turns}
        for name, turns in zip("abcdefg", [*[ENGLISH] * 4, GERMAN, FINNISH, SHORT], strict=True)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    said = " ".join(edos("label", path, "--out", out).output.split())
    assert "1 of 7 dialogues is in another language: labelled by 'multilingual'" in said
    assert "1 of 7 dialogues doesn't look English, German, Spanish, Hungarian, Italian, Dutch or Portuguese" in said
    assert "models 'general' and 'multilingual' know" in said
    alone = " ".join(edos("label", path, "--out", out, "--model", "general", "--force").output.split())
    assert "labelled by 'multilingual'" not in alone
    assert "2 of 7 dialogues don't look English; model 'general' knows English only" in alone
