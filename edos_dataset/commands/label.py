"""Labels for dialogues that are there already, in whatever form: what `edos label` does.

    accelerate launch -m edos_dataset label dialogues.jsonl --out labelled.jsonl

Started so, each process labels its own share of the shards, and the first one puts them together; the bytes are those
of one process. Killed at any moment, the same command goes on (`runs.run`).
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from edos_dataset.commands.corpus_runs import device_of
from edos_dataset.commands.languages import look_for_foreign
from edos_dataset.commands.line_runs import check_no_source, discarded_after_errors, run_to_lines
from edos_dataset.labeling.stages import AnnotateDialogues
from edos_dataset.publishing.cards.dataset import Origin
from edos_dataset.publishing.published import holds, prepare_published, summary
from edos_dataset.releases.dialogues import curated_config, lines_of, read_source
from edos_dataset.releases.given.sources import Selection
from edos_dataset.runs.cutting import numbered
from edos_dataset.runs.engines.by_name import engine_of
from edos_dataset.runs.folder import OutputFolder
from edos_dataset.runs.made_of import MadeOf, digests_of, parameters_of
from edos_dataset.runs.manifest import Manifest, stage_entry, versions
from edos_dataset.runs.pipeline import Output, check_pipeline
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.runs.run import Progress, Run
from edos_dataset.runs.shards import read_shard
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.runs.tables import config_files

CPU_SHARD_TURNS, GPU_SHARD_TURNS = 1_000, 20_000
"""Turns a shard, the unit of work, of resuming and of memory: some seconds of a core, so that a small file keeps all of
them busy, or of a GPU.
"""

_LABELLED = "labelled"


def label(
    source: str | Path,
    out: Path,
    stage: AnnotateDialogues,
    *,
    meant: Selection = Selection(),  # noqa: B008 - it is frozen
    force: bool = False,
    workers: int = 1,
    engine: str = "local",
    shard_turns: int | None = None,
    progress: Progress = lambda *_: None,
) -> dict[str, Any] | None:
    """Label every turn of dialogues, each with as much of its history as the model looks at.

    Args:
        source: dialogues in any form that `releases.dialogues.read_source` takes, "-" for standard input.
        out: for a folder of `edos curate` a folder; its shards stay in `out/.run`. For all else a file of JSON lines,
            which appears, or is replaced, only when it is whole; until then finished shards lie in `OUT.parts`.
        stage: the model and its parameters.
        meant: what of the source. Of a folder of `edos curate` the config "os", which has no labels, becomes "edos".
        force: replace what is there: the file `out`; for a folder labels of another model, or of dialogues that have
            changed, and files that were edited since.
        workers: processes, of every process that a launcher started; neither their number nor the engine changes a
            byte.
        engine: where they run (`runs.engines.base`).
        shard_turns: turns a shard, or a dialogue more; by default what suits the device.
        progress: called after each shard of this process's share.

    Returns:
        `dialogues` and `turns`: how many were labelled; `shards`: in how many shards; `reused`: how many of these an
        earlier call had made; `other_language` and `languages_checked`: how many don't look like the model's language,
        of how many (`commands.languages`). None in the processes of a launcher but the first.

    Raises:
        ValueError: the source is not there, something in it is no dialogue, or the model cannot label turns.
        FolderError: `out` is there already or holds something else, or another process is at work in it.
        OSError: a file could not be written; the same call goes on where it stopped.
        WorkerDied: a worker was killed; likewise.
    """
    check_pipeline([stage])  # a model that cannot label says so before anything is read or written
    shard_turns = shard_turns or shard_turns_of(stage)
    tables = read_source(source, shard_turns, meant)
    config = curated_config(source, meant.config)
    check_no_source(source, out)
    given: dict[str, Any] = {"force": force, "workers": workers, "engine": engine, "progress": progress}
    if config is not None:
        return _label_folder(place_of(source), out, stage, tables, config, **given)
    device, told = device_of([stage]), partial(look_for_foreign, stage=stage)
    return run_to_lines(tables, out, stage, lines_of, command="label", device=device, told=told, **given)


def _label_folder(
    source: Path,
    out: Path,
    stage: AnnotateDialogues,
    tables: Iterator[pa.Table],
    config: str,
    *,
    force: bool,
    workers: int,
    engine: str,
    progress: Progress,
) -> dict[str, Any] | None:
    """Label a config of a folder of `edos curate` into a folder; see `label`."""
    new = not (out / ".run").exists()
    crew = engine_of(engine, workers, device_of([stage]))
    with output_folder(out, "label", crew.leads, force) as folder, crew:
        made_of = _made_of(source, stage, config)
        made_of.check(folder)
        run = Run(folder.run, crew, progress=progress)
        with discarded_after_errors(folder, crew, new):
            shards = run.execute(numbered(tables), [stage, Output(_LABELLED)])[_LABELLED]
        if not crew.leads:
            return None
        _write_folder(source, folder, shards, stage, run, config, made_of)
        done = {"dialogues": run.rows, "turns": run.counts[0].read, "shards": len(shards), "reused": run.reused}
        return done | look_for_foreign(shards, stage)


def shard_turns_of(stage: AnnotateDialogues) -> int:
    """Return the turns of a shard that suit a stage's device."""
    return CPU_SHARD_TURNS if stage.device == "cpu" else GPU_SHARD_TURNS


def _made_of(source: Path, stage: AnnotateDialogues, config: str) -> MadeOf:
    files = [path for paths in config_files(source, config).values() for path in paths]
    return MadeOf(parameters_of([stage]) | {"config": config}, {"files": digests_of(files)}, stage.fingerprint())


def _write_folder(
    source: Path,
    folder: OutputFolder,
    shards: list[Path],
    stage: AnnotateDialogues,
    run: Run,
    config: str,
    made_of: MadeOf,
) -> None:
    """Write the labels of a config of the source, with card and manifest, as `edos curate` does."""
    target = "edos" if config == "os" else config
    documents = {
        document for shard in shards for document in read_shard(shard, ["document_id"])["document_id"].to_pylist()
    }
    language = read_shard(shards[0], ["language"])["language"][0].as_py() or "en"
    there = Path(stage.model.partition("#")[0]).exists() or Path(stage.model).exists()
    model = Path(stage.model).name if there else stage.model
    command = f"edos label SOURCE --config {config} --model {model} --out edos"
    origin = Origin(command, stage.fingerprint(), versions())
    [written] = prepare_published(folder, {target: shards}, language, [stage], run.counts, origin, run.engine)
    Manifest(
        source=source.name,
        model=stage.labeler.identity,
        fingerprint=origin.fingerprint,
        input={"films": len(documents), "files": len(documents), "skipped": []},
        stages=[stage_entry(count) for count in run.counts],
        configs={target: summary(written)},
    ).write(folder.prepared)
    made_of.write(folder, holds(len(documents), [written]))
    folder.commit()
