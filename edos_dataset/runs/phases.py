"""How a pipeline is cut into phases, and what one phase does to one shard."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from edos_dataset.arrays import give_back
from edos_dataset.runs.pipeline import CorpusStep, Output, Pipeline, Stage, count_reasons, count_units, split_rejects
from edos_dataset.runs.shards import ShardRecord, StageCount, read_shard, write_record, write_shard
from edos_dataset.schema.tables import OF_REJECTS, REASON

_NO_REJECTS = pa.table({REASON: pa.array([], pa.string()), "stage": pa.array([], pa.string())})


class Shard(NamedTuple):
    """A file of a run and the SHA-256 of its content."""

    path: Path
    digest: str


@dataclass(frozen=True)
class Phase:
    """Stages that run fused, after the corpus step (if any) whose decision they start with.

    Attributes:
        name: number and name of the last stage; the folder of its shards.
        step: the corpus step that decides over the shards of the phase before.
        stages: the stages, in order.
        outputs: the configs that are published from the phase's shards.
    """

    name: str
    step: CorpusStep | None
    stages: tuple[Stage, ...]
    outputs: tuple[str, ...]


def phases(pipeline: Pipeline) -> list[Phase]:
    """Cut a pipeline into phases.

    Raises:
        ValueError: a config has two outputs, or one before any stage.
    """
    cut: list[Phase] = []
    step: CorpusStep | None = None
    stages: list[Stage] = []

    def close(outputs: tuple[str, ...] = ()) -> None:
        nonlocal step, stages
        last = stages[-1] if stages else step
        if last is not None:
            cut.append(Phase(f"{len(cut) + 1:02d}-{last.name}", step, tuple(stages), outputs))
        elif outputs:
            cut[-1] = Phase(cut[-1].name, cut[-1].step, cut[-1].stages, (*cut[-1].outputs, *outputs))
        step, stages = None, []

    seen: set[str] = set()
    for item in pipeline:
        if isinstance(item, Output):
            if item.config in seen or not (cut or stages or step):
                raise ValueError(
                    f"output {item.config!r} comes {'twice' if item.config in seen else 'before any stage'}"
                )
            seen.add(item.config)
            close((item.config,))
        elif isinstance(item, CorpusStep):
            close()
            step = item
        else:
            stages.append(item)
    close()
    return cut


_AT_FIRST = frozenset({"film", "book", "files"})
"""Columns that a pipeline begins with."""


def check_order(pipeline: Pipeline) -> None:
    """Check, before anything is read, that a stage comes once, and after those that make what it needs.

    After a stage of another package that does not say what it gives, everything may be there.

    Raises:
        ValueError: the order is wrong; the message names the stage, what it needs, and the stage that would make it.
    """
    there: set[str] = set(_AT_FIRST)
    makers = {column: item.name for item in pipeline if not isinstance(item, Output) for column in item.gives or ()}
    seen: set[str] = set()
    knows_all = False
    for number, item in enumerate(pipeline, 1):
        if isinstance(item, Output):
            continue
        if item.name in seen:
            raise ValueError(f"stage {number} of the pipeline, {item.name!r}, comes twice: remove one of them")
        seen.add(item.name)
        if not knows_all and (lacking := [column for column in item.needs if column not in there]):
            maker = makers.get(lacking[0])
            hint = repr(maker) if maker and maker not in seen else "the stage that makes it"
            raise ValueError(
                f"stage {number} of the pipeline, {item.name!r}, needs {lacking[0]!r}, which no stage before it makes: "
                f"put {hint} before it"
            )
        knows_all = knows_all or item.gives is None
        there = (there | set(item.gives or ())) - set(item.ends)


@dataclass(frozen=True)
class ShardTask:
    """All that a worker needs to make one shard."""

    key: str
    source: Path
    target: Path
    phase: Phase
    removals: Path | None
    rejects: Path | None

    @property
    def monitored(self) -> str:
        """The phase, for whoever watches the workers."""
        return self.phase.name


def make_shard(task: ShardTask) -> tuple[Path, ShardRecord]:
    """Make one shard, in a worker: read the input, run the phase's stages, write the output and its record."""
    table = read_shard(task.source)
    counts: list[StageCount] = []
    rejects: list[pa.Table] = []
    notes: list[dict[str, Any]] = []
    steps: list[tuple[Stage | CorpusStep, Callable[[pa.Table], pa.Table]]] = [
        (stage, stage) for stage in task.phase.stages
    ]
    if task.phase.step is not None and task.removals is not None:
        step, removals = task.phase.step, read_shard(task.removals)
        steps.insert(0, (step, lambda table: step.apply(table, removals)))
    for stage, function in steps:
        table, rejected, count = run_stage(stage, function, table)
        counts.append(count)
        if rejected is not None:
            notes += stage.notes(rejected)
            rejects.append(rejected.append_column("stage", pa.array([stage.name] * rejected.num_rows)))
    rejects_digest = ""
    if task.rejects is not None:
        rejects_digest = write_shard(
            task.rejects, pa.concat_tables([_NO_REJECTS, *rejects], promote_options="permissive")
        )
    file_digest = write_shard(task.target, table)
    record = ShardRecord(
        task.key, file_digest, task.target.stat().st_size, table.num_rows, counts, notes, rejects_digest
    )
    write_record(task.target, record)
    give_back()
    return task.target, record


def run_stage(
    stage: Stage | CorpusStep, function: Callable[[pa.Table], pa.Table], table: pa.Table
) -> tuple[pa.Table, pa.Table | None, StageCount]:
    """Run one stage over a table and check that no unit is lost.

    Returns:
        What goes on, what leaves (or None), and the counts.

    Raises:
        RuntimeError: kept and rejected do not add up to what was read: a defect of the stage.
    """
    began = time.perf_counter()
    read = count_units(table, stage.unit)
    output = function(table)
    kept, rejected = split_rejects(output)
    count = StageCount(stage.name, stage.unit, read, count_units(kept, stage.unit))
    if rejected is not None:
        count.rejected = dict(sorted(count_reasons(rejected, stage.unit).items()))
    if isinstance(stage, Stage):
        count.tally = stage.tally(output)
    if count.kept + sum(count.rejected.values()) != read:
        raise RuntimeError(
            f"stage {stage.name!r} lost {stage.unit}: read {read}, kept {count.kept}, rejected {count.rejected}"
        )
    count.seconds = time.perf_counter() - began
    return kept.drop_columns([name for name in OF_REJECTS if name in kept.column_names]), rejected, count
