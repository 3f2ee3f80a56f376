"""Running the real stages of a pipeline over a sample of films, in a separate process, and measuring their cost."""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from itertools import takewhile
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import unnest
from edos_dataset.cleaning.duplicates import DropDuplicates, DropSameFilms
from edos_dataset.planning.measuring import MeasuringEngine, forget_peak, memory_now, peak_memory
from edos_dataset.planning.sample import Keys, Observed, Output, Sample, phase_costs
from edos_dataset.publishing.layout import write_config
from edos_dataset.runs.engines.base import WorkerDied
from edos_dataset.runs.engines.local import NO_GUARD, LocalEngine, is_unguarded, leave_if_imported, worker_pool
from edos_dataset.runs.near_duplicates import BYTES_A_HASH
from edos_dataset.runs.partitions import PartitionedStep
from edos_dataset.runs.pipeline import CorpusStep, Stage, Steps, check_pipeline, count_units
from edos_dataset.runs.pipeline import Output as Out
from edos_dataset.runs.run import Run, phases
from edos_dataset.runs.shards import numbered, read_shard
from edos_dataset.runs.shuffle import Shuffle
from edos_dataset.sources.inventory import Inventory, estimate_sentences, with_contents
from edos_dataset.wording import counted

_FILM_HASHES, _DIALOGUE_HASHES = 512, 16
"""Hashes of a MinHash signature: the maximum for a film, and about those of a dialogue of three turns."""

_PARTITIONS = 200
"""Number of partitions of the file whose opening is measured."""

_MANY, _KEYS_A_REQUEST = 10_000, 1_000
"""Number of files above which the start-up of a listing is negligible, and of keys that a store lists per request."""

_SINGLE, _A_SHARD = 6, 5
"""Films in the first run, which are a shard each, and films per shard in the second."""


def draw(films: pa.Table, number: int, seed: int) -> pa.Table:
    """Return films drawn uniformly at random, in a random order.

    Args:
        films: FILMS.
        number: number of films, from 1; all if there are fewer.
        seed: random seed.
    """
    chosen = Random(seed).sample(range(films.num_rows), min(number, films.num_rows))
    return films.take(pa.array(chosen, pa.int64()))


def listed(find: Callable[[], Inventory], remote: bool) -> tuple[Inventory, float]:
    """Return the inventory of sources, and the CPU seconds for listing one more file.

    A short list is made twice, and the second time counts, so that imports, connections and credentials do not. A store
    lists a thousand keys per request, so a shorter list there costs as much as a thousand files.

    Args:
        find: makes the inventory.
        remote: whether the sources are in a store.
    """
    for _ in range(2):
        began = time.process_time()
        inventory = find()
        seconds = time.process_time() - began
        if inventory.files >= _MANY:
            break
    return inventory, seconds / max(inventory.files, _KEYS_A_REQUEST if remote else 1)


def measured_apart(films: pa.Table, pipeline: Steps, shard_sentences: int) -> Sample:
    """Run `measured` in a fresh process, as each worker is one.

    Raises:
        ValueError: none of the films can be read.
        WorkerDied: the process was killed.
    """
    leave_if_imported()
    with worker_pool(1) as pool:
        task = pool.submit(measured, films, list(pipeline), shard_sentences)
        processes = list(pool._processes.values())
        try:
            return task.result()
        except BrokenProcessPool as error:
            pool.shutdown()  # so that exit codes are known
            killed = "the process that measures was killed, perhaps for want of memory: try a smaller --sample"
            raise WorkerDied(NO_GUARD if any(map(is_unguarded, processes)) else killed) from error


def measured(films: pa.Table, pipeline: Steps, shard_sentences: int) -> Sample:
    """Run a pipeline over films in a temporary folder, and return its cost.

    The first film is processed alone beforehand, so that imports, models and dictionaries count as start-up; then all
    films up to the first encoder, as a worker soon has seen the words of its language.

    Args:
        films: FILMS in any order, at least one.
        pipeline: stages, corpus steps and outputs.
        shard_sentences: maximum number of sentences per shard.

    Raises:
        ValueError: none of the films can be read.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        check_pipeline(pipeline)
        Run(folder / "first", LocalEngine()).execute(numbered([films.slice(0, 1)]), pipeline)
        start = time.process_time()
        Run(folder / "words", LocalEngine()).execute(numbered([films]), list(takewhile(_is_quick, pipeline)))
        with_contents(films.slice(0, 1))  # so that the files are not charged for connections and imports
        waiting, looked = memory_now(), time.process_time()
        films = with_contents(films)
        looked = time.process_time() - looked
        engine = MeasuringEngine()
        singles = [films.slice(row, 1) for row in range(min(_SINGLE, films.num_rows))]
        few = _observed(singles, pipeline, folder / "few", engine, waiting)
        taken = len(engine.taken)
        many = _observed(_cut(films, shard_sentences), pipeline, folder / "many", engine, waiting)
        tasks = engine.taken[taken:]
        files, _ = unnest(films, "files")
        return Sample(
            films=films.num_rows,
            files=len(files),
            stored=int(pc.sum(files.field("size")).as_py() or 0),
            few=few,
            many=many,
            listing=looked / max(len(files), 1),
            opening=_opening(folder / "shuffle"),
            start=start,
            memory=waiting,
            publishing=peak_memory(),
            waited=max(0.0, 1 - sum(task.seconds for task in tasks) / sum(task.wall for task in tasks)),
        )


def _cut(films: pa.Table, shard_sentences: int) -> list[pa.Table]:
    """Return films in equal shards: `_A_SHARD` films each, or fewer if these are too large for a shard."""
    least = estimate_sentences(films).sum() / shard_sentences
    number = int(np.clip(max(films.num_rows // _A_SHARD, np.ceil(least)), 1, films.num_rows))
    bounds = np.linspace(0, films.num_rows, number + 1).round().astype(int)
    return [films.slice(start, stop - start) for start, stop in zip(bounds[:-1], bounds[1:], strict=True)]


def _observed(
    parts: Sequence[pa.Table], pipeline: Steps, folder: Path, engine: MeasuringEngine, waiting: int
) -> Observed:
    began, before = time.process_time(), len(engine.taken)
    run = Run(folder / "run", engine)
    outputs = run.execute(numbered(parts), pipeline)
    costs = tuple(phase_costs(run.folder, phases(pipeline), engine.taken[before:], began, waiting, _keys(pipeline)))
    sentences = _sentences(run.folder / costs[0].name, costs[0].shards)
    if not sum(sentences.values()):
        raise ValueError(
            f"none of {counted(sum(part.num_rows for part in parts), 'films')} of the sample has a sentence "
            f"({', '.join(sorted({note['reason'] for note in run.notes})) or 'all empty'}): give another --seed"
        )
    forget_peak()
    published = tuple(_published(config, shards, folder / "published") for config, shards in outputs.items())
    documents = sum(part.num_rows for part in parts)
    return Observed(sentences, min(costs[0].stages[0].kept, documents) or documents, costs, published)


def _is_quick(item: Stage | CorpusStep | Out) -> bool:
    """Return whether a stage has no model that would run on a GPU."""
    return not hasattr(item, "device")


def _keys(pipeline: Steps) -> Mapping[str, Keys]:
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
    return {name: count_units(read_shard(folder / f"{name}.parquet"), "sentences") for name in shards}


def _opening(folder: Path) -> float:
    """Return the CPU seconds for opening one shard's file of a partition, besides reading its rows. A partition's task
    does this for every shard, so the cost grows with both.
    """
    files = Shuffle(_PARTITIONS, folder)
    files.write_parts("keys", 0, [pa.table({"key": np.arange(20 * _PARTITIONS, dtype=np.uint64)})])
    began = time.process_time()
    for part in range(_PARTITIONS):
        files.read_part("keys", part, 1)
    return (time.process_time() - began) / _PARTITIONS


def _published(config: str, shards: Sequence[Path], folder: Path) -> Output:
    began = time.process_time()
    written = write_config(config, shards, folder)
    return Output(config, time.process_time() - began, sum(written.bytes.values()), written.total_rows)
