"""Where the tasks of a run are carried out: in this process or in several on this machine. It knows no stage.

A task is one shard through the fused stages of one phase. `datasets.map` runs the same stages for users who want it; a
run does not go through it, because its cache hashes imported functions by name and would serve shards made by code that
has since changed.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


class WorkerDied(RuntimeError):
    """A worker process was killed from outside, most often for want of memory."""


class LocalEngine:
    """Runs tasks on this machine.

    Args:
        workers: processes, from 1; with 1 the tasks run in the calling process. The result of a task never depends on
            this number.
    """

    def __init__(self, workers: int) -> None:
        """Check the number; processes start with the first task."""
        if workers < 1:
            raise ValueError(f"workers must be at least 1, got {workers}")
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> "LocalEngine":
        """Return the engine."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the workers: after an error at once, without waiting for their shards."""
        if self._pool is None:
            return
        processes = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=kind is None, cancel_futures=True)
        self._pool = None
        if kind is not None:
            for process in processes:
                process.terminate()
            for process in processes:  # whoever holds the folder's lock gives it back only when nobody writes any more
                process.join()

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Yield the results in the order in which they are ready. At most two tasks a worker wait in memory.

        Args:
            function: a module-level function.
            tasks: picklable arguments.

        Raises:
            WorkerDied: a worker was killed.
        """
        if self.workers == 1:
            yield from map(function, tasks)
            return
        if self._pool is None:
            # spawn: forking a process that has started torch or Arrow threads can hang
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, context, initializer=_start_worker, initargs=(os.getpid(),))
        waiting: set[Future[R]] = set()
        try:
            for task in tasks:
                waiting.add(self._pool.submit(function, task))
                if len(waiting) >= 2 * self.workers:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        except BrokenProcessPool as error:
            raise WorkerDied(
                "a worker process was killed, perhaps for want of memory: try fewer --workers; the same command goes on"
            ) from error


def _start_worker(parent: int) -> None:
    """Bind a worker's life to its parent's: a killed run must not leave processes that still write into its folder.

    Ctrl-C reaches the workers too, but the parent alone answers to it, by ending them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def available_cores() -> int:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
