"""`edos crowd mturk`."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from edos_dataset.cli.console import call, emit, explained, say
from edos_dataset.cli.flags import Group
from edos_dataset.cli.options import AsJson, HitBatchFolder, QualityRecipe
from edos_dataset.commands.progress import printable
from edos_dataset.wording import counted

mturk = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Run a batch on Amazon Mechanical Turk; without --live in its sandbox, where nothing is paid.",
)

Live = Annotated[bool, typer.Option("--live", help="Use the live site, where money is spent, instead of the sandbox.")]
Yes = Annotated[bool, typer.Option("--yes", help="Agree to the cost without being asked.")]
Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        help="HTTPS address of `edos crowd serve --mturk`.",
        show_default="none: the HITs are forms that need no server",
    ),
]

_STOPPED = "What was created or paid is recorded; run the same command to complete the rest."


def _agree(live: bool, yes: bool) -> Callable[[str], bool]:
    """Return a function that asks before money is spent; it also asks in the sandbox, so that users get used to it."""

    def ask(text: str) -> bool:
        where = "Mechanical Turk" if live else "the sandbox of Mechanical Turk, where nothing is paid"
        say([f"{text}, on {where}"], stderr=True)
        if yes:
            return True
        if sys.stdin is None or not sys.stdin.isatty():
            raise ValueError("there is no terminal to confirm this: give --yes")
        return typer.confirm("Continue?", err=True)

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
    """Create those HITs of a batch that do not exist yet, after showing the cost and asking for confirmation."""
    from edos_dataset.commands.crowd_mturk import mturk_create

    report = call(mturk_create, locals(), yes=_agree(live, yes))
    emit(
        dict(report),
        as_json,
        [f"{counted(report['created'], 'HITs')} created, {report['there']:,} of {report['hits']:,} exist"],
    )


@mturk.command("status")
@explained()
def status_of(batch: HitBatchFolder, live: Live = False, as_json: AsJson = False) -> None:
    """Show how many HITs exist, how many assignments are done, and the balance of the account."""
    from edos_dataset.commands.crowd_mturk import mturk_status

    report = mturk_status(batch, live=live)
    states = ", ".join(f"{printable(name)} {count:,}" for name, count in report["by_status"].items())
    lines = [
        f"{report['there']:,} of {counted(report['hits'], 'HITs exist')}: {states or 'none'}",
        f"assignments: {report['done']:,} done, {report['pending']:,} being worked on, {report['open']:,} open",
        f"balance: {report['balance']} US dollars",
    ]
    emit(dict(report), as_json, lines)


@mturk.command()
@explained()
def fetch(batch: HitBatchFolder, live: Live = False, rules: QualityRecipe = None, as_json: AsJson = False) -> None:
    """Fetch all answers into `answers.jsonl` of the batch, with pseudonymised workers; can be repeated at any time."""
    from edos_dataset.commands.crowd_mturk import mturk_fetch

    report = mturk_fetch(batch, live=live, rules=rules)
    emit(dict(report), as_json, [*_fetched(report), f"edos crowd workers {batch}"])


def _fetched(report: Mapping[str, Any]) -> list[str]:
    lines = [f"{counted(report['assignments'], 'assignments')}, {counted(report['answers'], 'answers')}"]
    if report["rejected"] or report["broken"]:
        lines.append(f"left out: {report['rejected']:,} rejected, {report['broken']:,} unreadable")
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
    """Pay the outstanding bonuses, after showing the cost and asking for confirmation."""
    from edos_dataset.commands.crowd_mturk import mturk_bonus

    report = call(mturk_bonus, locals(), yes=_agree(live, yes))
    emit(dict(report), as_json, [*_fetched(report), f"{counted(report['paid'], 'bonuses')} paid"])


@mturk.command()
@explained()
def files(
    batch: HitBatchFolder,
    out: Annotated[Path, typer.Option(help="Output folder.", show_default=False)],
    url: Url = None,
) -> None:
    """Write the questions of a batch as files, and a layout and CSV file for the requester website."""
    from edos_dataset.commands.crowd_mturk import mturk_files

    names = mturk_files(batch, out, url=url)["files"]
    say([f"{counted(len(names), 'files')} in {out}: {', '.join(names[-3:])}" + (", ..." if len(names) > 3 else "")])
