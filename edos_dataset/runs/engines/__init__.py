"""The engines, which make the shards of a run, by name; and the default engine."""

import os
from difflib import get_close_matches

from edos_dataset.runs.engines.base import Engine, available_cores

ENGINES = ("local", "accelerate", "datasets", "ray")
"""Names of the engines; `local` is the default."""

RAY_ADDRESS = "RAY_ADDRESS"
"""Ray's environment variable for the address of the cluster."""


def engine_of(name: str, workers: int = 1, device: str = "cpu") -> Engine:
    """Return an engine by its name.

    Args:
        name: one of ENGINES.
        workers: number of processes, from 1; under `accelerate launch`, for each launched process.
        device: torch device of the stages, "cpu" or "cuda"; it determines how launched processes connect.

    Raises:
        ValueError: there is no such engine, or `workers` is less than 1.
        ModuleNotFoundError: the engine's package is not installed.
    """
    if check_engine(name) == "local":
        from edos_dataset.runs.engines.local import LocalEngine

        return LocalEngine(workers)
    if name == "accelerate":
        from edos_dataset.runs.engines.local import AccelerateEngine

        return AccelerateEngine(workers, device)
    if name == "ray":
        from edos_dataset.runs.engines.ray import RayEngine

        return RayEngine(workers, device)
    from edos_dataset.runs.engines.datasets import DatasetsEngine

    return DatasetsEngine(workers)


def check_engine(name: str) -> str:
    """Return the name of an engine unchanged if it exists.

    Raises:
        ValueError: there is no such engine; the message suggests the nearest name.
    """
    if name not in ENGINES:
        close = get_close_matches(name, ENGINES, n=1, cutoff=0.4)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(ENGINES)}"
        raise ValueError(f"unknown engine {name!r}; {hint}")
    return name


def check_printing(engine: str) -> None:
    """Refuse to print results if several processes would print them, or if other machines cannot see the folder in
    which they are made.

    Raises:
        ValueError: the engine runs in launched processes or on a cluster.
    """
    if engine == "ray" and os.environ.get(RAY_ADDRESS):
        raise ValueError("standard output is for one machine: give a file as --out that all nodes of the cluster see")
    if engine == "accelerate":
        raise ValueError("standard output is for one process: give a file as --out under accelerate launch")


def launched() -> bool:
    """Return whether a launcher (`accelerate launch`, torchrun) started this process as one of several."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def default_engine() -> str:
    """Return the default engine, which is `accelerate` in a process started by a launcher."""
    return "accelerate" if launched() else "local"


def take_engine(
    name: str | None, workers: int | None, device: str = "cpu", address: str | None = None
) -> tuple[str, int]:
    """Return the engine and the number of workers that a command uses, with defaults in place of None.

    Args:
        name: name of the engine.
        workers: number of workers.
        device: torch device of the stages.
        address: address of a Ray cluster; RAY_ADDRESS is set to it for this process.

    Raises:
        ValueError: an address is given for another engine, or the cluster does not answer.
    """
    name = name or default_engine()
    if address is not None:
        if name != "ray":
            raise ValueError(f"--address {address} is that of a Ray cluster: give --engine ray with it")
        os.environ[RAY_ADDRESS] = address
    return name, workers or default_workers(device, name)


def default_workers(device: str = "cpu", engine: str = "local") -> int:
    """Return the default number of processes: one per core, or one in a process started by a launcher. On a Ray cluster
    the cores of all nodes count.

    For a GPU the default is two: one reads, tokenises and writes while the other computes.
    """
    if engine == "ray" and os.environ.get(RAY_ADDRESS):
        from edos_dataset.runs.engines.ray import cluster_workers

        return cluster_workers(on_gpu=device != "cpu")
    if device != "cpu":
        return 2
    return 1 if launched() else available_cores()
