"""`recipe` and `Pipeline`: a recipe changed in Python, and messages that say what would be right."""

import pytest

import edos_dataset
from edos_dataset.cleaning.rules import CleanTurns
from edos_dataset.recipes import Pipeline, RecipeError, recipe
from edos_dataset.recipes.books import books_pipeline
from edos_dataset.recipes.subtitles import pipeline_of
from edos_dataset.runs.pipeline import Output
from edos_dataset.stages import DialogueFilter


class Never(DialogueFilter):
    least: int = 2
    word: str = ""

    def keep(self, dialogue):
        return False


def test_a_recipe_is_that_of_the_command():
    assert recipe() == recipe("default") == pipeline_of()
    assert recipe("papers", labels=False) == pipeline_of("papers", labels=False)
    assert recipe(weak_model="weak", model="fast", language="pt_br") == pipeline_of(
        weak_model="weak", model="fast", language="pt_br"
    )
    assert recipe(kind="books", language="de") == books_pipeline(language="de")
    assert recipe("papers", kind="books", labels=False) == books_pipeline("papers", labels=False)
    assert edos_dataset.recipe is recipe and edos_dataset.stages.DialogueFilter is DialogueFilter
    assert {"recipe", "stages"} <= set(edos_dataset.__all__)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("paper", {}, "no recipe is named 'paper'; did you mean 'papers'"),
        ("missing.yaml", {}, "cannot read the recipe missing.yaml"),
        ("default", {"kind": "films"}, "kind is 'films'; give 'subtitles' or 'books'"),
        ("default", {"labels": False, "model": "fast"}, "^model='fast': labels=False leaves the stage 'annotate' out"),
        ("default", {"kind": "books", "labels": False, "model": "fast"}, "^labels=False leaves .* which model is for"),
        ("default", {"kind": "books", "language": "xx"}, "^language='xx': there are no rules"),
        ("default", {"kind": "books", "weak_model": "fast"}, "the recipes of books have no weak labels"),
    ],
)
def test_a_wrong_recipe_is_explained_in_the_words_of_python(name, options, message):
    with pytest.raises(RecipeError, match=message):
        recipe(name, **options)


def test_each_change_makes_a_new_pipeline():
    before = recipe(labels=False)
    names = before.names
    place = names.index("clean")
    assert before.insert_before("clean", Never()).names == [*names[:place], "never", *names[place:]]
    assert before.insert_after("clean", Never(), Output("edos")).names[place:][:3] == ["clean", "never", "edos"]
    assert before.replace("clean", Never()).names == [*names[:place], "never", *names[place + 1 :]]
    assert before.without("clean", "os").names == [name for name in names if name not in ("clean", "os")]
    assert before.insert_before("os", Never()).names[-2:] == ["never", "os"]
    assert before == recipe(labels=False) and before != before.without("cap")
    assert before[:2].names == names[:2] and isinstance(before[:2], Pipeline)
    clean = CleanTurns(whole_blocks=True, repetitive_from=5)
    assert before["clean"] == before[place] == clean and "clean" in before and clean in before


def test_parameters_are_set_one_by_one_or_together():
    pipeline = recipe().set("dialogues.gap", 4).set({"clean.min_length": 3, "select.top": 5})
    assert pipeline["dialogues"].gap == 4.0 and pipeline["clean"].min_length == 3
    assert pipeline.set("dialogues.gap", recipe()["dialogues"].gap) != recipe()
    assert pipeline_of(settings=["dialogues.gap=4", "clean.min_length=3", "select.top=5"]) == pipeline


def test_what_no_recipe_holds_is_kept_where_a_parameter_is_set():
    trusting = Pipeline(pipeline_of(trust_remote_code=True))
    assert trusting.set("annotate.model", "fast")["annotate"].trust_remote_code


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda it: it.insert_after("claen", Never()), RecipeError, "no stage 'claen'; did you mean 'clean'"),
        (lambda it: it.without("xyzzy"), RecipeError, "no stage 'xyzzy'; there are read, lines, "),
        (lambda it: it.insert_after("clean", Never), TypeError, r"holds stages, not classes: give Never\(\)"),
        (lambda it: it.insert_after("clean", "never"), TypeError, "'never' is no stage"),
        (lambda it: it.set("dialogues.gapp", 4), RecipeError, "no parameter 'gapp'; did you mean 'gap'"),
        (lambda it: it.set("gap", 4), RecipeError, "expected 'STAGE.PARAMETER', as in 'dialogues.gap'"),
        (lambda it: it.set("dialogues.gap", "wide"), RecipeError, r"set\('dialogues.gap'\).*gap must be of type float"),
        (lambda it: it.set("dialogues.gap"), TypeError, "give set"),
        (lambda it: it.set({"dialogues.gap": 4}, 5), TypeError, "give set"),
        (lambda it: it.insert_after("read", Never()).check(), ValueError, "'never', needs 'dialogue_id'"),
        (lambda it: it.insert_after("clean", Never(), Never()).check(), ValueError, "comes twice"),
    ],
)
def test_a_wrong_change_is_explained(change, error, message):
    with pytest.raises(error, match=message):
        change(recipe(labels=False))


def test_a_pipeline_shows_its_stages():
    pipeline = recipe(labels=False).insert_after("clean", Never(3, "<b>"))
    lines = repr(pipeline).splitlines()
    assert lines[0] == "Pipeline of 12 stages"
    assert lines[1].split() == ["read"]
    assert "  never       least=3, word='<b>'" in lines and lines[-1].split() == ["→", "os", "published", "here"]
    html = pipeline._repr_html_()
    assert html.count("<tr>") == 14 and "&lt;b&gt;" in html and "<b>never</b>" in html


def test_a_pipeline_is_written_as_a_recipe(tmp_path):
    pipeline = recipe("papers").set("cap.limit", 7)
    (tmp_path / "mine.yaml").write_text(pipeline.to_yaml(), encoding="utf-8")
    assert recipe(tmp_path / "mine.yaml") == pipeline
