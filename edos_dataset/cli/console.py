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
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markup import escape

if TYPE_CHECKING:
    from edos_dataset.runs.run import Progress


@dataclass
class Loudness:
    """How much is told beside results and errors, as `--quiet` and `--verbose` say.

    Attributes:
        quiet: no progress and no notes.
        verbose: tracebacks of errors, too.
    """

    quiet: bool = False
    verbose: bool = False


LOUDNESS = Loudness()
"""Of this process."""


def leads() -> bool:
    """Return whether this process is the only one, or the first of those that a launcher started."""
    return os.environ.get("RANK", "0") == "0"


def silent() -> bool:
    """Return whether no progress is shown: by `--quiet`, or since another process shows it."""
    return LOUDNESS.quiet or not leads()


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
        typer.echo(json_text(result))
    else:
        say(shown)


def json_text(result: object) -> str:
    """Return JSON in which what would steer a terminal is an escape of JSON's, so that the content is the same."""
    text = json.dumps(result, indent=1, ensure_ascii=False)
    return "".join(json.dumps(character)[1:-1] if _steers(character) else character for character in text)


def say(shown: Iterable[RenderableType], stderr: bool = False) -> None:
    """Print tables, and lines as rich markup, which are not broken: terminals do that, and files keep whole lines. What
    would steer a terminal, in titles, paths and texts of others, is printed as escapes.
    """
    console = terminal(stderr)
    for part in shown:
        console.print(_Harmless(part), soft_wrap=isinstance(part, str))


def note(line: str) -> None:
    """Tell on standard error, as rich markup, what is good to know and neither result nor error."""
    if not silent():
        say([line], stderr=True)


def printable(text: str) -> str:
    """Return a text with all that would steer a terminal, and what UTF-8 cannot say, written as escapes."""
    return "".join(
        character.encode("unicode_escape").decode("ascii") if _steers(character) else character for character in text
    )


def _steers(character: str) -> bool:
    return character != "\n" and unicodedata.category(character) in ("Cc", "Cf", "Cs")


@dataclass
class _Harmless:
    """What is printed, without what would steer a terminal; the colours are rich's own."""

    shown: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.shown, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))


def terminal(stderr: bool = False) -> Console:
    """Return the console of stdout or stderr; into a file or pipe it writes tables of 160 columns."""
    console = Console(stderr=stderr, emoji=False, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, emoji=False, highlight=False, width=160)


def load_call(*arguments: str) -> str:
    """Return the line of Python that loads a data set, as rich markup."""
    named = ", ".join(json.dumps(argument, ensure_ascii=False) for argument in arguments)
    return f"[green]{escape(f'from datasets import load_dataset; ds = load_dataset({named})')}[/green]"


@contextmanager
def status(first: str = "starting", lines: bool = True) -> Iterator[Callable[[str], None]]:
    """Give the function that is told what is being done: it shows that at a terminal's foot.

    Args:
        first: what is done at first.
        lines: where there is no terminal, write line after line.
    """
    with Console(stderr=True, quiet=silent()).status(first) as shown:
        if sys.stderr.isatty():
            yield lambda text: shown.update(escape(printable(text)))
        else:
            yield lambda text: note(escape(text)) if lines else None


@contextmanager
def progress_bars() -> "Iterator[Progress]":
    """Show a bar a phase: its last stage, the shards done of all, the units read per second by name, the time that it
    took and that is left; give the function that a run calls.
    """
    from rich.progress import (
        BarColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} shards", justify="right"),
        TextColumn("{task.fields[rate]}", justify="right"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True, quiet=silent())) as bars:
        tasks: dict[str, TaskID] = {}

        def report(phase: str, done: int, total: int, units: int, unit: str) -> None:
            if not total:  # all of the phase is other processes'
                return
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=total, rate="")
            elapsed = bars.tasks[tasks[phase]].elapsed
            rate = f"{units / elapsed:,.0f} {unit}/s" if elapsed and units else ""
            bars.update(tasks[phase], completed=done, total=total, rate=rate)

        yield report
