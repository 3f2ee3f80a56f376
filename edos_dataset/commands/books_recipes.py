"""The recipes of `edos books`, whole and named: `default` finds all speech and who says it, `papers` does what the code
behind the Gutenberg Dialogue Dataset does (Csaky and Recski, 2021), so that corpora can be compared with theirs.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from edos_dataset.cleaning.duplicates import DropDuplicates, KeyTurns
from edos_dataset.cleaning.films import DropSameBooks
from edos_dataset.cleaning.utterances import LimitUtterances
from edos_dataset.cleaning.vocabulary import DropRareWords, FilterBooks
from edos_dataset.commands.built_in import DEFAULT, PAPERS
from edos_dataset.labeling.stages import AnnotateDialogues, LabelTurns
from edos_dataset.languages.codes import name_of_language, same_language
from edos_dataset.runs.phases import check_order
from edos_dataset.runs.pipeline import CorpusStep, Output, Stage
from edos_dataset.runs.recipes import Item, RecipeError, load_recipe, nearest
from edos_dataset.runs.settings import assign, override
from edos_dataset.schema import BOOK_CONFIGS, BOOK_LANGUAGES, books_config
from edos_dataset.segmentation.books.papers import WEIGHTS
from edos_dataset.segmentation.books.stages import FindDialogues, FindDialoguesAsPapers, KeepSure
from edos_dataset.sources.books.read import ReadBooks

LABELLED_LANGUAGES: tuple[str, ...] = ("en",)
"""Those that the labelers that ship know, so that turns in them are labelled without being asked."""


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
    """Return the stages of recipe `papers`, without labels; a word less than 100, as theirs counts the name of the book
    before each utterance.
    """
    return [
        ReadBooks(language=language, plain=True),
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
"""The stages that a recipe may name."""


def books_pipeline(
    recipe: str | Path | None = None,
    *,
    language: str | None = None,
    labels: bool | None = None,
    model: str | None = None,
    settings: Sequence[str] = (),
    trust_remote_code: bool = False,
) -> list[Item]:
    """Return the pipeline of a recipe, with what else is given in place of its parameters.

    Args:
        recipe: a name of BUILT_IN_BOOKS, or a YAML file; None is the default.
        language: code of the books' language, one of BOOK_LANGUAGES; by default English, or that of the YAML file.
        labels: whether a built-in one labels the turns; None is as the language is one of LABELLED_LANGUAGES or a model
            is given.
        model: "annotate.model".
        settings: changes of other parameters, as `override` takes them.
        trust_remote_code: run the code that came with the model; no recipe can say so.

    Raises:
        RecipeError: the recipe, a parameter or the language is wrong.
        ValueError: a stage comes twice, or before one that it needs.
    """
    name = DEFAULT if recipe is None else str(recipe)
    if language is not None:
        language = _known(language)
    if labels is False and model is not None:
        raise RecipeError("--no-labels leaves the stage 'annotate' out, which --model is for; give one of the two")
    if name in BUILT_IN_BOOKS:
        spoken = language or "en"
        if name == PAPERS and spoken not in WEIGHTS:
            raise RecipeError(f"recipe papers knows no books in {name_of_language(spoken)}: give --recipe default")
        wanted = labels if labels is not None else model is not None or spoken in LABELLED_LANGUAGES
        pipeline = [*BUILT_IN_BOOKS[name](spoken), *([AnnotateDialogues()] if wanted else []), _output(spoken)]
    elif not Path(name).suffix and not Path(name).exists():
        raise RecipeError(f"no recipe is named {name!r}{nearest(name, list(BUILT_IN_BOOKS))}; or give a YAML file")
    else:
        pipeline = _of_file(Path(name), language)
    if model is not None:
        pipeline = assign(pipeline, "annotate.model", model, f"--model {model}")
    pipeline = override(pipeline, settings)
    check_order(pipeline)
    return [
        replace(item, trust_remote_code=trust_remote_code) if isinstance(item, LabelTurns) else item
        for item in pipeline
    ]


def language_of_books(pipeline: Sequence[Item]) -> str:
    """Return the code of the language that a pipeline reads, which only its first stage names."""
    return next((item.language for item in pipeline if isinstance(item, ReadBooks)), ReadBooks.language)


def _known(language: str) -> str:
    """Return the code of BOOK_LANGUAGES that a code stands for ("pt_br" for "pt").

    Raises:
        RecipeError: there are no rules for it.
    """
    found = next((code for code in BOOK_LANGUAGES if same_language(code, language)), None)
    if found is None:
        there = ", ".join(f"{code} ({name_of_language(code)})" for code in BOOK_LANGUAGES)
        raise RecipeError(f"--language {language}: nobody has told how books in it mark speech; there are {there}")
    return found


def _output(language: str) -> Output:
    return Output(books_config(language))


def _of_file(path: Path, language: str | None) -> list[Item]:
    """Return the pipeline of a YAML file, for another language than its own where one is asked for."""
    pipeline = load_recipe(path, KNOWN, custom=True)
    if not any(isinstance(item, ReadBooks) for item in pipeline):
        raise RecipeError(
            f"{path} is no recipe for books: its first stage must be 'read', as `edos recipe --books` has it"
        )
    if language is not None:
        pipeline = assign(pipeline, "read.language", language, f"--language {language}")
    spoken = _known(language_of_books(pipeline))
    outputs = [item.config for item in pipeline if isinstance(item, Output)]
    if len(outputs) != 1 or outputs[0] not in BOOK_CONFIGS:
        raise RecipeError(f"{path}: a recipe for books ends in one output, {books_config(spoken)!r}; got {outputs}")
    return [_output(spoken) if isinstance(item, Output) else item for item in pipeline]
