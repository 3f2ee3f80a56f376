"""`edos plan`."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.filesize import decimal

from edos_dataset.cli.console import call, emit, explained, styled
from edos_dataset.cli.options import AsJson, FilesFrom, Language, Sources
from edos_dataset.wording import counted

if TYPE_CHECKING:
    from rich.console import RenderableType


@explained(kept="Nothing was written; fix this and run the same command again", stopped="Nothing was written.")
def plan(
    sources: Sources = None,
    files_from: FilesFrom = None,
    machines: Annotated[
        list[str] | None,
        typer.Option(
            help="YAML file of machines, or `here`, `laptop`, `eight-gpus`, `hundred-nodes`. May be repeated.",
            show_default="here",
        ),
    ] = None,
    recipe: Annotated[str, typer.Option(help="Recipe: `default`, `papers`, or a YAML file.")] = "default",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a recipe parameter: `dialogues.gap=4.0`. May be repeated."),
    ] = None,
    labels: Annotated[bool, typer.Option(help="Label the turns.")] = True,
    language: Language = None,
    sentences: Annotated[
        int | None,
        typer.Option(min=1, help="Number of sentences to plan for.", show_default="as many as in the sources"),
    ] = None,
    files: Annotated[
        int | None,
        typer.Option(min=1, help="Number of files to plan for.", show_default="in proportion to the sample"),
    ] = None,
    films: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of films to plan for; one file of each is kept.",
            show_default="in proportion to the sample",
        ),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="Number of films to sample and curate.")] = 40,
    seed: Annotated[int, typer.Option(help="Random seed of the sample.")] = 0,
    simulations: Annotated[int, typer.Option(hidden=True)] = 0,  # without effect; old scripts may pass it
    as_json: AsJson = False,
) -> None:
    """Estimate time, disk space, memory and cost of curating a corpus, stage by stage, on this or other machines.

    A random sample of films is actually curated, in a temporary folder that is then removed; the estimates are
    extrapolated from it.
    """
    from edos_dataset.commands.plan import plan as run
    from edos_dataset.planning.machines import HERE

    found = call(run, locals(), machines=machines or HERE)
    emit(dict(found), as_json, _shown(found))


def _shown(found: Mapping[str, Any]) -> "Iterator[RenderableType]":
    """Yield the size of the corpus, then the table and the totals for each cluster."""
    corpus, sample = found["corpus"], found["sample"]
    yield (
        f"{counted(corpus['sentences'], 'sentences')} in {counted(corpus['files'], 'files')} of "
        f"{counted(corpus['films'], 'films')}, estimated from "
        f"{counted(sample['films'], 'films')} with {counted(sample['sentences'], 'sentences')}"
    )
    for one in found["plans"]:
        yield _table(one)
        yield from _lines(one)
    yield from (styled((remark, "yellow")) for remark in found["remarks"])


def _table(one: Mapping[str, Any]) -> "RenderableType":
    from edos_dataset.cli.data_table import Table

    machines = one["machines"]
    kinds = ", ".join(f"{kind['count']} × {kind['name']}" for kind in machines["machines"])
    table = Table(title=f"{machines['name']}: {kinds}", title_justify="left", keys=2)
    for name in ("phase", "stage", "on"):
        table.add_column(name)
    for name in ("reads", "time of one core", "time", "share", "memory a worker", "disk", machines["currency"]):
        table.add_column(name, justify="right")
    total = one["total"]["hours"]
    phase = ""
    for row in one["stages"]:
        shown = row["phase"] if row["phase"] != phase else ""
        phase = row["phase"]
        reads = counted(row["units"], row["unit"]) if row["unit"] else ""
        figures = (reads, _time(row["core_hours"]), _time(row["hours"]), f"{_share(row['hours'], total):.1%}")
        disk = decimal(row["disk"]) if row["disk"] else ""
        where = (decimal(row["memory"]) if shown or not phase else "", disk, f"{row['money']:,.2f}")
        table.add_row(shown, row["stage"], row["on"], *figures, *where)
    return table


def _lines(one: Mapping[str, Any]) -> "Iterator[RenderableType]":
    """Yield the totals of a plan, and the sources of its figures."""
    total, binds, currency = one["total"], one["binds"], one["machines"]["currency"]
    yield (
        f"about {_time(total['hours'])}, {total['money']:,.2f} {currency}, {decimal(total['disk'])} of disk beside "
        f"{decimal(total['source_disk'])} of files, {decimal(total['memory'])} a worker"
    )
    yield styled(
        (binds["stage"], "bold"),
        f" is the bottleneck, on {binds['on']}, with {binds['share']:.0%} of the time; the main process works "
        f"alone for {_share(total['leader_hours'], total['hours']):.0%} of the time",
    )
    if not one["fits"]:
        yield styled(("the disks of these machines are too small for that", "yellow"))
    for figure, source in one["sources"].items():
        yield styled((f"{figure}: {source}", "dim"))


def _share(part: float, whole: float) -> float:
    """Return a part of a whole, 0 to 1; 0 of nothing."""
    return part / whole if whole else 0.0


def _time(hours: float) -> str:
    """Return hours as one number with a suitable unit."""
    for unit, size in (("d", 24.0), ("h", 1.0), ("min", 1 / 60)):
        if hours >= 2 * size:
            return f"{hours / size:,.1f} {unit}"
    return f"{hours * 3600:,.1f} s"
