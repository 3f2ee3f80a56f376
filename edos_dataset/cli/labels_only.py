"""`edos labels-only`."""

from pathlib import Path
from typing import Annotated

import typer

from edos_dataset.cli.console import emit, load_call
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import AsJson, Force


@explained()
def labels_only(
    run: Annotated[Path, typer.Argument(help="A folder that `edos curate` or `edos label` wrote.", show_default=False)],
    out: Annotated[
        Path, typer.Option(help="Folder to write; one of earlier labels is brought up to date.", show_default=False)
    ],
    config: Annotated[str, typer.Option(help="Whose labels: `edos` or `edos_initial`.")] = "edos",
    recipe: Annotated[
        Path | None,
        typer.Option(
            help="YAML by which the dialogues were made; a folder of `edos label` needs it.",
            show_default="the run's own",
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write the labels of a run without any text: ids, hashes of the turns, labels.

    `edos hydrate` rebuilds the text from a copy of the subtitles. The folder loads by `load_dataset(OUT,
    "labels_only")`.
    """
    from edos_dataset.commands.labels_only import write_labels
    from edos_dataset.runs.stores.paths import place_of

    manifest = write_labels(place_of(run), place_of(out), config, recipe, force)
    dialogues, turns = (sum(manifest[unit].values()) for unit in ("dialogues", "turns"))
    summary = f"labels of {turns:,} turns in {dialogues:,} dialogues, and no text"
    emit(manifest, as_json, [summary, load_call(out.as_posix(), "labels_only")])
