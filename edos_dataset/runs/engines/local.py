"""Engines for processes on this machine, which is the default, and for processes started by `accelerate launch` or
torchrun on several GPUs or hosts.

    accelerate launch -m edos_dataset curate films/ --out edos

Launched processes use the same folder, which all hosts must share; each process makes a part of the shards.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from datetime import timedelta
from multiprocessing.process import BaseProcess
from types import ModuleType, TracebackType
from typing import Any

from edos_dataset.runs.engines.base import (
    R,
    SingleProcess,
    T,
    WorkerDied,
    check_sendable,
    check_workers,
    forget_unreadable_main,
)
from edos_dataset.runs.lazy_pandas import without_pandas
from edos_dataset.runs.processes import use_one_arena

NO_GUARD = (
    "the workers import the script that starts them, and it has no guard: put what it does below "
    '`if __name__ == "__main__":`, or give workers=1'
)
_UNGUARDED = 77
"""Exit code of a worker that imported a script without a main guard."""
_PR_SET_PDEATHSIG = 1
"""Number of this option of `prctl` (linux/prctl.h)."""


class LocalEngine(SingleProcess):
    """Runs tasks in this process, or in several that it starts; see `Engine`.

    Args:
        workers: number of processes, from 1; with 1 the tasks run in the calling process.
    """

    spans_machines = False

    def __init__(self, workers: int = 1) -> None:
        self.workers = check_workers(workers)
        leave_if_imported()
        self._pool: ProcessPoolExecutor | None = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the workers; after an error, without waiting for their shards."""
        if self._pool is None:
            return
        processes = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=kind is None, cancel_futures=True)
        self._pool = None
        if kind is not None:
            for process in processes:
                process.terminate()
            # The folder's lock must not be released while a worker still writes.
            for process in processes:
                process.join()

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Yield the results as they become ready. At most two tasks per worker wait in memory."""
        if self.workers == 1:
            yield from map(function, tasks)
            return
        if self._pool is None:
            self._pool = worker_pool(self.workers)
        waiting: set[Future[R]] = set()
        processes: dict[int, BaseProcess] = {}
        try:
            for number, task in enumerate(tasks):
                if number == 0:
                    check_sendable(function, task)
                waiting.add(self._pool.submit(function, task))
                processes |= self._pool._processes  # the pool starts processes as tasks arrive
                if len(waiting) >= 2 * self.workers:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        except BrokenProcessPool as error:
            self._pool.shutdown()  # wait for the workers, so that their exit codes are known
            raise (WorkerDied(NO_GUARD) if any(map(is_unguarded, processes.values())) else WorkerDied()) from error


def worker_pool(workers: int) -> ProcessPoolExecutor:
    """Return processes that start when tasks arrive. A program from standard input, which they could not import, is
    not imported.
    """
    forget_unreadable_main()
    # spawn: forking a process that has started torch or Arrow threads can hang
    return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), start_worker)


def is_unguarded(process: BaseProcess) -> bool:
    """Return whether a worker ended since it imported a script without a main guard."""
    return process.exitcode == _UNGUARDED


def leave_if_imported() -> None:
    """End this process if it is a worker that imports a script without a main guard, and so would start a run."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(_UNGUARDED)  # the parent reports the cause
    # `datasets` starts workers by `multiprocess`, a fork of multiprocessing, and does not report their exit codes
    other = sys.modules.get("multiprocess")
    if other is not None and getattr(other.current_process(), "_inheriting", False):
        raise SystemExit(NO_GUARD)


def start_worker(package: ModuleType = multiprocessing) -> None:
    """Make a worker end with its parent, so that a killed run leaves no process that still writes into its folder.

    Ctrl-C also reaches the workers, but only the parent reacts and ends them.

    Args:
        package: `multiprocessing`, or the package with its interface that started the worker.
    """
    without_pandas()
    use_one_arena()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = package.parent_process()

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    _die_with(parent.pid)


def _die_with(parent: int) -> None:
    """Let Linux kill this process at once when its parent ends, even while C code keeps other threads from running."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the call
        os._exit(1)


class AccelerateEngine:
    """Runs this process's part of the tasks; see `Engine`. Without a launcher, this process is the only one.

    Args:
        workers: number of processes that this one starts, from 1.
        device: "cpu", or "cuda" if the stages use GPUs; each launched process shares one GPU with its workers.
    """

    def __init__(self, workers: int = 1, device: str = "cpu") -> None:
        """Connect to the other processes.

        Raises:
            RuntimeError: not all launched processes are connected.
        """
        self._local = LocalEngine(workers)
        self._rank, self._count = 0, int(os.environ.get("WORLD_SIZE", "1"))
        self._state: Any = None
        if self._count > 1:
            self._join(device)
        self.is_main = self._rank == 0

    def _join(self, device: str) -> None:
        from accelerate import PartialState

        # A process that finishes early waits at a barrier for the others, however long they take.
        self._state = PartialState(cpu=device == "cpu", timeout=timedelta(days=30))
        if self._state.num_processes != self._count:
            raise RuntimeError(
                f"the launcher started {self._count} processes, but accelerate made {self._state.num_processes} of them"
            )
        self._rank = self._state.process_index
        if self._state.device.type == "cuda":
            # A spawned worker uses the first GPU that it sees, so show it only this process's GPU.
            visible = os.environ.get("CUDA_VISIBLE_DEVICES")
            index = self._state.local_process_index
            os.environ["CUDA_VISIBLE_DEVICES"] = visible.split(",")[index] if visible else str(index)

    @property
    def corpus(self) -> "AccelerateEngine":
        """The engine itself."""
        return self

    def __enter__(self) -> "AccelerateEngine":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._local.__exit__(kind, error, trace)

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """Return every n-th item for n processes, starting at this process's number."""
        return items[self._rank :: self._count]

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Yield the results of this process's tasks."""
        return self._local.map(function, tasks)

    def wait(self) -> None:
        """Return when all processes have called this."""
        if self._state is not None:
            self._state.wait_for_everyone()
