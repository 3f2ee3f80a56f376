"""A run: a pipeline over a corpus, shard by shard, that can be killed at any moment and goes on where it was.

A pipeline is cut into phases: consecutive stages run fused over a shard in memory; a corpus step or an output ends a
phase, and its result lies on disk as `.run/<phase>/<shard>.parquet` with a completion record. A record holds the hash
of the stages' code and parameters and of the content that the shard was made from, so what is reused is decided by
content, never by a file's existence.

What is kept when a run stops: finished shards are reused; the shards in flight (one a worker) are made again;
everything ends in the same bytes, whatever the engine, its workers and the number of processes. Folders of phases that
the pipeline no longer has stay, for when it has them again.
Memory: `workers` times one shard, plus the stated bound of the corpus steps; in each process that leads or was launched
a path and a digest a shard, and an entry a note.
"""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from edos_dataset.runs.cutting import Part
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.partitions import SharedStep
from edos_dataset.runs.passage import passage_folder
from edos_dataset.runs.phases import Phase, Shard, ShardTask, make_shard, phases
from edos_dataset.runs.pipeline import REMOVALS, CorpusStep, Pipeline
from edos_dataset.runs.shards import (
    ShardRecord,
    StageCount,
    digest,
    digest_if_there,
    read_checked,
    read_record,
    read_shard,
    remove_others,
    write_checked,
    write_record,
    write_shard,
    write_text,
)
from edos_dataset.runs.shares import MissingShards, Undecided
from edos_dataset.runs.stores.transfer import at_once, remove_tree
from edos_dataset.runs.totals import Totals

INPUT = "00-input"
"""Folder of the input's shards."""


Progress = Callable[[str, int, int, int, str], None]
"""Called with a phase's name, its shards done and in all (this process's share of them), how many units the first stage
read in the shards made now, not those reused, and what these units are.
"""


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
        notes: what the stages told of single rows, such as an entry per quarantined file.
        made: shards made, by this process, as opposed to reused.
        reused: shards reused.
        rows: rows that the last phase gave.
    """

    folder: Path
    engine: Engine
    keep_rejects: bool = False
    progress: Progress = lambda *_: None
    counts: list[StageCount] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    made: int = 0
    reused: int = 0
    rows: int = 0

    def execute(self, parts: Iterable[Part] | None, pipeline: Pipeline) -> dict[str, list[Path]]:
        """Run the pipeline.

        Args:
            parts: the shards of the input, at which only the process that leads looks; None if they are written.
            pipeline: stages, corpus steps and outputs.

        Returns:
            The shard files of each output, by config, in the order of the parts.

        Raises:
            OSError: a file could not be written.
            WorkerDied: a worker was killed.
            MissingShards: shards of other processes are not there.
            Undecided: a corpus step is to decide, and this process cannot let it.
        """
        if parts is not None and self.engine.leads:
            self.write_inputs(parts)
        self.engine.wait()
        entries = json.loads(self.index.read_text(encoding="utf-8"))
        shards = [Shard(self.index.with_name(f"{name}.parquet"), content) for name, content in entries]
        outputs: dict[str, list[Path]] = {}
        for phase in phases(pipeline):
            shards = self._run_phase(phase, shards)
            outputs.update({config: [shard.path for shard in shards] for config in phase.outputs})
        return outputs

    def keep(
        self, name: str, key: str, make: Callable[[], tuple[pa.Table, StageCount, dict[str, Any]]]
    ) -> tuple[pa.Table, ShardRecord]:
        """Return a table that is made once, and its record: what a step over a whole corpus gives that is no pipeline.

        Args:
            name: of the file, `steps/01-spread`.
            key: hash of all that decides the table.
            make: gives the table, what was counted, and facts for the record.
        """
        path = self.folder / f"{name}.parquet"
        record = read_record(path)
        if record is None or record.key != key:
            table, count, facts = make()
            file_digest = write_shard(path, table)
            write_record(path, ShardRecord(key, file_digest, path.stat().st_size, table.num_rows, [count], facts=facts))
            record = read_record(path, verify=False)  # as a later call reads it
            assert record is not None
        return read_shard(path), record

    @property
    def index(self) -> Path:
        """List of the input's shards, name and digest."""
        return self.folder / INPUT / "index.json"

    def write_inputs(self, parts: Iterable[Part]) -> None:
        """Write the shards of the input and their list; those of a longer one go."""
        folder = self.index.parent

        def write(part: Part) -> tuple[str, str]:
            return part.name, write_shard(folder / f"{part.name}.parquet", part.rows)

        entries = list(at_once(write, parts, folder))
        write_text(self.index, json.dumps(entries))
        remove_others(folder, [name for name, _ in entries])

    def _run_phase(self, phase: Phase, sources: Sequence[Shard]) -> list[Shard]:
        folder = self.folder / phase.name
        removals, seconds = self._decide(phase.step, folder, sources) if phase.step else ([None] * len(sources), 0.0)
        code = [item.fingerprint() for item in (phase.step, *phase.stages) if item is not None]
        targets = [folder / source.path.name for source in sources]
        made_of = zip(sources, removals, strict=True)
        keys = [hash_json([source.digest, removed and removed.digest, code]) for source, removed in made_of]
        totals, tasks = Totals(), []
        places = self.engine.share(range(len(sources)))
        records = at_once(lambda place: self._made_before(targets[place], keys[place]), places, folder)
        for place, record in zip(places, records, strict=True):
            removed, target = removals[place], targets[place]
            if record is None:
                rejects = _rejects(target) if self.keep_rejects else None
                paths = sources[place].path, target
                tasks.append(ShardTask(keys[place], *paths, phase, removed and removed.path, rejects))
            else:
                totals.add(target, record)
        self.reused += len(totals.digests)
        self._make(phase, tasks, totals, len(places))
        self.engine.wait()
        self._add_others(phase, targets, keys, totals)
        if self.engine.leads:
            remove_others(folder, [target.stem for target in targets], self.keep_rejects)
        totals.finish()
        if phase.step and totals.counts:
            totals.counts[0].seconds += seconds
        self.counts += totals.counts
        self.notes += totals.notes
        self.rows = totals.rows
        return [Shard(target, totals.digests[target]) for target in targets]

    def _make(self, phase: Phase, tasks: Sequence[ShardTask], totals: Totals, shards: int) -> None:
        """Make this process's share of the shards that are not there."""
        units, unit = 0, (phase.step or phase.stages[0]).unit
        self.progress(phase.name[3:], len(totals.digests), shards, units, unit)
        for target, record in self.engine.map(make_shard, tasks):
            totals.add(target, record)
            self.made += 1
            units += record.counts[0].read
            self.progress(phase.name[3:], len(totals.digests), shards, units, unit)

    def _add_others(self, phase: Phase, targets: Sequence[Path], keys: Sequence[str], totals: Totals) -> None:
        # A process has made or verified its own shards; one that leads and has none trusts no other.
        verify, missing = self.engine.leads and not totals.digests, []
        for place, target in enumerate(targets):
            if target in totals.digests:
                continue
            if (record := self._made_before(target, keys[place], verify)) is None:
                missing.append(place)
            else:
                totals.add(target, record)
        if missing:
            raise MissingShards(phase.name[3:], missing, len(targets), targets[missing[0]])

    def _made_before(self, target: Path, key: str, verify: bool = True) -> ShardRecord | None:
        """Return the record of a shard that is the one wanted, whole, and has its rejects, if these are wanted."""
        record = read_record(target, verify)
        if record is None or record.key != key:
            return None
        rejects, wanted = _rejects(target), self.keep_rejects and verify
        if wanted and not (record.rejects and rejects.exists() and digest(rejects) == record.rejects):
            return None
        return record

    def _decide(self, step: CorpusStep, folder: Path, sources: Sequence[Shard]) -> tuple[list[Shard], float]:
        """Let a corpus step decide, unless it has over the same shards.

        Returns:
            The decision, a file a shard, and the seconds that it took when it was made.
        """
        paths = [folder / f"{source.path.stem}.removals.parquet" for source in sources]
        marker = folder / "decided.json"
        key = hash_json([step.fingerprint(), [source.digest for source in sources]])
        decided = read_checked(marker)
        digests = list(at_once(digest_if_there, paths, folder))
        self.engine.wait()  # nobody writes before all have read
        if (decided.get("key"), decided.get("files")) != (key, digests):
            began = time.perf_counter()
            if self.engine.corpus is None:
                raise Undecided(step.name)
            shards = [source.path for source in sources]
            work = passage_folder(folder / "decision", self.engine)
            if isinstance(step, SharedStep):
                step.decide_together(shards, paths, work, self.engine.corpus)
            elif self.engine.leads:
                for path, table in zip(paths, step.decide(shards), strict=True):
                    write_shard(path, table.cast(REMOVALS))
            if self.engine.leads:
                digests = list(at_once(digest, paths, folder))
                decided = {"key": key, "files": digests, "seconds": time.perf_counter() - began}
                write_checked(marker, decided)
                remove_tree(work)
        self.engine.wait()
        decided = read_checked(marker)
        return [Shard(*pair) for pair in zip(paths, decided["files"], strict=True)], decided["seconds"]


def _rejects(target: Path) -> Path:
    return target.with_suffix(".rejects.parquet")
