"""The cost of a run over a sample by phase and stage, from its records and the tasks that its engine measured."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from edos_dataset.labeling.selection import SelectDialogues
from edos_dataset.planning.measuring import Taken
from edos_dataset.runs.pipeline import CorpusStep, Stage
from edos_dataset.runs.run import Phase
from edos_dataset.runs.shards import ShardRecord, read_record


@dataclass(frozen=True)
class Keys:
    """The keys in the partitions of a corpus step; all 0 if it has none.

    Attributes:
        a_unit: keys per unit that the step reads.
        bytes_a_key: memory of a partition per key.
        memory: memory limit of a partition, in bytes.
    """

    a_unit: int = 0
    bytes_a_key: int = 1
    memory: int = 1 << 30


@dataclass(frozen=True)
class StageCost:
    """The cost of a stage, or of applying a corpus step to the shards.

    Attributes:
        stage: its name.
        unit: what it counts.
        read: units read.
        kept: units kept.
        seconds: CPU seconds.
        encoder: whether it would run on a GPU.
        most: maximum number of units that it keeps, however many there are; None if there is no limit.
    """

    stage: str
    unit: str
    read: int
    kept: int
    seconds: float
    encoder: bool = False
    most: int | None = None


@dataclass(frozen=True)
class RoundCost:
    """A round of tasks of a corpus step, one per shard or per partition: total CPU `seconds`."""

    name: str
    by_shard: bool
    seconds: float


@dataclass(frozen=True)
class PhaseCost:
    """The cost of a phase.

    Attributes:
        name: name of its folder.
        step: its corpus step; "" if it has none.
        rounds: the rounds of the corpus step.
        keys: the keys in its partitions.
        stages: what it ran over each shard, the corpus step first.
        files: CPU seconds for reading and writing shards.
        shards: names of the shards.
        leader: CPU seconds of the main process between the tasks.
        peak: peak memory of a task in bytes, beyond that of an idle worker.
        disk: bytes it leaves on disk.
        outputs: configs published from it.
    """

    name: str
    step: str
    rounds: tuple[RoundCost, ...]
    keys: Keys
    stages: tuple[StageCost, ...]
    files: float
    shards: tuple[str, ...]
    leader: float
    peak: int
    disk: int
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Output:
    """A published config: CPU seconds for writing it, its bytes, and its dialogues."""

    config: str
    seconds: float
    disk: int
    dialogues: int


@dataclass(frozen=True)
class Observed:
    """The cost of a run.

    Attributes:
        sentences: name of a shard → sentences in the documents read.
        documents: number of readable files that are the best of their film.
        phases: its phases, in order.
        outputs: its outputs, in order.
    """

    sentences: Mapping[str, int]
    documents: int
    phases: tuple[PhaseCost, ...]
    outputs: tuple[Output, ...]

    @property
    def total(self) -> int:
        """Number of sentences in the documents."""
        return sum(self.sentences.values())


@dataclass(frozen=True)
class Sample:
    """The cost of a sample, run twice: a few films as a shard each, and all films in larger shards. The two runs
    separate the cost of a shard from that of a sentence.

    Attributes:
        films: number of films.
        files: number of their files.
        stored: stored size of the files in bytes.
        few: the run over small shards.
        many: the run over all.
        listing: CPU seconds for listing a file.
        opening: CPU seconds for opening a shard's file of the shuffle, which every partition does.
        start: CPU seconds until a worker is ready: imports, models, dictionaries.
        memory: memory of an idle worker, in bytes.
        publishing: peak memory while configs are written, in bytes.
        waited: fraction of the tasks' time spent waiting for a processor, 0 to 1.
    """

    films: int
    files: int
    stored: int
    few: Observed
    many: Observed
    listing: float
    opening: float
    start: float
    memory: int
    publishing: int
    waited: float


def phase_costs(
    folder: Path, cut: Sequence[Phase], taken: Sequence[Taken], began: float, waiting: int, keys: Mapping[str, Keys]
) -> Iterator[PhaseCost]:
    """Yield the cost of each phase.

    Args:
        folder: folder of the run.
        cut: its phases.
        taken: the costs of its tasks, in order.
        began: CPU time of the process when the run began, in seconds.
        waiting: memory of an idle worker, in bytes.
        keys: keys of corpus steps, by name.
    """
    for phase, tasks in _by_phase(cut, taken):
        last = tasks[-1].began + tasks[-1].seconds if tasks else began
        leader, began = max(0.0, last - began - sum(task.seconds for task in tasks)), last
        made = {task.shard: task for task in tasks if task.shard}
        records = {name: _record(folder / phase.name / f"{name}.parquet") for name in made}
        parts = {name: _parts(phase, record, made[name]) for name, record in records.items()}
        stages = tuple(_stages(phase, [(records[name], parts[name]) for name in made]))
        peaks = [task.peak for task in tasks]
        yield PhaseCost(
            name=phase.name,
            step=phase.step.name if phase.step else "",
            rounds=tuple(_rounds(tasks, len(made))),
            keys=keys.get(phase.step.name, Keys()) if phase.step else Keys(),
            stages=stages,
            files=sum(part[-1] for part in parts.values()),
            shards=tuple(made),
            leader=leader,
            peak=max([waiting, *peaks]) - waiting,
            disk=_size(folder / phase.name),
            outputs=phase.outputs,
        )


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _by_phase(cut: Sequence[Phase], taken: Sequence[Taken]) -> Iterator[tuple[Phase, list[Taken]]]:
    rest = list(taken)
    for phase in cut:
        places = [place for place, task in enumerate(rest) if task.phase == phase.name]
        end = places[-1] + 1 if places else 0
        yield phase, rest[:end]
        rest = rest[end:]


def _rounds(taken: Sequence[Taken], shards: int) -> Iterator[RoundCost]:
    for name, group in groupby((task for task in taken if not task.shard), key=lambda task: task.function):
        tasks = list(group)
        yield RoundCost(name, len(tasks) == shards, sum(task.seconds for task in tasks))


def _record(path: Path) -> ShardRecord:
    record = read_record(path, verify=False)
    assert record is not None, "it has just been made"
    return record


def _parts(phase: Phase, record: ShardRecord, taken: Taken) -> list[float]:
    """Return the CPU seconds of a shard by stage, divided in proportion to wall-clock time; the last entry is reading
    and writing.
    """
    walls = [count.seconds for count in record.counts]
    share = taken.seconds / max(taken.wall, sum(walls), 1e-9)
    parts = [wall * share for wall in walls]
    return [*parts, max(0.0, taken.seconds - sum(parts))]


def _stages(phase: Phase, shards: Sequence[tuple[ShardRecord, list[float]]]) -> Iterator[StageCost]:
    items: list[Stage | CorpusStep] = [*([phase.step] if phase.step else []), *phase.stages]
    for place, item in enumerate(items):
        counts = [record.counts[place] for record, _ in shards]
        read, kept = sum(count.read for count in counts), sum(count.kept for count in counts)
        seconds = sum(part[place] for _, part in shards)
        encoder = isinstance(item, Stage) and hasattr(item, "device")
        most = item.top if isinstance(item, SelectDialogues) else None
        yield StageCost(item.name, item.unit, read, kept, seconds, encoder, most)
