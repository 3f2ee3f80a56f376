"""`edos crowd export` and `edos crowd import`."""

from pathlib import Path
from typing import Annotated

import typer

from edos_dataset.cli.console import say
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import Force


@explained()
def export(
    source: Annotated[
        Path,
        typer.Argument(help="Folder of a batch, or the file of `edos crowd select`.", show_default=False),
    ],
    tool: Annotated[str, typer.Option("--to", help="`argilla`, `label-studio` or `prolific-csv`.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder to write.", show_default=False)],
) -> None:
    """Write questions in the form of another tool: Argilla, Label Studio, or Prolific's task builder."""
    from edos_dataset.commands.crowd_exchange import write_export

    say([f"{out}: {', '.join(write_export(source, tool, out))}"])


@explained()
def import_(
    source: Annotated[Path, typer.Argument(help="File or folder that the tool gave back.", show_default=False)],
    tool: Annotated[
        str,
        typer.Option(
            "--from",
            help="`argilla`, `label-studio`, `prolific-csv`, or `mturk-csv` of the web site.",
            show_default=False,
        ),
    ],
    batch: Annotated[
        Path, typer.Option("--batch", help="What was exported: the batch, or the file of tasks.", show_default=False)
    ],
    out: Annotated[
        Path | None, typer.Option(help="File to write.", show_default="the batch's `answers.jsonl`, added to")
    ] = None,
    force: Force = False,
) -> None:
    """Read the answers that another tool gave back; workers get an alias."""
    from edos_dataset.commands.crowd_exchange import write_import

    path, number = write_import(source, tool, batch, out, force)
    say([f"{number:,} answers in {path}"])
