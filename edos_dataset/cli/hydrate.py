"""`edos hydrate`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from edos_dataset.cli.console import emit, progress_bars
from edos_dataset.cli.errors import TOO_MANY, Ended, explained
from edos_dataset.cli.options import Address, AsJson, Engine, Force, Workers


@explained()
def hydrate(
    labels: Annotated[
        Path, typer.Argument(help="A folder that `edos labels-only` wrote, or a copy of it.", show_default=False)
    ],
    sources: Annotated[
        list[Path],
        typer.Argument(
            help="Your files, folders and zip archives of the same subtitles, under whatever names: documents that are "
            "not there by name are looked for by what is said in them.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(help="Folder to write; one of an earlier hydration is brought up to date.", show_default=False),
    ],
    workers: Workers = None,
    engine: Engine = None,
    address: Address = None,
    max_missing: Annotated[
        float, typer.Option(min=0, max=1, help="Share of missing dialogues above which the exit code is 3.")
    ] = 0.01,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Rebuild the text of published labels from your own copy of the subtitles, and compare every turn with its hash.

    What is missing is counted by its reason and listed in `missing.jsonl`. Exit codes: 0 done, 1 failed (the message
    says why), 2 wrong usage, 3 done, but too much is missing, 130 stopped.
    """
    from edos_dataset.cli.tables import run_report
    from edos_dataset.commands.hydrate import MISSING, missing_share
    from edos_dataset.commands.hydrate import hydrate as rebuild
    from edos_dataset.runs.engines.by_name import take_engine
    from edos_dataset.runs.stores.paths import place_of

    engine, processes = take_engine(engine, workers, address=address)
    out = place_of(out)
    with progress_bars() as progress:
        manifest = rebuild(
            labels,
            sources,
            out,
            workers=processes,
            engine=engine,
            max_missing=max_missing,
            force=force,
            progress=progress,
        )
    if manifest is None:  # another process tells
        return
    emit(manifest, as_json, run_report(out, manifest, missing_lines(manifest, out / MISSING)))
    if (share := missing_share(manifest)) > max_missing:
        raise Ended(
            TOO_MANY,
            f"[bold red]{share:.1%} of the dialogues are missing[/bold red] (more than {max_missing:.1%}, "
            "--max-missing)",
        )


def missing_lines(manifest: Mapping[str, Any], listed: Path) -> Iterator[str]:
    """Yield how much of the labels' text is there again, and why the rest is not; `listed` names what is missing."""
    missing, identical = manifest["missing"], list(manifest["identical"].values())
    yield f"{missing['found']:,} of {missing['dialogues']:,} dialogues found, every turn with its hash"
    if missing["reasons"]:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in missing["reasons"].items())
        yield escape(f"missing: {reasons}; listed in {listed}")
        return
    same = f"{sum(identical)} of {len(identical)} files are byte for byte those of the run that the labels are from"
    others = "in the others only the rows are, as another version of pyarrow writes other bytes"
    yield same if all(identical) else f"{same}; {others}"
