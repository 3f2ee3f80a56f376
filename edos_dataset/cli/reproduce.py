"""`edos reproduce`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edos_dataset.cli.console import FAILED, Ended, call, emit, explained, styled
from edos_dataset.cli.options import AsJson
from edos_dataset.wording import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from edos_dataset.reproduction import Row
    from edos_dataset.reproduction.results import Result


@explained(kept="Nothing was written; fix this and run the same command again", stopped="Nothing was written.")
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="Rows, such as `E44`; by default all.", show_default=False)
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the rows and what they take; measure nothing.")] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Compare the figures that a checkout's pages state with its records."),
    ] = False,
    cost: Annotated[
        str | None,
        typer.Option("--class", help="Only rows that take at most this long: `seconds` or `minutes`.", metavar="CLASS"),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the data sets, filled by `edos download`.", show_default="EDOS_DATA_DIR"),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(help="Folder written by `edos curate`, for the column `ours on yours`.", show_default=False),
    ] = None,
    results: Annotated[
        Path, typer.Option(help="Folder in which the commands of the long rows wrote; its figures are collected.")
    ] = Path("reproduced"),
    out: Annotated[
        Path | None,
        typer.Option(help="Page to write; Markdown and JSON of the same name beside it.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Set every claim, table and figure of the papers beside the same figure on public data and on a run of yours.

    What takes seconds or minutes is measured, with 95 % intervals; a missing input is an answer, not an error. Rows
    that need a GPU, the whole corpus or people print their command or what is missing.
    """
    from edos_dataset.commands.reproduce import chosen
    from edos_dataset.commands.reproduce import reproduce as run_verb

    if check:
        _check(as_json)
        return
    if listed:
        rows = chosen(names or (), cost)
        emit([_facts(row) for row in rows], as_json, [_list(rows)])
        return
    result = call(run_verb, locals(), names=names or ())
    content = {name: value for name, value in result.items() if name != "results"}
    emit(content, as_json, _shown(result["results"], out))


def _check(as_json: bool) -> None:
    """Compare the pages of the checkout in which the command runs, or from which the package does, with the records."""
    from edos_dataset.reproduction.stated import Stated, checkout_of

    stated = Stated(checkout_of(Path.cwd(), Path(__file__).parents[2]))
    faults = list(stated.faults())
    figures, pages = counted(len(stated.claims), "figures"), counted(len(stated.pages), "pages")
    fine = f"{figures} of {pages} are those of their records"
    content = {"figures": len(stated.claims), "pages": len(stated.pages), "faults": faults}
    emit(content, as_json, faults or [fine])
    if faults:
        raise Ended(FAILED, f"{counted(len(faults), 'figures')} of {pages} differ from their records, or have none")


def _facts(row: "Row") -> dict[str, object]:
    return {
        "row": row.name,
        "paper": row.paper,
        "at": row.at,
        "claim": row.claim,
        "cost": row.cost,
        "needs": list(row.needs),
        "command": row.command,
    }


def _list(rows: "Sequence[Row]") -> "RenderableType":
    from edos_dataset.cli.data_table import Table

    table = Table("row", "claim", "takes", "reads")
    for row in rows:
        table.add_row(row.name, row.claim, "" if row.cost == "none" else row.cost, ", ".join(row.needs))
    return table


def _shown(results: "Sequence[Result]", out: Path | None) -> "Iterator[RenderableType]":
    from edos_dataset.cli.data_table import Table
    from edos_dataset.reproduction.page import estimate, figure, summary, verdict_of

    table = Table("row", "claim or figure", "paper", "measured", "verdict")
    for result in results:
        table.add_row(result.row.name, result.row.claim, "", "", verdict_of(result))
        for name, it in result.figures.items():
            found = next(way for way in (it.authors, it.ours, it.yours) if way is not None)
            table.add_row("", f"  {name}", figure(result.row.figures.get(name)), estimate(found), "")
    yield table
    yield ", ".join(f"{verdict} {number}" for verdict, number in summary(results).items())
    commands = [result.row for result in results if result.row.command and result.verdict == "cannot"]
    yield from (styled((f"{row.name}  ", "bold"), row.command or "") for row in commands)
    if out is not None:
        yield f"written: {', '.join(str(out.with_suffix(suffix)) for suffix in ('.html', '.md', '.json'))}"
