"""What a run over a sample took, by phase and stage, as its records and its engine's notes tell."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from edos_dataset.labeling.selection import SelectDialogues
from edos_dataset.planning.measuring import Taken
from edos_dataset.runs.phases import Phase
from edos_dataset.runs.pipeline import CorpusStep, Stage
from edos_dataset.runs.shards import ShardRecord, read_record


@dataclass(frozen=True)
class Keys:
    """What a corpus step's partitions hold; nothing where it has none.

    Attributes:
        a_unit: keys of a unit that the step reads.
        bytes_a_key: memory that a partition takes for each.
        memory: bytes that a partition may take.
    """

    a_unit: int = 0
    bytes_a_key: int = 1
    memory: int = 1 << 30


@dataclass(frozen=True)
class StageCost:
    """A stage, or a corpus step where it is carried out on the shards.

    Attributes:
        stage: its name.
        unit: what it counts.
        read: units that it read.
        kept: units that it kept.
        seconds: of the processor.
        encoder: whether a GPU would do it.
        most: units that it keeps at most, however many there are; None where there is no such number.
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
    """A round of tasks of a corpus step: `seconds` of the processor in all; a task a shard, or a task a partition."""

    name: str
    by_shard: bool
    seconds: float


@dataclass(frozen=True)
class PhaseCost:
    """A phase.

    Attributes:
        name: of its folder.
        step: its corpus step; "" where it has none.
        rounds: of that.
        keys: of these.
        stages: what it ran over each shard, the corpus step first.
        files: seconds of the processor for reading and writing shards.
        shards: of each shard, by name, seconds of the processor that a core takes, and that a GPU would, too.
        leader: seconds of the processor between the tasks, in the process that leads.
        peak: most memory of a task in bytes, beyond that of a worker that waits.
        disk: bytes that stay of it.
        outputs: configs that are published of it.
    """

    name: str
    step: str
    rounds: tuple[RoundCost, ...]
    keys: Keys
    stages: tuple[StageCost, ...]
    files: float
    shards: Mapping[str, tuple[float, float]]
    leader: float
    peak: int
    disk: int
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Output:
    """A published config: seconds of the processor for writing it, its bytes, and its dialogues."""

    config: str
    seconds: float
    disk: int
    dialogues: int


@dataclass(frozen=True)
class Observed:
    """What a run took.

    Attributes:
        sentences: of each shard, by name, in the documents that were read.
        documents: files that could be read and are the best of their film.
        phases: in order.
        outputs: in order.
    """

    sentences: Mapping[str, int]
    documents: int
    phases: tuple[PhaseCost, ...]
    outputs: tuple[Output, ...]

    @property
    def total(self) -> int:
        """Sentences in the documents."""
        return sum(self.sentences.values())


@dataclass(frozen=True)
class Sample:
    """What a sample took, once with a film of its own in each of a few shards, and once whole in larger ones: what a
    shard takes and what a sentence takes are told apart by these two.

    Attributes:
        films: of the sample.
        files: of these.
        stored: bytes of the files, as stored.
        few: the run over small shards.
        many: the run over all.
        listing: seconds of the processor for looking at a file before anything is read.
        opening: seconds of the processor for opening a shard's file of passage, which every partition does.
        start: seconds of the processor until a worker is ready: imports, models, dictionaries.
        memory: of a worker that waits, in bytes.
        publishing: most memory while configs are written, in bytes.
        waited: share of the tasks' time in which they had no processor, 0 to 1.
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
    """Yield what each phase took.

    Args:
        folder: the run's.
        cut: its phases.
        taken: what its tasks took, in order.
        began: the process's processor time when the run began, in seconds.
        waiting: memory of a worker that waits, in bytes.
        keys: of corpus steps, by name.
    """
    for phase, tasks in _by_phase(cut, taken):
        last = tasks[-1].began + tasks[-1].seconds if tasks else began
        leader = max(0.0, last - began - sum(task.seconds for task in tasks))
        began = last
        made = {task.shard: task for task in tasks if task.shard}
        records = {name: _record(folder / phase.name / f"{name}.parquet") for name in made}
        parts = {name: _parts(phase, record, made[name]) for name, record in records.items()}
        stages = tuple(_stages(phase, [(records[name], parts[name]) for name in made]))
        size = sum(path.stat().st_size for path in (folder / phase.name).rglob("*") if path.is_file())
        yield PhaseCost(
            name=phase.name,
            step=phase.step.name if phase.step else "",
            rounds=tuple(_rounds(tasks, len(made))),
            keys=keys.get(phase.step.name, Keys()) if phase.step else Keys(),
            stages=stages,
            files=sum(part[-1] for part in parts.values()),
            shards={name: _core_and_gpu(stages, part) for name, part in parts.items()},
            leader=leader,
            peak=max(0, max((task.peak for task in tasks), default=waiting) - waiting),
            disk=size,
            outputs=phase.outputs,
        )


def _by_phase(cut: Sequence[Phase], taken: Sequence[Taken]) -> Iterator[tuple[Phase, list[Taken]]]:
    """Yield the tasks of each phase: those of its corpus step, then its shards."""
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
    """Return the processor's seconds of a shard, parted over its stages as the clock on the wall parts them; behind
    them, those of reading and writing.
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


def _core_and_gpu(stages: Sequence[StageCost], parts: Sequence[float]) -> tuple[float, float]:
    on_gpu = sum(part for stage, part in zip(stages, parts, strict=False) if stage.encoder)
    return sum(parts) - on_gpu, on_gpu
