"""The verb `plan`: the cost of curating a corpus on any machines, extrapolated from a sample of its films."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.commands.corpus_runs import fingerprint_of
from edos_dataset.commands.curate import SHARD_SENTENCES, check_alone, language_of, places
from edos_dataset.commands.endpoints import without_endpoints
from edos_dataset.commands.options import Result, verb
from edos_dataset.commands.progress import Say, steps
from edos_dataset.planning.estimates import Row, elapsed, rows_of, workers_of
from edos_dataset.planning.machines import HERE, Cluster, as_data, load_cluster
from edos_dataset.planning.measured import draw, listed, measured_apart
from edos_dataset.planning.sample import Sample
from edos_dataset.planning.work import Corpus, Piece, corpus_of, published, work_of
from edos_dataset.recipes.subtitles import pipeline_of
from edos_dataset.runs.pipeline import Steps, check_order, check_pipeline
from edos_dataset.sources.inventory import Inventory, estimate_sentences, find_films
from edos_dataset.wording import counted

_BUSY = 0.2
"""Fraction of the sample's time spent waiting for a processor or disk above which the plan has a remark."""


@verb
def plan(
    sources: str | Path | Sequence[str | Path],
    pipeline: Steps | None = None,
    machines: str | Path | Cluster | Sequence[str | Path | Cluster] = HERE,
    *,
    recipe: str | Path | None = None,
    settings: Sequence[str] = (),
    labels: bool = True,
    language: str | None = None,
    sentences: int | None = None,
    files: int | None = None,
    films: int | None = None,
    sample: int = 40,
    seed: int = 0,
    measure: Callable[[pa.Table, Steps, int], Sample] = measured_apart,
    progress: bool | Say | None = None,
    files_from: str | Path | None = None,
) -> Result:
    """Estimate time, memory, disk space and money for curating a corpus on this or other machines, as `edos plan` does.

    Args:
        sources: files, folders, zip archives and patterns, of which a random sample is actually curated.
        pipeline: stages, corpus steps and outputs, instead of a recipe.
        machines: YAML file of machines, or "here", "laptop", "eight-gpus", "hundred-nodes"; one or several.
        recipe: built-in recipe or YAML file, as in `curate`.
        settings: overrides of recipe parameters, as in `curate`.
        labels: whether to label the turns.
        language: language code of the subtitles.
        sentences: number of sentences to plan for; by default those of the sources, or of `files` files like them.
        files: number of files to plan for; by default in proportion to the sentences.
        films: number of films to plan for; one file of each film is kept.
        sample: number of films to sample, from 1.
        seed: random seed of the sample.
        measure: function that runs the sample.
        progress: whether to show progress, by default in terminals and notebooks; or a callback.
        files_from: a file with the path of a file to read on each line, or with NUL between them; "-" is standard
            input.

    Returns:
        `sample`, the measurements; `corpus`, the sizes planned for; `plans`, for each cluster its `machines`, rows of
        `stages`, `total`, the stage that `binds` (the bottleneck), and the `sources` of its figures; and `remarks`.

    Raises:
        SourceError: there are no subtitles.
        ValueError: a number is impossible, a model cannot be used, or the machines are too small.
    """
    named = [machines] if isinstance(machines, str | Path | Cluster) else machines
    clusters = [one if isinstance(one, Cluster) else load_cluster(str(one)) for one in named]
    if pipeline is None:
        chosen: Steps = pipeline_of(recipe, labels=labels, language=language, settings=settings)
    else:
        check_alone({"recipe": recipe, "settings": settings or None, "language": language}, labels, None)
        chosen = list(pipeline)
    if len(without_endpoints(chosen)) < len(chosen):
        raise ValueError(
            "a plan runs every stage on a sample, which would cost at an endpoint: give --no-labels or another model; "
            "`edos curate --dry-run` counts the requests and estimates their cost"
        )
    _check_numbers(sample, sentences, files, films)
    check_order(chosen)
    check_pipeline(chosen)
    with steps(progress) as say:
        say("looking for files")
        found_at = places(sources, files_from)
        remote = any(source.is_remote for source in found_at)
        inventory, found = listed(lambda: find_films(found_at, language_of(chosen)), remote)
        drawn = draw(inventory.films, sample, seed)
        say(f"curating {drawn.num_rows} of {counted(inventory.films.num_rows, 'films')}")
        took = measure(drawn, chosen, SHARD_SENTENCES)
        corpus = _corpus(took, drawn, inventory.films, sentences, files, films)
        plans = []
        for cluster in clusters:
            say(f"planning for {cluster.name}")
            plans.append(_plan_for(cluster, took, corpus, found + took.listing))
    facts = {
        "recipe": fingerprint_of(chosen),
        "sample": _measured(took),
        "corpus": asdict(corpus),
        "plans": plans,
        "remarks": [*_unopened(inventory), *_remarks(took, corpus)],
    }
    hours = {one["machines"]["name"]: f"{one['total']['hours']:,.2f} hours" for one in plans}
    return Result("plan", facts, None, hours)


def _check_numbers(sample: int, sentences: int | None, files: int | None, films: int | None) -> None:
    for name, number in (("sample", sample), ("sentences", sentences), ("files", files), ("films", films)):
        if number is not None and number < 1:
            raise ValueError(f"{name} must be at least 1, got {number}")
    if films and files and films > files:
        raise ValueError(
            f"{counted(films, 'films')} in {counted(files, 'files')}: a film has a file at least; give fewer --films"
        )


def _corpus(
    took: Sample, drawn: pa.Table, there: pa.Table, sentences: int | None, files: int | None, films: int | None
) -> Corpus:
    in_files = took.many.total * took.files / took.many.documents
    if sentences is None and files is not None:
        sentences = round(files * in_files / took.files)
    if sentences is None:
        sentences = round(in_files * float(estimate_sentences(there).sum() / estimate_sentences(drawn).sum()))
        files = int(pc.sum(pc.list_value_length(there["files"])).as_py())
    return corpus_of(took, sentences, SHARD_SENTENCES, files, films)


def _plan_for(cluster: Cluster, took: Sample, corpus: Corpus, listing: float) -> dict[str, Any]:
    work = work_of(took, corpus, SHARD_SENTENCES)
    alone = list(published(took, corpus, work))
    first = Piece("list", "files", corpus.files, "leader", 1, listing * corpus.files)
    rows = rows_of(cluster, work, first, alone, took)
    hours = sum(row.hours for row in rows)
    binding = max(rows, key=lambda row: row.hours)
    share = binding.hours / hours if hours else 0.0
    disk, source = sum(row.disk for row in rows), round(took.stored / took.files * corpus.files)
    workers = workers_of(cluster, max(phase.memory for phase in work))
    return {
        "machines": as_data(cluster),
        "workers": {one.machine.name: one.all for one in workers},
        "stages": [_rounded(row) for row in rows],
        "total": {
            "hours": round(hours, 4),
            "leader_hours": round(_main_process_hours(work, first, workers), 4),
            "core_hours": round(sum(row.core_hours for row in rows), 4),
            "disk": disk,
            "source_disk": source,
            "memory": max(row.memory for row in rows),
            "money": round(hours * cluster.price, 2),
        },
        "binds": {"stage": binding.stage, "phase": binding.phase, "on": binding.on, "share": share},
        "fits": cluster.disk is None or disk <= cluster.disk,
        "simulated": None,  # earlier versions simulated the run; scripts may ask for the key
        "sources": cluster.sources(),
    }


def _main_process_hours(work: Any, first: Piece, workers: Any) -> float:  # noqa: ANN401
    pieces = [first, *(piece for phase in work for piece in phase.pieces if piece.how == "leader")]
    return sum(elapsed(piece, workers, workers) for piece in pieces) / 3600


def _rounded(row: Row) -> dict[str, Any]:
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in asdict(row).items()}


def _measured(took: Sample) -> dict[str, Any]:
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


def _unopened(inventory: Inventory) -> list[str]:
    """Return a sentence about the files that a run could not read, such as those that a list names but nobody has."""
    notes = inventory.quarantined
    if not notes:
        return []
    return [f"{counted(len(notes), 'files')} cannot be read, such as {notes[0]['detail']}"]


def _remarks(took: Sample, corpus: Corpus) -> Sequence[str]:
    remarks = []
    if took.waited > _BUSY:
        remarks.append(
            f"the sample spent {took.waited:.0%} of its time waiting for a processor or disk, because this machine is "
            "busy: the estimated hours are for idle machines"
        )
    times = corpus.kept / took.many.total
    if times > 1000:
        remarks.append(
            f"the corpus is {times:,.0f} times the sample: more of it is repeated or duplicated, so fewer dialogues "
            "remain than estimated"
        )
    return remarks
