"""The built-in recipes of `edos books`: `default` finds all speech and its speakers; `papers` reproduces the code of
the Gutenberg Dialogue Dataset (Csaky and Recski, 2021), so that corpora can be compared with theirs.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edos_dataset.cleaning.duplicates import DropDuplicates, DropSameBooks, KeyTurns
from edos_dataset.cleaning.vocabulary import DropRareWords, FilterBooks, LimitUtterances
from edos_dataset.labeling.languages import for_language
from edos_dataset.labeling.models.shipped import is_supported
from edos_dataset.labeling.stages import AnnotateDialogues
from edos_dataset.languages import name_of_language, same_language
from edos_dataset.recipes.subtitles import (
    DEFAULT,
    PAPERS,
    changes_of,
    check_labels_of_file,
    finished,
    label_changes,
    names_model,
    recipe_file,
)
from edos_dataset.runs.pipeline import CorpusStep, Output, Stage
from edos_dataset.runs.recipes import Item, RecipeError, assign
from edos_dataset.schema import BOOK_CONFIGS, BOOK_LANGUAGES, books_config
from edos_dataset.segmentation.books.papers import WEIGHTS
from edos_dataset.segmentation.books.stages import FindDialogues, FindDialoguesAsPapers, KeepSure
from edos_dataset.sources.read import ReadBooks


def books_to_dialogues(language: str = "en") -> list[Item]:
    """Return the stages of the default recipe, without labels."""
    return [
        ReadBooks(language=language),
        DropSameBooks(),
        FilterBooks(),
        FindDialogues(),
        KeepSure(),
        LimitUtterances(),
        DropRareWords(),
        KeyTurns(),
        DropDuplicates(),
    ]


def books_as_papers(language: str = "en") -> list[Item]:
    """Return the stages of the recipe `papers`, without labels.

    The limit is 99 words, one less than theirs, as they count the name of the book before each utterance.
    """
    return [
        ReadBooks(language=language, plain=True, copyrighted=False),
        FilterBooks(),
        FindDialoguesAsPapers(),
        LimitUtterances(max_words=99),
        DropRareWords(as_papers=True),
    ]


BUILT_IN_BOOKS = {DEFAULT: books_to_dialogues, PAPERS: books_as_papers}

KNOWN: dict[str, type[Stage] | type[CorpusStep]] = {
    type(item).name: type(item)
    for item in [*books_as_papers(), *books_to_dialogues(), AnnotateDialogues()]
    if not isinstance(item, Output)
}
"""The stages that a recipe may contain."""


def books_pipeline(
    recipe: str | Path | None = None,
    *,
    language: str | None = None,
    labels: bool | None = None,
    model: str | None = None,
    label_set: Any = None,  # noqa: ANN401 - a name, a file or a LabelSet
    label_map: Any = None,  # noqa: ANN401 - the same, or a map
    settings: Sequence[str] = (),
    trust_remote_code: bool = False,
    from_python: bool = False,
) -> list[Item]:
    """Return the pipeline of a recipe, with some parameters changed.

    Args:
        recipe: a name of BUILT_IN_BOOKS, or a YAML file; None is the default.
        language: code of the books' language, one of BOOK_LANGUAGES; by default English, or that of the YAML file.
        labels: whether a built-in recipe labels the turns; None means yes if a shipped model supports the language or a
            model is given.
        model: "annotate.model"; by default of a built-in recipe the shipped model for the language.
        label_set: "annotate.label_set".
        label_map: "annotate.label_map".
        settings: changes of other parameters, in the form of `override`.
        trust_remote_code: run the code that came with the model; a recipe cannot set this.
        from_python: whether messages show options as Python arguments rather than command-line options.

    Raises:
        RecipeError: the recipe, a parameter or the language is wrong.
        ValueError: a stage occurs twice, or before one that it needs.
    """
    name = DEFAULT if recipe is None else str(recipe)
    changes = changes_of({"model": "annotate.model"}, {"model": model}, from_python)
    named = changes_of({"language": "read.language"}, {"language": language}, from_python)
    language = _known(language, named[0].said) if language is not None else None
    if labels is False and changes:
        said = ("labels=False", "model") if from_python else ("--no-labels", "--model")
        raise RecipeError(f"{said[0]} leaves the stage 'annotate' out, which {said[1]} is for; give one of the two")
    if name in BUILT_IN_BOOKS:
        pipeline = _built_in(name, language or "en", labels, model, settings)
    else:
        pipeline = _of_file(name, language, named[0].said if named else "")
        check_labels_of_file(name, pipeline, labels, from_python)
    changes += label_changes(pipeline, label_set, label_map, from_python)
    return finished(pipeline, changes, settings, trust_remote_code)


def language_of_books(pipeline: Sequence[Item]) -> str:
    """Return the code of a pipeline's language, which only its first stage states."""
    return next((item.language for item in pipeline if isinstance(item, ReadBooks)), ReadBooks.language)


def _built_in(name: str, language: str, labels: bool | None, model: str | None, settings: Sequence[str]) -> list[Item]:
    if name == PAPERS and language not in WEIGHTS:
        raise RecipeError(f"recipe papers knows no books in {name_of_language(language)}: give --recipe default")
    wanted = labels if labels is not None else model is not None or is_supported(language)
    weighed = name != PAPERS and not names_model(model, settings)
    annotate = for_language(AnnotateDialogues(), language, weighed)
    return [*BUILT_IN_BOOKS[name](language), *([annotate] if wanted else []), _output(language)]


def _known(language: str, said: str) -> str:
    """Return the code of BOOK_LANGUAGES that a code stands for ("pt_br" for "pt").

    Raises:
        RecipeError: there are no rules for the language.
    """
    found = next((code for code in BOOK_LANGUAGES if same_language(code, language)), None)
    if found is None:
        there = ", ".join(f"{code} ({name_of_language(code)})" for code in BOOK_LANGUAGES)
        raise RecipeError(f"{said}: there are no rules for how books in it mark speech; there are {there}")
    return found


def _output(language: str) -> Output:
    return Output(books_config(language))


def _of_file(name: str, language: str | None, said: str) -> list[Item]:
    """Return the pipeline of a YAML file, for `language` instead of its own if that is given."""
    pipeline = recipe_file(name, KNOWN, BUILT_IN_BOOKS)
    if not any(isinstance(item, ReadBooks) for item in pipeline):
        raise RecipeError(
            f"{name} is no recipe for books: its first stage must be 'read', as `edos recipe --books` has it"
        )
    if language is not None:
        pipeline = assign(pipeline, "read.language", language, said)
    found = language_of_books(pipeline)
    spoken = _known(found, said or f"{name}, read.language {found}")
    outputs = [item.config for item in pipeline if isinstance(item, Output)]
    if len(outputs) != 1 or outputs[0] not in BOOK_CONFIGS:
        raise RecipeError(f"{name}: a recipe for books ends in one output, {books_config(spoken)!r}; got {outputs}")
    return [_output(spoken) if isinstance(item, Output) else item for item in pipeline]
