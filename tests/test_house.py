"""The house is kept: files and functions that can be read, plain words, lines that fit a screen, and no address of a
package registry in any file.
"""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONGEST_LINE = 120


@pytest.fixture(scope="module")
def check():
    """The check of `make lint`."""
    spec = importlib.util.spec_from_file_location("check_code", ROOT / ".ci" / "check_code.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tracked():
    """Return the text files that git knows; skip where there is no git."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no checkout")
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.is_file() and b"\0" not in (data := path.read_bytes()):
            yield name, data.decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("code", "branches"),
    [
        ("def f(): return 1", 1),
        ("def f(a, b): return a and b or a", 3),
        ("def f(a):\n    for x in a:\n        if x:\n            return x", 3),
        ("def f(a):\n    def g(): return a and a\n    return g", 1),
        ("def f(a): return [x for x in a if x]", 3),
        ("def f(a):\n    try:\n        return a\n    except E:\n        return 1 if a else 2", 3),
    ],
)
def test_complexity_counts_boolean_operators(check, code, branches):
    assert check.complexity(ast.parse(code).body[0]) == branches


def test_long_files_and_branched_functions_are_found(check):
    branched = "def f(a):\n    return " + " or ".join(["a"] * 15) + "\n"
    assert [fault.split(":")[0] for fault in check.faults_of_code("edos_dataset/a.py", branched)] == [
        "edos_dataset/a.py"
    ]
    assert len(list(check.faults_of_code("edos_dataset/a.py", "\n" * 500))) == 1
    assert list(check.faults_of_code("training/a.py", "\n" * 500)) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("the seams of a film", True),
        ("what was told before", True),
        ('row["seams"]', False),
        ("go_on_at_dash", False),
        ("the boundary", False),
    ],
)
def test_words_that_the_glossary_replaces_are_found(check, line, found):
    assert bool(list(check.faults_of_words("a.py", line))) is found


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
