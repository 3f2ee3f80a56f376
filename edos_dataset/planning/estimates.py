"""Estimates for a corpus on a cluster: time, memory, disk and cost of each stage, and its bottleneck."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from edos_dataset.planning.machines import GIB, Cluster, Machine, devices
from edos_dataset.planning.sample import Sample
from edos_dataset.planning.work import PhaseWork, Piece

DEVICES = ("cores", "gpus", "leader")
"""Possible bottlenecks of a stage."""


@dataclass(frozen=True)
class Row:
    """A stage on a cluster.

    Attributes:
        phase: folder of its phase; "" outside the phases.
        stage: its name.
        unit: what it counts; "" if it counts nothing.
        units: number of units it reads.
        core_hours: hours on one core of the measuring machine.
        on: its bottleneck, one of DEVICES.
        hours: wall-clock hours.
        memory: memory per worker of its phase, in bytes.
        disk: bytes its phase leaves on disk; given only for the last stage of a phase.
        money: cost of all machines for these hours.
    """

    phase: str
    stage: str
    unit: str
    units: int
    core_hours: float
    on: str
    hours: float
    memory: int = 0
    disk: int = 0
    money: float = 0.0


@dataclass(frozen=True)
class Workers:
    """The workers on one kind of machine.

    Attributes:
        machine: the kind of machine.
        each: workers per machine: one per core, or as many as fit in its memory.
        gpu: a worker's seconds, in the encoder stages, for work that takes one core of the measuring machine a second.
        waits_for: the bottleneck in these stages, "gpus" or "cores".
        burden: factor, at least 1, by which stragglers and preempted machines lengthen the work.
    """

    machine: Machine
    each: int
    gpu: float
    waits_for: str
    burden: float = 1.0

    @property
    def all(self) -> int:
        """Number of workers on all machines of this kind."""
        return self.machine.count * self.each

    def seconds(self, core: float, gpu: float) -> float:
        """Return a worker's seconds for work that takes the given seconds on the measuring machine."""
        return (core / self.machine.core_speed + gpu * self.gpu) * self.burden


def workers_of(cluster: Cluster, memory: int) -> list[Workers]:
    """Return the workers that the machines can run.

    Args:
        cluster: the machines.
        memory: memory per worker, in bytes.

    Raises:
        ValueError: a machine has too little memory for a single worker.
    """
    found = []
    for machine in cluster.machines:
        each = min(machine.cores, int(machine.memory_gib * GIB / memory))
        if not each:
            raise ValueError(
                f"{machine.name}: a worker takes {memory / GIB:.1f} GiB, and the machine has {machine.memory_gib:g}: "
                "give it more memory_gib, or leave it out"
            )
        slow, waits_for = 1 / machine.core_speed, "cores"
        if machine.gpus:
            beside = devices()["encoder"]["host_share"]["value"] / machine.core_speed
            slow, waits_for = max((each / (machine.gpus * machine.gpu_cores), "gpus"), (beside, "cores"))
        slow_tasks = 1 + cluster.stragglers * (cluster.slowdown - 1)
        taken_away = 1 + machine.failures * machine.start_minutes / 60
        found.append(Workers(machine, each, slow, waits_for, slow_tasks * taken_away))
    return found


def takers(workers: Sequence[Workers], gpu: float) -> list[Workers]:
    """Return the workers that can take a task; GPU work goes only to machines with GPUs, if there are any."""
    with_gpus = [one for one in workers if one.machine.gpus]
    return with_gpus if gpu and with_gpus else list(workers)


def elapsed(piece: Piece, workers: Sequence[Workers], of: Sequence[Workers]) -> float:
    """Return the wall-clock seconds of a piece.

    Args:
        piece: the piece of work.
        workers: all workers; the main process runs on the first kind of machine.
        of: the workers that take its tasks.
    """
    if piece.how == "leader":
        return piece.core / workers[0].machine.core_speed
    fitting = min(1.0, piece.tasks / max(sum(one.all for one in of), 1))  # with fewer tasks than workers, some are idle
    rate = sum(one.all / max(one.seconds(piece.core, piece.gpu), 1e-12) for one in of)
    return 1 / (rate * fitting)


def rows_of(
    cluster: Cluster, phases: Sequence[PhaseWork], first: Piece, alone: Iterable[tuple[Piece, int]], sample: Sample
) -> list[Row]:
    """Return the rows of a plan: start-up, listing the files, each stage, and publishing.

    Args:
        cluster: the machines.
        phases: the work.
        first: what the main process does before them.
        alone: what is published at the end, with the bytes of each.
        sample: the measurements.

    Raises:
        ValueError: a machine has too little memory.
    """
    workers = workers_of(cluster, max(phase.memory for phase in phases))
    start = max(one.machine.start_minutes * 60 + sample.start / one.machine.core_speed for one in workers)
    rows = [
        Row("", "start", "", 0, 0.0, "leader", start / 3600, sample.memory),
        _row("", first, workers, workers, sample.memory),
    ]
    for phase in phases:
        its: list[Row] = []
        for piece in phase.pieces:
            of = takers(workers, sum(other.gpu for other in phase.pieces) if piece.how == "shards" else 0.0)
            its.append(_row(phase.name, piece, workers, of, phase.memory))
        merged = [_merged(list(group)) for _, group in groupby(its, key=lambda row: row.stage)]
        rows += [*merged[:-1], replace(merged[-1], disk=phase.disk)]
    for piece, size in alone:
        rows.append(replace(_row("", piece, workers, workers, sample.publishing), disk=size))
    return [replace(row, money=row.hours * cluster.price) for row in rows]


def _row(phase: str, piece: Piece, workers: Sequence[Workers], of: Sequence[Workers], memory: int) -> Row:
    on = "leader" if piece.how == "leader" else of[0].waits_for if piece.gpu else "cores"
    hours = elapsed(piece, workers, of) / 3600
    return Row(phase, piece.stage, piece.unit, piece.units, (piece.core + piece.gpu) / 3600, on, hours, memory)


def _merged(rows: Sequence[Row]) -> Row:
    longest = max(rows, key=lambda row: row.hours)
    counted = next((row for row in rows if row.unit), rows[0])
    core_hours, hours = sum(row.core_hours for row in rows), sum(row.hours for row in rows)
    return replace(counted, core_hours=core_hours, on=longest.on, hours=hours)
