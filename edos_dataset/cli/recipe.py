"""`edos recipe`."""

from typing import Annotated

import typer

from edos_dataset.cli.errors import explained


@explained()
def recipe(
    name: Annotated[
        str, typer.Argument(help="`default`, for the truest data, or `papers`, what the papers did.")
    ] = "default",
    labels: Annotated[bool, typer.Option(help="With the labelling stages.")] = True,
    books: Annotated[bool, typer.Option("--books", help="The recipe of `edos books`, not of `edos curate`.")] = False,
) -> None:
    """Print a built-in recipe as YAML, each parameter below what it means, to edit and give back with
    `edos curate --recipe` or `edos books --recipe`.
    """
    from edos_dataset.commands.books_recipes import books_pipeline
    from edos_dataset.commands.built_in import BUILT_IN, pipeline_of
    from edos_dataset.runs.described import described_recipe
    from edos_dataset.runs.recipes import RecipeError, nearest

    if name not in BUILT_IN:
        raise RecipeError(f"no built-in recipe is named {name!r}{nearest(name, list(BUILT_IN))}")
    pipeline = books_pipeline(name, labels=labels) if books else pipeline_of(name, labels=labels)
    typer.echo(described_recipe(pipeline), nl=False)
