"""An engine that notes what every task takes: seconds of the processor, and memory."""

import os
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from edos_dataset.runs.engines.base import R, T
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.phases import ShardTask

_CLEAR, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


@dataclass(frozen=True)
class Taken:
    """What a task took.

    Attributes:
        function: name of what was carried out, "make_shard" or a task of a corpus step.
        phase: of the shard that was made; "" for other tasks.
        shard: name of that shard; "" likewise.
        began: the process's processor time when it began, in seconds.
        seconds: of the processor, all threads.
        wall: seconds by the clock on the wall.
        peak: most memory of the process at once, in bytes.
    """

    function: str
    phase: str
    shard: str
    began: float
    seconds: float
    wall: float
    peak: int


class MeasuringEngine(LocalEngine):
    """Carries out tasks in this process, one after the other; see `Engine`.

    Attributes:
        taken: what each task took, in the order in which they ended.
    """

    def __init__(self) -> None:
        """Begin with no tasks."""
        super().__init__(1)
        self.taken: list[Taken] = []

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Yield the results, and note what each took."""
        for task in tasks:
            forget_peak()
            wall, began = time.perf_counter(), time.process_time()
            result = function(task)
            seconds, wall = time.process_time() - began, time.perf_counter() - wall
            phase, shard = (task.phase.name, task.target.stem) if isinstance(task, ShardTask) else ("", "")
            self.taken.append(Taken(function.__name__, phase, shard, began, seconds, wall, peak_memory()))
            yield result


def forget_peak() -> None:
    """Let `peak_memory` tell the most from now on, where the system can (Linux); elsewhere it tells that of the
    process.
    """
    with suppress(OSError):
        _CLEAR.write_text("5", encoding="ascii")


def peak_memory() -> int:
    """Return the most memory that the process has had at once, in bytes."""
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def memory_now() -> int:
    """Return the memory that the process has, in bytes; where the system does not tell, the most that it had."""
    return _status("VmRSS") or peak_memory()


def _status(name: str) -> int:
    """Return an entry of the kernel's account of this process in bytes; 0 where there is none."""
    if os.name == "posix":
        with suppress(OSError, ValueError, StopIteration):
            lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
            return 1024 * int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])
    return 0
