"""`edos_dataset.curate` and `edos_dataset.books`: a data set out of subtitles or books, as a call of a notebook or a
script.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edos_dataset.commands.books import make_books
from edos_dataset.commands.books_recipes import books_pipeline, language_of_books
from edos_dataset.commands.built_in import pipeline_of
from edos_dataset.commands.corpus_runs import Carrying
from edos_dataset.commands.curate import curate as run_curate
from edos_dataset.commands.curate import language_of
from edos_dataset.releases.load import load
from edos_dataset.runs.pipeline import check_pipeline
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.sources.books.inventory import find_books
from edos_dataset.sources.inventory import find_films


@dataclass(frozen=True)
class Curated:
    """A data set that `curate` or `books` wrote.

    Attributes:
        folder: where it lies.
        manifest: what the run did, as in `manifest.json`: stages with their counts, configs, quarantined files; of
            books those of their language.
    """

    folder: Path
    manifest: Mapping[str, Any]

    def load(self, config: str | None = None, split: str | None = None, **options: Any) -> Any:  # noqa: ANN401
        """Load it, as `edos_dataset.load` does: by default all splits of its first config."""
        return load(str(self.folder), config, split, **options)


def curate(
    sources: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    language: str | None = None,
    recipe: str | Path | None = None,
    settings: Sequence[str] = (),
    labels: bool = True,
    weak_model: str | None = None,
    model: str | None = None,
    top: int | None = None,
    by: str | None = None,
    limit: int | None = None,
    rejects: bool = False,
    workers: int = 1,
    force: bool = False,
) -> Curated:
    """Make a data set out of subtitles, as `edos curate` does.

        edos_dataset.curate("films", "edos", workers=2).load()

    With more than one worker a script needs its `if __name__ == "__main__":`, as the workers import it.

    Args:
        sources: files, folders and zip archives of subtitles.
        out: folder to write; one of an earlier run is brought up to date.
        language: of the subtitles ("en", "pt_br"), by default that of the recipe; files of another one are left out.
        recipe: YAML list of stages, or a built-in recipe: "default" or "papers".
        settings: changes of its parameters, such as "dialogues.gap=4.0".
        labels: whether turns are labelled; without, only the config "os" is made.
        weak_model: what labels single turns; by default that of the recipe.
        model: what labels turns with their history; likewise.
        top: dialogues to select for the labelled configs.
        by: select by "emotionality", "confidence" or "certainty".
        limit: films at most.
        rejects: keep all that is dropped, with its reason, in the run's folder.
        workers: processes; their number changes no byte.
        force: replace a finished run by one of another recipe or of other films.

    Returns:
        The folder and its manifest; `.load()` gives its `DatasetDict`.

    Raises:
        ValueError: a source or a parameter is wrong, or `out` holds something else.
        OSError: a file could not be written; the same call goes on where it stopped.
        WorkerDied: a worker was killed, or a script has no guard; likewise.
    """
    given = [sources] if isinstance(sources, str | Path) else sources
    pipeline = pipeline_of(
        recipe,
        labels=labels,
        weak_model=weak_model,
        model=model,
        top=top,
        by=by,
        language=language,
        settings=settings,
    )
    manifest = run_curate(
        find_films([place_of(source) for source in given], language_of(pipeline)),
        place_of(out),
        pipeline,
        workers=workers,
        limit=limit,
        keep_rejects=rejects,
        force=force,
    )
    assert manifest is not None, "the local engine leads"
    return Curated(place_of(out), manifest)


def books(
    sources: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    language: str | None = None,
    recipe: str | Path | None = None,
    settings: Sequence[str] = (),
    labels: bool | None = None,
    model: str | None = None,
    limit: int | None = None,
    rejects: bool = False,
    workers: int = 1,
    force: bool = False,
) -> Curated:
    """Make a data set out of books in one language, as `edos books` does.

        edos_dataset.books("novels", "gutenberg", language="de").load("gutenberg_de")

    With more than one worker a script needs its `if __name__ == "__main__":`, as the workers import it.

    Args:
        sources: files, folders and zip archives of books: text, TEI, HTML, EPUB.
        out: folder to write; those of other languages in it stay, one of an earlier run is brought up to date.
        language: of the books ("en"), by default that of the recipe.
        recipe: YAML list of stages, or a built-in recipe: "default" or "papers".
        settings: changes of its parameters, such as "dialogues.gap=200".
        labels: whether turns are labelled; by default those of English books are, and all where a model is given.
        model: what labels turns; by default that of the recipe.
        limit: books at most.
        rejects: keep all that is dropped, with its reason, in the run's folder.
        workers: processes; their number changes no byte.
        force: replace what another recipe or other books of this language have made.

    Returns:
        The folder and the manifest of this language; `.load("gutenberg_en")` gives the `DatasetDict` of its config.

    Raises:
        ValueError: a source or a parameter is wrong, or `out` holds something else.
        OSError: a file could not be written; the same call goes on where it stopped.
        WorkerDied: a worker was killed, or a script has no guard; likewise.
    """
    given = [sources] if isinstance(sources, str | Path) else sources
    pipeline = books_pipeline(recipe, language=language, labels=labels, model=model, settings=settings)
    check_pipeline(pipeline)
    inventory = find_books([place_of(source) for source in given], language_of_books(pipeline))
    how = Carrying(workers=workers, limit=limit, keep_rejects=rejects, force=force)
    manifest = make_books(inventory, place_of(out), pipeline, how)
    assert manifest is not None, "the local engine leads"
    return Curated(place_of(out), manifest)
