"""`edos crowd workers`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from edos_dataset.cli.console import emit
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import AnswerColumns, AsJson, Force, HitBatch, QualityRecipe

if TYPE_CHECKING:
    from rich.table import Table

    from edos_dataset.crowd.quality import Worker


@explained()
def workers(
    source: Annotated[
        Path,
        typer.Argument(
            help="Folder of a batch with `answers.jsonl`, a file of answers to HITs, or any that `edos crowd "
            "agreement` reads.",
            show_default=False,
        ),
    ],
    batch: HitBatch = None,
    kept: Annotated[
        Path | None,
        typer.Option(
            help="File to write: the answers to dialogues that count, as `edos crowd agreement` and `seed` read them.",
            show_default="none",
        ),
    ] = None,
    rules: QualityRecipe = None,
    columns: AnswerColumns = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Show what each worker did: HITs, quiz, time, positions, agreement with others, and whether their answers count.

    Of answers that come without HITs only the agreement is known.
    """
    from edos_dataset.commands.crowd_answers import open_answers, rules_of, write_kept
    from edos_dataset.crowd.answers import MTurkColumns, read_answers
    from edos_dataset.crowd.worker_rows import worker_rows, worker_rows_of_table

    answered = open_answers(source, batch)
    chosen = rules_of(answered.batch if answered else None, rules)
    if answered:
        rows = worker_rows(answered.batch.hits, answered.answers, chosen)
    else:
        rows = worker_rows_of_table(read_answers(source, MTurkColumns().override(columns or [])), chosen)
    if kept:
        write_kept(kept, answered, chosen, force)
    report: dict[str, Any] = {"workers": [asdict(row) for row in rows], "rules": asdict(chosen)}
    emit(report, as_json, [worker_table(rows), _summary(rows)])


def _summary(rows: Sequence["Worker"]) -> str:
    verdicts = [row.verdict for row in rows]
    told = ", ".join(f"{name} {verdicts.count(name):,}" for name in ("keep", "stop", "discard"))
    return f"{len(rows):,} workers: {told}"


def worker_table(rows: Sequence["Worker"]) -> "Table":
    """Return the rows of `worker_rows.worker_rows` as a table; what is not known stays empty."""
    from rich.table import Table

    table = Table("worker", "HITs", "items", "checks right", "bonus", "s an item", "same place", "first", "agrees", "")
    for row in rows:
        table.add_row(
            escape(row.worker),
            _count(row.hits),
            f"{row.items:,}",
            "" if row.checks is None else f"{row.right} of {row.checks}",
            _count(row.bonuses),
            "" if row.median_seconds is None else f"{row.median_seconds:.1f}",
            *(
                "" if share is None else f"{share:.0%}"
                for share in (row.same_position, row.first_choice, row.agreement)
            ),
            f"[yellow]{row.verdict}: {row.reason}[/yellow]" if row.reason else row.verdict,
        )
    return table


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
