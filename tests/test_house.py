"""The house is kept: modules and functions of a size that is read at once, lines that fit a screen, and no address of
a package registry in any file.
"""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONGEST_MODULE, LONGEST_FUNCTION, LONGEST_LINE = 250, 50, 120
_OPTIONS = "a command's options, one a line"
LONGER: dict[str, str] = {
    "edos_dataset/cli/books.py:books": _OPTIONS,
    "edos_dataset/cli/curate.py:curate": _OPTIONS,
    "edos_dataset/cli/evaluate.py:evaluate": _OPTIONS,
    "edos_dataset/cli/extend.py:extend": _OPTIONS,
    "edos_dataset/cli/hydrate.py:hydrate": _OPTIONS,
    "edos_dataset/cli/inspect.py:inspect": _OPTIONS,
    "edos_dataset/cli/label.py:label": _OPTIONS,
    "edos_dataset/cli/respond.py:respond": _OPTIONS,
    "edos_dataset/cli/segment.py:segment": _OPTIONS,
}
"""Module, or `module:function`, that may be longer, and why."""
MODULES = sorted((ROOT / "edos_dataset").rglob("*.py"))


def functions_of(path):
    """Return (name, lines without the docstring) of every function of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            described = ast.get_docstring(node) is not None
            first = node.body[0].end_lineno if described else node.lineno - 1
            header = node.body[0].lineno - node.lineno if described else 0
            yield node.name, node.end_lineno - first + header


def tracked():
    """Return the text files that git knows; skip where there is no git."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no checkout")
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.is_file() and b"\0" not in (data := path.read_bytes()):
            yield name, data.decode("utf-8", "replace")


@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="no checkout")
def test_modules_and_functions_are_read_at_once():
    long = {}
    for path in MODULES:
        name = path.relative_to(ROOT).as_posix()
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > LONGEST_MODULE:
            long[name] = lines
        long |= {f"{name}:{function}": size for function, size in functions_of(path) if size > LONGEST_FUNCTION}
    assert {name: lines for name, lines in long.items() if name not in LONGER} == {}
    assert sorted(LONGER.keys() - long.keys()) == [], "no longer long: take them off the list"


def test_functions_are_measured_without_their_docstring(tmp_path):
    (tmp_path / "m.py").write_text(
        'def a(\n    x,\n):\n    """One\n\n    two.\n    """\n    return x\n\n\ndef b():\n    pass\n'
    )
    assert list(functions_of(tmp_path / "m.py")) == [("a", 4), ("b", 2)]


def test_lines_fit_a_screen():
    """Those of Python are ruff's."""
    long = [
        f"{name}:{number}: {len(line)}"
        for name, text in tracked()
        if name.endswith((".toml", ".sh", "Makefile"))
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > LONGEST_LINE
    ]
    assert long == []


def test_no_file_names_a_registry():
    """What this machine installs from, a mirror perhaps, is nobody else's address."""
    settings = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True).stdout
    settings += "".join(f"{value}\n" for name, value in os.environ.items() if name.startswith(("PIP_", "UV_")))
    hosts = set(re.findall(r"https?://(?:[^/@\s]*@)?([^/:'\s]+)", settings)) - {"localhost"}
    named = [name for name, text in tracked() if any(host in text for host in hosts)]
    assert named == []


def test_tests_have_a_hugging_face_home_of_their_own():
    """What a developer has loaded under a name of ours must not come back in a test, nor a test's rows to them."""
    import datasets
    from huggingface_hub import constants

    home = Path(os.environ["HF_HOME"])
    assert Path(constants.HF_HOME) == home and Path(datasets.config.HF_DATASETS_CACHE).is_relative_to(home)
    assert not home.is_relative_to(Path.home()) and "HF_TOKEN" not in os.environ
