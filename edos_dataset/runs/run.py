"""Runs a pipeline over a corpus, shard by shard; a run can be killed at any moment and resumes where it stopped.

A pipeline is split into phases: consecutive stages run fused over a shard in memory; a corpus step or an output ends a
phase, whose result is on disk as `.run/<phase>/<shard>.parquet` with a completion record. The record holds a hash of
the stages' code and parameters and of the shard's input, so reuse depends on content, never on a file's existence.

When a run resumes, finished shards are reused, and those in progress (one per worker) are made again. The result has
the same bytes for every engine, number of workers and number of processes. Folders of phases that the pipeline no
longer has are kept in case it has them again.

Memory: `workers` times one shard, plus the stated bound of the corpus steps; in the main process and each launched
process, a path and a digest per shard, and the notes.
"""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from edos_dataset.arrays import release_memory
from edos_dataset.runs.array_jobs import MissingShards, Undecided
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.partitions import SharedStep
from edos_dataset.runs.pipeline import (
    REMOVALS,
    CorpusStep,
    Output,
    Stage,
    Steps,
    count_reasons,
    count_units,
    split_rejects,
)
from edos_dataset.runs.shards import (
    Part,
    ShardRecord,
    StageCount,
    Totals,
    digest,
    digest_if_there,
    first_files,
    read_checked,
    read_record,
    read_shard,
    remove_others,
    write_checked,
    write_record,
    write_shard,
    write_text,
)
from edos_dataset.runs.shuffle import shuffle_folder
from edos_dataset.runs.stores.paths import at_once, remove_tree
from edos_dataset.schema.tables import OF_REJECTS, REASON

INPUT = "00-input"
"""Name of the folder for the shards of the input."""

_NO_REJECTS = pa.table({REASON: pa.array([], pa.string()), "stage": pa.array([], pa.string())})


class Shard(NamedTuple):
    """A file of a run and the SHA-256 of its content."""

    path: Path
    digest: str


@dataclass(frozen=True)
class Phase:
    """Stages that run fused, preceded by at most one corpus step, whose decision is applied first.

    Attributes:
        name: number and name of the last stage; also the name of the folder of its shards.
        step: the corpus step that decides over the shards of the previous phase.
        stages: the stages, in order.
        outputs: the configs that are published from the phase's shards.
    """

    name: str
    step: CorpusStep | None
    stages: tuple[Stage, ...]
    outputs: tuple[str, ...]

    @property
    def title(self) -> str:
        """The name without its number."""
        return self.name[3:]

    @property
    def unit(self) -> str:
        """The unit that the first stage counts."""
        return (self.step or self.stages[0]).unit


def phases(pipeline: Steps) -> list[Phase]:
    """Split a pipeline into phases.

    Raises:
        ValueError: a config has two outputs, or an output precedes all stages.
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


@dataclass(frozen=True)
class ShardTask:
    """Everything that a worker needs to make one shard."""

    key: str
    source: Path
    target: Path
    phase: Phase
    removals: Path | None
    rejects: Path | None

    @property
    def monitored(self) -> str:
        """The phase, for a monitor of the workers."""
        return self.phase.name


def make_shard(task: ShardTask) -> tuple[Path, ShardRecord]:
    """Make one shard, in a worker: read the input, run the phase's stages, write the output and its record."""
    table = read_shard(task.source)
    counts: list[StageCount] = []
    rejects: list[pa.Table] = []
    notes: list[dict[str, Any]] = []
    left_out: list[dict[str, Any]] = []
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
            left_out += [{"stage": stage.name, **file} for file in stage.left_out(rejected)]
            rejects.append(rejected.append_column("stage", pa.array([stage.name] * rejected.num_rows)))
    rejects_digest = ""
    if task.rejects is not None:
        rejects_digest = write_shard(
            task.rejects, pa.concat_tables([_NO_REJECTS, *rejects], promote_options="permissive")
        )
    file_digest = write_shard(task.target, table)
    size, files = task.target.stat().st_size, first_files(left_out)
    record = ShardRecord(task.key, file_digest, size, table.num_rows, counts, notes, rejects_digest, left_out=files)
    write_record(task.target, record)
    release_memory()
    return task.target, record


def run_stage(
    stage: Stage | CorpusStep, function: Callable[[pa.Table], pa.Table], table: pa.Table
) -> tuple[pa.Table, pa.Table | None, StageCount]:
    """Run one stage over a table and check that no unit is lost.

    Returns:
        The kept rows, the rejected rows (or None), and the counts.

    Raises:
        RuntimeError: kept and rejected units do not add up to those read, which is a bug of the stage.
        ValueError: a stage of another package raised any exception.
    """
    began = time.perf_counter()
    read = count_units(table, stage.unit)
    try:
        output = function(table)
    except Exception as error:
        kind = type(stage)
        if kind.__module__.startswith("edos_dataset.") or isinstance(error, ValueError | OSError | MemoryError):
            raise
        where = f"{kind.__module__}:{kind.__qualname__}"
        raise ValueError(f"stage {stage.name!r} ({where}) failed: {type(error).__name__}: {error}") from error
    if table.schema.metadata and not output.schema.metadata:
        # A stage that builds a new table would lose the label names behind the ids (`label_sets.schemas`).
        output = output.replace_schema_metadata(table.schema.metadata)
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


Progress = Callable[[str, int, int, int, str], None]
"""Called with a phase's name, the number of finished shards and of all shards of this process, the number of units that
the first stage read in newly made (not reused) shards, and the unit.
"""


@dataclass
class Run:
    """Runs a pipeline in a folder.

    Args:
        folder: the run's private folder, `.run`.
        engine: makes the shards.
        keep_rejects: write the rejects of every phase beside its shards, with their reasons; otherwise such files of
            earlier runs are removed.
        progress: called at the start of a phase and after each shard.

    Attributes:
        counts: one StageCount per stage that has run, in order.
        notes: what the stages reported about individual rows, such as an entry per quarantined file.
        left_out: the readable files that stages rejected, the first ones of each stage and reason (`first_files`).
        made: number of shards that this process made rather than reused.
        reused: number of shards reused.
        rows: number of rows of the last phase.
    """

    folder: Path
    engine: Engine
    keep_rejects: bool = False
    progress: Progress = lambda *_: None
    counts: list[StageCount] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[dict[str, Any]] = field(default_factory=list)
    made: int = 0
    reused: int = 0
    rows: int = 0

    def execute(self, parts: Iterable[Part] | None, pipeline: Steps) -> dict[str, list[Path]]:
        """Run the pipeline.

        Args:
            parts: the shards of the input, used only by the main process; None if they are already written.
            pipeline: stages, corpus steps and outputs.

        Returns:
            The shard files of each output, by config, in the order of the parts.

        Raises:
            OSError: a file could not be written.
            WorkerDied: a worker was killed.
            MissingShards: shards of other processes are missing.
            Undecided: a corpus step is undecided, and this process must not decide it.
        """
        if parts is not None and self.engine.is_main:
            self.write_inputs(parts)
        self.engine.wait()
        entries = json.loads(self.index.read_text(encoding="utf-8"))
        shards = [Shard(self.index.with_name(f"{name}.parquet"), content) for name, content in entries]
        outputs: dict[str, list[Path]] = {}
        planned = list(phases(pipeline))
        if state := getattr(self.progress, "phases", None):  # of the bars of a terminal
            state([phase.title for phase in planned])
        for phase in planned:
            shards = self._run_phase(phase, shards)
            outputs.update({config: [shard.path for shard in shards] for config in phase.outputs})
        return outputs

    def keep(
        self, name: str, key: str, make: Callable[[], tuple[pa.Table, StageCount, dict[str, Any]]]
    ) -> tuple[pa.Table, ShardRecord]:
        """Return a table that is made only once, and its record, for a step over a whole corpus outside a pipeline.

        Args:
            name: name of the file, such as `steps/01-spread`.
            key: hash of everything that determines the table.
            make: returns the table, its counts, and facts for the record.
        """
        path = self.folder / f"{name}.parquet"
        record = read_record(path)
        if record is None or record.key != key:
            table, count, facts = make()
            file_digest = write_shard(path, table)
            write_record(path, ShardRecord(key, file_digest, path.stat().st_size, table.num_rows, [count], facts=facts))
            record = read_record(path, verify=False)  # in the form that later calls read
            assert record is not None
        return read_shard(path), record

    @property
    def index(self) -> Path:
        """Path of the list of the input's shards, with names and digests."""
        return self.folder / INPUT / "index.json"

    def write_inputs(self, parts: Iterable[Part]) -> None:
        """Write the shards of the input and their list, and remove shards that are no longer listed."""
        folder = self.index.parent

        def write(part: Part) -> tuple[str, str]:
            return part.name, write_shard(folder / f"{part.name}.parquet", part.rows)

        entries = list(at_once(write, parts, folder))
        write_text(self.index, json.dumps(entries))
        remove_others(folder, [name for name, _ in entries])

    def _run_phase(self, phase: Phase, sources: Sequence[Shard]) -> list[Shard]:
        folder = self.folder / phase.name
        removals, seconds = self._decide(phase.step, folder, sources) if phase.step else ([], 0.0)
        code = [item.fingerprint() for item in (phase.step, *phase.stages) if item is not None]
        tasks = [
            self._task(phase, code, folder, source, removals[place] if removals else None)
            for place, source in enumerate(sources)
        ]
        totals = Totals()
        self._make(phase, tasks, totals)
        self.engine.wait()
        self._add_others(phase, tasks, totals)
        if self.engine.is_main:
            remove_others(folder, [task.target.stem for task in tasks], self.keep_rejects)
        totals.finish()
        if phase.step and totals.counts:
            totals.counts[0].seconds += seconds
        self.counts += totals.counts
        self.notes += totals.notes
        self.left_out += totals.left_out
        self.rows = totals.rows
        return [Shard(task.target, totals.digests[task.target]) for task in tasks]

    def _task(self, phase: Phase, code: list[str], folder: Path, source: Shard, removed: Shard | None) -> ShardTask:
        target = folder / source.path.name
        key = hash_json([source.digest, removed and removed.digest, code])
        rejects = _rejects(target) if self.keep_rejects else None
        return ShardTask(key, source.path, target, phase, removed and removed.path, rejects)

    def _make(self, phase: Phase, tasks: Sequence[ShardTask], totals: Totals) -> None:
        """Make the shards of this process that do not exist yet."""
        own = self.engine.share(tasks)
        waiting = []
        for task, record in zip(own, at_once(self._made_before, own, self.folder / phase.name), strict=True):
            if record is None:
                waiting.append(task)
            else:
                totals.add(task.target, record)
        self.reused += len(totals.digests)
        units = 0
        self.progress(phase.title, len(totals.digests), len(own), units, phase.unit)
        for target, record in self.engine.map(make_shard, waiting):
            totals.add(target, record)
            self.made += 1
            units += record.counts[0].read
            self.progress(phase.title, len(totals.digests), len(own), units, phase.unit)

    def _add_others(self, phase: Phase, tasks: Sequence[ShardTask], totals: Totals) -> None:
        # A process has made or verified its own shards; a main process without shards verifies those of others.
        verify, missing = self.engine.is_main and not totals.digests, []
        for place, task in enumerate(tasks):
            if task.target in totals.digests:
                continue
            if (record := self._made_before(task, verify)) is None:
                missing.append(place)
            else:
                totals.add(task.target, record)
        if missing:
            raise MissingShards(phase.title, missing, len(tasks), tasks[missing[0]].target)

    def _made_before(self, task: ShardTask, verify: bool = True) -> ShardRecord | None:
        """Return the record of a shard if it is complete and up to date, with its rejects if they are wanted."""
        record = read_record(task.target, verify)
        if record is None or record.key != task.key:
            return None
        rejects = task.rejects if verify else None
        if rejects and not (record.rejects and rejects.exists() and digest(rejects) == record.rejects):
            return None
        return record

    def _decide(self, step: CorpusStep, folder: Path, sources: Sequence[Shard]) -> tuple[list[Shard], float]:
        """Let a corpus step decide, unless it has already decided for the same shards.

        Returns:
            The decision, one file per shard, and the seconds that it took when it was made.
        """
        paths = [folder / f"{source.path.stem}.removals.parquet" for source in sources]
        marker = folder / "decided.json"
        key = hash_json([step.fingerprint(), [source.digest for source in sources]])
        decided = read_checked(marker)
        digests = list(at_once(digest_if_there, paths, folder))
        self.engine.wait()  # no process may write before all have read
        if (decided.get("key"), decided.get("files")) != (key, digests):
            began = time.perf_counter()
            if self.engine.corpus is None:
                raise Undecided(step.name)
            shards = [source.path for source in sources]
            work = shuffle_folder(folder / "decision", self.engine)
            if isinstance(step, SharedStep):
                step.decide_together(shards, paths, work, self.engine.corpus)
            elif self.engine.is_main:
                for path, table in zip(paths, step.decide(shards), strict=True):
                    write_shard(path, table.cast(REMOVALS))
            if self.engine.is_main:
                digests = list(at_once(digest, paths, folder))
                decided = {"key": key, "files": digests, "seconds": time.perf_counter() - began}
                write_checked(marker, decided)
                remove_tree(work)
        self.engine.wait()
        decided = read_checked(marker)
        return [Shard(*pair) for pair in zip(paths, decided["files"], strict=True)], decided["seconds"]


def _rejects(target: Path) -> Path:
    return target.with_suffix(".rejects.parquet")
