"""Progress of a running verb: bars, status lines and warnings, in terminals and notebooks."""

import os
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from edos_dataset.wording import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from edos_dataset.downloads.fetching import FileProgress
    from edos_dataset.runs.run import Progress

Say = Callable[[str], None]
"""Called with a sentence about the current step."""

ON_WARNING: ContextVar[Say | None] = ContextVar("ON_WARNING", default=None)
"""Function that receives warnings instead of Python's `warnings`; on the command line it prints them as notes."""


def is_first_process() -> bool:
    """Return whether this process is the only one, or the first of those started by a launcher."""
    return os.environ.get("RANK", "0") == "0"


def printable(text: str) -> str:
    """Return a text in which characters that control a terminal or cannot be encoded in UTF-8 are escaped."""
    return "".join(
        character.encode("unicode_escape").decode("ascii") if controls_terminal(character) else character
        for character in text
    )


def controls_terminal(character: str) -> bool:
    """Return whether a character other than a line break may control a terminal, or is half a surrogate pair."""
    return character != "\n" and unicodedata.category(character) in ("Cc", "Cf", "Cs")


def warn(text: str) -> None:
    """Warn the user: with a note on the command line, with a `UserWarning` in Python."""
    if (show := ON_WARNING.get()) is not None:
        show(text)
    else:
        warnings.warn(text, stacklevel=3)


def announce(wanted: object, text: str) -> None:
    """Write a line about what begins, in terminals only.

    Args:
        wanted: whether to show progress, as for `bars`; a function that is called instead of it hides the line.
        text: the line.
    """
    if (wanted is None or wanted is True) and sys.stderr.isatty() and is_first_process():
        _line(text)


@contextmanager
def bars(wanted: "bool | Progress | None" = None) -> "Iterator[Progress]":
    """Show the progress of a run: for each phase a bar with shards, units per second, and time, or one line where
    standard error is no terminal.

    Args:
        wanted: whether to show it, or a function that is called instead; None shows it in terminals and notebooks.

    Yields:
        The function that a run calls after each shard.
    """
    if wanted is not None and not isinstance(wanted, bool):
        yield wanted
    elif not _shows(wanted):
        yield lambda *_: None
    elif _can_redraw():
        with _bars() as report:
            yield report
    else:
        yield _line_a_phase


@contextmanager
def steps(wanted: bool | Say | None = None, first: str = "starting", lines: bool = True) -> Iterator[Say]:
    """Show the current step as a status line at the bottom of a terminal, or as one line per step elsewhere.

    Args:
        wanted: whether to show it, or a function that is called with each step; None shows it in terminals and
            notebooks.
        first: the first step.
        lines: whether to write lines where there is no terminal.

    Yields:
        The function to call with each step.
    """
    if wanted is not None and not isinstance(wanted, bool):
        yield wanted
    elif not _shows(wanted):
        yield lambda _: None
    elif sys.stderr.isatty() and not _in_notebook():
        from rich.markup import escape

        with _console().status(first) as status:
            yield lambda text: status.update(escape(printable(text)))
    else:
        yield _line if lines else lambda _: None


def _shows(wanted: bool | None) -> bool:
    return is_first_process() and (wanted if wanted is not None else sys.stderr.isatty() or _in_notebook())


def _can_redraw() -> bool:
    """Return whether what is shown can be overwritten, as bars are."""
    return find_spec("ipywidgets") is not None if _in_notebook() else sys.stderr.isatty()


def _in_notebook() -> bool:
    return "ipykernel" in sys.modules


def _console() -> "Console":
    from rich.console import Console

    return Console(stderr=True)


def _line(text: str) -> None:
    sys.stderr.write(f"{printable(text)}\n")
    sys.stderr.flush()


def _line_a_phase(phase: str, done: int, total: int, units: int, unit: str) -> None:
    if total and done == total:
        _line(f"{phase}: {counted(total, 'shards')}, {counted(units, unit)}")


def _line_a_file(path: str, done: int, total: int | None) -> None:
    if done == total:
        _line(f"{path}: {counted(done, 'bytes')}")


@contextmanager
def file_bars(wanted: "bool | FileProgress | None" = None) -> "Iterator[FileProgress]":
    """Show how much of each file has been downloaded; `wanted` is as for `bars`."""
    if wanted is not None and not isinstance(wanted, bool):
        yield wanted
        return
    if not _shows(wanted):
        yield lambda *_: None
        return
    if not _can_redraw():
        yield _line_a_file
        return
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns: tuple[Any, ...] = (TextColumn("{task.description}"), BarColumn(bar_width=24), DownloadColumn())
    shown = Progress(*columns, TransferSpeedColumn(), TimeRemainingColumn(), console=_console())
    tasks: dict[str, TaskID] = {}

    def report(path: str, done: int, total: int | None) -> None:
        if path not in tasks:
            for task in tasks.values():
                shown.remove_task(task)
            tasks.clear()
            shown.start()  # only now, so that no bar hides the question whether to download
            tasks[path] = shown.add_task(path, total=total)
        shown.update(tasks[path], completed=done, total=total)

    try:
        yield report
    finally:
        shown.stop()


@contextmanager
def _bars() -> "Iterator[Progress]":
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns: tuple[Any, ...] = (
        TextColumn("{task.description:<16}"),
        BarColumn(bar_width=8),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} shards", justify="right"),
        TextColumn("{task.fields[rate]}", justify="right"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=_console()) as shown:
        yield _Bars(shown)


class _Bars:
    """Bars of the phases of a run: what `bars` yields in a terminal of 80 columns or more.

    Args:
        shown: where they are drawn.
    """

    def __init__(self, shown: "RichProgress") -> None:
        """Start without phases."""
        self._shown = shown
        self._tasks: dict[str, TaskID] = {}
        self._titles: list[str] = []

    def phases(self, titles: Sequence[str]) -> None:
        """State the phases of a run before its first one."""
        self._titles = list(titles)
        self._shown.console.print(f"{counted(len(titles), 'phases')}: {', '.join(titles)}", highlight=False)

    def __call__(self, phase: str, done: int, total: int, units: int, unit: str) -> None:
        """Show that `done` of `total` shards of a phase are made, with `units` read."""
        if not total:  # other processes do the whole phase
            return
        if phase not in self._tasks:
            place = f" {self._titles.index(phase) + 1}/{len(self._titles)}" if phase in self._titles else ""
            self._tasks[phase] = self._shown.add_task(phase + place, total=total, rate="")
        task = self._tasks[phase]
        elapsed = next(one.elapsed for one in self._shown.tasks if one.id == task)
        rate = f"{counted(units, unit)}, {units / elapsed:,.0f}/s" if elapsed and units else ""
        self._shown.update(task, completed=done, total=total, rate=rate)
