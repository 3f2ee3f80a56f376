"""Labels for dialogues that are there already, a file of JSON lines or a data set in our layout: what `edos label`
does.

    accelerate launch -m edos_dataset.commands.label dialogues.jsonl --out labelled.jsonl

Started so, each process labels its own share of the shards, and the first one puts them together; the bytes are those
of one process. Killed at any moment, the same command goes on: a shard counts only with its completion record, which
names the model, the parameters and the content that it was made from.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from edos_dataset.commands import curate
from edos_dataset.labeling.stages import AnnotateDialogues
from edos_dataset.publishing.cards.dataset import Origin
from edos_dataset.releases.dialogues import lines_of, read_config, read_lines, source_config
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.phases import Phase, ShardTask, make_shard
from edos_dataset.runs.pipeline import hash_json
from edos_dataset.runs.run import Progress
from edos_dataset.runs.shards import (
    FolderError,
    StageCount,
    digest,
    locked,
    read_record,
    read_shard,
    replacing,
    write_shard,
    write_text,
)

CPU_SHARD_TURNS, GPU_SHARD_TURNS = 1_000, 20_000
"""Turns a shard, the unit of work, of resuming and of memory: some seconds of a core, so that a small file keeps all of
them busy, or of a GPU.
"""


@dataclass(frozen=True)
class Launch:
    """This process among those that `accelerate launch` or torchrun started.

    Attributes:
        rank: its number, from 0.
        count: how many there are.
        wait: returns when all have called it.
    """

    rank: int = 0
    count: int = 1
    wait: Callable[[], None] = field(default=lambda: None)

    @classmethod
    def join(cls, device: str) -> "Launch":
        """Return this process's place; alone where no launcher said otherwise."""
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return cls()
        from accelerate import PartialState

        # Who is done early waits at a barrier for the others, however long their shards take.
        state = PartialState(cpu=device == "cpu", timeout=timedelta(days=30))
        if state.num_processes != int(os.environ["WORLD_SIZE"]):
            raise RuntimeError(
                f"the launcher started {os.environ['WORLD_SIZE']} processes, but accelerate made {state.num_processes} "
                "of them"
            )
        return cls(state.process_index, state.num_processes, state.wait_for_everyone)


def label(
    source: Path,
    out: Path,
    stage: AnnotateDialogues,
    *,
    config: str | None = None,
    workers: int = 1,
    shard_turns: int | None = None,
    progress: Progress = lambda *_: None,
) -> dict[str, Any] | None:
    """Label every turn of dialogues, each with as much of its history as the model looks at.

    Args:
        source: a file of JSON lines, `{"dialogue_id": str, "turns": [str, ...]}`, or a folder that `edos curate` wrote.
        out: for JSON lines the file, which appears, or is replaced, only when it is whole; until then finished shards
            lie in `OUT.parts`. For a folder the folder; its shards stay in `out/.run`.
        stage: the model and its parameters.
        config: the folder's config; by default the first of `schema.CONFIGS` that it has. "os", which has no labels,
            becomes "edos".
        workers: processes, of every process that a launcher started; their number does not change a byte.
        shard_turns: turns a shard, or a dialogue more; by default what suits the device.
        progress: called after each shard of this process's share.

    Returns:
        `dialogues` and `turns`: how many were labelled; `shards`: in how many shards; `reused`: how many of these an
        earlier call had made. None in the processes of a launcher but the first.

    Raises:
        ValueError: a line is no dialogue, the folder holds no such config, or the model cannot label turns.
        FolderError: `out` holds something else, or another process is at work in it.
        OSError: a file could not be written; the same call goes on where it stopped.
        WorkerDied: a worker was killed; likewise.
    """
    if not source.exists():
        raise ValueError(
            f"{source}: there is no such file or folder; give a file of JSON lines, or a folder that `edos curate` "
            "wrote"
        )
    _check_out(source, out)
    if source.is_dir():
        source_config(source, config)
    shard_turns = shard_turns or (CPU_SHARD_TURNS if stage.device == "cpu" else GPU_SHARD_TURNS)
    stage.fingerprint()  # a model that cannot label says so before anything is written
    launch = Launch.join(stage.device)
    folder = out if source.is_dir() else out.with_name(f"{out.name}.parts")
    first = launch.rank == 0
    held: AbstractContextManager[None] = locked(folder) if first else nullcontext()
    with held:
        if first:
            _write_inputs(
                folder, read_config(source, config, shard_turns) if source.is_dir() else read_lines(source, shard_turns)
            )
            reused = sum(map(_is_done, _tasks(folder / ".run", stage)))
        launch.wait()
        with LocalEngine(workers) as engine:
            _label_share(folder / ".run", stage, engine, launch, progress)
        launch.wait()
        if not first:
            return None
        done = _finish(source, out, _tasks(folder / ".run", stage), stage, config) | {"reused": reused}
    if not source.is_dir():
        shutil.rmtree(folder)
    return done


def _check_out(source: Path, out: Path) -> None:
    target = out.resolve()
    if target == source.resolve():
        raise FolderError(f"{out} is the source and would be lost: give another --out")
    if not source.is_dir() and target.exists() and not target.is_file():
        raise FolderError(
            f"{out} is {'a folder' if target.is_dir() else 'no plain file'}: give the name of a file as --out"
        )
    if not source.is_dir() and not target.parent.is_dir():
        raise FolderError(
            f"cannot write {out}: there is no folder {target.parent}; make it first, or give another --out"
        )
    if source.is_dir() and (out / ".run" / "00-films").exists():
        raise FolderError(
            f"{out} is a run of `edos curate`, whose configs would be lost: give a new or empty folder as --out"
        )


def _write_inputs(folder: Path, tables: Iterator[pa.Table]) -> None:
    """Write the shards of the input; those of a longer one go. After a bad line nothing stays that was not there
    before.
    """
    target = folder / ".run" / "input"
    names = []
    try:
        for number, table in enumerate(tables):
            names.append(f"{number:05d}.parquet")
            write_shard(target / names[-1], table)
    except ValueError:
        if not (folder / ".run" / "labels").exists():
            shutil.rmtree(folder)
        raise
    for path in target.glob("*.parquet"):
        if path.name not in names:
            path.unlink()


def _tasks(run: Path, stage: AnnotateDialogues) -> list[ShardTask]:
    """Return what makes each shard, in order."""
    phase, code = Phase("labels", None, (stage,), ()), stage.fingerprint()
    sources = sorted((run / "input").glob("*.parquet"), key=lambda path: int(path.stem))
    return [
        ShardTask(hash_json([digest(path), code]), path, run / phase.name / path.name, phase, None, None)
        for path in sources
    ]


def _is_done(task: ShardTask) -> bool:
    record = read_record(task.target)
    return record is not None and record.key == task.key


def _label_share(run: Path, stage: AnnotateDialogues, engine: LocalEngine, launch: Launch, progress: Progress) -> None:
    """Label the shards of this process's share that are not there yet."""
    tasks = _tasks(run, stage)[launch.rank :: launch.count]
    todo = [task for task in tasks if not _is_done(task)]
    done, turns = len(tasks) - len(todo), 0
    progress("label", done, len(tasks), 0)
    for _, record in engine.map(make_shard, todo):
        done, turns = done + 1, turns + record.counts[0].read
        progress("label", done, len(tasks), turns)


def _finish(
    source: Path, out: Path, tasks: list[ShardTask], stage: AnnotateDialogues, config: str | None
) -> dict[str, Any]:
    """Put the shards together; return what is in them."""
    shards = [task.target for task in tasks]
    count, dialogues = StageCount(stage.name, stage.unit), 0
    for task in tasks:
        record = read_record(task.target)
        if record is None or record.key != task.key:
            raise FolderError(f"the shard {task.target} is gone or damaged; the same command makes it again")
        count.add(record.counts[0])
        dialogues += record.rows
    if source.is_dir():
        _publish(source, out, shards, stage, count, source_config(source, config))
    else:
        with replacing(out.resolve()) as temporary, temporary.open("wb") as file:
            for shard in shards:
                file.writelines(lines_of(read_shard(shard)))
    return {"dialogues": dialogues, "turns": count.read, "shards": len(shards)}


def _publish(
    source: Path, out: Path, shards: list[Path], stage: AnnotateDialogues, count: StageCount, config: str
) -> None:
    """Write the labels of a config of the source, with card and manifest, as `edos curate` does."""
    target = "edos" if config == "os" else config
    documents = {
        document for shard in shards for document in read_shard(shard, ["document_id"])["document_id"].to_pylist()
    }
    language = read_shard(shards[0], ["language"])["language"][0].as_py() or "en"
    command = (
        f"edos label SOURCE --config {config} --model "
        f"{Path(stage.model).name if Path(stage.model).exists() else stage.model} --out edos"
    )
    origin = Origin(command, stage.fingerprint(), curate.versions())
    [written] = curate.publish(out, {target: shards}, language, [stage], [count], origin)
    manifest = {
        "source": source.name,
        "model": stage.labeler.identity,
        "fingerprint": origin.fingerprint,
        "versions": origin.versions,
        "input": {"films": len(documents), "files": len(documents), "skipped": []},
        "stages": [curate.stage_entry(count)],
        "quarantined": [],
        "configs": {target: curate.summary(written)},
    }
    write_text(out / "manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    from edos_dataset.cli.app import app

    app(["label", *sys.argv[1:]], prog_name="edos")
