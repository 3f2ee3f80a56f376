"""`edos audit`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from edos_dataset.cli.console import emit, say
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import AsJson, Force

if TYPE_CHECKING:
    from rich.table import Table


@explained()
def audit(
    source: Annotated[
        Path,
        typer.Argument(help="A folder of `edos extend`, or the judgements that its page gave.", show_default=False),
    ],
    per_label: Annotated[
        int, typer.Option(min=1, help="Random, and as many doubtful, examples of each label and step.")
    ] = 5,
    random_seed: Annotated[int, typer.Option("--seed", help="Seed of the drawing.")] = 0,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write the page of labels to read anew, or tell the error rates that reading it showed, with 95 % intervals."""
    from edos_dataset.augmentation.audit import judged
    from edos_dataset.commands.audit import write_page

    if source.is_dir():
        page = write_page(source, per_label, random_seed, force)
        then = "judge the random examples, download the judgements, and give that file to `edos audit`"
        say([escape(f"{page}: {then}")])
    else:
        rates = judged(source)
        emit(rates, as_json, [judgement_table(rates)])


def judgement_table(rates: Mapping[str, Any]) -> "Table":
    """Return the table of error rates that `augmentation.audit.judged` gives."""
    from rich.table import Table

    table = Table()
    table.add_column("step")
    for name in ("judged", "wrong", "unsure", "error rate", "95 % interval", "doubtful ones: wrong of judged"):
        table.add_column(name, justify="right")
    for name, row in [*rates["steps"].items(), ("overall", rates["overall"])]:
        known = row["error_rate"] is not None
        rate, ends = (f"{row['error_rate']:.1%}", "{:.1%} – {:.1%}".format(*row["interval"])) if known else ("", "")
        table.add_row(
            name,
            f"{row['judged']:,}",
            f"{row['wrong']:,}",
            f"{row['unsure']:,}",
            rate,
            ends,
            f"{row['worst']['wrong']:,} of {row['worst']['judged']:,}",
        )
    return table
