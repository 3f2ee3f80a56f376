"""Arrow without pandas: Arrow imports pandas when it first converts a list, only to know a Series if it were one. That
takes 0.3 s, a third of what a worker needs to start, and few commands use pandas.
"""

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


def without_pandas() -> None:
    """Let Arrow import pandas no earlier than somebody else does in this process; from then on it knows a Series.

    Call it in processes of our own, before Arrow has converted anything; where pandas is imported, it does nothing.
    """
    if "pandas" not in sys.modules:
        when_imported("pyarrow", _miss_pandas)


def when_imported(name: str, react: Callable[[ModuleType], None]) -> None:
    """Call a function with a module, now if it is imported, else as soon as it is."""
    if name in sys.modules:
        react(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Finder(name, react))


class _Finder:
    """Finds one module, as the other finders do, and calls a function once it is imported."""

    def __init__(self, name: str, react: Callable[[ModuleType], None]) -> None:
        self._name, self._react = name, react

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        loader: Any = spec and spec.loader
        if loader:
            execute = loader.exec_module

            def execute_and_tell(module: ModuleType) -> None:
                execute(module)
                self._react(module)

            loader.exec_module = execute_and_tell
        return spec


class _NoPandas:
    """Refuses pandas."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _miss_pandas(pyarrow: ModuleType) -> None:
    """Let Arrow look for pandas once in vain: after that it only uses pandas that is asked for."""
    if "pandas" in sys.modules:
        return
    refusing: Any = _NoPandas()
    sys.meta_path.insert(0, refusing)
    try:
        pyarrow.array([])
    finally:
        sys.meta_path.remove(refusing)
    when_imported("pandas", lambda _: pyarrow.array([]).to_pandas())  # which makes Arrow look again
