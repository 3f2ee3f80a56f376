"""No text that somebody else wrote can hold a run up: what reads it takes time in proportion to its length."""

import ast
import importlib
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import edos_dataset
from tests.support.adversaries import check_growth, texts_against, texts_against_all

ROOT = Path(edos_dataset.__file__).parent
ANCHORED = {"match", "fullmatch"}
BUILT = {  # modules that build an expression when they run, of text that is escaped: nothing in it repeats
    "edos_dataset.crowd.answers",
    "edos_dataset.text",
}


def _sources():
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(_calls(tree)):
            yield name, tree


def _calls(tree):
    """Yield the calls that take a regular expression."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
            if (of_re and node.func.attr != "escape") or node.func.attr.endswith("_regex"):
                yield node


def _patterns(value):
    if isinstance(value, re.Pattern):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [found for part in value for found in _patterns(part)] if isinstance(value, (list, tuple)) else []


def _ways(tree, name):
    """Return the methods of a pattern that a module calls."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    }


def _found():
    """Return (place, pattern or text, way) of every expression of the package, and the modules that build one."""
    found, built = [], set()
    for module, tree in _sources():
        values = vars(importlib.import_module(module))
        named = {id(call) for statement in tree.body if isinstance(statement, ast.Assign) for call in _calls(statement)}
        for statement in tree.body:
            if isinstance(statement, ast.Assign) and any(_calls(statement)):
                name = statement.targets[0].id
                ways = _ways(tree, name)
                way = ways.pop() if len(ways) == 1 and ways <= ANCHORED else "finditer"
                assert _patterns(values[name]), f"{module}.{name} holds expressions where this test finds none"
                found += [(f"{module}.{name}", pattern, way) for pattern in _patterns(values[name])]
        for call in _calls(tree):
            if id(call) in named:
                continue
            argument = call.args[1] if call.func.attr.endswith("_regex") else call.args[0]
            try:
                text = eval(compile(ast.Expression(argument), module, "eval"), values)
            except NameError:
                if not call.func.attr.endswith("_regex"):
                    built.add(module)
                continue
            place = f"{module}:{call.lineno}"
            if call.func.attr.endswith("_regex"):
                found.append((place, text, call.func.attr))
            else:
                found.append((place, re.compile(text), call.func.attr if call.func.attr in ANCHORED else "finditer"))
    return found, built


FOUND, BUILDERS = _found()


def _run(pattern, way):
    if way.endswith("_regex"):
        more = [""] if way.startswith("replace") else []
        return lambda text: getattr(pc, way)(pa.array([text]), pattern, *more)
    if way in ANCHORED:
        return lambda text: getattr(pattern, way)(text)
    return lambda text: sum(1 for _ in pattern.finditer(text))


def _as_bytes(texts):
    for text in texts:
        yield lambda size, text=text: text(size).encode("latin-1", "replace")


def test_every_expression_is_found():
    assert len(FOUND) > 100
    assert BUILDERS == BUILT


def test_expressions_take_time_in_proportion_to_the_text():
    faults = []
    for place, pattern, way in FOUND:
        texts = texts_against_all() if isinstance(pattern, str) else texts_against(pattern)
        if not isinstance(pattern, str) and isinstance(pattern.pattern, bytes):
            texts = _as_bytes(texts)
        if fault := check_growth(_run(pattern, way), texts):
            faults.append(f"{place} ({way}): {fault}")
    assert not faults, "\n".join(faults)
