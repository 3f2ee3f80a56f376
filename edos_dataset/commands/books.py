"""The verb `books`: from books to a published folder.

A folder holds one config per language; each is a separate run, which leaves the other languages unchanged.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import unnest
from edos_dataset.commands.corpus_runs import (
    Corpus,
    FinishedRun,
    fingerprint_of,
    language_remarks,
    loading,
    reading,
    run_corpus,
    run_result,
)
from edos_dataset.commands.curate import check_alone, option_of, paths, places, split_options
from edos_dataset.commands.endpoints import (
    asked_of,
    at_endpoint,
    shared_among,
    shared_run,
    unanswered_in,
    used,
    warn_of_absence,
)
from edos_dataset.commands.options import Result, command_words, run_options, verb
from edos_dataset.commands.progress import announce
from edos_dataset.labeling.stages import LabelTurns
from edos_dataset.publishing.cards.dataset import BooksPart, Origin
from edos_dataset.publishing.published import (
    finish_books,
    histories_of,
    ledger,
    recipe_file,
    records_of,
    split_remarks,
    summary,
    words_of,
    write_books,
)
from edos_dataset.publishing.splits import SHARES_OF_BOOKS, division_of
from edos_dataset.recipes.books import books_pipeline, language_of_books
from edos_dataset.recipes.subtitles import PAPERS
from edos_dataset.runs.arguments import check_apart
from edos_dataset.runs.manifest import Manifest, stage_entry, versions
from edos_dataset.runs.pipeline import Steps, check_pipeline, count_units
from edos_dataset.runs.provenance import parameters_of
from edos_dataset.runs.recipes import dump_recipe
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.sources.inventory import Inventory, find_books

if TYPE_CHECKING:
    from edos_dataset.label_sets import LabelMap, LabelSet
    from edos_dataset.runs.run import Progress

SHARD_BYTES = 4 << 20
"""Bytes of files per shard, about eight novels: the unit of work, resuming and memory."""


@verb
def books(
    sources: str | Path | Sequence[str | Path] | Inventory,
    out: str | Path,
    pipeline: Steps | None = None,
    *,
    language: str | None = None,
    recipe: str | Path | None = None,
    settings: Sequence[str] = (),
    labels: bool | None = None,
    model: str | None = None,
    workers: int | None = 1,
    engine: str | None = None,
    address: str | None = None,
    shard: str | None = None,
    limit: int | None = None,
    keep_rejects: bool = False,
    force: bool = False,
    progress: "bool | Progress | None" = None,
    trust_remote_code: bool = False,
    shard_bytes: int = SHARD_BYTES,
    label_set: "str | Path | LabelSet | Mapping[str, Any] | Sequence[str] | None" = None,
    label_map: "str | Path | LabelSet | LabelMap | Mapping[str, Any] | None" = None,
    files_from: str | Path | None = None,
    history: int | None = None,
    multi_label: bool = False,
    base_url: str | None = None,
    api_key_env: str | None = None,
    concurrency: int | None = None,
    timeout: float | None = None,
    price_in: float | None = None,
    price_out: float | None = None,
    splits: str | Sequence[float] | None = None,
    split_seed: int = 0,
) -> Result:
    """Make a dataset from books in one language, as `edos books` does.

        edos_dataset.books("novels", "gutenberg", language="de").load("gutenberg_de")

    With more than one worker a script needs `if __name__ == "__main__":`, as the workers import it. After an
    interruption, the same call resumes.

    Args:
        sources: files, folders and zip archives of books: text, TEI, HTML, EPUB; patterns such as "novels/*.epub"; or
            the result of `find_books`.
        out: output folder; its configs of other languages are kept, and an earlier run of this language is updated.
            The shards of the run are kept in `out/.run/LANGUAGE`.
        pipeline: stages, corpus steps and one output, instead of a recipe and its settings.
        language: language code of the books ("en"), by default that of the recipe.
        recipe: built-in recipe, "default" or "papers", or a YAML file of stages.
        settings: overrides of recipe parameters, such as "dialogues.gap=200".
        labels: whether to label the turns; by default if a shipped model supports the language, or a model is given.
        model: model that labels the turns; by default that of the recipe, for the language.
        workers: number of processes; None means one per core.
        engine: "local", "accelerate", "datasets" or "ray", as in `RunOptions`.
        address: address of the Ray cluster, for the engine "ray".
        shard: "I/N" for task I of an array job of N tasks, or "0/N" to merge them.
        limit: maximum number of books, the first in order of key.
        keep_rejects: keep everything rejected, with the reason, in the folder of the run.
        force: replace a finished run of this language with another recipe or other books, and files edited since.
        progress: whether to show progress, by default in terminals and notebooks; or a callback.
        trust_remote_code: run custom code that comes with a model.
        shard_bytes: bytes of files per shard.
        label_set: label set to write, as in `label`; by default that of each model.
        label_map: label set or map into which the labels are translated, as in `label`.
        files_from: a file with the path of a file to read on each line, or with NUL between them; "-" is standard
            input.
        history: number of earlier turns that the model that labels in context sees, as in `label`.
        multi_label: let models at an endpoint give a turn several labels.
        base_url: address of the endpoint of models named "openai:MODEL", as in `label`; like the next five.
        api_key_env: see there.
        concurrency: see there.
        timeout: see there.
        price_in: see there.
        price_out: see there.
        splits: shares of books in train, validation and test, in any scale; by default "90/5/5". If a split would be
            empty, books are moved into it; by default not with the recipe "papers".
        split_seed: another seed divides the books otherwise.

    Returns:
        The manifest of this language, as in `out/manifest.json` under `runs`, including its `books`;
        `.load("gutenberg_en")` returns the `DatasetDict`. For an array task the result of `run_array_task`.
    """
    began, out = time.perf_counter(), place_of(out)
    check_apart(out, paths(sources))
    translated: dict[str, Any] = {"label_set": label_set, "label_map": label_map}
    if pipeline is None:
        chosen: Steps = books_pipeline(
            recipe,
            language=language,
            labels=labels,
            model=model,
            settings=settings,
            trust_remote_code=trust_remote_code,
            **translated,
        )
    else:
        given = {"recipe": recipe, "settings": settings or None, "model": model, "language": language}
        check_alone({**given, "label-set": label_set, "map": label_map}, labels, shard)
        chosen = list(pipeline)
    asked = asked_of(locals())
    chosen = at_endpoint(chosen, run=shared_run(out, shard), **asked)
    division = division_of(splits, split_seed, SHARES_OF_BOOKS, fill=str(recipe) != PAPERS)
    announce(progress, loading(chosen))
    check_pipeline(chosen)  # before the files are listed, which can take long
    read, wanted = language_of_books(chosen), labels is not False and pipeline is None
    inventory = sources if isinstance(sources, Inventory) else find_books(places(sources, files_from, shard), read)
    announce(progress, reading(inventory.books, "books"))
    words = command_words(
        "books",
        {"sources": paths(sources), "files-from": files_from, "out": out, "language": language, "recipe": recipe}
        | {"set": list(settings)}
        | {"labels": labels, "no-labels": labels is False, "model": model, "limit": limit, "rejects": keep_rejects}
        | {"label-set": label_set, "map": label_map}
        | {option_of(name): value for name, value in asked.items()}
        | split_options(splits, split_seed),
    )

    with run_options(
        workers,
        engine,
        address=address,
        progress=progress,
        shard=shard,
        arguments=words,
        limit=limit,
        keep_rejects=keep_rejects,
        force=force,
    ) as options:
        warn_of_absence(chosen)
        asking = shared_among(chosen, options.workers)

        def publish(finished: FinishedRun) -> tuple[dict[str, Any], Mapping[str, int]]:
            [(config, shards)] = finished.outputs.items()
            written = write_books(finished.folder, read, config, shards, finished.run.engine, division)
            entries, notes = ledger(finished.documents, shards, finished.run.notes)
            inputs = {"books": finished.documents.num_rows, "files": count_units(finished.documents, "files")}
            text, fingerprint = dump_recipe(chosen, published=True), fingerprint_of(chosen)
            given = {"limit": limit, **split_options(splits, split_seed)}
            more = "".join(f" --{name} {value}" for name, value in given.items() if value)
            command = f"edos books BOOKS --language {read} --recipe {recipe_file(read)}{more} --out gutenberg"
            remarks = [*language_remarks(chosen, read, wanted), *split_remarks([written], division, "books")]
            stages = [stage_entry(count) for count in finished.run.counts]
            manifest = Manifest(
                recipe=text,
                fingerprint=fingerprint,
                input=inventory.facts() | inputs,
                stages=stages,
                endpoint=used(asking, unanswered_in(stages)),
                history=histories_of(chosen),
                remarks=remarks or None,
                quarantined=[*inventory.quarantined, *notes],
                left_out=finished.run.left_out,
                configs={config: summary(written)},
                books=entries,
                shards={"total": len(shards), "made_now": finished.run.made},
                workers=options.workers,
                seconds=round(time.perf_counter() - began, 2),
            ).as_dict()
            origin = Origin(command, fingerprint, versions(), recipe_file(read), inputs)
            models = records_of(chosen, LabelTurns)
            part = BooksPart(read, manifest, origin, parameters_of(chosen, False), models, words_of(shards), written)
            finish_books(finished.folder, part)
            write_text(finished.folder.prepared / recipe_file(read), text)
            return manifest, {"books": inputs["books"], "dialogues": written.total_rows}

        corpus = Corpus("books", "books", inventory.books, _bytes, shard_bytes, read, division.parameters)
        return run_result("books", out, run_corpus(corpus, out, asking, options, publish))


def _bytes(books: pa.Table) -> np.ndarray:
    """Return the size of each book in bytes, as float64."""
    files, offsets = unnest(books, "files")
    running = np.r_[0.0, np.cumsum(pc.fill_null(files.field("size"), 0).to_numpy())]
    return np.asarray(running[offsets[1:]] - running[offsets[:-1]])
