"""What an engine is: where the shards of a run are made. It knows no stage."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class WorkerDied(RuntimeError):
    """A worker process was killed from outside, most often for want of memory."""

    def __init__(
        self,
        message: str = "a worker process was killed, perhaps for want of memory: try fewer --workers; the same command "
        "goes on",
    ) -> None:
        super().__init__(message)


class Engine(Protocol):
    """Carries out tasks, each of which makes a file that is whole or absent.

    A run may go on in several processes at once (`accelerate launch`), each of which has an engine and takes its share
    of the tasks. What a task makes never depends on the engine, on its workers or on the number of processes.

    Attributes:
        leads: whether this process is the first: it writes what is written once, and tells what was done.
        corpus: what carries out the many small tasks of a corpus step, most often the engine itself; None where this
            process is not to decide any, since it cannot wait for the others (`runs.engines.array`).
    """

    leads: bool

    @property
    def corpus(self) -> "Engine | None": ...  # noqa: D102 - said above

    def __enter__(self) -> "Engine":
        """Return the engine, ready to work. Whoever holds a folder's lock enters that first, so that all workers have
        ended when the lock goes.
        """
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop what was started, after an error at once."""
        ...

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """Return those items that are this process's; every process must give the same ones."""
        ...

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Yield what a function gives for this process's tasks, in the order in which they are ready.

        Args:
            function: of a module, not of a function.
            tasks: what `share` gave, or a part of it; they can be pickled.

        Raises:
            WorkerDied: a worker was killed.
        """
        ...

    def wait(self) -> None:
        """Return when all processes have called this."""
        ...


def on_one_machine(engine: Engine) -> bool:
    """Return whether all workers of an engine are for sure on this machine: they see what lies on it alone."""
    return not getattr(engine, "spans_machines", True)


def check_workers(workers: int) -> int:
    """Return a number of workers.

    Raises:
        ValueError: it is less than 1.
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    return workers


def available_cores() -> int:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
