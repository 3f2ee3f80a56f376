"""How a run of the engine `ray` finds its Ray: a cluster that is there, or one of its own on this machine."""

import logging
import os
import socket
from contextlib import suppress
from typing import Any

from edos_dataset.runs.engines.base import WorkerDied

try:
    import ray as ray  # for ray.py, too
    from ray.exceptions import RayError
except ModuleNotFoundError as error:
    raise ModuleNotFoundError('the engine "ray" needs Ray: pip install "edos-dataset[ray]"', name="ray") from error


_SECONDS_TO_ANSWER = 10.0


def cluster_address() -> str | None:
    """Return the address of the Ray cluster that RAY_ADDRESS names; None where the run is to start a Ray of its own."""
    address = os.environ.get("RAY_ADDRESS", "")
    return None if address in ("", "local") else address


def connect(workers: int) -> bool:
    """Connect this process to the cluster, or start a Ray on this machine for it.

    Args:
        workers: that a Ray of this machine has room for.

    Returns:
        Whether anything was done.

    Raises:
        ValueError: the cluster does not answer, or runs another version.
        WorkerDied: this machine's own does not start.
    """
    if ray.is_initialized():
        return False
    address = cluster_address()
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # No rows pass through the store of objects: the least that Ray allows.
        quiet |= {"num_cpus": workers, "include_dashboard": False, "object_store_memory": 80 << 20}
    try:
        _knock(address or "local")
        ray.init(address or "local", **quiet)
    except Exception as error:  # Ray raises plain ones, too
        if address is None:
            raise WorkerDied(
                f"Ray did not start on this machine, perhaps as that is too busy ({last_line(error)}): the same "
                "command goes on, and --engine local needs no Ray"
            ) from error
        raise ValueError(
            f"there is no Ray cluster to work with at {address!r} ({last_line(error)}): start one (`ray start "
            "--head`), or leave --address and RAY_ADDRESS out"
        ) from error
    return True


def _knock(address: str) -> None:
    """Look whether somebody listens at an address with a port: Ray would try for minutes.

    Raises:
        OSError: nobody does.
    """
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS_TO_ANSWER).close()


def cluster_workers(on_gpu: bool) -> int:
    """Return how many workers the cluster has room for: one a CPU, or two a GPU, at least one.

    Raises:
        ValueError: the cluster does not answer.
    """
    connect(1)
    resources = ray.cluster_resources()
    return max(1, int(2 * resources.get("GPU", 0) if on_gpu else resources.get("CPU", 0)))


def living_nodes() -> set[str]:
    """Return the ids of the nodes that are alive."""
    return {node["NodeID"] for node in ray.nodes() if node["Alive"]}


def kill(actor: Any) -> None:  # noqa: ANN401 - a handle of Ray
    """Kill an actor; nothing where it is no more."""
    with suppress(RayError):
        ray.kill(actor)


def last_line(error: Exception) -> str:
    """Return the last line of an error's message."""
    return str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
