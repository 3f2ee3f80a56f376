"""The whole of the command line: its commands, and how soon it is there."""

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from edos_dataset.cli.app import app, crowd
from edos_dataset.version import __version__

COMMANDS = [command.callback for command in [*app.registered_commands, *crowd.registered_commands]]
HEAVY = ("torch", "transformers", "datasets", "pyarrow", "sklearn", "numpy", "huggingface_hub")


def test_version_and_help():
    assert CliRunner().invoke(app, ["--version"]).stdout.strip() == __version__
    text = CliRunner().invoke(app, ["--help"]).stdout
    assert all(command in text for command in ("curate", "segment", "inspect", "recipe", "sample", "crowd"))


GROUPS = [[], ["crowd"], ["crowd", "mturk"], ["labels"]]
NAMES = [[command.callback.__name__.replace("_", "-")] for command in app.registered_commands]
NAMES += [["crowd", command.name or command.callback.__name__] for command in crowd.registered_commands]


@pytest.mark.parametrize("words", [*GROUPS, *NAMES], ids=" ".join)
def test_h_is_help_everywhere(words):
    short, long = (CliRunner().invoke(app, [*words, flag]) for flag in ("-h", "--help"))
    assert short.exit_code == long.exit_code == 0 and short.stdout == long.stdout and "Usage:" in short.stdout
    assert "bool" not in short.stdout.lower(), "a column of types takes the room of the texts"


def test_completion_can_be_installed():
    text = CliRunner().invoke(app, ["--help"]).stdout
    assert "--install-completion" in text and "--show-completion" in text


def test_python_m_is_edos():
    done = subprocess.run([sys.executable, "-m", "edos_dataset", "--version"], capture_output=True, text=True)
    assert done.stdout.strip() == __version__


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)
def test_every_command_explains_its_errors_and_itself(command):
    assert hasattr(command, "__wrapped__"), "not decorated with cli.errors.explained"
    assert command.__doc__


def test_nothing_heavy_is_imported_before_a_command_is_called():
    program = f"import sys, edos_dataset.cli.app; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_costs_little_more_than_the_libraries_that_print_it():
    """In time of a processor, not of the clock, and at best: other tests run beside."""
    pytest.importorskip("resource", reason="Windows")
    libraries = ["-c", "import typer.rich_utils, rich.table, rich.markdown, yaml"]
    for _ in range(5):
        if processor_time(["-m", "edos_dataset", "--help"]) < 2.5 * processor_time(libraries):
            return
    pytest.fail("`edos --help` takes 2.5 times what typer and rich take to be imported")


def processor_time(arguments):
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def test_arrow_takes_its_memory_from_the_system_unless_told_otherwise(monkeypatch):
    program = "import edos_dataset.cli.app, pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    chosen = []
    for given in ({}, {"ARROW_DEFAULT_MEMORY_POOL": "mimalloc"}):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ, **given}
        )
        chosen.append(done.stdout.strip())
    assert chosen == ["system", "mimalloc"]
