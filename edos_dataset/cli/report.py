"""`edos report`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from edos_dataset.cli.console import emit, status
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import AsJson, Config, Force, Revision, Workers

if TYPE_CHECKING:
    from rich.console import RenderableType


@explained(kept="Nothing was written; mend this and give the same command again", stopped="Nothing was written.")
def report(
    source: Annotated[
        str,
        typer.Argument(
            help="A folder that `edos` wrote, JSON lines with labels, a data set of the Hub, or one of others by name: "
            "`empathetic_dialogues`, `dailydialog`, `meld`.",
            show_default=False,
        ),
    ],
    against: Annotated[
        list[str] | None,
        typer.Option(help="Compare with this one, likewise, or `NAME#CONFIG`, `NAME@REVISION`. May be repeated."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The page; `.json` and `_pictures/` come beside it.")] = Path("report.html"),
    config: Config = None,
    revision: Revision = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder of the data of others.", show_default="EDOS_DATA_DIR")
    ] = None,
    pictures: Annotated[bool, typer.Option(help="Write every picture as PNG and SVG, too.")] = True,
    workers: Workers = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Show what a data set looks like: sizes, labels, their flow, what marks them, copies and leaks, and dialogues to
    read, in one page that needs no network, beside other data sets.

    Needs `pip install "edos-dataset[report]"`.
    """
    from edos_dataset.commands.report import report as write_report
    from edos_dataset.releases.reported import asked_of

    others = [asked_of(other) for other in against or ()]
    with status() as say:
        figures = write_report(
            asked_of(source, config, revision), others, out, data, workers, pictures=pictures, force=force, say=say
        )
    emit(figures, as_json, _shown(figures, out))


def _shown(figures: Mapping[str, Any], out: Path) -> "Iterator[RenderableType]":
    """Yield the sizes, the divergences, and where the page is."""
    from rich.table import Table

    table = Table("data set", "dialogues", "turns", "tokens", "KL", "Jensen-Shannon", "in labels of")
    for column in table.columns[1:-1]:
        column.justify = "right"
    apart = {one["with"]: one for one in figures["comparisons"] if "all" in one}
    for place, one in enumerate(figures["data"]):
        found = apart.get(one["name"]) if place else None
        sizes = (f"{one['sizes'][name]:,}" for name in ("dialogues", "turns", "tokens"))
        between = (f"{found['all'][name]:.4f}" if found else "" for name in ("kl", "js"))
        table.add_row(escape(one["name"]), *sizes, *between, found["labels_of"] if found else "")
    yield table
    for one in figures["comparisons"]:
        if "why_not" in one:
            yield f"[yellow]{escape(one['with'])}: not compared, {escape(one['why_not'])}[/yellow]"
    yield f"[green]{escape(str(out))}[/green], with its figures in {escape(str(out.with_suffix('.json')))}"
