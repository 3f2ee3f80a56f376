"""What a worker of the engine `ray` is, in its own process: it needs no Ray to be read."""

import hashlib
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from edos_dataset.runs.engines.base import R, T
from edos_dataset.version import __version__

_SECONDS_TO_END = 10.0


class Place(NamedTuple):
    """Where a process runs, and what code it has.

    Attributes:
        process: its id on its machine.
        node: id of the Ray node.
        host: name of the machine.
        version: of this package.
        code: hash of this package's files.
    """

    process: int
    node: str
    host: str
    version: str
    code: str

    @classmethod
    def here(cls) -> "Place":
        """Return this process's."""
        import ray

        node = ray.get_runtime_context().get_node_id()
        return cls(os.getpid(), node, platform.node(), __version__, _code())


class EdosWorker:
    """A process of the cluster that carries out one task after the other. What these load once stays in it.

    Args:
        folder: where the run was started, for paths that are relative to it; where a node does not have it, paths must
            be whole.
        paths: where the run finds modules, such as that of a stage in a file beside the recipe.
    """

    def __init__(self, folder: str, paths: Sequence[str]) -> None:
        with suppress(OSError):
            os.chdir(folder)
        sys.path += [path for path in paths if path not in sys.path]

    def place(self) -> Place:
        """Return where it is."""
        return Place.here()

    def carry_out(self, function: Callable[[T], R], task: T) -> R:
        """Return what a function gives for a task."""
        return function(task)


def end_processes(processes: Sequence[int]) -> None:
    """Kill processes of this machine, workers of a run that has stopped, and return when they are no more."""
    end = time.monotonic() + _SECONDS_TO_END
    for process in processes:
        with suppress(OSError):  # it is no more
            while time.monotonic() < end:
                os.kill(process, signal.SIGKILL)
                time.sleep(0.01)


def monitored_name(function: Callable[[T], R], task: T) -> str:
    """Return the name under which Ray's dashboard shows a task: what a `monitored` attribute of the task, or of the
    object whose method the function is, tells, and the function's.
    """
    owner = getattr(function, "__self__", None)
    told = getattr(task, "monitored", None) or getattr(owner, "monitored", None)
    name = getattr(function, "__name__", type(function).__name__)
    return f"{told} {name}" if told else name


@cache
def _code() -> str:
    """Return a hash of this package's files."""
    root = Path(__file__).parents[2]
    sha256 = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        sha256.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes())
    return sha256.hexdigest()
