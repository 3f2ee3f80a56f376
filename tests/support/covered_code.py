"""Which modules of the package a fingerprint goes through."""

import ast
from functools import cache

from edos_dataset.runs import fingerprints


def covered(module):
    """Return the modules of ours that a module imports, directly or not, as `code_hash` goes through them."""
    modules, queue = set(), [module]
    while queue:
        name = queue.pop()
        path = None if name in modules else fingerprints._source_file(name)
        if path is not None:
            modules.add(name)
            parent = name if path.name == "__init__.py" else name.rpartition(".")[0]
            imported = _imported(path.read_bytes(), parent)
            queue += [each for each in imported if each.startswith("edos_dataset.")]
    return {name.removeprefix("edos_dataset.") for name in modules}


@cache  # by content; most modules import the same ones
def _imported(source, parent):
    return fingerprints._imports(ast.parse(source), parent)
