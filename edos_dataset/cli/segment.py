"""`edos segment`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from edos_dataset.cli.console import progress_bars, say
from edos_dataset.cli.errors import check_bad, explained
from edos_dataset.cli.options import OF_RECIPE, Address, Engine, Force, Language, MaxBad, Sources, Workers


@explained(
    kept="No file was written; mend this and give the same command again",
    stopped="No file was written. The same command goes on where it was, with `--out -` from the beginning.",
)
def segment(
    sources: Sources,
    out: Annotated[
        Path,
        typer.Option(
            help="File to write, `-` for standard output; it appears only when it is whole.",
            show_default=False,
        ),
    ],
    scorer: Annotated[
        str | None,
        typer.Option(
            help="What scores the sentences; the rules do where it doesn't know the language.", show_default=OF_RECIPE
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="A turn goes on where the score is at least this, 0 to 1.", show_default=OF_RECIPE),
    ] = None,
    language: Language = None,
    workers: Workers = None,
    engine: Engine = None,
    address: Address = None,
    force: Force = False,
    max_bad: MaxBad = 0.2,
) -> None:
    """Find the turns and nothing more: write one JSON object a sentence.

    `document_id`, `sentence_id`, `start` and `end` (seconds or null), `text`, `turn_id` (numbers the turns of a
    document from 0), and `same_turn_score`, from 0 to 1: how surely the speaker of the sentence before goes on; null
    for the first sentence of a document. Exit codes are those of `edos curate`.
    """
    from edos_dataset.cli.tables import quarantine_lines
    from edos_dataset.commands.segment import segment as write_turns
    from edos_dataset.runs.engines.by_name import take_engine
    from edos_dataset.runs.manifest import bad_share
    from edos_dataset.runs.pipeline import check_pipeline
    from edos_dataset.runs.stores.paths import place_of
    from edos_dataset.segmentation.turns.marks import MarkTurns
    from edos_dataset.sources.inventory import find_films
    from edos_dataset.sources.read import ReadFilms

    out = place_of(out)
    target = None if str(out) == "-" else out
    given = {"scorer": scorer, "threshold": threshold}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    stage = MarkTurns(**chosen)
    check_pipeline([stage])
    language = language or ReadFilms.language
    inventory = find_films(sources, language)
    engine, processes = take_engine(engine, workers, address=address)
    with progress_bars() as progress:
        done = write_turns(
            inventory,
            target,
            stage,
            language=language,
            force=force,
            workers=processes,
            engine=engine,
            progress=progress,
        )
    if done is None:  # another process tells
        return
    summary = f"{done['sentences']:,} sentences in {done['turns']:,} turns of {done['documents']:,} documents"
    say([summary, *quarantine_lines(done, most=None)], stderr=target is None)
    check_bad(bad_share(done), max_bad)
