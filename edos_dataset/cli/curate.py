"""`edos curate`."""

from pathlib import Path
from typing import Annotated

import typer

from edos_dataset.cli.console import emit, progress_bars
from edos_dataset.cli.errors import check_bad, explained
from edos_dataset.cli.options import (
    MODELS,
    OF_RECIPE,
    Address,
    AsJson,
    Engine,
    Force,
    Language,
    MaxBad,
    Shard,
    Sources,
    TrustRemoteCode,
    Workers,
)


@explained()
def curate(
    context: typer.Context,
    sources: Sources,
    out: Annotated[
        Path, typer.Option(help="Folder to write; one of an earlier run is brought up to date.", show_default=False)
    ],
    recipe: Annotated[
        str,
        typer.Option(help="`default`, `papers`, or a YAML list of stages, as `edos recipe` prints these."),
    ] = "default",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Change a parameter: `dialogues.gap=4.0`. May be repeated.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(help="Dialogues to select for edos_initial and edos.", show_default="1,000,000")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Select by `emotionality`, `confidence` or `certainty`.", show_default="emotionality"),
    ] = None,
    weak_model: Annotated[
        str | None, typer.Option(help=f"What labels single turns: {MODELS}.", show_default=OF_RECIPE)
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="What labels turns with their history; likewise.", show_default=OF_RECIPE)
    ] = None,
    labels: Annotated[bool, typer.Option(help="Label the turns; without, only the config `os` is made.")] = True,
    language: Language = None,
    workers: Workers = None,
    engine: Engine = None,
    address: Address = None,
    shard: Shard = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Films at most.", show_default="all")] = None,
    rejects: Annotated[
        bool, typer.Option("--rejects", help="Keep all that is dropped, with its reason, beside the shards in `.run`.")
    ] = False,
    force: Force = False,
    max_bad: MaxBad = 0.2,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the files and estimate time and disk; write nothing.")
    ] = False,
    trust_remote_code: TrustRemoteCode = False,
    as_json: AsJson = False,
) -> None:
    """Make a dataset out of subtitles.

    More films, or a newer version of this package, bring a finished folder up to date; another recipe, or films that
    are gone or have changed, replace it with --force only.

    Exit codes: 0 done, 1 failed (the message says why), 2 wrong usage, 3 done, but too many files could not be read,
    130 stopped.
    """
    from edos_dataset.cli.merge import share_of, told_share
    from edos_dataset.cli.tables import estimate_lines, report_line, run_report
    from edos_dataset.commands import curate as curating
    from edos_dataset.commands.built_in import pipeline_of
    from edos_dataset.commands.estimate import estimate
    from edos_dataset.commands.languages import language_remarks
    from edos_dataset.runs.engines.by_name import take_engine
    from edos_dataset.runs.manifest import bad_share
    from edos_dataset.runs.pipeline import check_pipeline
    from edos_dataset.runs.stores.paths import place_of
    from edos_dataset.sources.inventory import find_films

    out = place_of(out)
    pipeline = pipeline_of(
        recipe,
        labels=labels,
        weak_model=weak_model,
        model=model,
        top=top,
        by=by,
        language=language,
        settings=settings or [],
        trust_remote_code=trust_remote_code,
    )
    check_pipeline(pipeline)  # before the files are listed, which can take long
    inventory = find_films(sources, curating.language_of(pipeline))
    engine, processes = take_engine(engine, workers, address=address)
    if dry_run:
        guess = estimate(inventory.films.slice(0, limit), pipeline, processes)
        remarks = language_remarks(pipeline, curating.language_of(pipeline))
        emit(vars(guess), as_json, [*estimate_lines(guess, inventory), *remarks])
        return
    with progress_bars() as progress:
        manifest = curating.curate(
            inventory,
            out,
            pipeline,
            workers=processes,
            engine=engine,
            limit=limit,
            keep_rejects=rejects,
            force=force,
            progress=progress,
            **share_of(context, shard),
        )
    if manifest is None or told_share(manifest, out, as_json):  # else another process tells
        return
    emit(manifest, as_json, [*run_report(out, manifest), report_line(out)])
    check_bad(bad_share(manifest), max_bad)
