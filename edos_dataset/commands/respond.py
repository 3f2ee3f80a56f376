"""Answers to dialogues that are there already, in whatever form: what `edos respond --out` does.

Killed at any moment, the same command goes on; several processes share the dialogues (`runs.run`).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.commands.line_runs import check_no_source, run_to_lines
from edos_dataset.generation.stages import AnswerDialogues
from edos_dataset.releases.dialogues import read_dialogues, tables_of
from edos_dataset.releases.given.sources import Selection
from edos_dataset.runs.pipeline import check_pipeline
from edos_dataset.runs.run import Progress

CPU_SHARD_TURNS, GPU_SHARD_TURNS = 60, 3_000
"""Turns a shard, the unit of work and of resuming: some tens of seconds of a core, or of a GPU."""

_ANSWERS = "answers"


def respond(
    source: str | Path,
    out: Path,
    stage: AnswerDialogues,
    *,
    meant: Selection = Selection(),  # noqa: B008 - it is frozen
    force: bool = False,
    workers: int = 1,
    engine: str = "local",
    progress: Progress = lambda *_: None,
) -> dict[str, Any] | None:
    """Answer the last turn of every dialogue of a source.

    Args:
        source: dialogues in any form that `edos label` reads, "-" for standard input; of a folder of `edos curate` the
            config that is meant.
        out: file of JSON lines, which appears, or is replaced, only when it is whole; until then finished shards lie in
            `OUT.parts`.
        stage: the model and its parameters.
        meant: what of the source.
        force: replace the file.
        workers: processes; neither their number nor the engine changes a byte.
        engine: where they run (`runs.engines.base`).
        progress: called after each shard.

    Returns:
        `dialogues`: how many were answered; `shards`: in how many shards; `reused`: how many of these an earlier call
        had made. None in the processes of a launcher but the first.

    Raises:
        ValueError: the source is not there, something in it is no dialogue, or the model cannot answer.
        FolderError: `out` is there already, or another process is at work on it.
    """
    check_pipeline([stage])  # a model that cannot answer says so before anything is read or written
    check_no_source(source, out)
    shard_turns = CPU_SHARD_TURNS if stage.device == "cpu" else GPU_SHARD_TURNS
    tables = tables_of(read_dialogues(source, meant), shard_turns)
    given: dict[str, Any] = {"force": force, "workers": workers, "engine": engine, "progress": progress}
    return run_to_lines(tables, out, stage, lines_of, command="respond", device=stage.device, **given)


def lines_of(table: pa.Table) -> Iterator[bytes]:
    """Yield answered dialogues as JSON lines: `dialogue_id`, `turns` of `text`, `answers`, and what stood beside."""
    turns, offsets = unnest(table, "turns")
    texts = turns.field("text").to_pylist()
    columns = [table[name].to_pylist() for name in ("dialogue_id", _ANSWERS, "extra", "turn_extras")]
    for name, answers, extra, extras, start, end in zip(*columns, offsets[:-1], offsets[1:], strict=True):
        beside = extras or [None] * (end - start)
        told = [
            {"text": text} | (json.loads(more) if more else {})
            for text, more in zip(texts[start:end], beside, strict=True)
        ]
        row = {"dialogue_id": name, "turns": told, _ANSWERS: answers}
        for key, value in json.loads(extra or "{}").items():
            row["given_answers" if key == _ANSWERS else key] = value
        yield json.dumps(row, ensure_ascii=False).encode() + b"\n"
