"""`edos crowd select`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edos_dataset.cli.console import say
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import Force

if TYPE_CHECKING:
    from rich.table import Table


@explained()
def select(
    run: Annotated[Path, typer.Argument(help="A folder that `edos curate` or `edos label` wrote.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option(help="File of JSON lines to write; it appears only when it is whole.", show_default=False),
    ],
    per_label: Annotated[int, typer.Option(min=1, help="Dialogues a label.")] = 250,
    confidence: Annotated[float, typer.Option(min=0, max=1, help="Least confidence of the last turn's label.")] = 0.9,
    config: Annotated[
        str | None, typer.Option(help="Config whose labels count.", show_default="edos_initial, or edos")
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="α of readability, f_sum / (α + tokens); more of it favours longer dialogues.")
    ] = 87.0,
    weight: Annotated[float, typer.Option(help="Weight that the share of distinct words has in readability.")] = 0.04,
    force: Force = False,
) -> None:
    """Choose dialogues to ask people about: of each label the most readable ones whose last turn surely has it."""
    from collections import Counter

    from edos_dataset.crowd.readability import select_tasks
    from edos_dataset.runs.folder import check_out_file
    from edos_dataset.runs.shards import write_text

    target = check_out_file(out, force=force)
    tasks = select_tasks(run, per_label, confidence, config, alpha, weight)
    write_text(target, "".join(json.dumps(task, ensure_ascii=False) + "\n" for task in tasks))
    say([selection_table(Counter(task["label"] for task in tasks), per_label)])


def selection_table(counts: Mapping[str, int], per_label: int) -> "Table":
    """Return how many dialogues there are for each label, and which labels fall short."""
    from rich.table import Table

    from edos_dataset.labels import LABELS

    table = Table(
        "label",
        "dialogues",
        "",
        title=f"{sum(counts.values()):,} dialogues, {per_label:,} a label wanted",
        title_justify="left",
    )
    for name in LABELS:
        short = per_label - counts.get(name, 0)
        table.add_row(name, f"{counts.get(name, 0):,}", f"[yellow]{short:,} short[/yellow]" if short else "")
    return table
