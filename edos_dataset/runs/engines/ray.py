"""Workers of a Ray cluster, or, where no address is given, of a Ray that runs on this machine for as long as the run.

    edos curate films/ --out edos --engine ray --address head:6379

A worker is an actor, a process that stays: what a task loads, such as a model, is loaded once in each. It is given a
task when it has done the one before, so as many are under way as there are workers. Through the process that leads goes
a task and what it gives: paths, digests and counts; all nodes see the same folder.

A worker that dies, alone or with its node, is replaced, and its task is given to the next that is free. While there is
no room for a new one, the others do its share. Stages whose device is a GPU get one, or a share of it where there are
more workers than GPUs.
"""

import logging
import math
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple

from edos_dataset.runs.engines.base import R, T, WorkerDied, check_workers
from edos_dataset.runs.engines.ray_cluster import cluster_address, connect, kill, last_line, living_nodes, ray
from edos_dataset.runs.engines.ray_workers import EdosWorker, Place, end_processes, monitored_name

RETRIES = 3
"""How often a task is given to another worker after one has died of it, perhaps for want of memory. That a node is lost
is not the task's fault, and may happen any number of times.
"""

_PATIENCE = 60.0
"""Seconds without any worker after which a run tells that it waits for the cluster."""


class _Job(NamedTuple):
    """A task, and the workers that have died of it."""

    task: Any
    deaths: int = 0


class _Member(NamedTuple):
    """A worker that has started."""

    actor: Any
    place: Place


class RayEngine:
    """Carries out tasks in actors of Ray; see `Engine`. A Ray to which this process is connected already is taken as it
    is.

    Args:
        workers: actors, from 1; as many as the cluster has room for are at work.
        device: "cpu", or "cuda" where the stages use GPUs, of which each worker sees its own alone.
    """

    leads = True

    def __init__(self, workers: int = 1, device: str = "cpu") -> None:
        """Check what is asked for; actors start with the first task.

        Raises:
            ValueError: fewer than one worker, or a GPU by its number.
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

    @property
    def corpus(self) -> "RayEngine":
        """The engine itself."""
        return self

    def __enter__(self) -> "RayEngine":
        """Connect to the cluster, if there is one.

        Raises:
            ValueError: it does not answer.
        """
        if cluster_address():
            self._started_ray |= connect(self.workers)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the workers; nobody writes any more afterwards."""
        self._stop_busy()
        for actor in [*self._starting.values(), *(member.actor for member in self._idle)]:
            kill(actor)
        self._starting, self._idle = {}, []
        if self._started_ray:
            self._started_ray = False
            ray.shutdown()

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """Return all items."""
        return items

    def wait(self) -> None:
        """Return at once: there is no other process that leads."""

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Yield the results in the order in which they are ready. At most one task a worker waits in memory."""
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
            self._stop_busy()  # after an error, or where nobody asks for the rest

    def _start(self, count: int) -> None:
        """Let there be so many workers, or as many as there are."""
        there = len(self._starting) + len(self._idle) + len(self._busy)
        if there >= count:
            return
        self._started_ray |= connect(self.workers)
        actor_class = ray.remote(EdosWorker).options(num_cpus=1, num_gpus=self._gpus())
        for _ in range(count - there):
            actor = actor_class.remote(os.getcwd(), sys.path)
            self._starting[actor.place.options(name="start").remote()] = actor

    def _gpus(self) -> float:
        """Return the share of a GPU that a worker gets."""
        if not self._on_gpu:
            return 0.0
        gpus = ray.cluster_resources().get("GPU", 0.0)
        return 1 / max(1, math.ceil(self.workers / gpus)) if gpus else 1.0

    def _give(self, member: _Member, function: Callable[[T], R], job: _Job) -> None:
        name = monitored_name(function, job.task)
        reference = member.actor.carry_out.options(name=name).remote(function, job.task)
        self._busy[reference] = (member, job)

    def _collect(self, queue: deque[_Job]) -> Iterator[Any]:
        """Wait for a worker that has done its task, or has started; what is lost goes back to the queue."""
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
        """Take in a worker that has started.

        Raises:
            ValueError: it has not this package, or not this version of it.
            WorkerDied: one after the other dies while it starts.
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
        """Let another worker have the task of one that is lost.

        Raises:
            WorkerDied: too many have died of it.
        """
        kill(member.actor)  # one that is merely out of reach must not come back
        job = job._replace(deaths=job.deaths + (member.place.node in living_nodes()))
        if job.deaths > RETRIES:
            raise WorkerDied from error
        queue.appendleft(job)

    def _stop_busy(self) -> None:
        """End the workers that are at a task, and return when they have ended."""
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
            with suppress(ray.exceptions.RayError):  # the node is lost: so is who writes there
                ray.get(reference, timeout=_PATIENCE)


def _on(node: str) -> Any:  # noqa: ANN401 - a function of Ray
    """Return what ends processes on a node."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(node, soft=False)
    return ray.remote(end_processes).options(name="end workers", num_cpus=0, scheduling_strategy=here)
