"""Engines by their names, and the one to take where none is named."""

import os
from difflib import get_close_matches

from edos_dataset.runs.engines.base import Engine, available_cores

ENGINES = ("local", "accelerate", "datasets", "ray")
"""Names of the engines; `local` is the default."""

RAY_ADDRESS = "RAY_ADDRESS"
"""Environment variable of Ray: the address of the cluster."""


def engine_of(name: str, workers: int = 1, device: str = "cpu") -> Engine:
    """Return an engine by its name.

    Args:
        name: one of ENGINES.
        workers: processes, from 1; under `accelerate launch`, of each process that was launched.
        device: torch device that the stages use, "cpu" or "cuda"; by it the processes of a launch find each other.

    Raises:
        ValueError: there is no such engine, or fewer than one worker.
        ModuleNotFoundError: the engine's package is not installed.
    """
    if check_engine(name) == "local":
        from edos_dataset.runs.engines.local import LocalEngine

        return LocalEngine(workers)
    if name == "accelerate":
        from edos_dataset.runs.engines.accelerate import AccelerateEngine

        return AccelerateEngine(workers, device)
    if name == "ray":
        from edos_dataset.runs.engines.ray import RayEngine

        return RayEngine(workers, device)
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
    """Refuse to print results where each of several processes would, or where what is printed is made in a folder that
    other machines do not see.

    Raises:
        ValueError: the engine is that of a launcher, or works on a cluster.
    """
    if engine == "ray" and os.environ.get(RAY_ADDRESS):
        raise ValueError("standard output is for one machine: give a file as --out that all nodes of the cluster see")
    if engine == "accelerate":
        raise ValueError("standard output is for one process: give a file as --out under accelerate launch")


def launched() -> bool:
    """Return whether a launcher (`accelerate launch`, torchrun) started this process and others."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def default_engine() -> str:
    """Return the engine to take where none is named: `accelerate` in a process that a launcher started."""
    return "accelerate" if launched() else "local"


def take_engine(
    name: str | None, workers: int | None, device: str = "cpu", address: str | None = None
) -> tuple[str, int]:
    """Return the engine and the number of workers that a command takes, where None stands for what is not named.

    Args:
        name: of the engine.
        workers: how many.
        device: torch device that the stages use.
        address: of a Ray cluster; it becomes that of this process (RAY_ADDRESS).

    Raises:
        ValueError: the address is given to another engine, or the cluster does not answer.
    """
    name = name or default_engine()
    if address is not None:
        if name != "ray":
            raise ValueError(f"--address {address} is that of a Ray cluster: give --engine ray with it")
        os.environ[RAY_ADDRESS] = address
    return name, workers or default_workers(device, name)


def default_workers(device: str = "cpu", engine: str = "local") -> int:
    """Return the processes to take where no number is given: one a core, but one in a process that a launcher started.
    On a Ray cluster the cores of all nodes count.

    For a GPU two: of these, one reads, tokenises and writes while the other computes.
    """
    if engine == "ray" and os.environ.get(RAY_ADDRESS):
        from edos_dataset.runs.engines.ray_cluster import cluster_workers

        return cluster_workers(on_gpu=device != "cpu")
    if device != "cpu":
        return 2
    return 1 if launched() else available_cores()
