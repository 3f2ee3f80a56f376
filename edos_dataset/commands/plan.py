"""What curating a corpus takes on machines that need not be at hand: measured on a few of its films, reckoned for all,
and checked by a simulation.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.commands.corpus_runs import fingerprint_of
from edos_dataset.commands.curate import SHARD_SENTENCES, language_of
from edos_dataset.planning.estimates import Row, elapsed, rows_of, workers_of
from edos_dataset.planning.machines import Cluster, as_data
from edos_dataset.planning.measured import draw, measured_apart
from edos_dataset.planning.replay import replay
from edos_dataset.planning.sample import Sample
from edos_dataset.planning.work import Corpus, Piece, corpus_of, published, work_of
from edos_dataset.runs.phases import check_order
from edos_dataset.runs.pipeline import Pipeline, check_pipeline
from edos_dataset.sources.inventory import estimate_sentences, find_films

_BUSY = 0.2
"""Share of the time without a processor above which the plan says so."""


def plan(
    sources: Sequence[Path],
    pipeline: Pipeline,
    clusters: Sequence[Cluster],
    *,
    sample: int = 40,
    seed: int = 0,
    sentences: int | None = None,
    files: int | None = None,
    films: int | None = None,
    simulations: int = 10,
    measure: Callable[[pa.Table, Pipeline, int], Sample] = measured_apart,
    say: Callable[[str], object] = lambda _: None,
) -> dict[str, Any]:
    """Plan a run of a pipeline over subtitles.

    Args:
        sources: files, folders and zip archives; of all that is there some films are drawn, and really curated.
        pipeline: stages, corpus steps and outputs.
        clusters: where the run might be; a plan comes of each.
        sample: films to draw, from 1.
        seed: of the draw and of the simulations.
        sentences: plan for a corpus of so many, which need not be at hand; by default of those of the sources, or as
            many as `files` such files have.
        files: likewise, of so many files; by default as many as have these sentences.
        films: likewise, of so many films, each of which keeps one of its files.
        simulations: runs to simulate, from 0.
        measure: what carries the sample out.
        say: called with what is being done.

    Returns:
        `sample` and `corpus`, what was measured and what is planned for; `plans`, of each cluster its `machines`, rows
        of `stages`, `total`, the stage that `binds`, what was `simulated`, and the `sources` of its figures;
        `remarks`.

    Raises:
        SourceError: there are no subtitles.
        ValueError: a number that cannot be, a model that cannot be used, machines that are too small.
    """
    for name, number in (("sample", sample), ("sentences", sentences), ("files", files), ("films", films)):
        if number is not None and number < 1:
            raise ValueError(f"{name} must be at least 1, got {number}")
    if films and files and films > files:
        raise ValueError(f"{films:,} films in {files:,} files: a film has a file at least; give fewer --films")
    check_order(pipeline)
    check_pipeline(pipeline)
    say("looking for files")
    began = time.process_time()
    inventory = find_films(sources, language_of(pipeline))
    found = (time.process_time() - began) / max(inventory.files, 1)
    drawn = draw(inventory.films, sample, seed)
    say(f"curating {drawn.num_rows} of {inventory.films.num_rows:,} films")
    took = measure(drawn, pipeline, SHARD_SENTENCES)
    corpus = _corpus(took, drawn, inventory.films, sentences, files, films)
    plans = []
    for cluster in clusters:
        say(f"planning for {cluster.name}")
        plans.append(_plan_for(cluster, took, corpus, found + took.listing, simulations, seed))
    return {
        "recipe": fingerprint_of(pipeline),
        "sample": _told(took),
        "corpus": asdict(corpus),
        "plans": plans,
        "remarks": list(_remarks(took, corpus)),
    }


def _corpus(
    took: Sample, drawn: pa.Table, there: pa.Table, sentences: int | None, files: int | None, films: int | None
) -> Corpus:
    """Return the corpus that is planned for."""
    in_files = took.many.total * took.files / took.many.documents
    if sentences is None and files is not None:
        sentences = round(files * in_files / took.files)
    if sentences is None:
        sentences = round(in_files * float(estimate_sentences(there).sum() / estimate_sentences(drawn).sum()))
        files = int(pc.sum(pc.list_value_length(there["files"])).as_py())
    return corpus_of(took, sentences, SHARD_SENTENCES, files, films)


def _plan_for(
    cluster: Cluster, took: Sample, corpus: Corpus, listing: float, simulations: int, seed: int
) -> dict[str, Any]:
    work = work_of(took, corpus, SHARD_SENTENCES)
    alone = list(published(took, corpus, work))
    first = Piece("list", "files", corpus.files, "leader", 1, listing * corpus.files)
    rows = rows_of(cluster, work, first, alone, took)
    hours = sum(row.hours for row in rows)
    binding = max(rows, key=lambda row: row.hours)
    disk, source = sum(row.disk for row in rows), round(took.stored / took.files * corpus.files)
    workers = workers_of(cluster, max(phase.memory for phase in work))
    pieces = [first, *(piece for piece, _ in alone)]
    leader = [first, *(piece for phase in work for piece in phase.pieces if piece.how == "leader")]
    return {
        "machines": as_data(cluster),
        "workers": {one.machine.name: one.all for one in workers},
        "stages": [_rounded(row) for row in rows],
        "total": {
            "hours": round(hours, 4),
            "leader_hours": round(sum(elapsed(piece, workers, workers) for piece in leader) / 3600, 4),
            "core_hours": round(sum(row.core_hours for row in rows), 4),
            "disk": disk,
            "source_disk": source,
            "memory": max(row.memory for row in rows),
            "money": round(hours * cluster.price, 2),
        },
        "binds": {"stage": binding.stage, "phase": binding.phase, "on": binding.on, "share": binding.hours / hours},
        "fits": cluster.disk is None or disk <= cluster.disk,
        "simulated": replay(cluster, work, pieces, took, simulations, seed) if simulations else None,
        "sources": cluster.sources(),
    }


def _rounded(row: Row) -> dict[str, Any]:
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in asdict(row).items()}


def _told(took: Sample) -> dict[str, Any]:
    """Return what is told of a sample: its size, and what a unit of each stage took."""
    return {
        "films": took.films,
        "files": took.files,
        "sentences": took.many.total,
        "shards": len(took.many.sentences),
        "start_seconds": round(took.start, 2),
        "waited": round(took.waited, 3),
        "bytes_a_sentence": round(
            (sum(phase.disk for phase in took.many.phases) + sum(output.disk for output in took.many.outputs))
            / took.many.total,
            1,
        ),
        "stages": [
            {
                "phase": phase.name,
                "stage": stage.stage,
                "unit": stage.unit,
                "read": stage.read,
                "kept": stage.kept,
                "seconds_a_unit": stage.seconds / stage.read if stage.read else None,
                "bytes_a_sentence": round(phase.disk / took.many.total, 2),
                "peak_memory": took.memory + phase.peak,
            }
            for phase in took.many.phases
            for stage in phase.stages
        ],
    }


def _remarks(took: Sample, corpus: Corpus) -> Sequence[str]:
    """Return what is to be known of the figures."""
    remarks = []
    if took.waited > _BUSY:
        remarks.append(
            f"the sample had no processor for {took.waited:.0%} of its time, as this machine has other work, or waits "
            "for its disk: hours are of machines that have neither"
        )
    times = corpus.kept / took.many.total
    if times > 1000:
        remarks.append(
            f"the corpus is {times:,.0f} times the sample: what comes too often, or twice, is more of it, so fewer "
            "dialogues stay than this says"
        )
    return remarks
