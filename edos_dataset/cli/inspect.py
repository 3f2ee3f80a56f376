"""`edos inspect` and `edos rejects`: what a dataset contains, and what its run rejected."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edos_dataset.cli.console import call, emit, explained, load_call, styled
from edos_dataset.cli.options import AsJson
from edos_dataset.wording import counted

if TYPE_CHECKING:
    from rich.console import RenderableType


@explained()
def inspect(
    source: Annotated[
        str,
        typer.Argument(
            help="Folder written by any command of `edos`, or a dataset on the Hub, `NAMESPACE/NAME`.",
            show_default=False,
        ),
    ],
    dialogues: Annotated[int, typer.Option(min=0, help="Number of random dialogues to show.")] = 3,
    config: Annotated[
        str | None, typer.Option(help="Config to draw the dialogues from.", show_default="the default config")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="Show dialogues with this label on a turn. If repeated, any of the labels is enough."),
    ] = None,
    min_confidence: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Show dialogues with a turn labelled with at least this confidence."),
    ] = None,
    max_confidence: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Show dialogues with a turn labelled with at most this confidence."),
    ] = None,
    min_certainty: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Show dialogues with at least this probability of having no error."),
    ] = None,
    max_certainty: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Show dialogues with at most this probability of having no error."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Random seed, to see the same dialogues again.", show_default="others each time"),
    ] = None,
    tables: Annotated[
        bool | None,
        typer.Option(
            "--tables/--no-tables",
            help="Show the tables of stages and configs.",
            show_default="unless dialogues are chosen by label, confidence or certainty",
        ),
    ] = None,
    revision: Annotated[
        str | None, typer.Option(help="Tag, branch or commit of the dataset on the Hub.", show_default="main")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a dataset: its configs; what each stage of its run kept and rejected; and a few random dialogues with their
    labels and the probability that each has no error. If dialogues are chosen, only these (see --tables).

    --label, --min-confidence and --max-confidence must all hold for the same turn; --min-certainty and --max-certainty
    apply to the dialogue. `edos rejects` shows what a run rejected.
    """
    from edos_dataset.cli.tables import dialogue_lines, left_out_lines, run_report
    from edos_dataset.commands.inspect import inspect as run
    from edos_dataset.publishing.inspection import reasons_of
    from edos_dataset.runs.stores.paths import place_of

    found = call(run, locals())
    filters = (label, min_confidence, max_confidence, min_certainty, max_certainty)
    chosen = any(each not in (None, []) for each in filters)
    report: list[RenderableType]
    if chosen and not tables or tables is False:
        report = []
    elif "names" in found:  # a dataset on the Hub
        report = [_sizes(found), load_call(source, found["config"])]
    elif found.get("stages"):
        report = [*run_report(place_of(source), found), *left_out_lines(reasons_of(found), found.get("left_out", []))]
    else:  # such as a folder of `edos crowd seed`, `extend` or `labels-only`
        report = [_sizes(found)]
    if not found["dialogues"] and dialogues and chosen:
        report.append(styled(("no dialogue matches --label and the limits of confidence and certainty", "yellow")))
    emit(dict(found), as_json, [*report, *dialogue_lines(found["dialogues"], found.get("label_set"))])


def _sizes(facts: Mapping[str, Any]) -> "RenderableType":
    """Return the table of configs for a dataset of which only the sizes are known."""
    from edos_dataset.cli.data_table import Table

    table = Table("config", "dialogues", "splits")
    for config, row in facts["configs"].items():
        splits = ", ".join(f"{split} {count:,}" for split, count in row["splits"].items())
        table.add_row(config, f"{sum(row['splits'].values()):,}", splits)
    for config in facts.get("names", ()):
        if config not in facts["configs"]:
            table.add_row(config, "", "name it with --config")
    return table


@explained()
def rejects(
    run: Annotated[Path, typer.Argument(help="Folder written by `edos curate` or `edos books`.", show_default=False)],
    reason: Annotated[
        str | None, typer.Option(help="Show texts rejected for this reason, such as `repetitive`.")
    ] = None,
    stage: Annotated[str | None, typer.Option(help="Show texts rejected by this stage, such as `clean`.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of files, lines, turns or dialogues to show.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show what a run rejected: counts by reason, files that were unreadable or skipped, and rejected files with the
    file that is kept instead.

    With --reason or --stage, show the texts themselves, if the run was made with --rejects.
    """
    from edos_dataset.commands.inspect import rejects as look

    found = look(run, reason=reason, stage=stage, limit=limit)
    if reason is None and stage is None:
        emit(dict(found), as_json, _overview(found, limit))
    else:
        emit(dict(found), as_json, _texts(found["reasons"], found["rejects"], found["kept"]))


def _overview(result: Mapping[str, Any], most: int) -> "Iterator[RenderableType]":
    from edos_dataset.cli.data_table import Table
    from edos_dataset.cli.tables import left_out_lines

    table = Table()
    for name in ("stage", "reason"):
        table.add_column(name)
    table.add_column("rejected", justify="right")
    table.add_column("why")
    for row in result["reasons"]:
        table.add_row(row["stage"], row["reason"], counted(row["count"], row["unit"]), row["meaning"])
    yield table if result["reasons"] else "Nothing was rejected."
    lines = [f"{note.get('reason')} {note.get('detail', note.get('dialogue_id'))}" for note in result["quarantined"]]
    yield from _listed("could not be read:", lines, most)
    yield from left_out_lines(result["reasons"], result["left_out"], most)
    yield from _listed("not read:", [f"{path} ({why})" for path, why in result["skipped"]], most)
    if result["reasons"]:
        yield "--reason REASON shows the texts"


def _listed(heading: str, lines: Sequence[str], most: int) -> Iterator[str]:
    if lines:
        yield heading
    yield from (f"  {line}" for line in lines[:most])
    if len(lines) > most:
        yield f"  and {len(lines) - most:,} more; --limit shows more"


def _texts(
    chosen: Sequence[Mapping[str, Any]], shown: Sequence[Mapping[str, Any]], kept: bool
) -> "Iterator[RenderableType]":
    for row in chosen:
        name = f"{row['stage'] or 'before the stages'}: {row['reason']}"
        yield styled((name, "bold"), f", {counted(row['count'], row['unit'])}. {row['meaning']}")
    before = None
    for unit in shown:
        here = (unit["stage"], unit["reason"], unit["path"], unit["document"])
        if here != before or len(unit["texts"]) != 1:
            detail = unit["detail"] or unit["document"] or unit["path"]
            yield styled((unit["reason"], "yellow"), f" {detail}")
        before = here
        yield from (f"  - {text}" for text in unit["texts"])
    total = sum(row["count"] for row in chosen)
    if not kept and len(shown) < total:
        yield "The run did not keep what it rejected: run its command again with --rejects to see it."
    elif len(shown) < total:
        yield f"{len(shown):,} of {total:,}; --limit shows more"
