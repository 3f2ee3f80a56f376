"""`edos plan`."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.filesize import decimal
from rich.markup import escape

from edos_dataset.cli.console import emit, status
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import AsJson, Language, Sources

if TYPE_CHECKING:
    from rich.console import RenderableType


@explained(kept="Nothing was written; mend this and give the same command again", stopped="Nothing was written.")
def plan(
    sources: Sources,
    machines: Annotated[
        list[str] | None,
        typer.Option(
            help="YAML of machines, or `here`, `laptop`, `eight-gpus`, `hundred-nodes`. May be repeated.",
            show_default="here",
        ),
    ] = None,
    recipe: Annotated[str, typer.Option(help="As of `edos curate`.")] = "default",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Change a parameter: `dialogues.gap=4.0`. May be repeated.")
    ] = None,
    labels: Annotated[bool, typer.Option(help="Label the turns.")] = True,
    language: Language = None,
    sentences: Annotated[
        int | None, typer.Option(min=1, help="Plan for a corpus of so many.", show_default="those of the sources")
    ] = None,
    files: Annotated[int | None, typer.Option(min=1, help="Likewise, files.", show_default="as the sample has")] = None,
    films: Annotated[
        int | None,
        typer.Option(min=1, help="Likewise, films; each keeps one file.", show_default="as the sample has"),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="Films to draw and curate.")] = 40,
    seed: Annotated[int, typer.Option(help="Seed of the draw and of the simulation.")] = 0,
    simulations: Annotated[int, typer.Option(min=0, help="Runs to simulate.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Tell what curating a corpus takes, in hours, disk, memory and money by stage, on machines that need not be at
    hand.

    A few films are drawn and really curated, in a temporary folder; a simulation with failures and stragglers checks
    what is reckoned from them. Nothing stays on disk.
    """
    from edos_dataset.commands.built_in import pipeline_of
    from edos_dataset.commands.plan import plan as make_plan
    from edos_dataset.planning.machines import HERE, load_cluster

    clusters = [load_cluster(name) for name in machines or [HERE]]  # before anything is measured
    pipeline = pipeline_of(recipe, labels=labels, language=language, settings=settings or [])
    with status() as say:
        found = make_plan(
            sources,
            pipeline,
            clusters,
            sample=sample,
            seed=seed,
            sentences=sentences,
            files=files,
            films=films,
            simulations=simulations,
            say=say,
        )
    emit(found, as_json, _shown(found))


def _shown(found: Mapping[str, Any]) -> "Iterator[RenderableType]":
    """Yield the corpus, and of each cluster its table and what it comes to."""
    corpus, sample = found["corpus"], found["sample"]
    yield (
        f"{corpus['sentences']:,} sentences in {corpus['files']:,} files of {corpus['films']:,} films, judged by "
        f"{sample['films']:,} films with {sample['sentences']:,} sentences"
    )
    for one in found["plans"]:
        yield _table(one)
        yield from _lines(one)
    yield from (f"[yellow]{escape(remark)}[/yellow]" for remark in found["remarks"])


def _table(one: Mapping[str, Any]) -> "RenderableType":
    """Return the table of stages on a cluster."""
    from rich.table import Table

    machines = one["machines"]
    kinds = ", ".join(f"{kind['count']} × {kind['name']}" for kind in machines["machines"])
    table = Table(title=escape(f"{machines['name']}: {kinds}"), title_justify="left")
    for name in ("phase", "stage", "on"):
        table.add_column(name)
    for name in ("reads", "time of one core", "time", "share", "memory a worker", "disk", machines["currency"]):
        table.add_column(name, justify="right")
    total = one["total"]["hours"]
    phase = ""
    for row in one["stages"]:
        shown = row["phase"] if row["phase"] != phase else ""
        phase = row["phase"]
        reads = f"{row['units']:,} {row['unit']}" if row["unit"] else ""
        figures = (reads, _time(row["core_hours"]), _time(row["hours"]), f"{row['hours'] / total:.1%}")
        disk = decimal(row["disk"]) if row["disk"] else ""
        where = (decimal(row["memory"]) if shown or not phase else "", disk, f"{row['money']:,.2f}")
        table.add_row(escape(shown), escape(row["stage"]), row["on"], *figures, *where)
    return table


def _lines(one: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a plan comes to, and where its figures come from."""
    total, binds, currency = one["total"], one["binds"], escape(one["machines"]["currency"])
    yield (
        f"about {_time(total['hours'])}, {total['money']:,.2f} {currency}, {decimal(total['disk'])} of disk beside "
        f"{decimal(total['source_disk'])} of files, {decimal(total['memory'])} a worker"
    )
    yield (
        f"[bold]{escape(binds['stage'])}[/bold] binds, by its {binds['on']}: {binds['share']:.0%} of the time; "
        f"{total['leader_hours'] / total['hours']:.0%} the leader works alone"
    )
    simulated = one["simulated"]
    if simulated:
        hours = simulated["hours"]
        yield (
            f"simulated {simulated['times']} times: {_time(hours['p50'])} (from {_time(hours['p5'])} to "
            f"{_time(hours['p95'])}), {simulated['utilisation']:.0%} of the workers' time used, "
            f"{simulated['retries']:,.0f} tasks done again"
        )
    if not one["fits"]:
        yield "[yellow]the machines' disks do not hold that[/yellow]"
    for figure, source in one["sources"].items():
        yield f"[dim]{escape(figure)}: {escape(source)}[/dim]"


def _time(hours: float) -> str:
    """Return hours as one number with the unit that suits it."""
    for unit, size in (("d", 24.0), ("h", 1.0), ("min", 1 / 60)):
        if hours >= 2 * size:
            return f"{hours / size:,.1f} {unit}"
    return f"{hours * 3600:,.1f} s"
