"""`edos`: registers the commands, one file each. What a command needs is imported when it is called."""

import logging
from typing import Annotated

import typer

from edos_dataset.cli.audit import audit
from edos_dataset.cli.console import only_the_first_prints
from edos_dataset.cli.crowd_agreement import agreement
from edos_dataset.cli.crowd_seed import seed
from edos_dataset.cli.crowd_select import select
from edos_dataset.cli.curate import curate
from edos_dataset.cli.download import download
from edos_dataset.cli.extend import extend
from edos_dataset.cli.hydrate import hydrate
from edos_dataset.cli.inspect import inspect
from edos_dataset.cli.label import label
from edos_dataset.cli.labels_only import labels_only
from edos_dataset.cli.publish import publish
from edos_dataset.cli.recipe import recipe
from edos_dataset.cli.sample import sample
from edos_dataset.cli.segment import segment
from edos_dataset.version import __version__

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="""Turn subtitles into dialogues in which every turn carries one of 41 emotions and response intents.

`edos curate films/ --out edos` reads every subtitle below `films/` (OPUS XML, SubRip, WebVTT, ASS; plain, gzipped or
in a zip), finds turns and dialogues, cleans them, labels every turn, and writes a folder that `datasets` loads:

`load_dataset("edos")` `load_dataset("edos", "edos_initial")` `load_dataset("edos", "os")`

`edos segment films/ --out turns.jsonl` finds the turns and nothing more; `edos label dialogues.jsonl --out
labelled.jsonl` labels dialogues of yours.

Killed or stopped, the same command goes on where it was. `edos inspect edos` shows what came out.""",
)

crowd = typer.Typer(
    no_args_is_help=True, help="Labels by people: choose dialogues to ask for, measure agreement, make the seed."
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Set up what all commands share."""
    context.with_resource(only_the_first_prints())
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")


for command in (
    curate,
    segment,
    label,
    inspect,
    recipe,
    sample,
    download,
    extend,
    audit,
    publish,
    labels_only,
    hydrate,
):
    app.command()(command)
for of_crowd in (select, agreement, seed):
    crowd.command()(of_crowd)
app.add_typer(crowd, name="crowd")
