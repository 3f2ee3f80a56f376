"""Errors of a command become one message and an exit code."""

import errno

import pyarrow as pa
import pytest
import typer
from typer.testing import CliRunner

from edos_dataset.cli.console import TOO_MANY, WRONG_USAGE, Ended, check_bad, explained, styled
from edos_dataset.runs.engines.base import WorkerDied


def run(error, *arguments, **texts):
    """Carry out a command that raises `error`."""
    app = typer.Typer(pretty_exceptions_enable=False)

    @app.command()
    @explained(**texts)
    def command(number: int = 1) -> None:
        if error is not None:
            raise error

    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (None, 0, ""),
        (
            ValueError("films.zip, line 7: [b]what[/b] is no time"),
            1,
            "error films.zip, line 7: [b]what[/b] is no time\n",
        ),
        (ImportError("fasttext is not installed"), 1, "error fasttext is not installed\n"),
        (WorkerDied("a worker process was killed"), 1, "error a worker process was killed\n"),
        (
            OSError(errno.ENOSPC, "No space left on device", "edos/os [1].parquet"),
            1,
            "error No space left on device: edos/os [1].parquet. Finished work is kept; fix this and run the same "
            "command again\n",
        ),
        (OSError("the server is gone"), 1, "error the server is gone. Finished work is kept; fix this"),
        (Ended(WRONG_USAGE, "There is no terminal."), 2, "There is no terminal.\n"),
        (Ended(TOO_MANY, styled(("30%", "bold red"), " are bad")), 3, "30% are bad\n"),
        (KeyboardInterrupt(), 130, "Stopped. Run the same command to resume.\n"),
    ],
)
def test_exit_codes(error, code, message):
    done = run(error)
    assert done.exit_code == code
    assert done.stderr.startswith(message) and bool(done.stderr) is bool(message)
    assert done.stdout == ""


def test_what_a_message_quotes_neither_controls_the_terminal_nor_floods_it():
    done = run(ValueError("row \x1b[31m7\x07 of caf\udce9\u202e is " + "x" * 50_000 + " and more"))
    assert done.stderr.startswith("error row \\x1b[31m7\\x07 of caf\\udce9\\u202e is xxx")
    assert done.stderr.endswith("xxx and more\n") and len(done.stderr) < 2_200


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        pa.ArrowMemoryError("malloc of size 7 failed"),
        pa.ArrowException("Unknown error: Failed to launch worker thread: Resource temporarily unavailable"),
        RuntimeError("can't start new thread"),
    ],
)
def test_a_machine_without_memory_is_no_defect(error):
    done = run(error)
    assert done.exit_code == 1 and done.stderr.startswith("error the machine has run out of memory or threads (")
    assert "use fewer --workers" in done.stderr


def test_a_defect_of_ours_keeps_its_traceback():
    assert isinstance(run(RuntimeError("index is not sorted")).exception, RuntimeError)


def test_wrong_usage():
    done = run(None, "--number", "x")
    assert done.exit_code == WRONG_USAGE and "--number" in done.stderr


def test_a_command_may_say_what_is_left():
    texts = {"kept": "No file was written", "stopped": "No file was written."}
    assert run(OSError(errno.EACCES, "denied", "x"), **texts).stderr == "error denied: x. No file was written\n"
    assert run(KeyboardInterrupt(), **texts).stderr == "Stopped. No file was written.\n"


def test_a_long_message_stays_one_line():
    assert run(ValueError("word " * 100)).stderr.count("\n") == 1


@pytest.mark.parametrize("defect", [RuntimeError("CUDA error"), KeyError("label"), AssertionError()])
def test_defects_of_ours_keep_their_traceback(defect):
    assert run(defect).exception is defect


def test_bad_files():
    check_bad(0.2, 0.2)
    with pytest.raises(Ended, match=r"21% of the files could not be read.*more than 20%, --max-bad") as end:
        check_bad(0.21, 0.2)
    assert end.value.code == TOO_MANY
