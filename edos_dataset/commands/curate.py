"""The verb `curate`: from subtitles to a published folder; and the estimate of a dry run."""

import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
from edos_dataset.commands.endpoints import (
    asked_of,
    at_endpoint,
    needed_for_all,
    shared_among,
    shared_run,
    unanswered_in,
    used,
    warn_of_absence,
    without_endpoints,
)
from edos_dataset.commands.options import Result, UsageError, command_words, run_options, verb
from edos_dataset.commands.progress import announce
from edos_dataset.labeling.stages import EncodeTurns, LabelTurns
from edos_dataset.publishing.cards.dataset import Origin
from edos_dataset.publishing.published import histories_of, holds, prepare_published, split_remarks, summary
from edos_dataset.publishing.splits import SHARES, division_of
from edos_dataset.recipes.subtitles import PAPERS, SCRIPTS, pipeline_of, with_pseudonyms
from edos_dataset.runs.arguments import check_apart
from edos_dataset.runs.manifest import Manifest, stage_entry, versions
from edos_dataset.runs.pipeline import CorpusStep, Stage, Steps, check_pipeline, count_units
from edos_dataset.runs.recipes import dump_recipe
from edos_dataset.runs.run import run_stage
from edos_dataset.runs.shards import Part, cut_by_hash, write_shard, write_text
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.sources.formats import formats
from edos_dataset.sources.given import STDIN, Source, sources_of
from edos_dataset.sources.inventory import Inventory, estimate_sentences, find_films
from edos_dataset.sources.read import ReadFilms
from edos_dataset.wording import counted

if TYPE_CHECKING:
    from edos_dataset.label_sets import LabelMap, LabelSet
    from edos_dataset.runs.run import Progress

RECIPE = "recipe.yaml"
"""Name of the file with the pipeline as YAML, beside the card."""

SHARD_SENTENCES = 20_000
"""Sentences per shard, the unit of work, resuming and memory."""

_SAMPLE_TURNS = 256  # turns that an estimate labels


@verb
def curate(
    sources: str | Path | Sequence[str | Path] | Inventory,
    out: str | Path,
    pipeline: Steps | None = None,
    *,
    recipe: str | Path | None = None,
    settings: Sequence[str] = (),
    top: int | None = None,
    by: str | None = None,
    weak_model: str | None = None,
    model: str | None = None,
    labels: bool = True,
    language: str | None = None,
    pseudonymize: bool = False,
    workers: int | None = 1,
    engine: str | None = None,
    address: str | None = None,
    shard: str | None = None,
    limit: int | None = None,
    keep_rejects: bool = False,
    force: bool = False,
    dry_run: bool = False,
    progress: "bool | Progress | None" = None,
    trust_remote_code: bool = False,
    shard_sentences: int = SHARD_SENTENCES,
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
    """Make a dataset from subtitles, as `edos curate` does.

        edos_dataset.curate("films", "edos", workers=2).load()

    With more than one worker a script needs `if __name__ == "__main__":`, as the workers import it. After an
    interruption, the same call resumes.

    Args:
        sources: files, folders and zip archives of subtitles, and patterns such as "films/**/*.srt"; or the result of
            `find_films`.
        out: output folder; an earlier run in it is updated. The shards of the run are kept in `out/.run`.
        pipeline: stages, corpus steps and outputs, instead of a recipe and its settings.
        recipe: built-in recipe, "default", "papers" or "scripts", or a YAML file of stages; by default "scripts" if all
            files are screenplays.
        settings: overrides of recipe parameters, such as "dialogues.gap=4.0".
        top: number of dialogues to select for the labelled configs.
        by: score by which the dialogues are selected: "emotionality", "confidence" or "certainty".
        weak_model: model that labels single turns without context; by default that of the recipe, for the language.
        model: model that labels turns in context; by default that of the recipe, for the language.
        labels: whether to label the turns; without labels only the config "os" is written. No turn is labelled in a
            language that no shipped model supports, unless a model is given.
        language: language code ("en", "pt_br"), by default that of the recipe; other files are skipped.
        pseudonymize: replace the names of speakers by "speaker 1", "speaker 2", ..., also in texts that mention them.
        workers: number of processes; None means one per core.
        engine: "local", "accelerate", "datasets" or "ray", as in `RunOptions`.
        address: address of the Ray cluster, for the engine "ray".
        shard: "I/N" for task I of an array job of N tasks, or "0/N" to merge them.
        limit: maximum number of films, the first in order of key.
        keep_rejects: keep everything rejected, with the reason, in the folder of the run.
        force: replace a finished run of another recipe or of films that were removed or changed, and files that were
            edited since; not needed if films were only added.
        dry_run: count the files and estimate time and disk space; write nothing.
        progress: whether to show progress, by default in terminals and notebooks; or a callback.
        trust_remote_code: run custom code that comes with a model.
        shard_sentences: sentences per shard.
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
        splits: shares of films in train, validation and test, in any scale; by default "80/10/10". If a split would be
            empty, films are moved into it; by default not with the recipe "papers".
        split_seed: another seed divides the films otherwise.

    Returns:
        The manifest, as in `out/manifest.json`; `.load()` returns the `DatasetDict`. For a dry run the fields of
        `Estimate`; for an array task the result of `run_array_task`.
    """
    began, out = time.perf_counter(), place_of(out)
    if not dry_run:
        check_apart(out, paths(sources))
    changes: dict[str, Any] = {"top": top, "by": by, "weak_model": weak_model, "model": model, "language": language}
    changes |= {"label_set": label_set, "label_map": label_map}
    asked = asked_of(locals())

    def chosen_by(recipe: str | Path | None) -> Steps:
        """Return the pipeline, checked before the files are listed, which can take long."""
        if pipeline is None:
            steps: Steps = pipeline_of(
                recipe, labels=labels, settings=settings, trust_remote_code=trust_remote_code, **changes
            )
        else:
            check_alone(changes | {"recipe": recipe, "settings": settings or None}, labels, shard)
            steps = list(pipeline)
        steps = with_pseudonyms(steps) if pseudonymize else steps
        steps = at_endpoint(steps, run=shared_run(out, shard), **asked)
        announce(progress, loading(steps))
        check_pipeline(without_endpoints(steps) if dry_run else steps)
        return steps

    division = division_of(splits, split_seed, SHARES, fill=str(recipe) != PAPERS)
    chosen = chosen_by(recipe)
    read, wanted = language_of(chosen), labels and pipeline is None
    inventory = sources if isinstance(sources, Inventory) else find_films(places(sources, files_from, shard), read)
    if recipe is None and pipeline is None and are_scripts(inventory.films):
        recipe = SCRIPTS
        chosen = chosen_by(recipe)
    announce(progress, reading(inventory.films, "films"))
    words = command_words(
        "curate",
        {"sources": paths(sources), "files-from": files_from, "out": out, "recipe": recipe, "set": list(settings)}
        | {"no-labels": not labels}
        | {option_of(name): value for name, value in changes.items()}
        | {option_of(name): value for name, value in asked.items()}
        | {"pseudonymize": pseudonymize, "limit": limit, "rejects": keep_rejects}
        | split_options(splits, split_seed),
    )
    with run_options(
        workers,
        engine,
        address=address,
        progress=False if dry_run else progress,
        shard=shard,
        arguments=words,
        limit=limit,
        keep_rejects=keep_rejects,
        force=force,
    ) as options:
        if dry_run:
            guess = estimate(inventory.films.slice(0, limit), chosen, options.workers)
            facts = {name: value for name, value in vars(guess).items() if value is not None}
            return DryRun("curate, dry run", facts, None, facts, "", inventory, language_remarks(chosen, read, wanted))

        warn_of_absence(chosen)
        asking = shared_among(chosen, options.workers)

        def publish(finished: FinishedRun) -> tuple[dict[str, Any], Mapping[str, int]]:
            films, run, prepared = finished.documents, finished.run, finished.folder.prepared
            text, fingerprint = dump_recipe(chosen, published=True), fingerprint_of(chosen)
            given = {"limit": limit, **split_options(splits, split_seed)}
            more = "".join(f" --{name} {value}" for name, value in given.items() if value)
            command = f"edos curate SUBTITLES --recipe {RECIPE}{more} --out edos"
            inputs = {"films": films.num_rows, "files": count_units(films, "files")}
            origin = Origin(command, fingerprint, versions(), RECIPE, inputs)
            configs = prepare_published(
                finished.folder, finished.outputs, read, chosen, run.counts, origin, run.engine, division
            )
            remarks = [*language_remarks(chosen, read, wanted), *split_remarks(configs, division, "films")]
            remarks += script_remarks(inventory.films, chosen)
            write_text(prepared / RECIPE, text)
            stages = [stage_entry(count) for count in run.counts]
            manifest = Manifest(
                recipe=text,
                fingerprint=fingerprint,
                input=inventory.facts() | inputs,
                stages=stages,
                endpoint=used(asking, unanswered_in(stages)),
                history=histories_of(chosen),
                remarks=remarks or None,
                quarantined=[*inventory.quarantined, *run.notes],
                left_out=run.left_out,
                configs={written.config: summary(written) for written in configs},
                shards={"total": sum(map(len, finished.outputs.values())), "made_now": run.made},
                workers=options.workers,
                seconds=round(time.perf_counter() - began, 2),
            )
            return manifest.write(prepared), holds(inputs["films"], configs)

        corpus = Corpus(
            "curate", "films", inventory.films, estimate_sentences, shard_sentences, others=division.parameters
        )
        return run_result("curate", out, run_corpus(corpus, out, asking, options, publish))


def are_scripts(films: pa.Table) -> bool:
    """Return whether all files of schema.FILMS are screenplays, which have a recipe of their own."""
    files, _ = unnest(films, "files")
    return len(files) > 0 and _scripts(files) == len(files)


def _scripts(files: pa.StructArray) -> int:
    known = formats()
    return sum(known[kind].scripted for kind in files.field("kind").to_pylist())


def script_remarks(films: pa.Table, pipeline: Steps) -> list[str]:
    """Return a sentence on screenplays that were read with other files, and so without their scenes and notes."""
    files, _ = unnest(films, "files")
    found = _scripts(files)
    if not found or any(isinstance(item, ReadFilms) and item.only_scripts for item in pipeline):
        return []
    some = counted(found, "files are of screenplays")
    return [f"{some}: --recipe scripts reads only these, with the columns scene and manner"]


def language_of(pipeline: Steps) -> str:
    """Return the code of the language that a pipeline reads."""
    return next((item.language for item in pipeline if isinstance(item, ReadFilms)), ReadFilms.language)


def option_of(parameter: str) -> str:
    """Return the command-line option for a parameter, without its leading dashes."""
    return "map" if parameter == "label_map" else parameter.replace("_", "-")


def split_options(splits: str | Sequence[float] | None, seed: int) -> dict[str, Any]:
    """Return the options of a command line for shares of the splits and a seed, as far as they are given."""
    shares = splits if splits is None or isinstance(splits, str) else "/".join(map(str, splits))
    return {"splits": shares, "split-seed": seed or None}


def check_alone(changes: Mapping[str, object], labels: bool | None, shard: str | None) -> None:
    """Raise ValueError for settings of a recipe that were given together with a pipeline."""
    given = [f"--{option_of(name)}" for name, value in changes.items() if value is not None]
    given += ["--no-labels"] * (labels is False)
    if given:
        raise ValueError(f"{given[0]} changes a recipe, but a pipeline is given: change the pipeline instead")
    if shard is not None:
        raise ValueError("--shard needs a recipe that all tasks read: save the pipeline as YAML and give that file")


def paths(sources: str | Path | Sequence[str | Path] | Inventory) -> list[str]:
    """Return sources as arguments of a command line; none for an inventory."""
    if isinstance(sources, Inventory):
        return []
    return [str(each) for each in ([sources] if isinstance(sources, str | Path) else sources or ())]


def places(
    sources: str | Path | Sequence[str | Path] | None, files_from: str | Path | None = None, shard: str | None = None
) -> list[Source]:
    """Return what the user gave to be read, at least one source.

    Raises:
        UsageError: nothing was given, or the tasks of an array job cannot all read the list.
        SourceError: as of `sources_of`.
    """
    if shard is not None and str(files_from) == STDIN:
        raise UsageError("--files-from -: each task of an array job reads the list, so save it and give the file")
    found = sources_of(sources or (), files_from)
    if not found:
        raise UsageError("no source given: name at least one file, folder, zip archive or pattern, or use --files-from")
    return found


def cut_films(films: pa.Table, shard_sentences: int) -> Sequence[Part]:
    """Cut schema.FILMS into shards of about `shard_sentences` sentences at most."""
    return cut_by_hash(films, "film", estimate_sentences(films), shard_sentences)


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of a run, measured on a few of its films.

    Attributes:
        films: number of films to read.
        files: number of files.
        bytes: their stored size.
        sentences: estimated number of sentences.
        dialogues: estimated number of dialogues after cleaning, before the corpus steps.
        turns: estimated number of turns in these dialogues.
        seconds: estimated duration with the given number of workers.
        disk: estimated bytes written, including resumable shards.
        sampled: number of films measured.
        endpoint: what models at endpoints need, as in a dry run of `label`; None if there are none.
    """

    films: int
    files: int
    bytes: int
    sentences: int
    dialogues: int
    turns: int
    seconds: float
    disk: int
    sampled: int
    endpoint: dict[str, Any] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class DryRun(Result):
    """The result of a dry run: a mapping with the fields of `Estimate`.

    Attributes:
        inventory: the files found.
        remarks: sentences about models that do not support the language.
    """

    inventory: Inventory | None = None
    remarks: Iterable[str] = ()


def estimate(films: pa.Table, pipeline: Steps, workers: int, sample: int = 12) -> Estimate:
    """Estimate the cost of a run: run its first stages over a few evenly spaced films and scale the result by size.

    Args:
        films: schema.FILMS.
        pipeline: the pipeline to be run.
        workers: number of processes of the run.
        sample: number of films to measure, from 1.
    """
    weights = estimate_sentences(films)
    chosen = np.unique(np.linspace(0, films.num_rows - 1, min(sample, films.num_rows)).round().astype(int))
    scale = float(weights.sum() / weights[chosen].sum())
    table = films.take(pa.array(chosen))
    sentences, seconds = 0, 0.0
    for stage in _first_stages(pipeline):
        table, _, count = run_stage(stage, stage, table)
        seconds += count.seconds
        sentences = count.read if count.unit == "sentences" else sentences
    turns = count_units(table, "turns")
    disk = 4 * _size(table)  # as sentences, after the stages, after the cap, and as published
    models = [item for item in without_endpoints(pipeline) if isinstance(item, EncodeTurns | LabelTurns)]
    if models and turns:
        per_turn, size = _labelling(table, models)
        seconds += per_turn * turns
        disk += 3 * size * turns  # labelled, selected, annotated
    files, _ = unnest(films, "files")
    stored = int(pc.sum(files.field("size")).as_py() or 0)
    return Estimate(
        films=films.num_rows,
        files=len(files),
        bytes=stored,
        sentences=round(scale * sentences),
        dialogues=round(scale * table.num_rows),
        turns=round(scale * turns),
        seconds=round(scale * seconds / workers, 1),
        disk=round(scale * disk),
        sampled=len(chosen),
        endpoint=needed_for_all(pipeline, table, scale),
    )


def _first_stages(pipeline: Steps) -> Sequence[Stage]:
    """Return the stages before the first corpus step over dialogues; a sample cannot show duplicate films."""
    stages: list[Stage] = []
    for item in pipeline:
        if isinstance(item, CorpusStep) and item.unit == "files":
            continue
        if not isinstance(item, Stage):
            break
        stages.append(item)
    return stages


def _labelling(table: pa.Table, stages: Sequence[Stage]) -> tuple[float, int]:
    """Return seconds and bytes per turn, measured on the first dialogues, without the time to load the models."""
    first = table.slice(0, 1)
    rows = table.slice(0, max(1, int(_SAMPLE_TURNS * table.num_rows / max(count_units(table, "turns"), 1))))
    seconds = 0.0
    for stage in stages:
        first = stage(first)
        began = time.perf_counter()
        rows = stage(rows)
        seconds += time.perf_counter() - began
    turns = max(count_units(rows, "turns"), 1)
    return seconds / turns, _size(rows) // turns


def _size(table: pa.Table) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample.parquet"
        write_shard(path, table)
        return path.stat().st_size
