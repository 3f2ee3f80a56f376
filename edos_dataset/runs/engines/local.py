"""Processes on this machine: the default."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import BaseProcess
from types import TracebackType

from edos_dataset.runs.engines.base import R, T, WorkerDied, check_workers

NO_GUARD = (
    "the workers import the script that starts them, and it has no guard: put what it does below "
    '`if __name__ == "__main__":`, or give workers=1'
)
_UNGUARDED = 77
"""Exit code of a worker that found this out."""


class LocalEngine:
    """Carries out tasks in this process, or in several that it starts; see `Engine`.

    Args:
        workers: processes, from 1; with 1 the tasks run in the calling process.
    """

    leads, spans_machines = True, False

    def __init__(self, workers: int = 1) -> None:
        """Check the number; processes start with the first task."""
        self.workers = check_workers(workers)
        if workers > 1:
            _leave_if_imported()
        self._pool: ProcessPoolExecutor | None = None

    @property
    def corpus(self) -> "LocalEngine":
        """The engine itself."""
        return self

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
            # Whoever holds the folder's lock gives it back only when nobody writes any more.
            for process in processes:
                process.join()

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """Return all items."""
        return items

    def wait(self) -> None:
        """Return at once: there is no other process."""

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Yield the results in the order in which they are ready. At most two tasks a worker wait in memory."""
        if self.workers == 1:
            yield from map(function, tasks)
            return
        if self._pool is None:
            # spawn: forking a process that has started torch or Arrow threads can hang
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, context, initializer=start_worker, initargs=(os.getpid(),))
        waiting: set[Future[R]] = set()
        processes: dict[int, BaseProcess] = {}
        try:
            for task in tasks:
                waiting.add(self._pool.submit(function, task))
                processes |= self._pool._processes  # a process is started with a task, while there are too few
                if len(waiting) >= 2 * self.workers:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        except BrokenProcessPool as error:
            self._pool.shutdown()  # until the workers have ended, so that each tells how
            if any(process.exitcode == _UNGUARDED for process in processes.values()):
                raise WorkerDied(NO_GUARD) from error
            raise WorkerDied from error


def _leave_if_imported() -> None:
    """End this process where it is a worker that imports a script without a guard, which has come here again."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(_UNGUARDED)  # the parent tells
    # the fork of multiprocessing by which `datasets` starts its workers, and does not tell how they end
    other = sys.modules.get("multiprocess")
    if other is not None and getattr(other.current_process(), "_inheriting", False):
        raise SystemExit(NO_GUARD)


def start_worker(parent: int) -> None:
    """Bind a worker's life to its parent's: a killed run must not leave processes that still write into its folder.

    Ctrl-C reaches the workers too, but the parent alone answers to it, by ending them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
