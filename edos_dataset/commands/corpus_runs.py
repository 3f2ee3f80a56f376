"""A pipeline carried out over an inventory of files into a published folder: what `edos curate` and `edos books` do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.runs.cutting import cut_by_hash
from edos_dataset.runs.engines.by_name import engine_of
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.folder import OutputFolder
from edos_dataset.runs.made_of import MadeOf, parameters_of
from edos_dataset.runs.phases import check_order
from edos_dataset.runs.pipeline import Output, Pipeline, check_pipeline
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.runs.run import Progress, Run
from edos_dataset.sources.contents import contents_of, with_contents


@dataclass(frozen=True)
class Carrying:
    """How a pipeline is carried out, whatever it is.

    Attributes:
        workers: processes; neither their number nor the engine changes a byte.
        engine: where they run: "local", "accelerate", "datasets" or "ray" (`runs.engines.base`).
        limit: films or books at most, the first by key.
        keep_rejects: write everything that is dropped, with its reason, beside the shards.
        force: replace a finished run by one of another recipe, or of input that is less or has changed, and files that
            were edited since; more input needs no leave.
        progress: called after each shard.
    """

    workers: int = 1
    engine: str = "local"
    limit: int | None = None
    keep_rejects: bool = False
    force: bool = False
    progress: Progress = lambda *_: None


@dataclass(frozen=True)
class Carried:
    """A pipeline that has been carried out and is to be published.

    Attributes:
        folder: held; all that is published goes below `folder.prepare()`.
        documents: what was read.
        outputs: shards of each config.
        run: with its counts and notes.
    """

    folder: OutputFolder
    documents: pa.Table
    outputs: Mapping[str, list[Path]]
    run: Run


@dataclass(frozen=True)
class Corpus:
    """What a command reads, and where it keeps its run.

    Attributes:
        command: the command, for whoever finds the folder.
        unit: what the documents are: "films" or "books".
        documents: FILMS or BOOKS.
        weights: what the documents weigh → float64, about as much as they have to do.
        shard: weight of a shard at most.
        part: of a folder that several runs fill, the one that this is; "" for a folder of one run.
    """

    command: str
    unit: str
    documents: pa.Table
    weights: Callable[[pa.Table], np.ndarray]
    shard: int
    part: str = ""


def run_corpus(
    corpus: Corpus,
    out: Path,
    pipeline: Pipeline,
    how: Carrying,
    publish: Callable[[Carried], tuple[dict[str, Any], Mapping[str, int]]],
) -> dict[str, Any] | None:
    """Run a pipeline over documents and put what is published of it in place, at one stroke.

    Args:
        corpus: what is read.
        out: the folder to write; the run itself lies in `out/.run`. A folder of an earlier run is brought up to date.
        pipeline: stages, corpus steps and outputs.
        how: by what means.
        publish: prepares all that is published, and returns the manifest and what the folder holds, unit → number.

    Returns:
        The manifest; None in the processes of a launcher but the first.

    Raises:
        FolderError: the folder holds something else, or another run is at work in it.
        ValueError: a model or device that a stage names is of no use; nothing has been read then.
        OSError: a file could not be written; the same call goes on where it stopped.
        WorkerDied: a worker was killed; likewise.
    """
    check_order(pipeline)
    check_pipeline(pipeline)
    documents = with_contents(corpus.documents.slice(0, how.limit))
    crew = engine_of(how.engine, how.workers, device_of(pipeline))
    with output_folder(out, corpus.command, crew.leads, how.force) as folder, crew:
        made_of = MadeOf(
            parameters_of(pipeline), {corpus.unit: contents_of(documents)}, fingerprint_of(pipeline), corpus.part
        )
        made_of.check(folder)
        run = Run(folder.run / corpus.part, crew, how.keep_rejects, how.progress)
        key = documents.column_names[0]
        outputs = run.execute(cut_by_hash(documents, key, corpus.weights(documents), corpus.shard), pipeline)
        if not crew.leads:
            return None
        manifest, holds = publish(Carried(folder, documents, outputs, run))
        made_of.write(folder, holds)
        folder.commit()
        return manifest


def fingerprint_of(pipeline: Pipeline) -> str:
    """Return the hash of all that decides the rows of a pipeline, but the input."""
    return hash_json([item.fingerprint() for item in pipeline if not isinstance(item, Output)])


def device_of(pipeline: Pipeline) -> str:
    """Return the torch device that a pipeline uses: that of the first stage that uses another one than the CPU."""
    devices = [getattr(item, "device", "cpu") for item in pipeline]
    return next((device for device in devices if device != "cpu"), "cpu")
