"""Engines by their names, and the one to take where none is named."""

import os
from difflib import get_close_matches

from edos_dataset.runs.engines.base import Engine, available_cores

ENGINES = ("local", "accelerate", "datasets")
"""Names of the engines; `local` is the default."""


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


def check_printing(engine: str) -> None:
    """Refuse to print results where each of several processes would.

    Raises:
        ValueError: the engine is that of a launcher.
    """
    if engine == "accelerate":
        raise ValueError("standard output is for one process: give a file as --out under accelerate launch")


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
