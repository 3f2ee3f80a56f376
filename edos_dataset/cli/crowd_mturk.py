"""`edos crowd mturk`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from edos_dataset.cli.console import emit, printable, say, status
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import AsJson, HitBatchFolder, QualityRecipe

mturk = typer.Typer(
    no_args_is_help=True,
    help="Ask the workers of Amazon Mechanical Turk: in its sandbox, where nothing is paid, unless --live is given.",
)

Live = Annotated[bool, typer.Option("--live", help="The real site, where money is spent, not the sandbox.")]
Yes = Annotated[bool, typer.Option("--yes", help="Spend what it costs without asking.")]
Url = Annotated[
    str | None,
    typer.Option(
        "--url", help="HTTPS address of `edos crowd serve --mturk`.", show_default="forms that need no server"
    ),
]

_STOPPED = "What was created or paid is written down; the same command does the rest."


def _agree(live: bool, yes: bool) -> Callable[[str], bool]:
    """Return what asks before money is spent; in the sandbox, too, so that the habit is there."""

    def ask(text: str) -> bool:
        where = "Mechanical Turk" if live else "the sandbox of Mechanical Turk, where nothing is paid"
        say([f"{text}, on {where}"], stderr=True)
        if yes:
            return True
        if not sys.stdin.isatty():
            raise ValueError("nobody is there to agree to this: give --yes")
        return typer.confirm("Go on?", err=True)

    return ask


@mturk.command()
@explained(stopped=_STOPPED)
def create(
    batch: HitBatchFolder,
    live: Live = False,
    url: Url = None,
    rules: QualityRecipe = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Create the HITs of a batch that are not there yet; what they cost is shown, and confirmed, before."""
    from edos_dataset.commands.crowd_mturk import create as create_batch

    with _telling() as tell:
        report = create_batch(batch, live, _agree(live, yes), url, rules, tell)
    emit(report, as_json, [f"{report['created']:,} HITs created, {report['there']:,} of {report['hits']:,} are there"])


@contextmanager
def _telling() -> Iterator[Callable[[str], None]]:
    """Give the function that is told what is being done; nothing is shown before, so that a question stands alone."""
    with ExitStack() as stack:
        shown: list[Callable[[str], None]] = []

        def tell(text: str) -> None:
            if not shown:
                shown.append(stack.enter_context(status(text, lines=False)))
            shown[0](text)

        yield tell


@mturk.command("status")
@explained()
def status_of(batch: HitBatchFolder, live: Live = False, as_json: AsJson = False) -> None:
    """Show how many HITs are there, how many assignments are done, and the balance of the account."""
    from edos_dataset.commands.crowd_mturk import status as batch_status

    report = batch_status(batch, live)
    states = ", ".join(f"{printable(name)} {count:,}" for name, count in report["by_status"].items())
    lines = [
        f"{report['there']:,} of {report['hits']:,} HITs are there: {states or 'none'}",
        f"assignments: {report['done']:,} done, {report['pending']:,} being worked on, {report['open']:,} open",
        f"balance: {report['balance']} US dollars",
    ]
    emit(report, as_json, lines)


@mturk.command()
@explained()
def fetch(batch: HitBatchFolder, live: Live = False, rules: QualityRecipe = None, as_json: AsJson = False) -> None:
    """Fetch all answers into the batch's `answers.jsonl`, workers under an alias; again at any time."""
    from edos_dataset.commands.crowd_mturk import collect

    report = collect(batch, live, rules)
    emit(report, as_json, [*_fetched(report), f"edos crowd workers {batch}"])


def _fetched(report: dict[str, Any]) -> list[str]:
    lines = [f"{report['assignments']:,} assignments, {report['answers']:,} answers"]
    if report["rejected"] or report["broken"]:
        lines.append(f"left out: {report['rejected']:,} rejected, {report['broken']:,} that cannot be read")
    return lines


@mturk.command()
@explained(stopped=_STOPPED)
def bonus(
    batch: HitBatchFolder,
    live: Live = False,
    rules: QualityRecipe = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Pay the bonuses that are earned and not paid; what they cost is shown, and confirmed, before."""
    from edos_dataset.commands.crowd_mturk import reward

    with _telling() as tell:
        report = reward(batch, live, _agree(live, yes), rules, tell)
    emit(report, as_json, [*_fetched(report), f"{report['paid']:,} bonuses paid"])


@mturk.command()
@explained()
def files(
    batch: HitBatchFolder,
    out: Annotated[Path, typer.Option(help="Folder to write.", show_default=False)],
    url: Url = None,
) -> None:
    """Write the questions of a batch as files, and a layout with a CSV file for the requester's web site."""
    from edos_dataset.commands.crowd_mturk import write_files

    names = write_files(batch, out, url)
    say([f"{len(names):,} files in {out}: {', '.join(names[-3:])}" + (", ..." if len(names) > 3 else "")])
