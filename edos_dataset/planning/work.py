"""What a corpus takes, reckoned from what a sample took: every cost is so much a shard and so much a sentence."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from edos_dataset.planning.sample import Observed, PhaseCost, Sample, StageCost
from edos_dataset.publishing.layout import ROWS_A_FILE
from edos_dataset.runs.passage import partitions_for, shards_a_group
from edos_dataset.schema import SPLITS

FILES, LEADER = "shards", "leader"
"""Stand for stages: reading and writing the shards of a phase, and what the process that leads does meanwhile."""

How = Literal["shards", "partitions", "files", "leader"]
"""Who works: a task a shard or a group of them, a task a partition of a corpus step, a task a published file, or the
process that leads, alone.
"""

_OWN = frozenset({"begin", "finish", "name"})
"""Rounds of a corpus step whose tasks open few files of passage, not one of every task of the round before."""


@dataclass(frozen=True)
class Corpus:
    """What a plan is for.

    Attributes:
        files: to read.
        films: that they are of, each of which keeps one file.
        sentences: in all files.
        shards: that the films are cut into.
    """

    files: int
    films: int
    sentences: int
    shards: int

    @property
    def kept(self) -> float:
        """Sentences in the best file of each film."""
        return self.sentences * self.films / self.files


class Line(NamedTuple):
    """A cost: so much a shard and so much a sentence."""

    shard: float
    sentence: float

    def at(self, shards: float, sentences: float) -> float:
        """Return the cost of so many."""
        return self.shard * shards + self.sentence * sentences


@dataclass(frozen=True)
class Piece:
    """What a stage takes, or a round of a corpus step, or the leader.

    Attributes:
        stage: its name.
        unit: what it counts; "" where nothing is counted.
        units: that it reads.
        how: who works.
        tasks: into which the work is parted.
        core: seconds of a core of the machine that measured.
        gpu: likewise, that a GPU would do.
        fused: whether it is part of making a shard, as the other such pieces of its phase.
    """

    stage: str
    unit: str
    units: int
    how: How
    tasks: int
    core: float
    gpu: float = 0.0
    fused: bool = False


@dataclass(frozen=True)
class PhaseWork:
    """A phase at the size of the corpus.

    Attributes:
        name: of its folder.
        pieces: in order.
        sentences: those whose dialogues are still there; all, before a step that keeps so many and no more.
        memory: of a worker, in bytes.
        disk: bytes that stay of it.
    """

    name: str
    pieces: tuple[Piece, ...]
    sentences: float
    memory: int
    disk: int


def corpus_of(sample: Sample, sentences: int, shard: int, files: int | None = None, films: int | None = None) -> Corpus:
    """Return a corpus.

    Args:
        sample: that stands for it.
        sentences: in all its files.
        shard: sentences a shard at most.
        files: how many there are; by default as many a sentence as in the sample.
        films: that they are of; by default as many a file as in the sample.
    """
    in_files = sample.many.total * sample.files / sample.many.documents
    files = files or max(1, round(sentences * sample.files / in_files))
    films = min(films or max(1, round(files * sample.many.documents / sample.files)), files)
    # as `cut_by_hash` halves them: until none is larger, and there are eight
    halvings = max(3, int(np.ceil(np.log2(max(sentences / shard, 1)))))
    return Corpus(files, films, sentences, min(films, 1 << halvings))


def line(few: Observed, many: Observed, of: Callable[[Observed], float]) -> Line:
    """Return a cost as a line through two runs; what cannot be told apart is the sentences'."""
    (one, x, cost), (other, y, total) = ((len(run.sentences), run.total, of(run)) for run in (few, many))
    ground = one * y - other * x
    a = (cost * y - total * x) / ground if ground else 0.0
    if a <= 0:
        return Line(0.0, total / y)
    b = (total - a * other) / y
    return Line(a, b) if b >= 0 else Line(total / other, 0.0)


def work_of(sample: Sample, corpus: Corpus, shard: int) -> list[PhaseWork]:
    """Return the work of each phase on a corpus; `shard` is the sentences of a shard at most.

    What a stage keeps of a sample it is taken to keep of the corpus, but for a step that keeps so many and no more.
    """
    done: list[PhaseWork] = []
    sentences = corpus.kept
    scale = corpus.kept / sample.many.total
    # files that are read and not kept, beside those of the sample
    again = (corpus.files / corpus.films) / (sample.files / sample.many.documents)
    for place, phase in enumerate(sample.many.phases):
        step = phase.stages[0]
        if step.most is not None and step.kept:
            sentences = min(sentences, step.most / step.kept * sample.many.total)
            scale = sentences / sample.many.total
        pieces = tuple(_pieces(sample, place, corpus, sentences, again if not place else 1.0))
        partition = _partition(phase, _held(phase, corpus, scale))
        memory = sample.memory + max(_peak(sample, place, min(shard, 2 * corpus.kept / corpus.shards)), partition)
        done.append(PhaseWork(phase.name, pieces, sentences, memory, round(phase.disk * scale)))
    return done


def published(sample: Sample, corpus: Corpus, phases: list[PhaseWork]) -> Iterator[tuple[Piece, int]]:
    """Yield what writing each config takes, and its bytes."""
    at = {
        config: work.sentences for cost, work in zip(sample.many.phases, phases, strict=True) for config in cost.outputs
    }
    for place, output in enumerate(sample.many.outputs):
        left = at[output.config]

        def seconds(run: Observed, place: int = place) -> float:
            return run.outputs[place].seconds

        cost = line(sample.few, sample.many, seconds).at(corpus.shards, left)
        size = round(output.disk * left / sample.many.total)
        files = -(-round(output.dialogues * left / sample.many.total) // ROWS_A_FILE)
        yield Piece(f"publish {output.config}", "", 0, "files", files + len(SPLITS) - 1, cost), size


def _peak(sample: Sample, place: int, shard: float) -> int:
    """Return the memory of a shard of a phase beyond that of a worker that waits, in bytes: as it grew from the largest
    small shard of the sample to its largest one.

    Args:
        sample: what was measured.
        place: of the phase.
        shard: sentences of the largest shard of the corpus.
    """
    (one, least), (other, most) = (
        (max(run.sentences.values()), run.phases[place].peak) for run in (sample.few, sample.many)
    )
    slope = max(0.0, (most - least) / (other - one)) if other > one else most / other
    return round(max(least, most) + slope * max(0, shard - other))


def _units(stage: StageCost, sample: Sample, corpus: Corpus, sentences: float) -> int:
    """Return the units that a stage reads where so many sentences are left."""
    if stage.unit == "files":
        return round(corpus.films * stage.read / sample.many.documents)
    return round(stage.read * sentences / sample.many.total)


def _held(phase: PhaseCost, corpus: Corpus, scale: float) -> int:
    """Return the keys of a phase's corpus step."""
    step = phase.stages[0]
    return round((corpus.films if step.unit == "files" else step.read * scale) * phase.keys.a_unit)


def _partition(phase: PhaseCost, held: int) -> int:
    """Return the memory of a partition of a phase's corpus step, in bytes."""
    keys = phase.keys
    if not keys.a_unit:
        return 0
    return min(keys.memory, -(-held // partitions_for(held, keys.bytes_a_key, keys.memory)) * keys.bytes_a_key)


def _pieces(sample: Sample, place: int, corpus: Corpus, sentences: float, again: float) -> Iterator[Piece]:
    """Yield the pieces of a phase, by its place."""
    phase, shards = sample.many.phases[place], corpus.shards
    scale = sentences / sample.many.total
    before = corpus.kept if phase.stages[0].most is not None else sentences

    def cost(of: Callable[[PhaseCost], float], left: float = sentences) -> float:
        return line(sample.few, sample.many, lambda run: of(run.phases[place])).at(shards, left)

    step = phase.stages[0]
    yield Piece(phase.step or LEADER, "", 0, "leader", 1, cost(lambda one: one.leader, before))
    held = _held(phase, corpus, scale)
    partitions = partitions_for(held, phase.keys.bytes_a_key, phase.keys.memory)
    units = _units(step, sample, corpus, before)
    groups, tasks = -(-shards // shards_a_group(shards)), 0
    for number, one in enumerate(phase.rounds):

        def seconds(cost: PhaseCost, number: int = number) -> float:
            return cost.rounds[number].seconds if number < len(cost.rounds) else 0.0

        # a task opens the file of every task of the round before
        opened = tasks if number and one.name not in _OWN else 0
        tasks = groups if one.by_shard else partitions
        how: How = "shards" if one.by_shard else "partitions"
        yield Piece(step.stage, step.unit, units, how, tasks, cost(seconds) + opened * tasks * sample.opening)
    for number, stage in enumerate(phase.stages):

        def of_stage(cost: PhaseCost, number: int = number) -> float:
            return cost.stages[number].seconds

        first = stage.unit == "files" and not place and not number
        more = again if first else 1.0
        there = before if stage.most is not None else sentences
        read = corpus.files if first else _units(stage, sample, corpus, there)
        took = cost(of_stage, sentences * more)
        core, gpu = (0.0, took) if stage.encoder else (took, 0.0)
        yield Piece(stage.stage, stage.unit, read, "shards", shards, core, gpu, fused=True)
    yield Piece(FILES, "", 0, "shards", shards, cost(lambda one: one.files), fused=True)
