"""A run: a pipeline over a corpus, shard by shard, that can be killed at any moment and goes on where it was.

A pipeline is cut into phases: consecutive stages run fused over a shard in memory; a corpus step or an output ends a phase, and its result lies on disk as
`.run/<phase>/<shard>.parquet` with a completion record. A record holds the hash of the stages' code and parameters and of the content that the shard was
made from, so what is reused is decided by content, never by a file's existence.

What is kept when a run stops: finished shards are reused; the shards in flight (one a worker) are made again; everything ends in the same bytes.
Memory: `workers` times one shard (`shard_sentences`, or the largest film), plus the stated bound of the corpus steps.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.engines import LocalEngine
from edos_dataset.pipeline import (
    REMOVALS,
    CorpusStep,
    Output,
    Pipeline,
    Stage,
    count_reasons,
    count_units,
    hash_json,
    split_rejects,
)
from edos_dataset.schema import DETAIL
from edos_dataset.shards import ShardRecord, StageCount, digest, read_record, write_record, write_shard, write_text


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
    """Cut a pipeline into phases."""
    cut: list[Phase] = []
    step: CorpusStep | None = None
    stages: list[Stage] = []

    def close(outputs: tuple[str, ...] = ()) -> None:
        nonlocal step, stages
        last = stages[-1] if stages else step
        if last is not None:
            cut.append(Phase(f"{len(cut) + 1:02d}-{last.name}", step, tuple(stages), outputs))
        elif outputs and cut:
            cut[-1] = Phase(cut[-1].name, cut[-1].step, cut[-1].stages, (*cut[-1].outputs, *outputs))
        step, stages = None, []

    for item in pipeline:
        if isinstance(item, Output):
            close((item.config,))
        elif isinstance(item, CorpusStep):
            close()
            step = item
        else:
            stages.append(item)
    close()
    return cut


class Shard(NamedTuple):
    """A file of a run and the SHA-256 of its content."""

    path: Path
    digest: str


@dataclass(frozen=True)
class ShardTask:
    """All that a worker needs to make one shard."""

    key: str
    source: Path
    target: Path
    phase: Phase
    removals: Path | None
    rejects: Path | None


Progress = Callable[[str, int, int, int], None]
"""Called with a phase's name, its shards done and in all, and the units read so far by its first stage."""


@dataclass
class Run:
    """Carries a pipeline out in a folder.

    Args:
        folder: the run's private folder, `.run`.
        engine: where shards are made.
        keep_rejects: write what every phase drops beside its shards, with the reason.
        progress: called after each shard.

    Attributes:
        counts: one StageCount per stage that has run, in order.
        notes: one entry per quarantined file.
        made: shards made, as opposed to reused.
    """

    folder: Path
    engine: LocalEngine
    keep_rejects: bool = False
    progress: Progress = lambda *_: None
    counts: list[StageCount] = field(default_factory=list)
    notes: list[dict[str, str]] = field(default_factory=list)
    made: int = 0

    def execute(self, films: Sequence[pa.Table], pipeline: Pipeline) -> dict[str, list[Path]]:
        """Run the pipeline.

        Args:
            films: the shards of the input, tables of schema.FILMS.
            pipeline: stages, corpus steps and outputs.

        Returns:
            The shard files of each output, by config.

        Raises:
            OSError: a file could not be written.
            WorkerDied: a worker was killed.
        """
        shards = self._write_inputs(films)
        outputs: dict[str, list[Path]] = {}
        for phase in phases(pipeline):
            shards = self._run_phase(phase, shards)
            outputs.update({config: [shard.path for shard in shards] for config in phase.outputs})
        return outputs

    def _write_inputs(self, films: Sequence[pa.Table]) -> list[Shard]:
        folder = self.folder / "00-films"
        paths = [folder / f"{index:05d}.parquet" for index in range(len(films))]
        shards = [Shard(path, write_shard(path, table)) for path, table in zip(paths, films, strict=True)]
        _remove_others(folder, paths)
        return shards

    def _run_phase(self, phase: Phase, sources: list[Shard]) -> list[Shard]:
        folder = self.folder / phase.name
        removals = self._decide(phase, folder, sources)
        stages_hash = [stage.fingerprint() for stage in phase.stages]
        targets = [folder / source.path.name for source in sources]
        records: dict[Path, ShardRecord] = {}
        tasks = []
        for source, target, removed in zip(sources, targets, removals, strict=True):
            step_hash = [phase.step.fingerprint(), removed.digest] if phase.step and removed else []
            key = hash_json([source.digest, step_hash, stages_hash, self.keep_rejects])
            record = read_record(target)
            if record is not None and record.key == key:
                records[target] = record
            else:
                rejects = target.with_suffix(".rejects.parquet") if self.keep_rejects else None
                tasks.append(ShardTask(key, source.path, target, phase, removed and removed.path, rejects))
        self._report(phase, records, len(targets))
        for target, record in self.engine.map(make_shard, tasks):
            records[target] = record
            self.made += 1
            self._report(phase, records, len(targets))
        _remove_others(folder, targets)
        self._add_counts([records[target] for target in targets])
        return [Shard(target, records[target].digest) for target in targets]

    def _decide(self, phase: Phase, folder: Path, sources: list[Shard]) -> Sequence[Shard | None]:
        """Let the corpus step decide, unless it has over the same shards, and write its decision, one file a shard."""
        if phase.step is None:
            return [None] * len(sources)
        paths = [folder / f"{source.path.stem}.removals.parquet" for source in sources]
        marker = folder / "decided.json"
        key = hash_json([phase.step.fingerprint(), [source.digest for source in sources]])
        digests = [digest(path) if path.exists() else "" for path in paths]
        if not marker.exists() or json.loads(marker.read_text(encoding="utf-8")) != {"key": key, "files": digests}:
            decisions = phase.step.decide([source.path for source in sources])
            digests = [write_shard(path, table.cast(REMOVALS)) for path, table in zip(paths, decisions, strict=True)]
            write_text(marker, json.dumps({"key": key, "files": digests}))
        return [Shard(path, file_digest) for path, file_digest in zip(paths, digests, strict=True)]

    def _report(self, phase: Phase, records: dict[Path, ShardRecord], total: int) -> None:
        self.progress(phase.name[3:], len(records), total, sum(record.counts[0].read for record in records.values() if record.counts))

    def _add_counts(self, records: Sequence[ShardRecord]) -> None:
        first = len(self.counts)
        for record in records:
            self.notes += record.notes
            for index, count in enumerate(record.counts, first):
                if index == len(self.counts):
                    self.counts.append(StageCount(count.stage, count.unit))
                self.counts[index].add(count)


def _remove_others(folder: Path, keep: Sequence[Path]) -> None:
    """Remove the shards of an earlier, longer corpus and the temporary files of killed workers."""
    stems = {path.name.partition(".")[0] for path in keep}
    for path in folder.glob("*.parquet"):
        if path.name.partition(".")[0] not in stems:
            path.unlink()
            path.with_suffix(".json").unlink(missing_ok=True)
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)


def make_shard(task: ShardTask) -> tuple[Path, ShardRecord]:
    """Make one shard, in a worker: read the input, run the phase's stages, write the output and its record."""
    table = pq.read_table(task.source)
    counts: list[StageCount] = []
    rejects: list[pa.Table] = []
    notes: list[dict[str, str]] = []
    steps: list[tuple[Stage | CorpusStep, Callable[[pa.Table], pa.Table]]] = [(stage, stage) for stage in task.phase.stages]
    if task.phase.step is not None and task.removals is not None:
        step, removals = task.phase.step, pq.read_table(task.removals)
        steps.insert(0, (step, lambda table: step.apply(table, removals)))
    for stage, function in steps:
        table, rejected, count = run_stage(stage, function, table)
        counts.append(count)
        if rejected is not None:
            notes += _notes(rejected)
            rejects.append(rejected.append_column("stage", pa.array([stage.name] * rejected.num_rows)))
    if task.rejects is not None:
        write_shard(task.rejects, pa.concat_tables(rejects, promote_options="permissive") if rejects else pa.table({}))
    file_digest = write_shard(task.target, table)
    record = ShardRecord(task.key, file_digest, task.target.stat().st_size, table.num_rows, counts, notes)
    write_record(task.target, record)
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
        raise RuntimeError(f"stage {stage.name!r} lost {stage.unit}: read {read}, kept {count.kept}, rejected {count.rejected}")
    count.seconds = time.perf_counter() - began
    return kept.drop_columns([DETAIL]) if DETAIL in kept.column_names else kept, rejected, count


def _notes(rejected: pa.Table) -> list[dict[str, str]]:
    """Return path, reason and message of the quarantined files among the rejects."""
    if DETAIL not in rejected.column_names:
        return []
    rows: list[dict[str, Any]] = rejected.select(["source", "reason", DETAIL]).to_pylist()
    return [{"path": row["source"]["path"], "reason": row["reason"], "detail": row[DETAIL]} for row in rows if row[DETAIL]]


def pack(films: pa.Table, weights: np.ndarray, shard_sentences: int) -> list[pa.Table]:
    """Part the films into shards of about `shard_sentences` sentences, or smaller ones while there are fewer than eight.

    Args:
        films: schema.FILMS, sorted by film.
        weights: [films] estimated sentences of each.
        shard_sentences: sentences a shard, from 1.
    """
    target = max(1, min(shard_sentences, int(weights.sum()) // 8))
    shard = np.cumsum(weights) // target if len(weights) else np.zeros(0)
    starts = np.flatnonzero(np.diff(shard, prepend=-1))
    return [films.slice(start, stop - start) for start, stop in zip(starts, [*starts[1:], films.num_rows], strict=True)]
