"""What the work of a corpus takes on a cluster: time, memory, disk and money by stage, and which stage binds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from edos_dataset.planning.machines import GIB, Cluster, Machine, devices
from edos_dataset.planning.sample import Sample
from edos_dataset.planning.work import PhaseWork, Piece

DEVICES = ("cores", "gpus", "leader")
"""What a stage waits for."""


@dataclass(frozen=True)
class Row:
    """A stage on a cluster.

    Attributes:
        phase: its folder; "" outside of the phases.
        stage: its name.
        unit: what it counts; "" where nothing is counted.
        units: that it reads.
        core_hours: of cores of the machine that measured.
        on: of DEVICES.
        hours: that it takes of the run.
        memory: of a worker of its phase, in bytes.
        disk: bytes that stay of its phase, told with the phase's last stage.
        money: that all machines cost in these hours.
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
    """The workers of one kind of machines.

    Attributes:
        machine: the kind.
        each: workers of each machine: one a core, or as many as its memory holds.
        gpu: seconds of a worker for what takes a core of the machine that measured one second, in the encoder stages.
        waits_for: what binds it there, "gpus" or "cores".
    """

    machine: Machine
    each: int
    gpu: float
    waits_for: str

    @property
    def all(self) -> int:
        """Workers of all machines of the kind."""
        return self.machine.count * self.each

    def seconds(self, core: float, gpu: float) -> float:
        """Return what a worker takes for so many seconds of the machine that measured."""
        return core / self.machine.core_speed + gpu * self.gpu


def workers_of(cluster: Cluster, memory: int) -> list[Workers]:
    """Return the workers that machines have.

    Args:
        cluster: the machines.
        memory: of a worker, in bytes.

    Raises:
        ValueError: a kind of machines has not the memory for one.
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
        found.append(Workers(machine, each, slow, waits_for))
    return found


def takers(workers: Sequence[Workers], gpu: float) -> list[Workers]:
    """Return those that take a task: where there are GPUs, what is for a GPU goes to machines that have one."""
    with_gpus = [one for one in workers if one.machine.gpus]
    return with_gpus if gpu and with_gpus else list(workers)


def elapsed(piece: Piece, workers: Sequence[Workers], of: Sequence[Workers]) -> float:
    """Return the seconds of the run that a piece takes.

    Args:
        piece: of the work.
        workers: all; the leader is a worker of the first kind.
        of: those that take its tasks.
    """
    if piece.how == "leader":
        return piece.core / workers[0].machine.core_speed
    fitting = min(1.0, piece.tasks / max(sum(one.all for one in of), 1))  # fewer tasks than workers keep some idle
    rate = sum(one.all / max(one.seconds(piece.core, piece.gpu), 1e-12) for one in of)
    return 1 / (rate * fitting)


def rows_of(
    cluster: Cluster, phases: Sequence[PhaseWork], first: Piece, alone: Iterable[tuple[Piece, int]], sample: Sample
) -> list[Row]:
    """Return the rows of a plan: the start, the listing of the files, each stage, and the publishing.

    Args:
        cluster: the machines.
        phases: the work.
        first: what the leader does before.
        alone: what is published at the end, and the bytes of each.
        sample: what was measured.

    Raises:
        ValueError: the memory of a machine is too small.
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
    """Return the rows of one stage as one."""
    longest = max(rows, key=lambda row: row.hours)
    counted = next((row for row in rows if row.unit), rows[0])
    core_hours, hours = sum(row.core_hours for row in rows), sum(row.hours for row in rows)
    return replace(counted, core_hours=core_hours, on=longest.on, hours=hours)
