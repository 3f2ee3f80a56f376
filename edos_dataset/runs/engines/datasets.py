"""Runs phases by `datasets.Dataset.map`: each row is a shard to make, and `num_proc` processes make them.

As with every engine, the shards are in the run's folder, so a killed run resumes. The cache of `datasets` is not used:
it identifies imported functions only by name and keeps nothing of a process that did not finish.
"""

import hashlib
import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partialmethod
from types import TracebackType
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
from edos_dataset.runs.engines.local import LocalEngine, start_worker


class DatasetsEngine(SingleProcess):
    """Runs tasks by `Dataset.map(batched=True, num_proc=workers)`; see `Engine`.

    Args:
        workers: number of processes, from 1; with 1 the tasks run in the calling process.
    """

    spans_machines = False

    def __init__(self, workers: int = 1) -> None:
        self.workers = check_workers(workers)
        self._local = LocalEngine(workers)

    @property
    def corpus(self) -> LocalEngine:
        """An engine with lasting processes: a task of a corpus step takes less time than `Dataset.map` needs to start
        a process.
        """
        return self._local

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._local.__exit__(kind, error, trace)

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Yield the results process by process, once all are ready."""
        tasks = list(tasks)
        if not tasks:
            return
        import datasets

        processes = min(self.workers, len(tasks))
        if processes > 1:
            check_sendable(function, tasks[0])
        # `map` gives each process consecutive rows. Interleave the tasks, as some phases begin with their large shards.
        rows = [pickle.dumps((function, task)) for start in range(processes) for task in tasks[start::processes]]
        table = datasets.Dataset.from_dict(
            {"task": rows}, features=datasets.Features({"task": datasets.Value("large_binary")})
        )
        try:
            forget_unreadable_main()
            with quiet(), _spawning():
                results = table.map(
                    _run_batch,
                    batched=True,
                    batch_size=1,
                    num_proc=processes if processes > 1 else None,
                    remove_columns=["task"],
                    features=datasets.Features({"result": datasets.Value("large_binary")}),
                    keep_in_memory=True,
                    load_from_cache_file=False,
                    new_fingerprint=hashlib.sha256(b"".join(rows)).hexdigest()[:32],
                )
        except RuntimeError as error:
            if "abruptly died" not in str(error):
                raise
            raise WorkerDied(
                "a worker process ended before its time: for the reason above, or it was killed, perhaps for want of "
                "memory: try fewer --workers; the same command resumes"
            ) from error
        yield from (pickle.loads(row["result"]) for row in results)


@contextmanager
def quiet() -> Iterator[None]:
    """Hide the progress bars of `datasets`, as a run shows its own."""
    import datasets

    disabled = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if not disabled:
            datasets.enable_progress_bars()


@contextmanager
def _spawning() -> Iterator[None]:
    """Let `Dataset.map` spawn its processes, and let all of them end with this one: the workers, also those that wait
    for a task, and the manager of their messages.

    By default `map` forks, which can hang once this process has started threads of torch or Arrow, or used a GPU. `map`
    also replaces `os.environ` by a copy; the original is restored for code that holds a reference to it.
    """
    import multiprocess
    from multiprocess import managers, pool

    own_pool, start = pool.Pool, managers.SyncManager.start
    variables, before = os.environ, dict(os.environ)
    method = multiprocess.get_start_method(allow_none=True)
    multiprocess.set_start_method("spawn", force=True)
    pool.Pool = _tied_pool(own_pool)
    managers.SyncManager.start = partialmethod(start, initializer=_start)
    try:
        yield
    finally:
        pool.Pool, managers.SyncManager.start = own_pool, start
        multiprocess.set_start_method(method, force=True)
        if os.environ is not variables:
            os.environ = variables  # noqa: B003 - the original object, not a copy
            for name in variables.keys() - before.keys():
                del variables[name]
            variables.update(before)


def _tied_pool(kind: Any) -> Any:  # noqa: ANN401 - of multiprocess, which has no types
    """Return a class of pools whose processes end with this one."""

    class TiedPool(kind):  # type: ignore[misc]
        def __init__(self, processes: int | None = None, *_: object, **more: object) -> None:
            super().__init__(processes, _start, (), **more)

    return TiedPool


def _run_batch(batch: dict[str, list[bytes]]) -> dict[str, list[Any]]:
    return {"result": [pickle.dumps(function(task)) for function, task in map(pickle.loads, batch["task"])]}


def _start() -> None:
    """Make a process of `Dataset.map` end with its parent."""
    import multiprocess

    start_worker(multiprocess)
