"""The one place where the command line prints: results, messages, progress.

Of the processes that a launcher started (`accelerate launch`, torchrun) only the first writes to standard output and
shows progress; errors are told by each.
"""

import json
import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING

import typer
from rich.console import Console, RenderableType
from rich.markup import escape

if TYPE_CHECKING:
    from edos_dataset.runs.run import Progress


def leads() -> bool:
    """Return whether this process is the only one, or the first of those that a launcher started."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def only_the_first_prints() -> Iterator[None]:
    """Send what other processes than the first write to standard output nowhere."""
    if leads():
        yield
        return
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        yield


def emit(result: object, as_json: bool, shown: Iterable[RenderableType]) -> None:
    """Print what came of a command.

    Args:
        result: what `--json` prints.
        as_json: print that.
        shown: otherwise, what a person sees: tables, and lines as rich markup; not looked at if JSON is wanted.
    """
    if as_json:
        typer.echo(json.dumps(result, indent=1, ensure_ascii=False))
    else:
        say(shown)


def say(shown: Iterable[RenderableType], stderr: bool = False) -> None:
    """Print tables, and lines as rich markup, which are not broken: terminals do that, and files keep whole lines."""
    console = terminal(stderr)
    for part in shown:
        console.print(part, soft_wrap=isinstance(part, str), highlight=False)


def printable(text: str) -> str:
    """Return a text with all that would steer a terminal, and what UTF-8 cannot say, written as escapes."""
    return "".join(
        character.encode("unicode_escape").decode("ascii")
        if character != "\n" and unicodedata.category(character) in ("Cc", "Cf", "Cs")
        else character
        for character in text
    )


def terminal(stderr: bool = False) -> Console:
    """Return the console of stdout or stderr; into a file or pipe it writes tables of 160 columns."""
    console = Console(stderr=stderr, emoji=False)
    return console if console.is_terminal else Console(stderr=stderr, emoji=False, width=160)


def load_call(*arguments: str) -> str:
    """Return the line of Python that loads a data set, as rich markup."""
    named = ", ".join(json.dumps(argument, ensure_ascii=False) for argument in arguments)
    return f"[green]{escape(f'from datasets import load_dataset; ds = load_dataset({named})')}[/green]"


@contextmanager
def status(first: str = "starting") -> Iterator[Callable[[str], None]]:
    """Give the function that is told what is being done: it shows that at a terminal's foot, else line after line."""
    with Console(stderr=True, quiet=not leads()).status(first) as shown:
        yield shown.update if sys.stderr.isatty() else lambda text: typer.echo(text, err=True)


@contextmanager
def progress_bars() -> "Iterator[Progress]":
    """Show a bar a phase, in shards, with the units read per second and the time left; give the function that a run
    calls.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True, quiet=not leads())) as bars:
        tasks: dict[str, TaskID] = {}

        def report(phase: str, done: int, total: int, units: int) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=total, rate="")
            elapsed = bars.tasks[tasks[phase]].elapsed
            rate = f"{units / elapsed:,.0f}/s" if elapsed and units else ""
            bars.update(tasks[phase], completed=done, total=total, rate=rate)

        yield report
