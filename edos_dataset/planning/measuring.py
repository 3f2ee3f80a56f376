"""An engine that measures the CPU time and memory of every task."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from edos_dataset.runs.engines.base import R, T
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.run import ShardTask

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_CLEAR, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


@dataclass(frozen=True)
class Taken:
    """The cost of a task.

    Attributes:
        function: name of the function, "make_shard" or a task of a corpus step.
        phase: phase of the shard that was made; "" for other tasks.
        shard: name of that shard; "" for other tasks.
        began: CPU time of the process when the task began, in seconds.
        seconds: CPU time of all threads.
        wall: wall-clock seconds.
        peak: peak memory of the process, in bytes.
    """

    function: str
    phase: str
    shard: str
    began: float
    seconds: float
    wall: float
    peak: int


class MeasuringEngine(LocalEngine):
    """Runs tasks in this process, one after the other; see `Engine`.

    Attributes:
        taken: the cost of each task, in order.
    """

    def __init__(self) -> None:
        super().__init__(1)
        self.taken: list[Taken] = []

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Yield the results, and record the cost of each task."""
        for task in tasks:
            forget_peak()
            wall, began = time.perf_counter(), time.process_time()
            result = function(task)
            seconds, wall = time.process_time() - began, time.perf_counter() - wall
            phase, shard = (task.phase.name, task.target.stem) if isinstance(task, ShardTask) else ("", "")
            self.taken.append(Taken(function.__name__, phase, shard, began, seconds, wall, peak_memory()))
            yield result


def forget_peak() -> None:
    """Reset `peak_memory`; possible only on Linux, elsewhere the peak covers the whole life of the process."""
    with suppress(OSError):
        _CLEAR.write_text("5", encoding="ascii")


def peak_memory() -> int:
    """Return the peak memory of the process, in bytes; 0 on Windows, where it is not measured."""
    if (peak := _status("VmHWM")) or resource is None:
        return peak
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def memory_now() -> int:
    """Return the current memory of the process in bytes, or its peak if the system does not report it."""
    return _status("VmRSS") or peak_memory()


def _status(name: str) -> int:
    if os.name == "posix":
        with suppress(OSError, ValueError, StopIteration):
            lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
            return 1024 * int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])
    return 0
