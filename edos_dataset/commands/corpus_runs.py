"""Running a pipeline over an inventory of files and publishing the outputs; shared by `curate` and `books`."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.commands.options import Result, RunOptions, device_of
from edos_dataset.labeling.languages import languages_of
from edos_dataset.labeling.models.shipped import MULTILINGUAL, is_supported
from edos_dataset.labeling.stages import LabelTurns
from edos_dataset.languages import name_of_language, same_language
from edos_dataset.runs.array_jobs import (
    ArrayJob,
    MissingShards,
    Undecided,
    check_job,
    merging,
    record_of,
    table_digest,
)
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.folder import OutputFolder
from edos_dataset.runs.pipeline import Output, Steps, check_order, check_pipeline, count_units
from edos_dataset.runs.provenance import Provenance, parameters_of
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.runs.run import Run
from edos_dataset.runs.shards import Part, cut_by_hash, digest
from edos_dataset.segmentation.turns.scorers import load_scorer
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.sources.inventory import contents_of, with_contents
from edos_dataset.wording import counted, unit_of


@dataclass(frozen=True)
class FinishedRun:
    """A run whose outputs are ready to be published.

    Attributes:
        folder: the locked folder; everything to be published is written below `folder.prepare()`.
        documents: the documents that were read.
        outputs: shards of each config.
        run: the run, with its counts and notes.
    """

    folder: OutputFolder
    documents: pa.Table
    outputs: Mapping[str, list[Path]]
    run: Run


@dataclass(frozen=True)
class Corpus:
    """What a command reads, and where it keeps its run.

    Attributes:
        command: name of the command, recorded in the folder.
        unit: "films" or "books".
        documents: FILMS or BOOKS.
        weights: documents → float64, roughly proportional to the work that each takes.
        shard: maximum weight of a shard.
        part: name of this run in a folder with several, such as a language code; "" in a folder with one run.
        others: parameters besides those of the pipeline: name, as the user knows it, → value.
    """

    command: str
    unit: str
    documents: pa.Table
    weights: Callable[[pa.Table], np.ndarray]
    shard: int
    part: str = ""
    others: Mapping[str, Any] = field(default_factory=dict)

    def parts(self, documents: pa.Table) -> list[Part]:
        """Return the documents cut into shards."""
        return cut_by_hash(documents, documents.column_names[0], self.weights(documents), self.shard)

    def made_of(self, pipeline: Steps, documents: pa.Table) -> Provenance:
        """Return the provenance of a pipeline's output; `documents` must state their contents (`with_contents`)."""
        inputs = {self.unit: contents_of(documents)}
        return Provenance({**parameters_of(pipeline), **self.others}, inputs, fingerprint_of(pipeline), self.part)


def run_corpus(
    corpus: Corpus,
    out: Path,
    pipeline: Steps,
    options: RunOptions,
    publish: Callable[[FinishedRun], tuple[dict[str, Any], Mapping[str, int]]],
) -> dict[str, Any] | None:
    """Run a pipeline over documents and publish the outputs atomically.

    Args:
        corpus: the documents.
        out: output folder; an earlier run in it is updated. The shards of the run are kept in `out/.run`.
        pipeline: stages, corpus steps and outputs.
        options: how the run is carried out.
        publish: writes everything to be published; returns the manifest and the counts of the folder (unit → number).

    Returns:
        The manifest, or None in all launched processes but the first; for an array task the result of
        `run_array_task`.

    Raises:
        The errors listed in `Result`.
    """
    check_order(pipeline)
    check_pipeline(pipeline)
    documents = corpus.documents.slice(0, options.limit)
    if options.shard and not options.shard.merges:
        return run_array_task(corpus, documents, out, pipeline, options)
    documents = with_contents(documents)
    engine = options.start_engine(device_of(pipeline))
    with output_folder(out, corpus.command, engine.is_main, options.force, options.shard is not None) as folder, engine:
        made_of = corpus.made_of(pipeline, documents)
        made_of.check(folder)
        run = Run(folder.run / corpus.part, engine, options.keep_rejects, options.progress)
        job = record_of(folder.run, corpus.part)
        if options.shard is None and engine.is_main and not options.force:
            check_job(job, _key_of(corpus, pipeline, corpus.documents.slice(0, options.limit)), out)
        with merging(options.shard and job, out):
            outputs = run.execute(corpus.parts(documents), pipeline)
        if not engine.is_main:
            return None
        manifest, holds = publish(FinishedRun(folder, documents, outputs, run))
        made_of.write(folder, holds)
        folder.commit()
        job.unlink(missing_ok=True)
        return manifest


def run_array_task(
    corpus: Corpus, documents: pa.Table, out: Path, pipeline: Steps, options: RunOptions
) -> dict[str, Any]:
    """Make the shards of one task of an array job, as far as this is possible without the other tasks.

    The task that starts first lists the input for all of them, which reads every file. After that the folder is not
    locked, so no ordinary run and no merge may run at the same time as the job.

    Returns:
        `share`: the task, "I/N"; `made` and `reused`: the numbers of its shards that were made now and earlier;
        `missing`: the number of shards of the phase `phase` that other tasks have yet to make; `undecided`: the corpus
        step that the merge has to decide. The last three are null if nothing blocks the task.
    """
    assert options.shard is not None
    with options.start_engine(device_of(pipeline)) as engine:
        with output_folder(out, corpus.command, force=options.force, others=True) as folder:
            run = Run(folder.run / corpus.part, engine, options.keep_rejects, options.progress)
            key, record = _key_of(corpus, pipeline, documents), record_of(folder.run, corpus.part)
            before = ArrayJob.read(record)
            if not options.force:
                check_job(record, key, out)
            if before is None or not before.lists(key, run.index):
                documents = with_contents(documents)
                corpus.made_of(pipeline, documents).check(folder)
                run.write_inputs(corpus.parts(documents))
            job = ArrayJob(list(options.arguments), os.getcwd(), options.shard.total, key, digest(run.index))
            job.write(record)
        blocked: dict[str, Any] = {"phase": None, "missing": None, "undecided": None}
        try:
            run.execute(None, pipeline)
        except MissingShards as missing:
            blocked |= {"phase": missing.phase, "missing": len(missing.places)}
        except Undecided as undecided:
            blocked["undecided"] = str(undecided)
    return {"share": str(options.shard), "made": run.made, "reused": run.reused, **blocked}


def _key_of(corpus: Corpus, pipeline: Steps, documents: pa.Table) -> str:
    """Return the key of an array job over documents as they were found."""
    return hash_json([fingerprint_of(pipeline), corpus.shard, table_digest(documents)])


def fingerprint_of(pipeline: Steps) -> str:
    """Return the hash of everything that determines the rows of a pipeline except its input."""
    return hash_json([item.fingerprint() for item in pipeline if not isinstance(item, Output)])


def run_result(verb: str, out: Path, manifest: dict[str, Any] | None) -> Result:
    """Return the result of a run, given its manifest or the result of an array task; None gives an empty result."""
    if manifest is None:
        return Result(verb, {})
    if "share" in manifest:
        summary = {name: value for name, value in manifest.items() if value is not None}
        return Result(f"{verb}, array task", manifest, summary=summary, then=f"edos merge {out}")
    units = {unit: manifest["input"][unit] for unit in ("films", "books") if unit in manifest["input"]}
    rows = {f"{config} dialogues": row["dialogues"] for config, row in manifest["configs"].items()}
    bad = {"unreadable files": len(manifest["quarantined"])} if manifest["quarantined"] else {}
    return Result(verb, manifest, out, units | rows | bad, ".load() for a DatasetDict")


def loading(pipeline: Steps) -> str:
    """Return a line on the models that a pipeline loads before it begins."""
    names = dict.fromkeys(str(item.model) for item in pipeline if isinstance(item, LabelTurns))
    return f"loading the {unit_of(len(names), 'models')} {', '.join(names)}" if names else "checking the recipe"


def reading(documents: pa.Table, unit: str) -> str:
    """Return a line on the documents that a run reads; `unit` is "films" or "books"."""
    return f"reading {counted(count_units(documents, 'files'), 'files')} of {counted(documents.num_rows, unit)}"


def language_remarks(pipeline: Steps, language: str, labels: bool = True) -> list[str]:
    """Return a sentence for each kind of stage whose model does not support a language, or was chosen for it.

    Args:
        pipeline: stages, corpus steps and outputs.
        language: language code of the documents.
        labels: whether labels are wanted.
    """
    remarks = [
        f"turns are found by {stage.others!r}: the scorer {stage.scorer!r} does not know {name_of_language(language)}"
        for stage in pipeline
        if isinstance(stage, SegmentTurns) and not _knows(load_scorer(stage.scorer).languages, language)
    ]
    return remarks + _remarks_on_labels([item for item in pipeline if isinstance(item, LabelTurns)], language, labels)


def _remarks_on_labels(stages: Sequence[LabelTurns], language: str, labels: bool) -> list[str]:
    spoken = name_of_language(language)
    if labels and not stages and not is_supported(language):
        return [
            f"there are no labels: no model that comes with edos-dataset knows {spoken}; give --model (and for "
            "subtitles --weak-model) with one that does"
        ]
    remarks = []
    if MULTILINGUAL in [stage.model for stage in stages]:
        remarks.append(f"the labels are by the model {MULTILINGUAL!r}, since the texts are {spoken}")
    models = list(dict.fromkeys(stage.model for stage in stages if not _knows(languages_of(stage), language)))
    if models:
        remarks.append(
            f"the labels are unreliable: {' and '.join(map(repr, models))} {'knows' if len(models) == 1 else 'know'} "
            f"no {spoken}; use models that do (--weak-model, --model), or --no-labels"
        )
    return remarks


def _knows(languages: Sequence[str] | None, language: str) -> bool:
    return languages is None or any(same_language(known, language) for known in languages)
