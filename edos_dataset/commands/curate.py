"""From subtitles to a published folder. Read this file first: a pipeline is a plain list of stages (`built_in.py` has
ours), and `curate` carries it out.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from edos_dataset.commands.corpus_runs import Carried, Carrying, Corpus, fingerprint_of, run_corpus
from edos_dataset.commands.languages import language_remarks
from edos_dataset.publishing.cards.dataset import Origin
from edos_dataset.publishing.published import holds, prepare_published, summary
from edos_dataset.runs.cutting import Part, cut_by_hash
from edos_dataset.runs.engines.array import Share
from edos_dataset.runs.manifest import Manifest, stage_entry, versions
from edos_dataset.runs.pipeline import Pipeline, count_units
from edos_dataset.runs.recipes import dump_recipe
from edos_dataset.runs.run import Progress
from edos_dataset.runs.shards import write_text
from edos_dataset.sources.inventory import Inventory, estimate_sentences
from edos_dataset.sources.read import ReadFilms

RECIPE = "recipe.yaml"
"""Beside the card, the pipeline as YAML."""

SHARD_SENTENCES = 20_000
"""Sentences a shard: the unit of work, of resuming and of memory."""


def language_of(pipeline: Pipeline) -> str:
    """Return the code of the language that a pipeline reads, which only its first stage names."""
    return next((item.language for item in pipeline if isinstance(item, ReadFilms)), ReadFilms.language)


def curate(
    inventory: Inventory,
    out: Path,
    pipeline: Pipeline,
    *,
    workers: int = 1,
    engine: str = "local",
    limit: int | None = None,
    keep_rejects: bool = False,
    shard_sentences: int = SHARD_SENTENCES,
    force: bool = False,
    progress: Progress = lambda *_: None,
    share: Share | None = None,
    arguments: Sequence[str] = (),
) -> dict[str, Any] | None:
    """Run a pipeline over the files of an inventory and write the published layout.

    Args:
        inventory: what `sources.inventory.find_films` found for `language_of(pipeline)`.
        out: the folder to write; the run itself lies in `out/.run`. A folder of an earlier run is brought up to date.
        pipeline: stages, corpus steps and outputs.
        workers: processes; neither their number nor the engine changes a byte.
        engine: where they run: "local", "accelerate", "datasets" or "ray" (`runs.engines.base`).
        limit: films at most, the first by key.
        keep_rejects: write everything that is dropped, with its reason, to `out/.run/*/*.rejects.parquet`.
        shard_sentences: sentences a shard.
        force: replace a finished run by one of another recipe, or of films that are fewer or have changed, and files
            that were edited since; more films need no leave.
        progress: called after each shard.
        share: which process of an array job this is (`runs.engines.array`).
        arguments: its command line, without the share.

    Returns:
        The manifest, as written to `out/manifest.json`; None in the processes of a launcher but the first; what
        `corpus_runs.take_share` returns in a process of an array job.

    Raises:
        FolderError: the folder holds something else, or another run is at work in it.
        ValueError: a model or device that a stage names is of no use; nothing has been read then.
        OSError: a file could not be written; the same call goes on where it stopped.
        WorkerDied: a worker was killed; likewise.
        Unfinished: this is the merge of an array job, and shares are to be given.
    """
    began = time.perf_counter()
    how = Carrying(workers, engine, limit, keep_rejects, force, progress, share, arguments)
    language = language_of(pipeline)

    def publish(carried: Carried) -> tuple[dict[str, Any], Mapping[str, int]]:
        films, run, prepared = carried.documents, carried.run, carried.folder.prepared
        recipe, fingerprint = dump_recipe(pipeline, published=True), fingerprint_of(pipeline)
        limited = f" --limit {limit}" if limit else ""
        command = f"edos curate SUBTITLES --recipe {RECIPE}{limited} --out edos"
        inputs = {"films": films.num_rows, "files": count_units(films, "files")}
        origin = Origin(command, fingerprint, versions(), RECIPE, inputs)
        configs = prepare_published(carried.folder, carried.outputs, language, pipeline, run.counts, origin, run.engine)
        write_text(prepared / RECIPE, recipe)
        manifest = Manifest(
            recipe=recipe,
            fingerprint=fingerprint,
            input=inventory.facts() | inputs,
            stages=[stage_entry(count) for count in run.counts],
            remarks=language_remarks(pipeline, language) or None,
            quarantined=[*inventory.quarantined, *run.notes],
            configs={written.config: summary(written) for written in configs},
            shards={"total": sum(map(len, carried.outputs.values())), "made_now": run.made},
            workers=workers,
            seconds=round(time.perf_counter() - began, 2),
        )
        return manifest.write(prepared), holds(inputs["films"], configs)

    corpus = Corpus("curate", "films", inventory.films, estimate_sentences, shard_sentences)
    return run_corpus(corpus, out, pipeline, how, publish)


def cut_films(films: pa.Table, shard_sentences: int) -> Sequence[Part]:
    """Return the shards of schema.FILMS, of about `shard_sentences` sentences at most."""
    return cut_by_hash(films, "film", estimate_sentences(films), shard_sentences)
