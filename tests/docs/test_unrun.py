"""Examples that no test carries out, those of the README and those marked so: commands are understood, files are there,
names can be imported.
"""

import ast
import importlib
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from doc_examples import blocks_of, commands_of
from edos_dataset.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
UNRUN = [
    (page, block)
    for page in PAGES
    for block in blocks_of(page.read_text(encoding="utf-8"))
    if block.not_run or page == PAGES[0]
]
COMMANDS = [
    (page.name, command)
    for page, block in UNRUN
    if block.language == "console"
    for command, _ in commands_of(block.text)
]
PROGRAMS = [(page.name, block.text) for page, block in UNRUN if block.language == "python"]


def parse(command, words):
    """Parse the words behind a command as the command line does; return the names of the command
    and its subcommands.
    """
    with command.make_context(command.name, list(words)) as context:
        if not hasattr(command, "resolve_command"):
            return [command.name]
        _, chosen, rest = command.resolve_command(context, [*getattr(context, "_protected_args", []), *context.args])
        return [command.name, *parse(chosen, rest)]


@pytest.mark.parametrize(("page", "command"), COMMANDS)
def test_commands_are_understood(page, command):
    words = shlex.split(command.replace("\\\n", " "), comments=True)
    assert words[0] in ("edos", "pip", "make", "accelerate", "python")
    launched = ["accelerate", "launch", "-m", "edos_dataset"]
    if words[0] == "edos" or words[:4] == launched:
        parse(get_command(app), words[4:] if words[:4] == launched else words[1:])
    if words[0] == "make":
        targets = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert f"\n{words[1]}:" in targets
    assert [word for word in words if word.startswith("training/") and not (ROOT / word).exists()] == []


@pytest.mark.parametrize("wrong", ["edos curate films --oot edos", "edos curat films", "edos publish edos --repo a/b"])
def test_a_wrong_command_is_noticed(wrong):
    with pytest.raises(Exception, match="No such|Missing parameter"):
        parse(get_command(app), wrong.split()[1:])


@pytest.mark.parametrize(("page", "text"), PROGRAMS)
def test_imports_are_there(page, text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(node.module)
            assert [name.name for name in node.names if not hasattr(module, name.name)] == []
