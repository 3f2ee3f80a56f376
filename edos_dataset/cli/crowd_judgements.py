"""`edos crowd judgements`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.markup import escape

from edos_dataset.cli.console import emit
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import AsJson, HitBatch, QualityRecipe


@explained()
def judgements(
    source: Annotated[
        Path,
        typer.Argument(help="Folder of a batch with `answers.jsonl`, or a file of answers.", show_default=False),
    ],
    batch: HitBatch = None,
    rules: QualityRecipe = None,
    as_json: AsJson = False,
    random_seed: Annotated[int, typer.Option("--seed", help="Seed of the intervals and of the tests.")] = 0,
) -> None:
    """Show what people judge the responses of each model to be, as in Xie & Pu's Table 6: shares with intervals,
    agreement, and a test between every two models.
    """
    from edos_dataset.commands.crowd_answers import open_answers, rules_of
    from edos_dataset.crowd.judgements import measure_judgements

    answered = open_answers(source, batch)
    if answered is None or answered.batch.kind != "judging":
        raise ValueError(f"{source} holds no judgements of responses: give answers to a batch of the judging task")
    chosen = rules_of(answered.batch, rules)
    report = measure_judgements(answered.batch.hits, answered.answers, chosen, seed=random_seed)
    emit(report, as_json, judgement_tables(report))


def judgement_tables(report: dict[str, Any]) -> Iterator[RenderableType]:
    """Yield the report of `measure_judgements`: a table a test set, the agreement, the tests between models."""
    from rich.table import Table

    gone = ", ".join(f"{escape(reason)} {count:,}" for reason, count in report["discarded"].items())
    yield (
        f"{report['judgements']:,} judgements on {report['dialogues']:,} dialogues by {report['workers']:,} workers; "
        f"{report['assignments']:,} assignments, discarded: {gone or 'none'}"
    )
    for name, models in report["sets"].items():
        table = Table("model", "judged", "good %", "95 %", "okay %", "95 %", "bad %", "95 %")
        table.title = None if len(report["sets"]) == 1 else escape(name)
        for model, row in models.items():
            cells = [cell for grade in ("good", "okay", "bad") for cell in _cells(row, grade)]
            table.add_row(escape(model), f"{row['judgements']:,}", *cells)
        yield table
    if agreement := report["agreement"]:
        measured = ", ".join(
            f"{name.replace('_', ' ')} {agreement[name]:.3f} ({_range(agreement[f'{name}_interval'])})"
            for name in ("pairwise_agreement", "fleiss_kappa", "krippendorff_alpha")
            if agreement[name] is not None
        )
        yield f"agreement on {agreement['responses']:,} responses: {measured}"
    tests = Table("models", "dialogues", "difference of scores", "95 %", "p", "p, Holm")
    for row in report["tests"]:
        tests.add_row(
            f"{escape(row['first'])} - {escape(row['second'])}",
            f"{row['dialogues']:,}",
            f"{row['difference']:+.3f}",
            _range(row["difference_interval"]),
            f"{row['p']:.4f}",
            f"[bold]{row['p_holm']:.4f}[/bold]" if row["p_holm"] < 0.05 else f"{row['p_holm']:.4f}",
        )
    yield tests


def _cells(row: dict[str, Any], grade: str) -> list[str]:
    low, high = row[f"{grade}_interval"]
    return [f"{row[grade]:.1%}"[:-1], "" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}"]


def _range(values: list[float | None]) -> str:
    low, high = values
    return "" if low is None or high is None else f"{low:.3f} to {high:.3f}"
