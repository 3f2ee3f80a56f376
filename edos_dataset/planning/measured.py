"""The real stages of a pipeline over a sample of films, in a process of its own, and what they took."""

import multiprocessing
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import takewhile
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import unnest
from edos_dataset.cleaning.duplicates import DropDuplicates
from edos_dataset.cleaning.films import DropSameFilms
from edos_dataset.planning.measuring import MeasuringEngine, forget_peak, memory_now, peak_memory
from edos_dataset.planning.sample import Keys, Observed, Output, Sample, phase_costs
from edos_dataset.publishing.layout import write_config
from edos_dataset.runs.cutting import numbered
from edos_dataset.runs.engines.base import WorkerDied
from edos_dataset.runs.engines.local import LocalEngine, start_worker
from edos_dataset.runs.likeness import BYTES_A_HASH
from edos_dataset.runs.partitions import PartitionedStep
from edos_dataset.runs.passage import Passage
from edos_dataset.runs.phases import phases
from edos_dataset.runs.pipeline import CorpusStep, Pipeline, Stage, check_pipeline, count_units
from edos_dataset.runs.pipeline import Output as Out
from edos_dataset.runs.run import Run
from edos_dataset.runs.shards import read_shard
from edos_dataset.sources.contents import with_contents
from edos_dataset.sources.inventory import estimate_sentences

_FILM_HASHES, _DIALOGUE_HASHES = 512, 16
"""Hashes of a sketch: of a film at most, and of a dialogue of three turns, about."""

_PARTITIONS = 200
"""Partitions of the file on which opening is measured."""

_SINGLE, _A_SHARD = 6, 5
"""Films that are a shard each in the first run, and films of a shard in the second."""


def draw(films: pa.Table, number: int, seed: int) -> pa.Table:
    """Return films drawn at random, each as likely as the other, in a random order.

    Args:
        films: FILMS.
        number: of films, from 1; all, if there are no more.
        seed: of the draw.
    """
    chosen = Random(seed).sample(range(films.num_rows), min(number, films.num_rows))
    return films.take(pa.array(chosen, pa.int64()))


def measured_apart(films: pa.Table, pipeline: Pipeline, shard_sentences: int) -> Sample:
    """Return what `measured` does, measured in a fresh process, as a worker is one.

    Raises:
        ValueError: none of the films can be read.
        WorkerDied: the process was killed.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, initializer=start_worker, initargs=(os.getpid(),)) as process:
        try:
            return process.submit(measured, films, list(pipeline), shard_sentences).result()
        except BrokenProcessPool as error:
            raise WorkerDied(
                "the process that measures was killed, perhaps for want of memory: try a smaller --sample"
            ) from error


def measured(films: pa.Table, pipeline: Pipeline, shard_sentences: int) -> Sample:
    """Carry a pipeline out over films, in a temporary folder, and return what it took.

    The first film is run through alone before, so that imports, models and dictionaries count as the start; then all
    films as far as an encoder, as a worker has met the words of its language before long.

    Args:
        films: FILMS in any order, from 1.
        pipeline: stages, corpus steps and outputs.
        shard_sentences: sentences a shard at most.

    Raises:
        ValueError: none of the films can be read.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        check_pipeline(pipeline)
        Run(folder / "first", LocalEngine()).execute(numbered([films.slice(0, 1)]), pipeline)
        start = time.process_time()
        Run(folder / "words", LocalEngine()).execute(numbered([films]), list(takewhile(_is_quick, pipeline)))
        waiting, looked = memory_now(), time.process_time()
        films = with_contents(films)
        looked = time.process_time() - looked
        engine = MeasuringEngine()
        singles = [films.slice(row, 1) for row in range(min(_SINGLE, films.num_rows))]
        few = _observed(singles, pipeline, folder / "few", engine, waiting)
        taken = len(engine.taken)
        many = _observed(_parted(films, shard_sentences), pipeline, folder / "many", engine, waiting)
        tasks = engine.taken[taken:]
        files, _ = unnest(films, "files")
        return Sample(
            films=films.num_rows,
            files=len(files),
            stored=int(pc.sum(files.field("size")).as_py() or 0),
            few=few,
            many=many,
            listing=looked / max(len(files), 1),
            opening=_opening(folder / "passage"),
            start=start,
            memory=waiting,
            publishing=peak_memory(),
            waited=max(0.0, 1 - sum(task.seconds for task in tasks) / sum(task.wall for task in tasks)),
        )


def _parted(films: pa.Table, shard_sentences: int) -> list[pa.Table]:
    """Return films in equal shards: of `_A_SHARD` films, or fewer if these say too much for a shard."""
    least = estimate_sentences(films).sum() / shard_sentences
    number = int(np.clip(max(films.num_rows // _A_SHARD, np.ceil(least)), 1, films.num_rows))
    borders = np.linspace(0, films.num_rows, number + 1).round().astype(int)
    return [films.slice(start, stop - start) for start, stop in zip(borders[:-1], borders[1:], strict=True)]


def _observed(
    parts: Sequence[pa.Table], pipeline: Pipeline, folder: Path, engine: MeasuringEngine, waiting: int
) -> Observed:
    """Carry a pipeline out over the parts of a sample and return what it took."""
    began, before = time.process_time(), len(engine.taken)
    run = Run(folder / "run", engine)
    outputs = run.execute(numbered(parts), pipeline)
    costs = tuple(phase_costs(run.folder, phases(pipeline), engine.taken[before:], began, waiting, _keys(pipeline)))
    sentences = _sentences(run.folder / costs[0].name, list(costs[0].shards))
    if not sum(sentences.values()):
        raise ValueError(
            f"none of {sum(part.num_rows for part in parts)} films of the sample has a sentence "
            f"({', '.join(sorted({note['reason'] for note in run.notes})) or 'all empty'}): give another --seed"
        )
    forget_peak()
    published = tuple(_published(config, shards, folder / "published") for config, shards in outputs.items())
    documents = sum(part.num_rows for part in parts)
    return Observed(sentences, min(costs[0].stages[0].kept, documents) or documents, costs, published)


def _is_quick(item: Stage | CorpusStep | Out) -> bool:
    """Return whether a stage has no model that a GPU would carry."""
    return not hasattr(item, "device")


def _keys(pipeline: Pipeline) -> Mapping[str, Keys]:
    """Return what the partitions of corpus steps hold."""
    found: dict[str, Keys] = {}
    for item in pipeline:
        if isinstance(item, DropSameFilms):
            found[item.name] = Keys(_FILM_HASHES, BYTES_A_HASH, item.memory)
        elif isinstance(item, DropDuplicates) and item.share is not None:
            found[item.name] = Keys(_DIALOGUE_HASHES, BYTES_A_HASH, item.memory)
        elif isinstance(item, PartitionedStep):
            found[item.name] = Keys(1, item.bytes_a_unit, item.partition_bytes)
    return found


def _sentences(folder: Path, shards: Sequence[str]) -> dict[str, int]:
    """Return how many sentences each shard of the first phase holds."""
    return {name: count_units(read_shard(folder / f"{name}.parquet"), "sentences") for name in shards}


def _opening(folder: Path) -> float:
    """Return the processor's seconds that reading a partition of one shard takes beyond its rows: what a partition's
    task does once for every shard, so that it grows with both.
    """
    passage = Passage(_PARTITIONS, folder)
    passage.write_parts("keys", 0, [pa.table({"key": np.arange(20 * _PARTITIONS, dtype=np.uint64)})])
    began = time.process_time()
    for part in range(_PARTITIONS):
        passage.read_part("keys", part, 1)
    return (time.process_time() - began) / _PARTITIONS


def _published(config: str, shards: Sequence[Path], folder: Path) -> Output:
    """Write a config as a run publishes it, and return what that took."""
    began = time.process_time()
    written = write_config(config, shards, folder)
    return Output(config, time.process_time() - began, sum(written.bytes.values()), written.total_rows)
