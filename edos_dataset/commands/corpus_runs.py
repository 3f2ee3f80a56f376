"""A pipeline carried out over an inventory of files into a published folder: what `edos curate` and `edos books` do."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.runs.cutting import Part, cut_by_hash
from edos_dataset.runs.engines.array import ArrayEngine, Share
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.engines.by_name import engine_of
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.folder import OutputFolder
from edos_dataset.runs.made_of import MadeOf, parameters_of
from edos_dataset.runs.phases import check_order
from edos_dataset.runs.pipeline import Output, Pipeline, check_pipeline
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.runs.run import Progress, Run
from edos_dataset.runs.shards import digest
from edos_dataset.runs.shares import ArrayJob, MissingShards, Undecided, merging, record_of, table_digest
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
        share: which process of an array job this is; None for a run of its own.
        arguments: command line of a share, without the share, for those that are told to give it again.
    """

    workers: int = 1
    engine: str = "local"
    limit: int | None = None
    keep_rejects: bool = False
    force: bool = False
    progress: Progress = lambda *_: None
    share: Share | None = None
    arguments: Sequence[str] = ()

    def crew(self, pipeline: Pipeline) -> Engine:
        """Return the engine, for the device that a pipeline uses."""
        engine = engine_of(self.engine, self.workers, device_of(pipeline))
        return ArrayEngine(engine, self.share) if self.share else engine


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

    def parts(self, documents: pa.Table) -> list[Part]:
        """Return documents as shards."""
        return cut_by_hash(documents, documents.column_names[0], self.weights(documents), self.shard)

    def made_of(self, pipeline: Pipeline, documents: pa.Table) -> MadeOf:
        """Return what a pipeline makes of documents, which have contents."""
        inputs = {self.unit: contents_of(documents)}
        return MadeOf(parameters_of(pipeline), inputs, fingerprint_of(pipeline), self.part)


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
        The manifest; None in the processes of a launcher but the first; in a process of an array job what `take_share`
        returns.

    Raises:
        FolderError: the folder holds something else, or another run is at work in it.
        ValueError: a model or device that a stage names is of no use; nothing has been read then.
        OSError: a file could not be written; the same call goes on where it stopped.
        WorkerDied: a worker was killed; likewise.
        Unfinished: this is the merge of an array job, and shares are to be given.
    """
    check_order(pipeline)
    check_pipeline(pipeline)
    documents = corpus.documents.slice(0, how.limit)
    if how.share and not how.share.merges:
        return take_share(corpus, documents, out, pipeline, how)
    documents = with_contents(documents)
    crew = how.crew(pipeline)
    with output_folder(out, corpus.command, crew.leads, how.force, how.share is not None) as folder, crew:
        made_of = corpus.made_of(pipeline, documents)
        made_of.check(folder)
        run = Run(folder.run / corpus.part, crew, how.keep_rejects, how.progress)
        job = record_of(folder.run, corpus.part)
        with merging(how.share and job, out):
            outputs = run.execute(corpus.parts(documents), pipeline)
        if not crew.leads:
            return None
        manifest, holds = publish(Carried(folder, documents, outputs, run))
        made_of.write(folder, holds)
        folder.commit()
        job.unlink(missing_ok=True)
        return manifest


def take_share(corpus: Corpus, documents: pa.Table, out: Path, pipeline: Pipeline, how: Carrying) -> dict[str, Any]:
    """Make a share of an array job's shards, as far as that goes without the others.

    The first of its processes to come lists the input, in which it looks at every file, for all of them; after that
    the folder is nobody's, so plain runs and the merge are not to be given beside the job.

    Returns:
        `share`; `made` and `reused`: its shards; `missing`: how many shards others have not made of the phase `phase`;
        `undecided`: the corpus step that the merge is to let decide. These are null where nothing stands in the way.

    Raises:
        As `run_corpus`.
    """
    assert how.share is not None
    with how.crew(pipeline) as crew:
        with output_folder(out, corpus.command, force=how.force, others=True) as folder:
            run = Run(folder.run / corpus.part, crew, how.keep_rejects, how.progress)
            key = hash_json([fingerprint_of(pipeline), corpus.shard, table_digest(documents)])
            record = record_of(folder.run, corpus.part)
            before = ArrayJob.read(record)
            if before is None or not before.lists(key, run.index):
                documents = with_contents(documents)
                corpus.made_of(pipeline, documents).check(folder)
                run.write_inputs(corpus.parts(documents))
            job = ArrayJob(list(how.arguments), os.getcwd(), how.share.total, key, digest(run.index))
            job.write(record)
        left: dict[str, Any] = {"phase": None, "missing": None, "undecided": None}
        try:
            run.execute(None, pipeline)
        except MissingShards as missing:
            left |= {"phase": missing.phase, "missing": len(missing.places)}
        except Undecided as undecided:
            left["undecided"] = str(undecided)
    return {"share": str(how.share), "made": run.made, "reused": run.reused, **left}


def fingerprint_of(pipeline: Pipeline) -> str:
    """Return the hash of all that decides the rows of a pipeline, but the input."""
    return hash_json([item.fingerprint() for item in pipeline if not isinstance(item, Output)])


def device_of(pipeline: Pipeline) -> str:
    """Return the torch device that a pipeline uses: that of the first stage that uses another one than the CPU."""
    devices = [getattr(item, "device", "cpu") for item in pipeline]
    return next((device for device in devices if device != "cpu"), "cpu")
