"""From subtitles to a published folder. Read this file first: a pipeline is a plain list of stages, and `curate`
carries it out.
"""

import json
import platform
import shutil
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from edos_dataset.cleaning.duplicates import CapUtterances, DropDuplicates, KeyTurns
from edos_dataset.cleaning.lines import CleanLines
from edos_dataset.cleaning.rules import CleanTurns
from edos_dataset.labeling.models.labelers import is_linear
from edos_dataset.labeling.selection import SelectDialogues
from edos_dataset.labeling.stages import AnnotateDialogues, EncodeTurns, LabelTurns
from edos_dataset.publishing import layout
from edos_dataset.publishing.cards import pictures
from edos_dataset.publishing.cards.dataset import Origin, dataset_card, labelled_config
from edos_dataset.publishing.cards.pictures import LABEL_PICTURE, draw_labels
from edos_dataset.publishing.layout import ConfigFiles, put_in_place, write_config
from edos_dataset.publishing.statistics import from_record
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.pipeline import CorpusStep, Output, Pipeline, Stage, code_hash, count_units, hash_json
from edos_dataset.runs.recipes import Item, dump_recipe
from edos_dataset.runs.run import Progress, Run, pack
from edos_dataset.runs.shards import StageCount, digest, locked, write_text
from edos_dataset.schema import CONFIGS
from edos_dataset.segmentation.dialogues import SegmentDialogues
from edos_dataset.segmentation.sentences import SplitSentences
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.sources.inventory import Inventory, estimate_sentences
from edos_dataset.sources.read import OTHER_FILE, OTHER_LANGUAGE, ReadFilms
from edos_dataset.version import __version__

RECIPE = "recipe.yaml"
"""Beside the card, the pipeline as YAML."""

SHARD_SENTENCES = 20_000
"""Sentences a shard: the unit of work, of resuming and of memory."""


def subtitles_to_dialogues() -> list[Item]:
    """Return the stages from files to cleaned dialogues, the config `os`."""
    return [
        ReadFilms(),
        CleanLines(),
        SplitSentences(),
        SegmentTurns(),
        SegmentDialogues(),
        CleanTurns(),
        KeyTurns(),
        CapUtterances(),
        DropDuplicates(),
        Output("os"),
    ]


def subtitles_to_edos(weak_model: str = LabelTurns.model, model: str = AnnotateDialogues.model) -> list[Item]:
    """Return the whole pipeline (EDOS, Section 3): dialogues, weak labels, the most emotional ones, labels with the
    history of each turn.

    Args:
        weak_model: what labels single turns, a name that `load_labeler` knows. A linear head reads the embeddings of
            the stage "encode"; others need none.
        model: what labels turns with their history.
    """
    return [
        *subtitles_to_dialogues(),
        *([EncodeTurns()] if is_linear(weak_model) else []),
        LabelTurns(model=weak_model),
        SelectDialogues(),
        Output("edos_initial"),
        AnnotateDialogues(model=model),
        Output("edos"),
    ]


KNOWN: dict[str, type[Stage] | type[CorpusStep]] = {
    type(item).name: type(item) for item in [*subtitles_to_edos(), EncodeTurns()] if not isinstance(item, Output)
}
"""The stages that a recipe may name."""


def curate(
    inventory: Inventory,
    out: Path,
    pipeline: Pipeline,
    *,
    workers: int = 1,
    limit: int | None = None,
    language: str = "en",
    keep_rejects: bool = False,
    shard_sentences: int = SHARD_SENTENCES,
    progress: Progress = lambda *_: None,
) -> dict[str, Any]:
    """Run a pipeline over the files of an inventory and write the published layout.

    Args:
        inventory: what `sources.inventory.find_films` found.
        out: the folder to write; the run itself lies in `out/.run`. A folder of an earlier run is brought up to date.
        pipeline: stages, corpus steps and outputs.
        workers: processes.
        limit: films at most, the first by key.
        language: code of the dialogues' language, for the card.
        keep_rejects: write everything that is dropped, with its reason, to `out/.run/*/*.rejects.parquet`.
        shard_sentences: sentences a shard.
        progress: called after each shard.

    Returns:
        The manifest, as written to `out/manifest.json`.

    Raises:
        FolderError: the folder holds something else, or another run is at work in it.
        OSError: a file could not be written; the same call goes on where it stopped.
        WorkerDied: a worker was killed; likewise.
    """
    began = time.perf_counter()
    films = inventory.films.slice(0, limit)
    with locked(out), LocalEngine(workers) as engine:
        run = Run(out / ".run", engine, keep_rejects, progress)
        outputs = run.execute(pack(films, estimate_sentences(films), shard_sentences), pipeline)
        recipe, fingerprint = (
            dump_recipe(pipeline),
            hash_json([item.fingerprint() for item in pipeline if not isinstance(item, Output)]),
        )
        command = (
            f"edos curate SUBTITLES --recipe {RECIPE} --language "
            f"{language}{f' --limit {limit}' if limit else ''} --out edos"
        )
        inputs = {"films": films.num_rows, "files": count_units(films, "files")}
        configs = publish(
            out, outputs, language, pipeline, run.counts, Origin(command, fingerprint, versions(), RECIPE, inputs)
        )
        write_text(out / RECIPE, recipe)
        manifest = {
            "recipe": recipe,
            "fingerprint": fingerprint,
            "versions": versions(),
            "input": {**inputs, "skipped": [list(entry) for entry in inventory.skipped]},
            "stages": [stage_entry(count) for count in run.counts],
            "quarantined": quarantined(run.notes),
            "configs": {written.config: summary(written) for written in configs},
            "shards": {"total": sum(map(len, outputs.values())), "made_now": run.made},
            "workers": workers,
            "seconds": round(time.perf_counter() - began, 2),
        }
        write_text(out / "manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False))
    return manifest


def quarantined(notes: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Return the notes on files that could not be read, without those on files that were read and not wanted."""
    return [note for note in notes if note["reason"] not in (OTHER_FILE, OTHER_LANGUAGE)]


def bad_share(manifest: Mapping[str, Any]) -> float:
    """Return the share of the files that had to be quarantined, 0 to 1; the manifest is that of `curate` or `segment`."""
    return float(len(manifest["quarantined"]) / max(manifest["input"]["files"], 1))


def publish(
    out: Path,
    outputs: Mapping[str, Sequence[Path]],
    language: str,
    pipeline: Pipeline,
    counts: Sequence[StageCount],
    origin: Origin,
) -> list[ConfigFiles]:
    """Write the configs, the picture of their labels and the card; configs and picture only if the folder does not hold
    just what these shards give.

    Args:
        out: the published folder; what a run keeps for itself lies in `out/.run`.
        outputs: shards of each config; configs that are not named are removed.
        language: code of the dialogues' language.
        pipeline: what made the shards; its models are named in the card.
        counts: what each stage did.
        origin: how it was made, for the card.
    """
    record_path = out / ".run" / "published.json"
    makers = [code_hash(layout.__name__), code_hash(pictures.__name__), version("matplotlib")]
    key = hash_json([{config: [digest(path) for path in shards] for config, shards in outputs.items()}, *makers])
    configs = _published_before(out, record_path, key)
    if configs is None:
        prepared = out / ".run" / "publishing"
        shutil.rmtree(prepared, ignore_errors=True)
        prepared.mkdir(parents=True)
        configs = [write_config(config, shards, prepared) for config, shards in outputs.items()]
        labelled = labelled_config(configs)
        if labelled:
            draw_labels(labelled.labels, labelled.config, prepared / LABEL_PICTURE)
        else:
            (out / LABEL_PICTURE).unlink(missing_ok=True)
        put_in_place(prepared, out)
        files = [name for written in configs for names in written.files.values() for name in names] + [
            LABEL_PICTURE
        ] * bool(labelled)
        digests = {name: digest(out / name) for name in files}
        write_text(
            record_path, json.dumps({"key": key, "files": digests, "configs": [vars(written) for written in configs]})
        )
    for config in CONFIGS:
        if config not in outputs:
            shutil.rmtree(out / config, ignore_errors=True)  # of an earlier run with a longer pipeline
    models = {
        name: record for item in pipeline if isinstance(item, LabelTurns) for name, record in item.records().items()
    }
    segmenters = {
        name: record for item in pipeline if isinstance(item, SegmentTurns) for name, record in item.records().items()
    }
    stages = [vars(count) for count in counts]
    picture = labelled_config(configs) is not None
    write_text(out / "README.md", dataset_card(configs, language, models, stages, segmenters, origin, picture))
    return configs


def _published_before(out: Path, record_path: Path, key: str) -> list[ConfigFiles] | None:
    try:
        record = json.loads(record_path.read_text(encoding="utf-8"))
        if record["key"] != key or any(digest(out / name) != known for name, known in record["files"].items()):
            return None
        return [from_record(ConfigFiles, written) for written in record["configs"]]
    except (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
    ):  # absent, cut off or from another version: write it again
        return None


def stage_entry(count: StageCount) -> dict[str, Any]:
    """Return a stage's entry in a manifest."""
    return vars(count) | {"per_second": round(count.read / count.seconds, 1) if count.seconds else None}


def summary(written: ConfigFiles) -> dict[str, Any]:
    """Return a config's entry in a manifest."""
    rows, turns, tokens = written.total_rows, written.total_turns, written.total_tokens
    return {
        "dialogues": rows,
        "turns": turns,
        "tokens": tokens,
        "turns_per_dialogue": round(turns / max(rows, 1), 3),
        "tokens_per_turn": round(tokens / max(turns, 1), 3),
        "splits": written.rows,
        "bytes": sum(written.bytes.values()),
    }


def versions() -> dict[str, str]:
    """Return the versions that a manifest names."""
    found = {"edos-dataset": __version__, "python": platform.python_version()}
    for package in ("pyarrow", "datasets", "lxml", "pysubs2", "torch", "sentence-transformers"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
