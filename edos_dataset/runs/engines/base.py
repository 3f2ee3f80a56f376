"""The interface of engines, which make the shards of a run. Engines do not depend on stages."""

import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class WorkerDied(RuntimeError):
    """A worker process was killed from outside, most often for lack of memory."""

    def __init__(
        self,
        message: str = "a worker process was killed, perhaps for want of memory: try fewer --workers; the same command "
        "resumes",
    ) -> None:
        super().__init__(message)


class Engine(Protocol):
    """Runs tasks, each of which makes a file that is either complete or absent.

    A run may consist of several processes (`accelerate launch`), each with an engine and a part of the tasks. The
    result of a task never depends on the engine, its workers or the number of processes.

    Attributes:
        is_main: whether this is the main process, which reports and writes everything that is written once.
        corpus: the engine for the many small tasks of a corpus step, usually the engine itself; None if this process
            must not decide corpus steps because it cannot wait for the others (`runs.array_jobs`).
    """

    is_main: bool

    @property
    def corpus(self) -> "Engine | None": ...  # noqa: D102 - said above

    def __enter__(self) -> "Engine":
        """Return the engine, ready to work. Take a folder's lock before this, so that all workers have ended when the
        lock is released.
        """
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the workers; after an error, immediately."""
        ...

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """Return the items of this process; every process must pass the same ones."""
        ...

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Yield the results of a function for this process's tasks as they become ready.

        Args:
            function: not a function defined within another.
            tasks: what `share` returned, or a part of it; each can be pickled.

        Raises:
            WorkerDied: a worker was killed.
            ValueError: the tasks use a class that exists only in this process (`check_sendable`).
        """
        ...

    def wait(self) -> None:
        """Return when all processes have called this."""
        ...


class SingleProcess:
    """Base of the engines whose runs have one main process, with any number of workers; see `Engine`."""

    is_main = True

    @property
    def corpus(self) -> "Engine":
        """The engine itself."""
        engine: Any = self
        return engine  # type: ignore[no-any-return]

    def __enter__(self) -> "Engine":
        return self.corpus

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """Return all items."""
        return items

    def wait(self) -> None:
        """Return at once: there is no other process."""


def on_one_machine(engine: Engine) -> bool:
    """Return whether all workers of an engine are certainly on this machine and can see its files."""
    return not getattr(engine, "spans_machines", True)


def check_workers(workers: int) -> int:
    """Return a number of workers unchanged.

    Raises:
        ValueError: it is less than 1.
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    return workers


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def forget_unreadable_main() -> None:
    """Make the main module of `python -` like that of a console. Its name, "<stdin>", is no file that workers can
    import, and nothing in it can be sent to them.
    """
    main: Any = sys.modules["__main__"]
    if not os.path.isfile(getattr(main, "__file__", None) or ""):
        vars(main).pop("__file__", None)


def check_sendable(function: Callable[[T], R], task: T) -> None:
    """Check that a new process, which imports classes by name, can load a task.

    Raises:
        ValueError: a class was defined in a notebook, in a console or within a function.
    """
    _ClassFinder().dump((function, task))


class _Nowhere:
    def write(self, data: Any) -> int:  # noqa: ANN401 - bytes or a buffer
        return len(data)


class _ClassFinder(pickle.Pickler):
    """Pickles a task, discards the bytes, and refuses classes that a new process cannot import."""

    def __init__(self) -> None:
        super().__init__(_Nowhere(), pickle.HIGHEST_PROTOCOL)
        self._interactive = getattr(sys.modules["__main__"], "__file__", None) is None

    def persistent_id(self, item: Any) -> None:  # noqa: ANN401 - pickle asks about everything
        if isinstance(item, type) and (
            "<locals>" in item.__qualname__ or (item.__module__ == "__main__" and self._interactive)
        ):
            where = "within a function" if "<locals>" in item.__qualname__ else "in a notebook or console"
            raise ValueError(
                f"{item.__name__} was defined {where}, and worker processes cannot import it: define it in a .py file "
                "and import it from there, or give workers=1"
            )
