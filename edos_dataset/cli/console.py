"""Output of the command line: results, notes, and errors with their exit codes.

Of the processes started by a launcher (`accelerate launch`, torchrun) only the first writes to standard output and
shows progress; each prints its errors.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from inspect import signature
from traceback import format_exc
from typing import Any, TypeVar

import typer
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text
from rich.theme import Theme

from edos_dataset.commands.options import UsageError
from edos_dataset.commands.progress import controls_terminal, is_first_process, printable
from edos_dataset.languages import name_of_language
from edos_dataset.palette import IN_TERMINAL
from edos_dataset.wording import counted, unit_of

R = TypeVar("R")

FAILED, WRONG_USAGE, TOO_MANY, UNFINISHED, NOTHING, STOPPED = 1, 2, 3, 4, 5, 130
"""Exit codes other than 0 (done): failed, with a message; wrong usage; done, but too much is unreadable or missing;
tasks of an array job must run before it can be merged; done, but the output is empty; stopped with Ctrl-C.
"""

_OTHER = "other language: "
LONGEST_MESSAGE = 2_000
"""Maximum number of characters of a message; the middle of longer ones, which quote files, is left out."""


@dataclass
class Loudness:
    """How much is printed besides results and errors, set by `--quiet` and `--verbose`.

    Attributes:
        quiet: print neither progress nor notes.
        verbose: also print tracebacks of errors.
    """

    quiet: bool = False
    verbose: bool = False


LOUDNESS = Loudness()


def silent() -> bool:
    """Return whether to hide progress and notes: with `--quiet`, or because another process shows them."""
    return LOUDNESS.quiet or not is_first_process()


@contextmanager
def only_the_first_prints() -> Iterator[None]:
    """Discard the standard output of all launched processes but the first."""
    if is_first_process():
        yield
        return
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        yield


def call(function: Callable[..., R], options: Mapping[str, Any], **others: Any) -> R:  # noqa: ANN401
    """Call a verb with the options of a command, and return its result.

    Args:
        function: the verb; each of its parameters gets the option of the same name. Lists that were not given keep
            their default. `progress` is false with `--quiet`, true with `--verbose`, and else None: shown in terminals.
        options: name → value, as `locals()` of the command; names that are not parameters are ignored.
        others: parameters that get another value than the option of the same name.
    """
    given = {"progress": False if silent() else LOUDNESS.verbose or None, **options, **others}
    parameters = signature(function).parameters.items()
    left = {name for name, parameter in parameters if given.get(name) is None and parameter.default == ()}
    return function(**{name: given[name] for name, _ in parameters if name in given and name not in left})


def emit(result: object, as_json: bool, shown: Iterable[RenderableType]) -> None:
    """Print the result of a command.

    Args:
        result: the result to print as JSON.
        as_json: whether to print JSON.
        shown: tables and lines to print otherwise; not consumed for JSON.
    """
    if as_json:
        typer.echo(json_text(result))
    else:
        say(shown)


def json_text(result: object) -> str:
    """Return a value as JSON, in which characters that control a terminal are escaped."""
    text = json.dumps(result, indent=1, ensure_ascii=False)
    return "".join(json.dumps(character)[1:-1] if controls_terminal(character) else character for character in text)


def say(shown: Iterable[RenderableType], stderr: bool = False) -> None:
    """Print tables, and lines: in a terminal wrapped at words and indented, elsewhere whole.

    A text is data and shown as it is: rich's markup in it, such as the brackets of a title, has no meaning; `styled`
    gives colours. Lines of code, which are green, are never wrapped, since they are copied. Control characters, which
    titles, paths and untrusted texts may contain, are escaped.
    """
    console = terminal(stderr)
    for part in shown:
        line = Text(part) if isinstance(part, str) else part
        wrapped = isinstance(line, Text) and console.is_terminal and not _is_code(line)
        shape = indented(line, console) if wrapped and isinstance(line, Text) else line
        console.print(_Harmless(shape), soft_wrap=isinstance(line, Text) and not wrapped)


def say_growing(lines: Iterable[Text]) -> None:
    """Print a line that grows: in a terminal each of its forms in the place of the one before, elsewhere the last."""
    from rich.live import Live

    console = terminal()
    if not console.is_terminal:
        *_, last = lines
        say([last])
        return
    with Live(console=console, auto_refresh=False) as live:
        for line in lines:
            live.update(_Harmless(indented(line, console)), refresh=True)


CODE = "green"
"""Style of a line that is copied: a command, or Python."""

_HANG = re.compile(r" *(?:- |(?:\S+(?: \d\.\d\d| {5}))?  )?")
"""What stands before the text of a turn: its indent, a dash, or a label with its confidence."""


def _is_code(line: Text) -> bool:
    return any(span.start == 0 and span.style == CODE for span in line.spans)


def indented(text: Text, console: Console) -> Text:
    """Return a line wrapped at words; further lines begin below the first word of a turn's text."""
    start = _HANG.match(text.plain)
    indent = min((start.end() if start else 0) or 2, console.width // 2)
    lines = text[indent:].wrap(console, console.width - indent)
    for line in lines:
        line.rstrip()
    return text[:indent] + Text("\n" + " " * indent).join(lines)


def styled(*parts: str | Text | tuple[str, str]) -> Text:
    """Return a line of texts, of which each may be given with a style of rich: `("short", "yellow")`."""
    return Text.assemble(*parts)


def error_line(text: str) -> Text:
    """Return the line that reports an error."""
    return styled(("error", "bold red"), f" {text}")


def note(line: str | Text) -> None:
    """Print a line on standard error, unless notes are hidden."""
    if not silent():
        say([line], stderr=True)


@dataclass
class _Harmless:
    """A renderable in which control characters are escaped, except those of rich's own colours."""

    shown: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.shown, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))


THEME = Theme(
    {
        "yellow": "color(130)",
        "green": "color(28)",
        **IN_TERMINAL,
        "dim": "not dim color(243)",
    }
)
"""Tones that have a contrast of 4 or more on white and on black; those of 16 colours vanish on one of them."""


def terminal(stderr: bool = False) -> Console:
    """Return a console for stdout or stderr; in files and pipes tables are at most 100 columns wide."""
    console = Console(stderr=stderr, emoji=False, highlight=False, theme=THEME)
    if console.is_terminal:
        return console
    return Console(stderr=stderr, emoji=False, highlight=False, width=100, theme=THEME)


def load_call(*arguments: str) -> Text:
    """Return the line of Python that loads a dataset with these arguments."""
    named = ", ".join(json.dumps(argument, ensure_ascii=False) for argument in arguments)
    return styled((f"from datasets import load_dataset; ds = load_dataset({named})", CODE))


class Ended(Exception):
    """Ends a command with an exit code and a message on standard error."""

    def __init__(self, code: int, message: str | Text) -> None:
        super().__init__(str(message))
        self.code, self.message = code, message


@contextmanager
def explained(
    kept: str = "Finished work is kept; fix this and run the same command again",
    stopped: str = "Run the same command to resume.",
) -> Iterator[None]:
    """Decorate a command, so that an error that a user can fix becomes a message on standard error and an exit code.

    Args:
        kept: sentence on what was kept, and what to do, for a file that could not be written.
        stopped: sentence on what was kept, and what to do, for a command that the user stopped.
    """
    try:
        with _traced():
            yield
    except (BrokenPipeError, typer.Exit):  # a closed pipe: typer exits quietly
        raise
    except UsageError as error:
        raise typer.BadParameter(str(error)) from error
    except KeyboardInterrupt:
        code, message = STOPPED, Text(f"Stopped. {stopped}")
    except Exception as error:
        end = _end_of(error, kept)
        if end is None:
            raise
        code, message = end[0], Text.assemble(end[1])
    else:
        return
    say([message], stderr=True)
    raise typer.Exit(code) from None


def _end_of(error: Exception, kept: str) -> tuple[int, str | Text] | None:
    """Return exit code and message of an error that a user can fix; None for other errors."""
    from edos_dataset.releases.formats.faults import NothingLeft
    from edos_dataset.runs.array_jobs import Unfinished
    from edos_dataset.runs.engines.base import WorkerDied
    from edos_dataset.runs.stores.store import StoreError

    if isinstance(error, NothingLeft):
        error = nothing(str(error))
    if isinstance(error, Ended):
        return error.code, error.message
    if isinstance(error, Unfinished):
        return UNFINISHED, message_of(str(error))
    if isinstance(error, ValueError | ImportError | WorkerDied | StoreError):
        text = message_of(str(error))
    elif isinstance(error, OSError):
        where = f": {error.filename}" if error.filename else ""
        text = message_of(f"{error.strerror or error}{where}. {kept}")
    elif _is_shortage(error):
        text = message_of(f"the machine has run out of memory or threads ({error or type(error).__name__})")
        text = f"{text}: use fewer --workers, or raise the limit (`ulimit -v`). {kept}"
    else:
        return None
    return FAILED, error_line(text)


@contextmanager
def _traced() -> Iterator[None]:
    """With `--verbose`, print the traceback of an error before its message."""
    try:
        yield
    except Exception:
        if LOUDNESS.verbose:
            typer.echo(printable(format_exc()), err=True, nl=False)
        raise


def _is_shortage(error: Exception) -> bool:
    """Return whether an error, of whatever library, means that memory or threads have run out."""
    words = ("can't start new thread", "Failed to launch worker thread", "Cannot allocate memory")
    return isinstance(error, MemoryError) or any(word in str(error) for word in words)


def message_of(text: str) -> str:
    """Return a message, shortened, and with control characters escaped, since it may quote a file."""
    text = printable(text)
    if len(text) > LONGEST_MESSAGE:
        text = f"{text[: LONGEST_MESSAGE * 3 // 4]} […] {text[-LONGEST_MESSAGE // 4 :]}"
    return text


def check_bad(fraction: float, most: float) -> None:
    """End with `TOO_MANY` if more than the fraction `most` of the files is unreadable."""
    if fraction > most:
        raise Ended(
            TOO_MANY,
            styled(
                (f"{fraction:.0%} of the files could not be read", "bold red"),
                f" (more than {most:.0%}, --max-bad; a folder or archive that cannot be opened counts as all of them)",
            ),
        )


def check_any(number: int, what: str, done: Mapping[str, Any]) -> None:
    """End with `NOTHING` and the likely remedy if a finished run has no output.

    Args:
        number: number of dialogues or sentences in the output.
        what: what was counted, such as "dialogues".
        done: manifest of the run, with its `stages`.
    """
    if number:
        return
    read: Mapping[str, Any] = next((stage for stage in done.get("stages", ()) if stage["stage"] == "read"), {})
    tally = {name.removeprefix(_OTHER): count for name, count in read.get("tally", {}).items() if _OTHER in name}
    remedy = "the counts of each stage say where it was rejected; with --rejects, `edos rejects` shows why"
    if tally:
        code, count = max(tally.items(), key=lambda pair: (pair[1], pair[0]))
        which = f"{count:,} of {counted(read['read'], 'files')} {unit_of(count, 'look')}"
        remedy = f"{which} {name_of_language(code)}: --language {code}"
    raise nothing(f"no {what}; {remedy}")


def nothing(why: str) -> Ended:
    """Return what ends a command with `NOTHING`; `why` says what is missing, and the likely remedy."""
    return Ended(NOTHING, styled(("nothing came out", "bold red"), f": {message_of(why)}"))
