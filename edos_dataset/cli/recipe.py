"""`edos recipe`."""

from typing import Annotated

import typer

from edos_dataset.cli.errors import explained


@explained()
def recipe(labels: Annotated[bool, typer.Option(help="With the labelling stages.")] = True) -> None:
    """Print the built-in recipe as YAML, each parameter below what it means, to edit and give back with
    `edos curate --recipe`.
    """
    from edos_dataset.commands.curate import pipeline_of
    from edos_dataset.runs.described import described_recipe

    typer.echo(described_recipe(pipeline_of(labels=labels)), nl=False)
