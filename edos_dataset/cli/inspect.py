"""`edos inspect`."""

from pathlib import Path
from random import Random
from typing import Annotated

import typer

from edos_dataset.cli.console import emit
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import AsJson


@explained()
def inspect(
    run: Annotated[Path, typer.Argument(help="A folder that `edos curate` wrote.", show_default=False)],
    dialogues: Annotated[int, typer.Option(min=0, help="Random dialogues to show.")] = 3,
    config: Annotated[
        str | None, typer.Option(help="Config to take them from.", show_default="the default one")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the choice, to see the same ones again.", show_default="none")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a run: its stages, what each kept and why it rejected the rest, and a few random dialogues with their
    labels.
    """
    from edos_dataset.cli.tables import dialogue_lines, run_report
    from edos_dataset.publishing.inspection import random_dialogues
    from edos_dataset.runs.manifest import read_manifest

    manifest = read_manifest(run)
    drawn = random_dialogues(run, manifest, dialogues, config, Random(seed))
    emit({**manifest, "dialogues": drawn}, as_json, [*run_report(run, manifest), *dialogue_lines(drawn)])
