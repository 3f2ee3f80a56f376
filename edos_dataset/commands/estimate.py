"""What a run will take, measured on a few of its own films."""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import unnest
from edos_dataset.labeling.stages import EncodeTurns, LabelTurns
from edos_dataset.runs.phases import run_stage
from edos_dataset.runs.pipeline import CorpusStep, Pipeline, Stage, count_units
from edos_dataset.runs.shards import write_shard
from edos_dataset.sources.inventory import estimate_sentences

_SAMPLE_TURNS = 256


@dataclass(frozen=True)
class Estimate:
    """What `--dry-run` prints.

    Attributes:
        films: number of films to read.
        files: number of files.
        bytes: their size as stored.
        sentences: about how many sentences they hold.
        dialogues: about how many dialogues stay after cleaning, before the corpus steps.
        turns: about how many turns these have.
        seconds: about how long the run takes with the given workers.
        disk: about how many bytes it writes, its resumable shards included.
        sampled: films on which this was measured.
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


def estimate(films: pa.Table, pipeline: Pipeline, workers: int, sample: int = 12) -> Estimate:
    """Run the first stages over a few films, spread evenly over all, and scale up by their sizes.

    Args:
        films: schema.FILMS.
        pipeline: the pipeline that would run.
        workers: processes of the run.
        sample: films to try, from 1.
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
    models = [item for item in pipeline if isinstance(item, EncodeTurns | LabelTurns)]
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
    )


def _first_stages(pipeline: Pipeline) -> Sequence[Stage]:
    """Return the stages before the first corpus step over dialogues; how many films come twice, a few do not tell."""
    stages: list[Stage] = []
    for item in pipeline:
        if isinstance(item, CorpusStep) and item.unit == "files":
            continue
        if not isinstance(item, Stage):
            break
        stages.append(item)
    return stages


def _labelling(table: pa.Table, stages: Sequence[Stage]) -> tuple[float, int]:
    """Return seconds and bytes per turn, measured on the first dialogues; the models are loaded before the clock
    starts.
    """
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
