"""The work of a corpus, extrapolated from a sample: every cost is linear in shards and sentences."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from edos_dataset.planning.sample import Observed, PhaseCost, Sample, StageCost
from edos_dataset.publishing.layout import ROWS_A_FILE
from edos_dataset.runs.shuffle import partitions_for, shards_a_group
from edos_dataset.schema import SPLITS

FILES, LEADER = "shards", "leader"
"""Names used as stages: reading and writing the shards of a phase, and what the main process does meanwhile."""

How = Literal["shards", "partitions", "files", "leader"]
"""How work is divided: a task per shard or group of shards, per partition of a corpus step, or per published file, or
the main process alone.
"""

_OWN = frozenset({"begin", "finish", "name"})
"""Rounds of a corpus step whose tasks open few files of the shuffle, not one from each task of the previous round."""


_TRUSTED, _MOST_A_SENTENCE = 1_000, 50 << 10
"""How many more sentences the larger shards of a sample must have for the growth of memory between them to count, and
otherwise the maximum bytes per sentence assumed: the memory held by the allocator varies by tens of MiB. With labels,
shards of 20,000 sentences have taken 1 GB more than an idle worker.
"""


@dataclass(frozen=True)
class Corpus:
    """The corpus of a plan.

    Attributes:
        files: number of files to read.
        films: number of their films; one file of each is kept.
        sentences: number of sentences in all files.
        shards: number of shards that the films are cut into.
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
    """A cost per shard and per sentence."""

    shard: float
    sentence: float

    def at(self, shards: float, sentences: float) -> float:
        """Return the cost of a number of shards and sentences."""
        return self.shard * shards + self.sentence * sentences


@dataclass(frozen=True)
class Piece:
    """The work of a stage, of a round of a corpus step, or of the main process.

    Attributes:
        stage: its name.
        unit: what it counts; "" if it counts nothing.
        units: number of units it reads.
        how: how the work is divided.
        tasks: number of tasks.
        core: seconds on one core of the measuring machine.
        gpu: the same for the part that would run on a GPU.
        fused: whether it is part of making a shard, together with the other such pieces of its phase.
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
        name: name of its folder.
        pieces: its pieces, in order.
        sentences: sentences whose dialogues remain; all of them before a step with a fixed maximum.
        memory: memory per worker, in bytes.
        disk: bytes it leaves on disk.
    """

    name: str
    pieces: tuple[Piece, ...]
    sentences: float
    memory: int
    disk: int


def corpus_of(sample: Sample, sentences: int, shard: int, files: int | None = None, films: int | None = None) -> Corpus:
    """Return a corpus.

    Args:
        sample: the sample that represents it.
        sentences: number of sentences in all its files.
        shard: maximum number of sentences per shard.
        files: number of files; by default in proportion to the sentences, as in the sample.
        films: number of films; by default in proportion to the files, as in the sample.
    """
    in_files = sample.many.total * sample.files / sample.many.documents
    files = files or max(1, round(sentences * sample.files / in_files))
    films = min(films or max(1, round(files * sample.many.documents / sample.files)), files)
    # as `cut_by_hash` does: halved until none is too large and there are at least eight
    halvings = max(3, int(np.ceil(np.log2(max(sentences / shard, 1)))))
    return Corpus(files, films, sentences, min(films, 1 << halvings))


def line(few: Observed, many: Observed, of: Callable[[Observed], float]) -> Line:
    """Return a cost as a line through two runs; if the two cannot be separated, all of it is per sentence."""
    (one, x, cost), (other, y, total) = ((len(run.sentences), run.total, of(run)) for run in (few, many))
    ground = one * y - other * x
    a = (cost * y - total * x) / ground if ground else 0.0
    if a <= 0:
        return Line(0.0, total / y)
    b = (total - a * other) / y
    return Line(a, b) if b >= 0 else Line(total / other, 0.0)


def work_of(sample: Sample, corpus: Corpus, shard: int) -> list[PhaseWork]:
    """Return the work of each phase on a corpus; `shard` is the maximum number of sentences per shard.

    A stage is assumed to keep the same fraction of the corpus as of the sample, unless it keeps a fixed maximum.
    """
    done: list[PhaseWork] = []
    sentences = corpus.kept
    scale = corpus.kept / sample.many.total
    # files read per film, relative to the sample
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
    """Yield the work of writing each config, and its bytes."""
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
    """Return the memory of a phase's shard in bytes, beyond that of an idle worker, extrapolated from the growth
    between the largest small shard of the sample and its largest one.

    Args:
        sample: the measurements.
        place: index of the phase.
        shard: sentences in the largest shard of the corpus.
    """
    (one, least), (other, most) = (
        (max(run.sentences.values()), run.phases[place].peak) for run in (sample.few, sample.many)
    )
    slope = max(0.0, (most - least) / (other - one)) if other > one else most / other
    if other - one < _TRUSTED:
        slope = min(slope, _MOST_A_SENTENCE)
    return round(max(least, most) + slope * max(0, shard - other))


def _units(stage: StageCost, sample: Sample, corpus: Corpus, sentences: float) -> int:
    """Return the units that a stage reads when a number of sentences is left."""
    if stage.unit == "files":
        return round(corpus.films * stage.read / sample.many.documents)
    return round(stage.read * sentences / sample.many.total)


def _held(phase: PhaseCost, corpus: Corpus, scale: float) -> int:
    step = phase.stages[0]
    return round((corpus.films if step.unit == "files" else step.read * scale) * phase.keys.a_unit)


def _partition(phase: PhaseCost, held: int) -> int:
    keys = phase.keys
    if not keys.a_unit:
        return 0
    return min(keys.memory, -(-held // partitions_for(held, keys.bytes_a_key, keys.memory)) * keys.bytes_a_key)


def _round_seconds(number: int, phase: PhaseCost) -> float:
    return phase.rounds[number].seconds if number < len(phase.rounds) else 0.0


def _stage_seconds(number: int, phase: PhaseCost) -> float:
    return phase.stages[number].seconds


def _rounds(phase: PhaseCost, shards: int, held: int) -> Iterator[tuple[How, int, int]]:
    """Yield, for each round of a corpus step, how work is divided, its tasks, and the files each task opens: one from
    every task of the previous round.
    """
    partitions = partitions_for(held, phase.keys.bytes_a_key, phase.keys.memory)
    groups, tasks = -(-shards // shards_a_group(shards)), 0
    for number, one in enumerate(phase.rounds):
        opened = tasks if number and one.name not in _OWN else 0
        tasks = groups if one.by_shard else partitions
        yield ("shards" if one.by_shard else "partitions"), tasks, opened


def _pieces(sample: Sample, place: int, corpus: Corpus, sentences: float, again: float) -> Iterator[Piece]:
    """Yield the pieces of the phase at an index."""
    phase, shards = sample.many.phases[place], corpus.shards
    scale = sentences / sample.many.total
    before = corpus.kept if phase.stages[0].most is not None else sentences

    def cost(of: Callable[[PhaseCost], float], left: float = sentences) -> float:
        return line(sample.few, sample.many, lambda run: of(run.phases[place])).at(shards, left)

    step = phase.stages[0]
    yield Piece(phase.step or LEADER, "", 0, "leader", 1, cost(lambda one: one.leader, before))
    held, units = _held(phase, corpus, scale), _units(step, sample, corpus, before)
    for number, (how, tasks, opened) in enumerate(_rounds(phase, shards, held)):
        took = cost(partial(_round_seconds, number)) + opened * tasks * sample.opening
        yield Piece(step.stage, step.unit, units, how, tasks, took)
    for number, stage in enumerate(phase.stages):
        of_stage = partial(_stage_seconds, number)
        first = stage.unit == "files" and not place and not number
        more = again if first else 1.0
        there = before if stage.most is not None else sentences
        read = corpus.files if first else _units(stage, sample, corpus, there)
        took = cost(of_stage, sentences * more)
        core, gpu = (0.0, took) if stage.encoder else (took, 0.0)
        yield Piece(stage.stage, stage.unit, read, "shards", shards, core, gpu, fused=True)
    yield Piece(FILES, "", 0, "shards", shards, cost(lambda one: one.files), fused=True)
