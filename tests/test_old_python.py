"""On a Python that is too old one sentence says so, where a traceback would end in a syntax error."""

import ast
import sys
from pathlib import Path

import pytest

import edos_dataset

ENTRY = Path(edos_dataset.__file__)


@pytest.mark.parametrize("name", ["__init__.py", "version.py", "__main__.py"])
def test_old_pythons_parse_what_comes_before_the_check(name):
    ast.parse(ENTRY.with_name(name).read_text(encoding="utf-8"), feature_version=(3, 8))


@pytest.mark.parametrize("version", [(3, 8, 0), (3, 9, 18)])
def test_one_sentence_is_said(monkeypatch, version):
    monkeypatch.setattr(sys, "version_info", (*version, "final", 0))
    with pytest.raises(SystemExit) as end:
        exec(compile(ENTRY.read_text(encoding="utf-8"), str(ENTRY), "exec"), {"__name__": "edos_dataset"})
    assert end.value.code.startswith(f"edos-dataset needs Python 3.10 or later, and this is Python 3.{version[1]}: ")
    assert "\n" not in end.value.code


def test_nothing_of_the_package_is_imported_before_the_check():
    before = []
    for node in ast.parse(ENTRY.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.If) and "version_info" in ast.unparse(node.test):
            break
        before += [ast.unparse(node)] if isinstance(node, ast.Import | ast.ImportFrom) else []
    else:
        pytest.fail("no check")
    assert [line for line in before if "edos_dataset" in line] == ["from edos_dataset.version import __version__"]
