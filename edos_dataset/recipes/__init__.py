"""Recipes as Python objects: `recipe` returns a `Pipeline`, which you can change and pass to `curate` or `books`.

    from edos_dataset import curate, recipe

    pipeline = recipe("default").set("dialogues.gap", 4.0).without("cap")
    curate("films", "edos", pipeline=pipeline)

To write your own stages, use the base classes in `edos_dataset.stages`.
"""

from pathlib import Path
from typing import Any, Literal

from edos_dataset.recipes.books import books_pipeline
from edos_dataset.recipes.pipelines import Pipeline
from edos_dataset.recipes.subtitles import pipeline_of
from edos_dataset.runs.recipes import RecipeError

__all__ = ["Pipeline", "RecipeError", "recipe"]


def recipe(
    name: str | Path = "default",
    *,
    kind: Literal["subtitles", "books"] = "subtitles",
    language: str | None = None,
    labels: bool | None = None,
    weak_model: str | None = None,
    model: str | None = None,
    label_set: Any = None,  # noqa: ANN401 - see Args
    label_map: Any = None,  # noqa: ANN401
) -> Pipeline:
    """Return the pipeline of a recipe.

        recipe()                                     # subtitles to labelled dialogues
        recipe("papers", labels=False)               # as the papers did it, without labels
        recipe("default", kind="books", language="de")
        recipe("mine.yaml")

    Args:
        name: a built-in recipe, "default" or "papers", or the path of a YAML file.
        kind: the input: "subtitles", for `curate`, or "books", for `books`.
        language: code of the input language ("en", "pt_br"); by default English, or that of the YAML file.
        labels: whether a built-in recipe labels the turns. By default, subtitles are labelled, and books if the shipped
            labelers support the language, which is English.
        weak_model: model that labels single turns of subtitles, to select dialogues; by default that of the recipe.
        model: model that labels turns with their history; by default that of the recipe.
        label_set: label set to write, as in `edos_dataset.label`; by default that of each model.
        label_map: label set or map to which the labels are translated, as in `edos_dataset.label`.

    Returns:
        The pipeline; `print(pipeline)` lists its stages, and `edos recipe` explains each parameter.

    Raises:
        RecipeError: there is no such recipe, or the file or a parameter is wrong; the message says what would be right.
        ValueError: a stage occurs twice, or before one that it needs.
    """
    chosen: dict[str, Any] = {"model": model, "label_set": label_set, "label_map": label_map}
    if kind == "books":
        if weak_model is not None:
            raise RecipeError(f"weak_model={weak_model!r}: the recipes of books have no weak labels; give model")
        return Pipeline(books_pipeline(name, language=language, labels=labels, **chosen, from_python=True))
    if kind != "subtitles":
        raise RecipeError(f"kind is {kind!r}; give 'subtitles' or 'books'")
    return Pipeline(
        pipeline_of(
            name,
            labels=labels is not False,
            weak_model=weak_model,
            language=language,
            **chosen,
            from_python=True,
        )
    )
