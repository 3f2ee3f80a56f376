"""Fingerprints: hashes of values and of the code that a stage runs, which together determine the rows."""

import ast
import hashlib
import json
import pickle
import re
import sys
from abc import ABC
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec, resolve_name
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Generic, Protocol

_OURS = __name__.partition(".")[0]


def hash_json(record: object) -> str:
    """Return the SHA-256 (hex) of a JSON-serialisable value, with sorted keys."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def class_hash(kind: type) -> str:
    """Return a hash of the code of a stage's class, its bases, and everything that they import from their packages.

    A class defined in a notebook or console has no source file; its compiled functions are hashed instead, with the
    values of the global names that they use.

    Raises:
        ValueError: the class has no source file and uses a global value that cannot be hashed.
    """
    bases = [base for base in kind.__mro__ if base not in (object, ABC, Generic, Protocol) and base.__module__ != "abc"]
    typed = [base for base in bases if base.__module__ == "__main__" and _source_file("__main__") is None]
    modules = dict.fromkeys(base.__module__ for base in bases if base not in typed)
    return hash_json([*map(code_hash, modules), *map(_hash_live, typed)])


@cache
def code_hash(module: str) -> str:
    """Return a hash of the code of a module and of all modules of its package and of ours that it imports, directly or
    indirectly.

    An edit to any of this code must make old shards stale; `datasets`, in contrast, hashes imported functions by name
    and would reuse them. Whatever cannot change a row is left out: comments, docstrings, layout, the version of the
    package, and `edos_dataset/__init__.py`, which only re-exports names.

    Raises:
        ValueError: the module has no source file, so changes of its code could not be detected.
    """
    packages = {module.partition(".")[0], _OURS}
    hashes: dict[str, str] = {}
    queue = [module]
    while queue:
        name = queue.pop()
        path = None if name in hashes or name == _OURS else _source_file(name)
        if path is not None:
            parent = name if path.name == "__init__.py" else name.rpartition(".")[0]
            hashes[name], imports = _read(path.read_bytes(), parent)
            queue += [imported for imported in imports if imported.partition(".")[0] in packages]
    if module not in hashes:
        raise ValueError(
            f"module {module!r} has no source file: a run must notice when a stage's code changes, so define stages in "
            "a .py file"
        )
    hashes.pop(f"{_OURS}.version", None)
    return hash_json(hashes)


@cache  # by content, so that edits are noticed; most stages import the same modules
def _read(source: bytes, parent: str) -> tuple[str, list[str]]:
    """Return the hash of the own code of a module of the package `parent`, and its imports."""
    tree = ast.parse(source)
    return hashlib.sha256(_without_prose(tree).encode()).hexdigest(), _imports(tree, parent)


def _without_prose(tree: ast.Module) -> str:
    """Return a module's code as normalised text, and remove its string statements from the tree."""
    for node in _statements(tree):
        for block in ("body", "orelse", "finalbody"):
            statements = getattr(node, block, None)
            if statements:
                setattr(node, block, [statement for statement in statements if not _is_prose(statement)])
    return ast.dump(tree, annotate_fields=False)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield a module, its statements and the nodes that may hold statements: a tenth of the nodes of `ast.walk`, which
    also enters expressions.
    """
    queue: deque[ast.AST] = deque([tree])
    while queue:
        node = queue.popleft()
        yield node
        for block in ("body", "handlers", "orelse", "finalbody", "cases"):
            queue += getattr(node, block, ())


def _is_prose(statement: ast.AST) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _imports(tree: ast.Module, parent: str) -> list[str]:
    """Return the imports of a module of the package `parent`; for "from a import b", both a and a.b."""
    names: list[str] = []
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), parent)
            names += [origin, *(f"{origin}.{alias.name}" for alias in node.names)]
    return names


def _source_file(module: str) -> Path | None:
    parent = module.rpartition(".")[0]
    owner = _source_file(parent) if parent else None
    # A name in a module: find_spec would have to import the module, and perhaps torch with it.
    if owner is not None and owner.name != "__init__.py":
        return None
    if module == "__main__":  # a script has no spec
        origin = getattr(sys.modules[module], "__file__", None)
    else:
        try:
            spec = find_spec(module)
        except ModuleNotFoundError:  # "a.b" where a is not a package, so b is a name in a
            return None
        origin = spec and spec.origin
    return Path(origin) if origin and origin.endswith(".py") else None


def _hash_live(thing: Any) -> str:  # noqa: ANN401 - any value that a name may have
    """Return a hash of a class or function without a file, from its compiled code and the global values it uses."""
    hashed: dict[str, str] = {}
    queue: list[tuple[str, Any]] = [(thing.__qualname__, thing)]
    while queue:
        name, value = queue.pop()
        if name in hashed:
            continue
        if isinstance(value, ModuleType):
            hashed[name] = value.__name__
        elif isinstance(value, type | Callable) and getattr(value, "__module__", None) != "__main__":
            hashed[name] = f"{value.__module__}.{getattr(value, '__qualname__', type(value).__qualname__)}"
        elif code := _codes(value):
            hashed[name] = hash_json([_describe(each) for each in code])
            there = vars(sys.modules["__main__"])
            queue += [(used, there[used]) for each in code for used in sorted(_names(each)) if used in there]
        else:
            hashed[name] = _hash_value(name, value)
    return hash_json(hashed)


def _codes(value: Any) -> list[CodeType]:  # noqa: ANN401 - as above
    """Return the code objects of a class or function; an empty list for other values."""
    members = [value] if not isinstance(value, type) else [vars(value)[name] for name in sorted(vars(value))]
    unwrapped = [getattr(each, "fget", None) or getattr(each, "func", None) or each for each in members]
    functions = [getattr(each, "__func__", each) for each in unwrapped]
    return [each.__code__ for each in functions if isinstance(getattr(each, "__code__", None), CodeType)]


def _describe(code: CodeType) -> list[Any]:
    constants = [_describe(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return [code.co_code.hex(), list(code.co_names), list(code.co_varnames), constants]


def _names(code: CodeType) -> set[str]:
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _hash_value(name: str, value: Any) -> str:  # noqa: ANN401 - as above
    if isinstance(value, set | frozenset):
        value = sorted(map(repr, value))
    if isinstance(value, re.Pattern):
        value = [value.pattern, value.flags]
    try:
        return hashlib.sha256(pickle.dumps(value, protocol=4)).hexdigest()
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise ValueError(
            f"the step uses the global name {name!r}, and nothing would show that its value has changed: pass it as a "
            "parameter, or define the step in a .py file and import it"
        ) from error
