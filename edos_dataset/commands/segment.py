"""Subtitles to turns without the rest of the pipeline: one line of JSON a sentence, as `edos segment` writes it."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.cleaning.lines import CleanLines
from edos_dataset.commands.curate import SHARD_SENTENCES, quarantined
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.phases import file_notes, run_stage
from edos_dataset.runs.pipeline import Stage
from edos_dataset.runs.run import Progress, pack
from edos_dataset.runs.shards import replacing
from edos_dataset.segmentation.sentences import SplitSentences
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.sources.inventory import Inventory, estimate_sentences
from edos_dataset.sources.read import ReadFilms


class OutError(ValueError):
    """The output cannot be written where the user wants it; the message says why and what to do."""


class _Task(NamedTuple):
    number: int
    films: pa.Table
    stages: Sequence[Stage]
    turns: SegmentTurns


@dataclass
class _Part:
    """What became of one task."""

    number: int
    lines: bytes
    documents: int
    sentences: int
    turns: int
    notes: list[dict[str, str]]


def segment(
    inventory: Inventory,
    out: Path | None,
    turns: SegmentTurns,
    *,
    language: str = "en",
    workers: int = 1,
    shard_sentences: int = SHARD_SENTENCES,
    progress: Progress = lambda *_: None,
) -> dict[str, Any]:
    """Read subtitles as `curate` does and write each sentence with its turn.

    Each line is an object with `document_id, sentence_id, start, end, text, turn_id, same_turn_score`, times in seconds
    or null. `turn_id` numbers the turns of a document from 0; `same_turn_score`, 0 to 1, says how surely the speaker of
    the sentence before goes on, and is null for the first sentence. The turns are those of the stage "turns", which
    heeds dashes, names and long pauses beside the score, and of which cleaning may drop some later.

    Args:
        inventory: what `sources.inventory.find_films` found.
        out: the file, which appears, or is replaced, only when it is whole; None is standard output, film after film.
        turns: the stage that scores and decides.
        language: code of the language wanted, and of the documents that do not name theirs.
        workers: processes; neither their number nor `shard_sentences` changes a byte.
        shard_sentences: sentences that a worker reads at once; a few such shards a worker are all that is held in
            memory.
        progress: called after each shard.

    Returns:
        `input`: number of `films` and `files`, and what was `skipped`; `documents`, `sentences` and `turns`: how many
            were written; `quarantined`: path,
        reason and message of each file that could not be read.

    Raises:
        OutError: there is no such folder, or `out` is no plain file or one of the sources.
        OSError: the file could not be written.
        WorkerDied: a worker was killed.
    """
    stages = (ReadFilms(language=language), CleanLines(language=language), SplitSentences())
    shards = pack(inventory.films, estimate_sentences(inventory.films), shard_sentences)
    # A slice takes its whole table with it when it is sent to a worker; rows that are taken don't.
    tasks = (
        _Task(number, films.take(pa.array(range(films.num_rows))), stages, turns) for number, films in enumerate(shards)
    )
    totals = {"documents": 0, "sentences": 0, "turns": 0}
    notes: list[dict[str, str]] = []
    with _opened(out, inventory) as file, LocalEngine(workers) as engine:
        for done, part in enumerate(_in_order(engine, tasks), 1):
            file.write(part.lines)
            notes += part.notes
            for name in totals:
                totals[name] += getattr(part, name)
            progress("segment", done, len(shards), totals["sentences"])
    found = {
        "films": inventory.films.num_rows,
        "files": inventory.files,
        "skipped": [list(entry) for entry in inventory.skipped],
    }
    return {"input": found, **totals, "quarantined": quarantined(notes)}


@contextmanager
def _opened(out: Path | None, inventory: Inventory) -> Iterator[IO[bytes]]:
    """Give what to write to; a file is put in place at the end."""
    if out is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = out.resolve()  # behind a symbolic link, which stays
    if target.exists() and not target.is_file():
        raise OutError(
            f"{out} is {'a folder' if target.is_dir() else 'no plain file'}: give the name of a file as --out, or - "
            "for standard output"
        )
    if not target.parent.is_dir():
        raise OutError(f"cannot write {out}: there is no folder {target.parent}; make it first, or give another --out")
    files, _ = unnest(inventory.films, "files")
    if any(
        target == Path(location).resolve()
        for location in files.field("location").to_pylist()
        if Path(location).name == target.name
    ):
        raise OutError(f"{out} is one of the sources and would be lost: give another --out")
    with replacing(target) as temporary, temporary.open("wb") as file:
        yield file


def _in_order(engine: LocalEngine, tasks: Iterator[_Task]) -> Iterator[_Part]:
    """Yield what becomes of the tasks in their order, a few tasks a worker at a time, as they get ready in any."""
    while some := list(islice(tasks, 4 * engine.workers)):
        yield from sorted(engine.map(_segment_shard, some), key=lambda part: part.number)


def _segment_shard(task: _Task) -> _Part:
    """Carry out one task, in a worker."""
    table = task.films
    notes: list[dict[str, str]] = []
    for stage in task.stages:
        table, rejected, _ = run_stage(stage, stage, table)
        notes += file_notes(rejected) if rejected is not None else []
    scores = task.turns.score(table)
    begins = task.turns.begins(table, scores)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in _rows(table, scores, begins).to_pylist())
    return _Part(task.number, lines.encode(), table.num_rows, len(begins), int(begins.sum()), notes)


def _rows(table: pa.Table, scores: np.ndarray, begins: np.ndarray) -> pa.Table:
    """Return SENTENCES as a row for each sentence, with the turns."""
    sentences, offsets = unnest(table, "sentences")
    lengths = np.diff(offsets)
    before = np.r_[0, np.cumsum(begins)]  # turns that begin before each sentence
    columns = {
        "document_id": table["document_id"].take(pa.array(np.repeat(np.arange(table.num_rows), lengths))),
        "sentence_id": sentences.field("id"),
        **{name: sentences.field(name) for name in ("start", "end", "text")},
        "turn_id": before[1:] - np.repeat(before[offsets[:-1]], lengths) - 1,
        "same_turn_score": pa.array(
            scores.astype(str).astype(float), from_pandas=True
        ),  # by way of text: 0.3, not 0.30000001192092896
    }
    return pa.table(columns)
