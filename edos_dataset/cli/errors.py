"""How a command ends: the exit codes, and errors that a user can mend as one message without a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import format_exc

import typer
from rich.markup import escape

from edos_dataset.cli.console import LOUDNESS, printable, say
from edos_dataset.runs.engines.array import Unfinished
from edos_dataset.runs.engines.base import WorkerDied
from edos_dataset.runs.stores.base import StoreError

FAILED, WRONG_USAGE, TOO_MANY, UNFINISHED, STOPPED = 1, 2, 3, 4, 130
"""Exit codes beside 0 (done): the message says why; wrong usage; done, but too many files could not be read or too much
is missing; shares of an array job are to be given before it can be merged; stopped with Ctrl-C.
"""

LONGEST_MESSAGE = 2_000
"""Characters; what is longer, since it quotes a file, is told without its middle."""


class Ended(Exception):
    """A command ends before its time, or well but not well enough.

    Args:
        code: the exit code.
        message: what to tell the user on standard error, as rich markup.
    """

    def __init__(self, code: int, message: str) -> None:
        """Keep the code."""
        super().__init__(message)
        self.code = code


@contextmanager
def explained(
    kept: str = "What is finished is kept; mend this and give the same command again",
    stopped: str = "The same command goes on where it was.",
) -> Iterator[None]:
    """Decorate a command: the errors that a user can mend become one message on standard error and an exit code.

    Args:
        kept: what is left when a file could not be written, and what to do.
        stopped: what is left when the user stopped.

    Raises:
        typer.Exit: with the exit code.
    """
    try:
        with _traced():
            yield
    except Ended as end:
        code, message = end.code, str(end)
    except Unfinished as unfinished:
        code, message = UNFINISHED, told(str(unfinished))
    except (ValueError, ImportError, WorkerDied, StoreError) as error:
        code, message = FAILED, f"[bold red]error[/bold red] {told(str(error))}"
    except BrokenPipeError:  # whoever reads standard output has seen enough; typer ends quietly
        raise
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        message = told(f"{error.strerror or error}{where}. {kept}")
        code, message = FAILED, f"[bold red]error[/bold red] {message}"
    except Exception as error:
        if not _is_shortage(error):
            raise
        message = told(f"the machine gives no more memory or threads ({error or type(error).__name__})")
        code = FAILED
        message = (
            f"[bold red]error[/bold red] {message}: give fewer --workers, or raise the limit (`ulimit -v`). {kept}"
        )
    except KeyboardInterrupt:
        code, message = STOPPED, f"Stopped. {stopped}"
    else:
        return
    say([message], stderr=True)
    raise typer.Exit(code) from None


@contextmanager
def _traced() -> Iterator[None]:
    """Print the traceback of an error, before it is told in a sentence, if `--verbose` asks for it."""
    try:
        yield
    except Exception:
        if LOUDNESS.verbose:
            typer.echo(printable(format_exc()), err=True, nl=False)
        raise


def _is_shortage(error: Exception) -> bool:
    """Return whether an error, of whatever library, says that there is no more memory, or no more threads."""
    words = ("can't start new thread", "Failed to launch worker thread", "Cannot allocate memory")
    return isinstance(error, MemoryError) or any(word in str(error) for word in words)


def told(text: str) -> str:
    """Return a message as rich markup, as it may be shown: what it quotes may be long, or steer a terminal."""
    text = printable(text)
    if len(text) > LONGEST_MESSAGE:
        text = f"{text[: LONGEST_MESSAGE * 3 // 4]} […] {text[-LONGEST_MESSAGE // 4 :]}"
    return escape(text)


def check_bad(share: float, most: float) -> None:
    """End with `TOO_MANY` if more than the share `most` of the files could not be read."""
    if share > most:
        raise Ended(
            TOO_MANY,
            f"[bold red]{share:.0%} of the files could not be read[/bold red] (more than {most:.0%}, --max-bad; a "
            "folder or archive that cannot be opened counts as all of them)",
        )
