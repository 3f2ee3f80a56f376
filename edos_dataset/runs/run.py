"""A run: a pipeline over a corpus, shard by shard, that can be killed at any moment and goes on where it was.

A pipeline is cut into phases: consecutive stages run fused over a shard in memory; a corpus step or an output ends a
phase, and its result lies on disk as `.run/<phase>/<shard>.parquet` with a completion record. A record holds the hash
of the stages' code and parameters and of the content that the shard was made from, so what is reused is decided by
content, never by a file's existence.

What is kept when a run stops: finished shards are reused; the shards in flight (one a worker) are made again;
everything ends in the same bytes. Folders of phases that the pipeline no longer has stay, for when it has them again.
Memory: `workers` times one shard (`shard_sentences` and one film more), plus the stated bound of the corpus steps; in
the parent a path and a digest a shard, and an entry a quarantined file.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.phases import Phase, ShardTask, make_shard, phases
from edos_dataset.runs.pipeline import REMOVALS, CorpusStep, Pipeline, hash_json
from edos_dataset.runs.shards import ShardRecord, StageCount, digest, read_record, write_shard, write_text


class Shard(NamedTuple):
    """A file of a run and the SHA-256 of its content."""

    path: Path
    digest: str


Progress = Callable[[str, int, int, int], None]
"""Called with a phase's name, its shards done and in all, and the units that the first stage read in the shards made
now, not those reused.
"""


@dataclass
class _Totals:
    """A phase so far: its shards' digests, and their records added up."""

    digests: dict[Path, str] = field(default_factory=dict)
    counts: list[StageCount] = field(default_factory=list)
    notes: list[dict[str, str]] = field(default_factory=list)
    read_now: int = 0

    def add(self, target: Path, record: ShardRecord) -> None:
        """Add a shard. Shards come in any order; the totals, once `finish` has sorted them, don't depend on it."""
        self.digests[target] = record.digest
        self.notes += record.notes
        for index, count in enumerate(record.counts):
            if index == len(self.counts):
                self.counts.append(StageCount(count.stage, count.unit))
            self.counts[index].add(count)

    def finish(self) -> None:
        """Sort what was added."""
        self.notes.sort(key=lambda note: sorted(note.items()))
        for count in self.counts:
            count.rejected = dict(sorted(count.rejected.items()))
            count.tally = dict(sorted(count.tally.items()))


@dataclass
class Run:
    """Carries a pipeline out in a folder.

    Args:
        folder: the run's private folder, `.run`.
        engine: where shards are made.
        keep_rejects: write what every phase drops beside its shards, with the reason; otherwise such files of earlier
            runs go.
        progress: called at the start of a phase and after each shard.

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

    def _run_phase(self, phase: Phase, sources: Sequence[Shard]) -> list[Shard]:
        folder = self.folder / phase.name
        removals, seconds = _decide(phase.step, folder, sources) if phase.step else ([None] * len(sources), 0.0)
        code = [item.fingerprint() for item in (phase.step, *phase.stages) if item is not None]
        targets = [folder / source.path.name for source in sources]
        totals = _Totals()
        tasks = []
        for source, target, removed in zip(sources, targets, removals, strict=True):
            key = hash_json([source.digest, removed and removed.digest, code])
            record = self._made_before(target, key)
            if record is None:
                tasks.append(
                    ShardTask(
                        key,
                        source.path,
                        target,
                        phase,
                        removed and removed.path,
                        _rejects(target) if self.keep_rejects else None,
                    )
                )
            else:
                totals.add(target, record)
        self.progress(phase.name[3:], len(totals.digests), len(targets), 0)
        for target, record in self.engine.map(make_shard, tasks):
            totals.add(target, record)
            self.made += 1
            totals.read_now += record.counts[0].read
            self.progress(phase.name[3:], len(totals.digests), len(targets), totals.read_now)
        _remove_others(folder, targets, self.keep_rejects)
        totals.finish()
        if phase.step and totals.counts:
            totals.counts[0].seconds += seconds
        self.counts += totals.counts
        self.notes += totals.notes
        return [Shard(target, totals.digests[target]) for target in targets]

    def _made_before(self, target: Path, key: str) -> ShardRecord | None:
        """Return the record of a shard that is the one wanted, whole, and has its rejects, if these are wanted."""
        record = read_record(target)
        if record is None or record.key != key:
            return None
        rejects = _rejects(target)
        if self.keep_rejects and not (record.rejects and rejects.exists() and digest(rejects) == record.rejects):
            return None
        return record


def _decide(step: CorpusStep, folder: Path, sources: Sequence[Shard]) -> tuple[list[Shard], float]:
    """Let a corpus step decide, unless it has over the same shards, and write its decision, one file a shard.

    Returns:
        The files of removals, and the seconds that the decision took when it was made.
    """
    paths = [folder / f"{source.path.stem}.removals.parquet" for source in sources]
    marker = folder / "decided.json"
    key = hash_json([step.fingerprint(), [source.digest for source in sources]])
    digests = [digest(path) if path.exists() else "" for path in paths]
    decided = _read_json(marker)
    if (decided.get("key"), decided.get("files")) != (key, digests):
        began = time.perf_counter()
        decisions = step.decide([source.path for source in sources])
        digests = [write_shard(path, table.cast(REMOVALS)) for path, table in zip(paths, decisions, strict=True)]
        decided = {"key": key, "files": digests, "seconds": time.perf_counter() - began}
        write_text(marker, json.dumps(decided))
    return [Shard(path, file_digest) for path, file_digest in zip(paths, digests, strict=True)], decided["seconds"]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):  # absent or damaged
        return {}


def _rejects(target: Path) -> Path:
    return target.with_suffix(".rejects.parquet")


def _remove_others(folder: Path, keep: Sequence[Path], keep_rejects: bool = False) -> None:
    """Remove what earlier runs left: shards of a longer corpus, and rejects that are no longer wanted."""
    stems = {path.stem for path in keep}
    for path in folder.iterdir():
        stem, _, suffix = path.name.partition(".")
        stale = stem.isdigit() and stem not in stems
        unwanted = suffix == "rejects.parquet" and not keep_rejects
        if stale or unwanted:
            path.unlink()


def pack(films: pa.Table, weights: np.ndarray, shard_sentences: int) -> list[pa.Table]:
    """Part the films into shards of about `shard_sentences` sentences, or smaller ones while there are fewer than
    eight.

    A shard is never larger than that and one film more. No films give one shard without rows, so that every stage still
    counts.

    Args:
        films: schema.FILMS, sorted by film.
        weights: [films] estimated sentences of each, more than 0.
        shard_sentences: sentences a shard, from 1.
    """
    if not films.num_rows:
        return [films]
    target = max(1, min(shard_sentences, int(weights.sum()) // 8))
    shard = np.cumsum(weights) // target
    starts = np.flatnonzero(np.diff(shard, prepend=-1))
    return [films.slice(start, stop - start) for start, stop in zip(starts, [*starts[1:], films.num_rows], strict=True)]
