"""The built-in recipes: the default one, and what the papers did."""

from pathlib import Path

import pytest

from edos_dataset.recipes.subtitles import BUILT_IN, pipeline_of, subtitles_to_dialogues, subtitles_to_edos
from edos_dataset.runs.pipeline import Output, Stage
from edos_dataset.runs.recipes import RecipeError, dump_recipe


def parameters(recipe: str, labels: bool = True) -> dict[str, object]:
    """Return what a recipe says of "STAGE.PARAMETER"."""
    return {
        f"{item.name}.{name}": value
        for item in pipeline_of(recipe, labels=labels)
        if not isinstance(item, Output)
        for name, value in vars(item).items()
    }


def test_the_default_is_the_stages_with_their_defaults_but_for_whole_exchanges() -> None:
    """With labels and without; an error has a price, and no boundary must be sure."""
    free = ["dialogues.price_of_error=null", "clean.whole_blocks=false", "clean.repetitive_from=1"]
    free.append("cap.whole_blocks=false")
    assert pipeline_of() == pipeline_of("default") != subtitles_to_edos() == pipeline_of(settings=free)
    assert pipeline_of(labels=False, settings=free) == subtitles_to_dialogues()
    default = parameters("default")
    assert default["turns.least_certainty"] == default["dialogues.least_certainty"] == 0
    assert default["dialogues.price_of_error"] > 1


def test_the_papers_differ_in_what_is_told() -> None:
    """Sentences by the marks alone; all files of films, songs and sounds stay; equal turns make equal dialogues; turns
    by the SVM, dialogues by 5 seconds of silence, sure or not; what follows a removed turn leaves; the crowd's labels.
    """
    ours, theirs = parameters("default"), parameters("papers")
    assert ours["turns.scorer"] == "scripts"
    assert ours.keys() == theirs.keys()
    assert {name: theirs[name] for name in theirs if theirs[name] != ours[name]} == {
        "read.names": False,
        "read.all_files": True,
        "lines.mend": False,
        "lines.only_speech": False,
        "sentences.go_on_at_dash": False,
        "sentences.end_at_capital": False,
        "sentences.name_all": False,
        "films.share": None,
        "turns.scorer": "svm",
        "turns.others": "rules",
        "dialogues.price_of_error": None,
        "dialogues.gap": 5.0,
        "dialogues.scenes": None,
        "clean.after_removed": "drop",
        "clean.numbers": False,
        "clean.whole_blocks": False,
        "clean.repetitive_from": 1,
        "clean.distinct": "tokens",
        "clean.opening_dots": False,
        "cap.after_removed": "drop",
        "cap.whole_blocks": False,
        "duplicates.share": None,
        "annotate.model": "dialogue",
    }
    assert parameters("papers", labels=False) == {name: theirs[name] for name in parameters("default", labels=False)}


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_recipe_as_a_file_is_the_recipe(name: str, tmp_path: Path) -> None:
    """What `edos recipe` prints and `--recipe` reads."""
    file = tmp_path / name
    file.write_text(dump_recipe(pipeline_of(name)), encoding="utf-8")
    assert pipeline_of(file) == pipeline_of(name)


def test_parameters_are_changed_over_a_built_in_recipe() -> None:
    """By options and settings; the encoder follows the model."""
    pipeline = pipeline_of("papers", weak_model="fast", top=5, settings=["turns.scorer=rules"])
    stages = {item.name: item for item in pipeline if isinstance(item, Stage)}
    assert "encode" not in stages
    assert vars(stages["turns"])["scorer"] == "rules"
    assert vars(stages["clean"])["after_removed"] == "drop"


def test_an_unknown_recipe_is_named_with_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the name is read nevertheless."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecipeError, match="no recipe is named 'paper'; did you mean 'papers'"):
        pipeline_of("paper")
    Path("paper").write_text("stages: [read]", encoding="utf-8")
    assert len(pipeline_of("paper")) == 1
