"""`edos books`."""

from pathlib import Path
from typing import Annotated

import typer

from edos_dataset.cli.console import emit, progress_bars
from edos_dataset.cli.errors import check_bad, explained
from edos_dataset.cli.options import MODELS, Address, AsJson, Engine, Force, MaxBad, Shard, TrustRemoteCode, Workers


@explained()
def books(
    context: typer.Context,
    sources: Annotated[
        list[Path],
        typer.Argument(help="Files, folders and zip archives of books: text, TEI, HTML, EPUB.", show_default=False),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="Folder to write; books in another language come beside those that it has.", show_default=False
        ),
    ],
    language: Annotated[
        str | None,
        typer.Option(help="Language of the books, a code such as `en`.", show_default="that of the recipe: en"),
    ] = None,
    recipe: Annotated[
        str,
        typer.Option(
            help="`default`, `papers` (as the Gutenberg Dialogue Dataset was made), or a YAML list of stages, as `edos "
            "recipe --books` prints these."
        ),
    ] = "default",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Change a parameter: `length.max_words=60`. May be repeated.")
    ] = None,
    labels: Annotated[
        bool | None, typer.Option(help="Label the turns.", show_default="for English, or with --model")
    ] = None,
    model: Annotated[str | None, typer.Option(help=f"What labels them: {MODELS}.", show_default="general")] = None,
    workers: Workers = None,
    engine: Engine = None,
    address: Address = None,
    shard: Shard = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Books at most.", show_default="all")] = None,
    rejects: Annotated[
        bool,
        typer.Option(
            "--rejects",
            "--keep-rejects",
            help="Keep all that is dropped, with its reason, beside the shards in `.run`.",
        ),
    ] = False,
    force: Force = False,
    max_bad: MaxBad = 0.2,
    trust_remote_code: TrustRemoteCode = False,
    as_json: AsJson = False,
) -> None:
    """Make a dataset of dialogues out of books, a config a language: `gutenberg_en`, whose turns are labelled,
    `gutenberg_de`, ...

    More books, or a newer version of this package, bring a finished folder up to date; another recipe, or books that
    are gone or have changed, replace the language with --force only. `edos inspect` tells what became of each book.

    Exit codes: 0 done, 1 failed (the message says why), 2 wrong usage, 3 done, but too many files could not be read,
    130 stopped.
    """
    from edos_dataset.cli.merge import share_of, told_share
    from edos_dataset.cli.tables import run_report
    from edos_dataset.commands.books import make_books
    from edos_dataset.commands.books_recipes import books_pipeline, language_of_books
    from edos_dataset.commands.corpus_runs import Carrying
    from edos_dataset.runs.engines.by_name import take_engine
    from edos_dataset.runs.manifest import bad_share
    from edos_dataset.runs.pipeline import check_pipeline
    from edos_dataset.runs.stores.paths import place_of
    from edos_dataset.sources.books.inventory import find_books

    out = place_of(out)
    pipeline = books_pipeline(
        recipe,
        language=language,
        labels=labels,
        model=model,
        settings=settings or [],
        trust_remote_code=trust_remote_code,
    )
    check_pipeline(pipeline)  # before the files are listed, which can take long
    inventory = find_books(sources, language_of_books(pipeline))
    engine, processes = take_engine(engine, workers, address=address)
    with progress_bars() as progress:
        how = Carrying(
            workers=processes,
            engine=engine,
            limit=limit,
            keep_rejects=rejects,
            force=force,
            progress=progress,
            **share_of(context, shard),
        )
        manifest = make_books(inventory, out, pipeline, how)
    if manifest is None or told_share(manifest, out, as_json):  # else another process tells
        return
    emit(manifest, as_json, run_report(out, manifest))
    check_bad(bad_share(manifest), max_bad)
