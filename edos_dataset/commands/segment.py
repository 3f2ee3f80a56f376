"""The verb `segment`: from subtitles to turns, as one JSON line per sentence."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.cleaning.lines import CleanLines
from edos_dataset.cleaning.pseudonyms import PseudonymizeSpeakers
from edos_dataset.commands.curate import SHARD_SENTENCES, paths, places
from edos_dataset.commands.options import Result, RunOptions, run_options, verb
from edos_dataset.runs.arguments import check_apart
from edos_dataset.runs.engines import check_printing
from edos_dataset.runs.folder import FolderError, check_out_file
from edos_dataset.runs.manifest import stage_entry
from edos_dataset.runs.pipeline import Output, check_pipeline
from edos_dataset.runs.recipes import Item
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.runs.run import Run
from edos_dataset.runs.shards import cut_in_order, read_shard, replacing
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.segmentation.sentences import SplitSentences
from edos_dataset.segmentation.turns.stage import MarkTurns
from edos_dataset.sources.formats import formats_by_suffix
from edos_dataset.sources.inventory import Inventory, estimate_sentences, find_films, with_contents
from edos_dataset.sources.read import ReadFilms

if TYPE_CHECKING:
    from edos_dataset.runs.run import Progress

_MARKED = "marked"


@verb
def segment(
    sources: str | Path | Sequence[str | Path] | Inventory,
    out: str | Path,
    *,
    scorer: str | None = None,
    threshold: float | None = None,
    language: str | None = None,
    pseudonymize: bool = False,
    workers: int | None = 1,
    engine: str | None = None,
    address: str | None = None,
    force: bool = False,
    progress: "bool | Progress | None" = None,
    shard_sentences: int = SHARD_SENTENCES,
    files_from: str | Path | None = None,
) -> Result:
    """Split subtitles into turns as `curate` does, and write every sentence with its turn.

    Each line is an object with `document_id, sentence_id, start, end, text, turn_id, same_turn_score`, and `speaker` if
    the file names one; in screenplays also `scene`, `manner` and `voice`, if not null. Times are in seconds, or null.
    `turn_id` counts from 0 in each document; `same_turn_score`, 0 to 1, is the probability that the previous speaker
    continues, null for the first sentence. The turns are those of the stage "turns", which considers dashes, names and
    long pauses besides the score; the cleaning stages of `curate`, which may drop turns, are not run.

    Args:
        sources: files, folders and zip archives of subtitles, and patterns; or the result of `find_films`.
        out: output file, which appears only when complete; until then finished shards are kept in `OUT.parts`. "-" is
            standard output; an interrupted run then starts over.
        scorer: scorer of turn boundaries; rules are used for languages it does not know.
        threshold: minimum score at which a turn continues, 0 to 1.
        language: language code ("en", "pt_br"), by default English; other files are skipped.
        pseudonymize: replace the names of speakers by "speaker 1", "speaker 2", ..., also in texts that mention them.
        workers: number of processes; None means one per core.
        engine: "local", "accelerate", "datasets" or "ray", as in `RunOptions`.
        address: address of the Ray cluster, for the engine "ray".
        force: replace the file `out`.
        progress: whether to show progress, by default in terminals and notebooks; or a callback.
        shard_sentences: sentences per shard.
        files_from: a file with the path of a file to read on each line, or with NUL between them; "-" is standard
            input.

    Returns:
        `input`, as in a manifest; the numbers of `documents`, `sentences` and `turns` written; `quarantined`, path,
        reason and message of each unreadable file; `stages`, as in a manifest.

    Raises:
        FolderError: `out` exists, is not a regular file, is one of the sources, or would be read as one by another run.
    """
    chosen: dict[str, Any] = {"scorer": scorer, "threshold": threshold}
    marks = MarkTurns(**{name: value for name, value in chosen.items() if value is not None})
    check_pipeline([marks])  # before the files are listed, which can take long
    if place_of(out).suffix in ("", *formats_by_suffix()):  # lines beside the subtitles are no source of another run
        check_apart(out, paths(sources))
    language = language or ReadFilms.language
    inventory = sources if isinstance(sources, Inventory) else find_films(places(sources, files_from), language)
    target = None if str(out) == "-" else place_of(out)
    with run_options(workers, engine, address=address, progress=progress, force=force) as options:
        stages: list[Item] = [ReadFilms(language=language), CleanLines(), SplitSentences(), marks, Output(_MARKED)]
        if pseudonymize:
            stages.insert(2, PseudonymizeSpeakers())
        if target is not None:
            _check_out(target, inventory, options.force)
        return _segment(inventory, target, stages, options, shard_sentences)


def _segment(
    inventory: Inventory,
    target: Path | None,
    stages: list[Item],
    options: RunOptions,
    shard_sentences: int,
) -> Result:
    if target is None:
        check_printing(options.engine)
    films = with_contents(inventory.films)
    parts = cut_in_order(films, estimate_sentences(films), shard_sentences)
    engine = options.start_engine()
    with _parts_folder(target) as place, output_folder(place, "segment", engine.is_main) as folder, engine:
        run = Run(folder.run, engine, progress=options.progress)
        shards = run.execute(parts, stages)[_MARKED]
        if not engine.is_main:
            return Result("segment", {})
        written = _write_lines(target, shards)
        if target is not None:
            folder.discard()
    quarantined = [*inventory.quarantined, *run.notes]
    stages_done = [stage_entry(count) for count in run.counts]
    done = {"input": inventory.facts(), **written, "quarantined": quarantined, "stages": stages_done}
    return Result("segment", done, target, written)


def _check_out(out: Path, inventory: Inventory, force: bool) -> None:
    target = out.resolve()
    files, _ = unnest(inventory.films, "files")
    locations = (place_of(os.fsdecode(location)) for location in files.field("location").to_pylist())
    if any(target == location.resolve() for location in locations if location.name == target.name):
        raise FolderError(f"{out} is one of the sources and would be lost: give another --out")
    check_out_file(out, ", or - for standard output", force)


@contextmanager
def _parts_folder(out: Path | None) -> Iterator[Path]:
    if out is not None:
        yield out.with_name(f"{out.name}.parts")
        return
    with tempfile.TemporaryDirectory(prefix="edos-segment-") as folder:
        yield Path(folder)


@contextmanager
def _opened(out: Path | None) -> Iterator[IO[bytes]]:
    if out is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replacing(out.resolve()) as temporary, temporary.open("wb") as file:
        yield file


def _write_lines(out: Path | None, shards: Sequence[Path]) -> dict[str, int]:
    """Write the sentences of the shards, and return the numbers of `documents`, `sentences` and `turns`."""
    written = {"documents": 0, "sentences": 0, "turns": 0}
    with _opened(out) as file:
        for shard in shards:
            table = read_shard(shard)
            rows = _rows(table)
            file.writelines(json.dumps(_line(row), ensure_ascii=False).encode() + b"\n" for row in rows.to_pylist())
            counts = (len(table), len(rows), sum(_turns(table)))
            written = {name: total + count for (name, total), count in zip(written.items(), counts, strict=True)}
    return written


def _line(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with what not every file tells moved to the end, or removed if it is null."""
    given = {name: row.pop(name) for name in ("speaker", "scene", "manner", "voice")}
    return row | {name: value for name, value in given.items() if value is not None}


def _rows(table: pa.Table) -> pa.Table:
    sentences, offsets = unnest(table, "sentences")
    owners = np.repeat(np.arange(table.num_rows), np.diff(offsets))
    columns = {field.name: sentences.field(field.name) for field in sentences.type}
    scores = columns["same_turn_score"].to_numpy(zero_copy_only=False)
    # Converted through text: 0.3, not 0.30000001192092896.
    columns["same_turn_score"] = pa.array(scores.astype(str).astype(float), from_pandas=True)
    return pa.table({"document_id": table["document_id"].take(pa.array(owners)), **columns})


def _turns(table: pa.Table) -> Iterator[int]:
    sentences, offsets = unnest(table, "sentences")
    turns = sentences.field("turn_id").to_numpy()
    return (int(turns[stop - 1]) + 1 for start, stop in zip(offsets[:-1], offsets[1:], strict=True) if stop > start)
