"""From books to a published folder: a pipeline of `books_recipes.py`, carried out as `edos curate` carries out its own.

A folder holds one config a language; each is a run of its own, and a run of one language leaves the others as they are.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import unnest
from edos_dataset.commands.books_recipes import language_of_books
from edos_dataset.commands.corpus_runs import Carried, Carrying, Corpus, fingerprint_of, run_corpus
from edos_dataset.commands.languages import language_remarks
from edos_dataset.labeling.stages import LabelTurns
from edos_dataset.publishing.books import finish_books, ledger, recipe_file, words_of, write_books
from edos_dataset.publishing.cards.books import BooksPart
from edos_dataset.publishing.cards.dataset import Origin
from edos_dataset.publishing.published import records_of, summary
from edos_dataset.runs.made_of import parameters_of
from edos_dataset.runs.manifest import Manifest, stage_entry, versions
from edos_dataset.runs.pipeline import Pipeline, count_units
from edos_dataset.runs.recipes import dump_recipe
from edos_dataset.runs.shards import write_text
from edos_dataset.sources.inventory import Inventory

SHARD_BYTES = 4 << 20
"""Bytes of files a shard, about eight novels: the unit of work, of resuming and of memory."""


def make_books(
    inventory: Inventory, out: Path, pipeline: Pipeline, how: Carrying | None = None, shard_bytes: int = SHARD_BYTES
) -> dict[str, Any] | None:
    """Run a pipeline over the books of an inventory and write their config, beside those of other languages.

    Args:
        inventory: what `find_books` found for the language of the pipeline.
        out: the folder to write; the run itself lies in `out/.run/LANGUAGE`. A folder of an earlier run is brought up
            to date.
        pipeline: stages, corpus steps and one output.
        how: by what means.
        shard_bytes: bytes of files a shard.

    Returns:
        The manifest of this language, as it stands in `out/manifest.json` under `runs`, with its `books`; None in the
        processes of a launcher but the first; what `corpus_runs.take_share` returns in a process of an array job.

    Raises:
        FolderError: the folder holds something else, or another run is at work in it.
        ValueError: a model or device that a stage names is of no use; nothing has been read then.
        OSError: a file could not be written; the same call goes on where it stopped.
        WorkerDied: a worker was killed; likewise.
        Unfinished: this is the merge of an array job, and shares are to be given.
    """
    began = time.perf_counter()
    how, language = how or Carrying(), language_of_books(pipeline)

    def publish(carried: Carried) -> tuple[dict[str, Any], Mapping[str, int]]:
        [(config, shards)] = carried.outputs.items()
        written = write_books(carried.folder, language, config, shards, carried.run.engine)
        books, notes = ledger(carried.documents, shards, carried.run.notes)
        inputs = {"books": carried.documents.num_rows, "files": count_units(carried.documents, "files")}
        recipe, fingerprint = dump_recipe(pipeline, published=True), fingerprint_of(pipeline)
        limited = f" --limit {how.limit}" if how.limit else ""
        command = f"edos books BOOKS --language {language} --recipe {recipe_file(language)}{limited} --out gutenberg"
        manifest = Manifest(
            recipe=recipe,
            fingerprint=fingerprint,
            input=inventory.facts() | inputs,
            stages=[stage_entry(count) for count in carried.run.counts],
            remarks=language_remarks(pipeline, language) or None,
            quarantined=[*inventory.quarantined, *notes],
            configs={config: summary(written)},
            books=books,
            shards={"total": len(shards), "made_now": carried.run.made},
            workers=how.workers,
            seconds=round(time.perf_counter() - began, 2),
        ).as_dict()
        origin = Origin(command, fingerprint, versions(), recipe_file(language), inputs)
        models = records_of(pipeline, LabelTurns)
        part = BooksPart(language, manifest, origin, parameters_of(pipeline, False), models, words_of(shards), written)
        finish_books(carried.folder, part)
        write_text(carried.folder.prepared / recipe_file(language), recipe)
        return manifest, {"books": inputs["books"], "dialogues": written.total_rows}

    corpus = Corpus("books", "books", inventory.books, _bytes, shard_bytes, language)
    return run_corpus(corpus, out, pipeline, how, publish)


def _bytes(books: pa.Table) -> np.ndarray:
    """Return the bytes of each book's files, float64."""
    files, offsets = unnest(books, "files")
    running = np.r_[0.0, np.cumsum(pc.fill_null(files.field("size"), 0).to_numpy())]
    return np.asarray(running[offsets[1:]] - running[offsets[:-1]])
