"""What an engine is: where the shards of a run are made. It knows no stage."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from types import TracebackType
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")

ENGINES = ("local", "accelerate", "datasets")
"""Names of the engines; `local` is the default."""


class WorkerDied(RuntimeError):
    """A worker process was killed from outside, most often for want of memory."""


class Engine(Protocol):
    """Carries out tasks, each of which makes a file that is whole or absent.

    A run may go on in several processes at once (`accelerate launch`), each of which has an engine and takes its share
    of the tasks. What a task makes never depends on the engine, on its workers or on the number of processes.

    Attributes:
        leads: whether this process is the first: it writes what is written once, and tells what was done.
        corpus: what carries out the many small tasks of a corpus step, most often the engine itself.
    """

    leads: bool

    @property
    def corpus(self) -> "Engine": ...  # noqa: D102 - said above

    def __enter__(self) -> "Engine":
        """Return the engine, ready to work."""
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


def engine_of(name: str, workers: int = 1, device: str = "cpu") -> Engine:
    """Return an engine by its name.

    Args:
        name: one of ENGINES.
        workers: processes, from 1; under `accelerate launch`, of each process that was launched.
        device: torch device that the stages use, "cpu" or "cuda"; by it the processes of a launch find each other.

    Raises:
        ValueError: there is no such engine, or fewer than one worker.
    """
    if check_engine(name) == "local":
        from edos_dataset.runs.engines.local import LocalEngine

        return LocalEngine(workers)
    if name == "accelerate":
        from edos_dataset.runs.engines.accelerate import AccelerateEngine

        return AccelerateEngine(workers, device)
    from edos_dataset.runs.engines.datasets import DatasetsEngine

    return DatasetsEngine(workers)


def check_engine(name: str) -> str:
    """Return the name of an engine.

    Raises:
        ValueError: there is no such engine; the message gives the nearest.
    """
    if name not in ENGINES:
        close = get_close_matches(name, ENGINES, n=1, cutoff=0.4)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(ENGINES)}"
        raise ValueError(f"unknown engine {name!r}; {hint}")
    return name


def launched() -> bool:
    """Return whether a launcher (`accelerate launch`, torchrun) started this process and others."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def default_engine() -> str:
    """Return the engine to take where none is named: `accelerate` in a process that a launcher started."""
    return "accelerate" if launched() else "local"


def default_workers(device: str = "cpu") -> int:
    """Return the processes to take where no number is given: one a core, but one in a process that a launcher started.

    For a GPU two: of these, one reads, tokenises and writes while the other computes.
    """
    if device != "cpu":
        return 2
    return 1 if launched() else available_cores()


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
