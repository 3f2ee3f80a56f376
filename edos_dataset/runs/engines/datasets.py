"""Phases by `datasets.Dataset.map`: a row is a shard to be made, `num_proc` processes make them.

The shards lie in the run's folder as with every engine, so what is killed goes on where it was; the cache of
`datasets`, which knows imported functions by their names alone and keeps nothing of a process that did not finish, is
not asked.
"""

import hashlib
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from edos_dataset.runs.engines.base import R, T, WorkerDied, check_workers
from edos_dataset.runs.engines.local import LocalEngine, start_worker


class DatasetsEngine:
    """Carries out tasks by `Dataset.map(batched=True, num_proc=workers)`; see `Engine`.

    Args:
        workers: processes, from 1; with 1 the tasks run in the calling process.

    Attributes:
        corpus: processes that stay, as the tasks of a corpus step take less time than `Dataset.map` to start any.
    """

    leads, spans_machines = True, False

    def __init__(self, workers: int = 1) -> None:
        """Check the number; `datasets` starts the processes anew for each phase."""
        self.workers = check_workers(workers)
        self.corpus = LocalEngine(workers)

    def __enter__(self) -> "DatasetsEngine":
        """Return the engine."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop what works on corpus steps; `Dataset.map` has ended its processes."""
        self.corpus.__exit__(kind, error, trace)

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """Return all items."""
        return items

    def wait(self) -> None:
        """Return at once: there is no other process."""

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Yield the results, when all are there, in the order of the tasks' shares."""
        tasks = list(tasks)
        if not tasks:
            return
        import datasets

        processes = min(self.workers, len(tasks))
        # `map` gives each process one run of rows: neighbours go to different ones, as some phases have large shards
        # first.
        rows = [pickle.dumps((function, task)) for start in range(processes) for task in tasks[start::processes]]
        table = datasets.Dataset.from_dict(
            {"task": rows}, features=datasets.Features({"task": datasets.Value("large_binary")})
        )
        try:
            with quiet(), _spawning():
                results = table.map(
                    _carry_out,
                    batched=True,
                    batch_size=1,
                    num_proc=processes if processes > 1 else None,
                    fn_kwargs={"parent": os.getpid()},
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
                "memory: try fewer --workers; the same command goes on"
            ) from error
        yield from (pickle.loads(row["result"]) for row in results)


@contextmanager
def quiet() -> Iterator[None]:
    """Show no bar of `datasets`: a run has one of its own."""
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
    """Let `Dataset.map` spawn its processes: it would fork this one, which may have started threads of torch or Arrow,
    or a GPU, and hang. It leaves a copy in place of `os.environ`, of which whoever holds that one would learn nothing.
    """
    import multiprocess

    variables, before = os.environ, dict(os.environ)
    method = multiprocess.get_start_method(allow_none=True)
    multiprocess.set_start_method("spawn", force=True)
    try:
        yield
    finally:
        multiprocess.set_start_method(method, force=True)
        if os.environ is not variables:
            os.environ = variables  # noqa: B003 - the very object
            for name in variables.keys() - before.keys():
                del variables[name]
            variables.update(before)


def _carry_out(batch: dict[str, list[bytes]], parent: int) -> dict[str, list[Any]]:
    """Carry out the tasks of a batch, in a process of `Dataset.map`."""
    _bind(parent)
    return {"result": [pickle.dumps(function(task)) for function, task in map(pickle.loads, batch["task"])]}


_bound = False


def _bind(parent: int) -> None:
    """Bind the life of a process of `Dataset.map` to its parent's, once."""
    global _bound
    if os.getpid() != parent and not _bound:
        start_worker(parent)
        _bound = True
