"""`edos crowd select`."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edos_dataset.cli.console import emit
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import AsJson, Force

if TYPE_CHECKING:
    from rich.table import Table

_SHOWN = (0.9, 0.7, 0.5, 0.3, 0.2)
"""Confidences of which the table tells what they would give."""


@explained()
def select(
    run: Annotated[Path, typer.Argument(help="A folder that `edos curate` or `edos label` wrote.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option(help="File of JSON lines to write; it appears only when it is whole.", show_default=False),
    ],
    per_label: Annotated[int, typer.Option(min=1, help="Dialogues a label.")] = 250,
    confidence: Annotated[float, typer.Option(min=0, max=1, help="Confidence of the label that is wanted.")] = 0.9,
    floor: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Labels that fall short are filled up, with the surest turns first, down to this confidence.",
        ),
    ] = 0.2,
    history: Annotated[int, typer.Option(min=0, help="Turns shown before the one to label, the nearest ones.")] = 3,
    papers: Annotated[
        bool, typer.Option("--papers", help="As EDOS, Section 3.2: nothing below the confidence, the whole history.")
    ] = False,
    config: Annotated[
        str | None, typer.Option(help="Config whose labels count.", show_default="edos_initial, or edos")
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="α of readability, f_sum / (α + tokens); more of it favours longer dialogues.")
    ] = 87.0,
    weight: Annotated[float, typer.Option(help="Weight that the share of distinct words has in readability.")] = 0.04,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Choose dialogues to ask people about: readable ones, as many of each label, whose last turn has it as surely as
    the run offers.

    The table says what each label gets, why, and what other confidences would give, before anything is paid.
    """
    from edos_dataset.crowd.selection import SelectionRules, select_tasks
    from edos_dataset.runs.out_file import check_out_file
    from edos_dataset.runs.shards import write_text

    target = check_out_file(out, force=force)
    kept = None if papers else history
    rules = SelectionRules(per_label, confidence, confidence if papers else min(floor, confidence), kept, alpha, weight)
    chosen = select_tasks(run, rules, config)
    report = selection_report(chosen.tasks, chosen.available, per_label)
    write_text(target, "".join(json.dumps(task, ensure_ascii=False) + "\n" for task in chosen.tasks))
    emit(report, as_json, [selection_table(report), *_warnings(report)])


def selection_report(tasks: list[dict[str, Any]], available: Any, per_label: int) -> dict[str, Any]:  # noqa: ANN401 - numpy
    """Return what `--json` prints: how many dialogues each label gets and why, what it would have at other confidences,
    and what it costs to ask about all of them on Mechanical Turk as in the paper.
    """
    from edos_dataset.crowd.batches import BONUS, REWARD, WORKERS
    from edos_dataset.crowd.costs import cost_range
    from edos_dataset.crowd.selection import BELOW, CONFIDENT, GUESSED, STEPS
    from edos_dataset.labels import LABELS

    reasons = Counter((task["label"], task["chosen"]) for task in tasks)
    labels = {}
    for name, steps in zip(LABELS, available.tolist(), strict=True):
        counts = {reason: reasons[name, reason] for reason in (CONFIDENT, BELOW, GUESSED)}
        total = sum(counts.values())
        surely = {str(step): count for step, count in zip(STEPS, steps, strict=True)}
        labels[name] = {"dialogues": total, "short": per_label - total, "chosen": counts, "at_confidence": surely}
    hits = -(-len(tasks) // 15)
    cost = [float(amount) for amount in cost_range(hits, WORKERS["labelling"], REWARD, BONUS)]
    return {"dialogues": len(tasks), "per_label": per_label, "hits": hits, "dollars": cost, "labels": labels}


def selection_table(report: dict[str, Any]) -> "Table":
    """Return how many dialogues there are for each label and why, which labels fall short, and what other confidences
    would give.
    """
    from rich.table import Table

    head = ("label", "dialogues", "confident", "below", "later guess", "")
    table = Table(
        *head,
        *(f"≥ {step}" for step in _SHOWN),
        title=f"{report['dialogues']:,} dialogues, {report['per_label']:,} a label wanted",
        title_justify="left",
    )
    for name, row in report["labels"].items():
        table.add_row(
            name,
            f"{row['dialogues']:,}",
            *(f"{count:,}" if count else "" for count in row["chosen"].values()),
            f"[yellow]{row['short']:,} short[/yellow]" if row["short"] else "",
            *(f"{row['at_confidence'][str(step)]:,}" for step in _SHOWN),
        )
    return table


def _warnings(report: dict[str, Any]) -> list[str]:
    short = {name: row["dialogues"] for name, row in report["labels"].items() if row["short"]}
    hits, (least, most) = report["hits"], report["dollars"]
    lines = [
        f"3 people each, 15 dialogues a HIT: {hits:,} HITs, {least:,.2f} to {most:,.2f} US dollars on Mechanical Turk"
    ]
    if short:
        fewest = min(short, key=lambda name: short[name])
        told = f"[yellow]{len(short)} labels fall short[/yellow], {fewest} most, with {short[fewest]:,}"
        lines.insert(0, f"{told}: give more films, a lower --floor, or fewer --per-label")
    return lines
