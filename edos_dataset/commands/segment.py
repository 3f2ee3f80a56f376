"""Subtitles to turns without the rest of the pipeline: one line of JSON a sentence, as `edos segment` writes it."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.cleaning.lines import CleanLines
from edos_dataset.commands.curate import SHARD_SENTENCES
from edos_dataset.runs.cutting import cut_in_order
from edos_dataset.runs.engines.by_name import check_printing, engine_of
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.out_file import check_out_file
from edos_dataset.runs.pipeline import Output, check_pipeline
from edos_dataset.runs.recipes import Item
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.runs.run import Progress, Run
from edos_dataset.runs.shards import read_shard, replacing
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.segmentation.sentences import SplitSentences
from edos_dataset.segmentation.turns.marks import MarkTurns
from edos_dataset.sources.contents import with_contents
from edos_dataset.sources.inventory import Inventory, estimate_sentences
from edos_dataset.sources.read import ReadFilms

_MARKED = "marked"


def segment(
    inventory: Inventory,
    out: Path | None,
    turns: MarkTurns,
    *,
    language: str = ReadFilms.language,
    force: bool = False,
    workers: int = 1,
    engine: str = "local",
    shard_sentences: int = SHARD_SENTENCES,
    progress: Progress = lambda *_: None,
) -> dict[str, Any] | None:
    """Read subtitles as `curate` does and write each sentence with its turn, film after film.

    Each line is an object with `document_id, sentence_id, start, end, text, turn_id, same_turn_score`, times in seconds
    or null. `turn_id` numbers the turns of a document from 0; `same_turn_score`, 0 to 1, says how surely the speaker of
    the sentence before goes on, and is null for the first sentence. The turns are those of the stage "turns", which
    heeds dashes, names and long pauses beside the score, and of which cleaning may drop some later.

    Args:
        inventory: what `sources.inventory.find_films` found.
        out: the file, which appears only when it is whole; until then finished shards lie in `OUT.parts`. None is
            standard output; what was killed then begins anew.
        turns: the stage that scores and decides.
        language: code of the language wanted.
        force: replace the file `out` where there is one.
        workers: processes; neither their number, the engine, nor `shard_sentences` changes a byte.
        engine: where they run (`runs.engines.base`).
        shard_sentences: sentences that a worker reads at once.
        progress: called after each shard.

    Returns:
        `input`, as in a manifest; `documents`, `sentences` and `turns`: how many
        were written; `quarantined`: path, reason and message of each file that could not be read. None in the processes
        of a launcher but the first.

    Raises:
        FolderError: there is no such folder, or `out` is there already, no plain file or one of the sources.
        OSError: the file could not be written; the same call goes on where it stopped.
        WorkerDied: a worker was killed; likewise.
    """
    check_pipeline([turns])
    out = out and place_of(out)
    if out is not None:
        _check_out(out, inventory, force)
    else:
        check_printing(engine)
    films = with_contents(inventory.films)
    parts = cut_in_order(films, estimate_sentences(films), shard_sentences)
    stages: list[Item] = [
        ReadFilms(language=language),
        CleanLines(),
        SplitSentences(),
        turns,
        Output(_MARKED),
    ]
    crew = engine_of(engine, workers)
    with _parts_folder(out) as place:
        with output_folder(place, "segment", crew.leads) as folder, crew:
            run = Run(folder.run, crew, progress=progress)
            shards = run.execute(parts, stages)[_MARKED]
            if not crew.leads:
                return None
            written = _write_lines(out, shards)
        if out is not None:
            folder.discard()
    return {"input": inventory.facts(), **written, "quarantined": [*inventory.quarantined, *run.notes]}


def _check_out(out: Path, inventory: Inventory, force: bool) -> None:
    """Refuse a file that cannot be written, or that would be lost."""
    target = out.resolve()
    files, _ = unnest(inventory.films, "files")
    locations = (place_of(os.fsdecode(location)) for location in files.field("location").to_pylist())
    if any(target == location.resolve() for location in locations if location.name == target.name):
        raise FolderError(f"{out} is one of the sources and would be lost: give another --out")
    check_out_file(out, ", or - for standard output", force)


@contextmanager
def _parts_folder(out: Path | None) -> Iterator[Path]:
    """Give the folder for the shards."""
    if out is not None:
        yield out.with_name(f"{out.name}.parts")
        return
    with tempfile.TemporaryDirectory(prefix="edos-segment-") as folder:
        yield Path(folder)


@contextmanager
def _opened(out: Path | None) -> Iterator[IO[bytes]]:
    """Give what to write to; a file is put in place at the end."""
    if out is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replacing(out.resolve()) as temporary, temporary.open("wb") as file:
        yield file


def _write_lines(out: Path | None, shards: Sequence[Path]) -> dict[str, int]:
    """Write the sentences of the shards; return how many `documents`, `sentences` and `turns` they have."""
    written = {"documents": 0, "sentences": 0, "turns": 0}
    with _opened(out) as file:
        for shard in shards:
            table = read_shard(shard)
            rows = _rows(table)
            file.writelines(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows.to_pylist())
            counts = (len(table), len(rows), sum(_turns(table)))
            written = {name: total + count for (name, total), count in zip(written.items(), counts, strict=True)}
    return written


def _rows(table: pa.Table) -> pa.Table:
    """Return MARKED as a row for each sentence."""
    sentences, offsets = unnest(table, "sentences")
    owners = np.repeat(np.arange(table.num_rows), np.diff(offsets))
    columns = {field.name: sentences.field(field.name) for field in sentences.type}
    scores = columns["same_turn_score"].to_numpy(zero_copy_only=False)
    # By way of text: 0.3, not 0.30000001192092896.
    columns["same_turn_score"] = pa.array(scores.astype(str).astype(float), from_pandas=True)
    return pa.table({"document_id": table["document_id"].take(pa.array(owners)), **columns})


def _turns(table: pa.Table) -> Iterator[int]:
    """Yield the number of turns of each document."""
    sentences, offsets = unnest(table, "sentences")
    turns = sentences.field("turn_id").to_numpy()
    return (int(turns[stop - 1]) + 1 for start, stop in zip(offsets[:-1], offsets[1:], strict=True) if stop > start)
