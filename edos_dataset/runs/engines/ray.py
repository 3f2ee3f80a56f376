"""Runs tasks on a Ray cluster or, without an address, on a local Ray that lasts as long as the run.

    edos curate films/ --out edos --engine ray --address head:6379

A worker is an actor, a lasting process, so it loads a model only once. It gets its next task when it has finished the
previous one. Only tasks and their results (paths, digests and counts) pass through the main process; all nodes must see
the same folder.

If a worker dies, alone or with its node, it is replaced, and its task goes to the next free worker. While the cluster
has no capacity for another, the others do its work. Workers with stages on a GPU get a GPU each, or a fraction
of one if there are more workers than GPUs.
"""

import hashlib
import logging
import math
import os
import platform
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple
from uuid import uuid4

from edos_dataset.runs.engines.base import R, SingleProcess, T, WorkerDied, check_workers
from edos_dataset.runs.lazy_pandas import without_pandas
from edos_dataset.version import __version__

try:
    import ray
    from ray.exceptions import RayError
except ModuleNotFoundError as error:
    raise ModuleNotFoundError('the engine "ray" needs Ray: pip install "edos-dataset[ray]"', name="ray") from error


_SECONDS_TO_ANSWER = 10.0


def cluster_address() -> str | None:
    """Return the address of the Ray cluster in RAY_ADDRESS; None if the run must start its own Ray."""
    address = os.environ.get("RAY_ADDRESS", "")
    return None if address in ("", "local") else address


def connect(workers: int) -> bool:
    """Connect this process to the cluster, or start a local Ray.

    Args:
        workers: number of workers for which a local Ray has capacity.

    Returns:
        True if the connection is new, False if the process was connected before.

    Raises:
        ValueError: the cluster does not answer, or runs a different version.
        WorkerDied: Ray does not start on this machine.
    """
    if ray.is_initialized():
        return False
    address = cluster_address()
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # No rows pass through the object store, so use the smallest size that Ray allows.
        quiet |= {"num_cpus": workers, "include_dashboard": False, "object_store_memory": 80 << 20}
    try:
        _knock(address or "local")
        with nullcontext() if address else _tied():
            ray.init(address or "local", **quiet)
    except Exception as error:  # Ray also raises plain exceptions
        if address is None:
            raise WorkerDied(
                f"Ray did not start on this machine, perhaps as that is too busy ({last_line(error)}): the same "
                "command resumes, and --engine local needs no Ray"
            ) from error
        raise ValueError(
            f"there is no Ray cluster to work with at {address!r} ({last_line(error)}): start one (`ray start "
            "--head`), or leave --address and RAY_ADDRESS out"
        ) from error
    return True


_MARK = "EDOS_RAY_OF"
_END_MARKED = """
import os, pathlib, signal, sys
sys.stdin.read()
for process in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        if sys.argv[1].encode() in (process / "environ").read_bytes().split(b"\\0"):
            os.kill(int(process.name), signal.SIGKILL)
    except OSError:
        pass
"""
"""Program that waits until its standard input ends, and then kills the processes with an entry in their environment."""

_watched: list[Any] = []
"""What waits for the end of this process."""


@contextmanager
def _tied() -> Iterator[None]:
    """Let the processes of the Ray that starts here end with this one. Ray's own agents and workers look whether their
    node is there only now and then, and stay for minutes.
    """
    if sys.platform != "linux":
        yield
        return
    mark = uuid4().hex
    os.environ[_MARK] = mark
    try:
        yield
    finally:
        del os.environ[_MARK]
    program = [sys.executable, "-ISc", _END_MARKED, f"{_MARK}={mark}"]
    # its input ends with this process; in a session of its own, as Ctrl-C is not meant for it
    _watched.append(subprocess.Popen(program, stdin=subprocess.PIPE, start_new_session=True))


def _end_tied() -> None:
    """End what a Ray that has been shut down left."""
    while _watched:
        _watched.pop().communicate()


def _knock(address: str) -> None:
    """Check that a process listens at an address with a port; Ray itself would retry for minutes.

    Raises:
        OSError: no process listens there.
    """
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS_TO_ANSWER).close()


def cluster_workers(on_gpu: bool) -> int:
    """Return how many workers the cluster can hold: one per CPU, or two per GPU; at least one.

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
    """Kill an actor if it is still alive."""
    with suppress(RayError):
        ray.kill(actor)


def last_line(error: Exception) -> str:
    """Return the last line of an error's message."""
    return str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__


_SECONDS_TO_END = 10.0


class Place(NamedTuple):
    """Where a process runs, and which code it has.

    Attributes:
        process: process id.
        node: id of the Ray node.
        host: name of the machine.
        version: version of this package.
        code: hash of this package's files.
    """

    process: int
    node: str
    host: str
    version: str
    code: str

    @classmethod
    def here(cls) -> "Place":
        """Return the place of this process."""
        import ray

        node = ray.get_runtime_context().get_node_id()
        return cls(os.getpid(), node, platform.node(), __version__, _code())


class EdosWorker:
    """A process of the cluster that runs one task after another and keeps what they load.

    Args:
        folder: the directory in which the run was started, for relative paths; on nodes without it, paths must be
            absolute.
        paths: directories from which modules are imported, such as that of a stage in a file beside the recipe.
    """

    def __init__(self, folder: str, paths: Sequence[str]) -> None:
        without_pandas()
        with suppress(OSError):
            os.chdir(folder)
        sys.path += [path for path in paths if path not in sys.path]

    def place(self) -> Place:
        """Return where the worker runs."""
        return Place.here()

    def carry_out(self, function: Callable[[T], R], task: T) -> R:
        """Return the result of a function for a task."""
        return function(task)


def end_processes(processes: Sequence[int]) -> None:
    """Kill workers of a stopped run on this machine, and return when they have ended."""
    end = time.monotonic() + _SECONDS_TO_END
    for process in processes:
        with suppress(OSError):  # it has ended
            while time.monotonic() < end:
                os.kill(process, getattr(signal, "SIGKILL", signal.SIGTERM))
                time.sleep(0.01)


def monitored_name(function: Callable[[T], R], task: T) -> str:
    """Return the name of a task in Ray's dashboard: the attribute `monitored` of the task, or of the object whose
    method the function is, and the function's name.
    """
    owner = getattr(function, "__self__", None)
    phase = getattr(task, "monitored", None) or getattr(owner, "monitored", None)
    name = getattr(function, "__name__", type(function).__name__)
    return f"{phase} {name}" if phase else name


@cache
def _code() -> str:
    root = Path(__file__).parents[2]
    sha256 = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        sha256.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes())
    return sha256.hexdigest()


RETRIES = 3
"""How often a task is retried on another worker after one died of it, perhaps for lack of memory. The loss of a node is
not the task's fault and does not count.
"""

_PATIENCE = 60.0
"""Seconds without a worker after which a run reports that it is waiting for the cluster."""


class _Job(NamedTuple):
    """A task, and the number of workers that have died of it."""

    task: Any
    deaths: int = 0


class _Member(NamedTuple):
    """A worker that has started."""

    actor: Any
    place: Place


class RayEngine(SingleProcess):
    """Runs tasks in Ray actors; see `Engine`. If this process is already connected to a Ray, that one is used.

    Args:
        workers: number of actors, from 1; as many as the cluster has resources for at once.
        device: "cpu", or "cuda" if the stages use GPUs; each worker sees only its own GPU.
    """

    def __init__(self, workers: int = 1, device: str = "cpu") -> None:
        """Check the arguments; actors start with the first task.

        Raises:
            ValueError: `workers` is less than 1, or `device` names a GPU by number.
        """
        self.workers = check_workers(workers)
        if device.startswith("cuda:"):
            raise ValueError(f"Ray gives each worker a GPU, which it sees as the only one: give 'cuda', not {device!r}")
        self._on_gpu = device == "cuda"
        self._started_ray = False
        self._starting: dict[Any, Any] = {}
        self._idle: list[_Member] = []
        self._busy: dict[Any, tuple[_Member, _Job]] = {}
        self._failed_starts = 0

    def __enter__(self) -> "RayEngine":
        """Connect to the cluster, if there is one.

        Raises:
            ValueError: the cluster does not answer.
        """
        if cluster_address():
            self._started_ray |= connect(self.workers)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_busy()
        for actor in [*self._starting.values(), *(member.actor for member in self._idle)]:
            kill(actor)
        self._starting, self._idle = {}, []
        if self._started_ray:
            self._started_ray = False
            ray.shutdown()
            _end_tied()

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Yield the results as they become ready. At most one task per worker waits in memory."""
        jobs, queue = map(_Job, tasks), deque[_Job]()
        try:
            while True:
                while len(queue) < self.workers and (job := next(jobs, None)):
                    queue.append(job)
                if not queue and not self._busy:
                    return
                self._start(min(self.workers, len(queue) + len(self._busy)))
                while queue and self._idle:
                    self._give(self._idle.pop(), function, queue.popleft())
                yield from self._collect(queue)
        finally:
            self._stop_busy()  # after an error, or if the caller stops early

    def _start(self, count: int) -> None:
        """Start workers until there are at least `count`."""
        there = len(self._starting) + len(self._idle) + len(self._busy)
        if there >= count:
            return
        self._started_ray |= connect(self.workers)
        actor_class = ray.remote(EdosWorker).options(num_cpus=1, num_gpus=self._gpus())
        for _ in range(count - there):
            actor = actor_class.remote(os.getcwd(), sys.path)
            self._starting[actor.place.options(name="start").remote()] = actor

    def _gpus(self) -> float:
        if not self._on_gpu:
            return 0.0
        gpus = ray.cluster_resources().get("GPU", 0.0)
        return 1 / max(1, math.ceil(self.workers / gpus)) if gpus else 1.0

    def _give(self, member: _Member, function: Callable[[T], R], job: _Job) -> None:
        name = monitored_name(function, job.task)
        reference = member.actor.carry_out.options(name=name).remote(function, job.task)
        self._busy[reference] = (member, job)

    def _collect(self, queue: deque[_Job]) -> Iterator[Any]:
        """Wait until a worker has finished its task or has started; lost tasks return to the queue."""
        alone = not self._busy and not self._idle
        ready, _ = ray.wait([*self._busy, *self._starting], num_returns=1, timeout=_PATIENCE if alone else None)
        if not ready:
            resource = "GPU" if self._on_gpu else "CPU"
            logging.getLogger(__name__).warning(
                "no node of the Ray cluster has had a %s to spare for %.0f seconds; waiting", resource, _PATIENCE
            )
        for reference in ready:
            if reference in self._starting:
                self._welcome(reference)
                continue
            member, job = self._busy.pop(reference)
            try:
                result = ray.get(reference)
            except ray.exceptions.RayTaskError as error:
                self._idle.append(member)
                raise error.cause from error
            except ray.exceptions.RayError as error:
                self._bury(member, job, queue, error)
            else:
                self._idle.append(member)
                yield result

    def _welcome(self, reference: Any) -> None:  # noqa: ANN401 - a reference of Ray
        """Add a worker that has started.

        Raises:
            ValueError: it lacks this package or has a different version of it.
            WorkerDied: several workers in a row died while starting.
        """
        actor = self._starting.pop(reference)
        try:
            place = ray.get(reference)
        except ray.exceptions.RayError as error:
            if isinstance(error, ray.exceptions.RayTaskError) or getattr(error, "actor_init_failed", False):
                raise ValueError(
                    f"a worker of the Ray cluster cannot start: {last_line(error)}; install the same edos-dataset on "
                    "all nodes"
                ) from error
            self._failed_starts += 1
            if self._failed_starts > RETRIES:
                raise WorkerDied from error
            return
        self._failed_starts = 0
        here = Place.here()
        if place.code != here.code:
            raise ValueError(
                f"node {place.host} of the Ray cluster has another edos-dataset ({place.version}) than this machine "
                f"({here.version}): install the same on all nodes"
            )
        self._idle.append(_Member(actor, place))

    def _bury(self, member: _Member, job: _Job, queue: deque[_Job], error: ray.exceptions.RayError) -> None:
        """Put the task of a lost worker back into the queue.

        Raises:
            WorkerDied: too many workers have died of it.
        """
        kill(member.actor)  # an actor that is merely unreachable must not come back
        job = job._replace(deaths=job.deaths + (member.place.node in living_nodes()))
        if job.deaths > RETRIES:
            raise WorkerDied from error
        queue.appendleft(job)

    def _stop_busy(self) -> None:
        """Stop the workers that have a task, and return when they have ended."""
        members = [member for member, _ in self._busy.values()]
        self._busy = {}
        if not members:
            return
        for member in members:
            kill(member.actor)
        here, alive = ray.get_runtime_context().get_node_id(), living_nodes()
        processes: dict[str, list[int]] = {}
        for member in members:
            processes.setdefault(member.place.node, []).append(member.place.process)
        end_processes(processes.pop(here, []))
        ended = [_on(node).remote(ids) for node, ids in processes.items() if node in alive]
        for reference in ended:
            with suppress(ray.exceptions.RayError):  # the node is lost with its processes
                ray.get(reference, timeout=_PATIENCE)


def _on(node: str) -> Any:  # noqa: ANN401 - a function of Ray
    """Return the remote function that ends processes on a node."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(node, soft=False)
    return ray.remote(end_processes).options(name="end workers", num_cpus=0, scheduling_strategy=here)
