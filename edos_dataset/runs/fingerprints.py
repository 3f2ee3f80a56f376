"""What decides rows: hashes of values, and of the code that a stage runs."""

import ast
import hashlib
import json
import sys
from collections import deque
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec, resolve_name
from pathlib import Path


def hash_json(record: object) -> str:
    """Return the SHA-256 (hex) of a JSON-serialisable value, with sorted keys."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


@cache
def code_hash(module: str) -> str:
    """Return a hash of a module's code and of that of every module of its package, and of ours, that it imports,
    directly or not.

    An edit anywhere below a stage must make its old shards stale: `datasets` hashes imported functions by name and
    would serve them again. What decides no row does not count: comments, docstrings, layout, and the version of the
    package.

    Raises:
        ValueError: the module has no source file, as in a notebook, so that nobody could tell when its code changes.
    """
    packages = {module.partition(".")[0], __name__.partition(".")[0]}
    hashes: dict[str, str] = {}
    queue = [module]
    while queue:
        name = queue.pop()
        path = None if name in hashes else _source_file(name)
        if path is not None:
            parent = name if path.name == "__init__.py" else name.rpartition(".")[0]
            hashes[name], imports = _read(path.read_bytes(), parent)
            queue += [imported for imported in imports if imported.partition(".")[0] in packages]
    if module not in hashes:
        raise ValueError(
            f"module {module!r} has no source file: a run must notice when a stage's code changes, so define stages in "
            "a "
            ".py file"
        )
    hashes.pop(f"{__name__.partition('.')[0]}.version", None)
    return hash_json(hashes)


@cache  # by what the file holds, so that an edit is seen; most stages stand on the same modules
def _read(source: bytes, parent: str) -> tuple[str, list[str]]:
    """Return the hash of a module's own code, and what that imports; the module is one of the package `parent`."""
    tree = ast.parse(source)
    return hashlib.sha256(_without_prose(tree).encode()).hexdigest(), _imports(tree, parent)


def _without_prose(tree: ast.Module) -> str:
    """Return a module's code as text in one form, and take the strings that stand as statements out of the tree."""
    for node in _statements(tree):
        for block in ("body", "orelse", "finalbody"):
            statements = getattr(node, block, None)
            if statements:
                setattr(node, block, [statement for statement in statements if not _is_prose(statement)])
    return ast.dump(tree, annotate_fields=False)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield a module and all that may hold statements, or is one: a tenth of the nodes of a walk, which goes into
    expressions, too.
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
    """Return what a module of the package `parent` imports; of "from a import b" both a and a.b,
    as b may be a module.
    """
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
    # A name in a module: to say so, find_spec would import it, and with it perhaps torch.
    if owner is not None and owner.name != "__init__.py":
        return None
    if module == "__main__":  # has no spec when it is a script
        origin = getattr(sys.modules[module], "__file__", None)
    else:
        try:
            spec = find_spec(module)
        except ModuleNotFoundError:  # "a.b" where a is no package: b is a name in a
            return None
        origin = spec and spec.origin
    return Path(origin) if origin and origin.endswith(".py") else None
