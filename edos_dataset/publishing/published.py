"""The published form of a run, written at one stroke: the configs, the picture of their labels, and the card."""

import json
import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from edos_dataset.labeling.stages import LabelTurns
from edos_dataset.publishing import layout
from edos_dataset.publishing.cards import pictures
from edos_dataset.publishing.cards.dataset import Origin, dataset_card, labelled_config
from edos_dataset.publishing.cards.pictures import LABEL_PICTURE, draw_labels
from edos_dataset.publishing.layout import ConfigFiles, write_config
from edos_dataset.publishing.statistics import from_record
from edos_dataset.runs.fingerprints import code_hash, hash_json
from edos_dataset.runs.folder import OutputFolder
from edos_dataset.runs.pipeline import Pipeline
from edos_dataset.runs.shards import StageCount, digest, write_text
from edos_dataset.schema import CONFIGS
from edos_dataset.segmentation.turns.stage import SegmentTurns


def write_published(
    folder: OutputFolder,
    outputs: Mapping[str, Sequence[Path]],
    language: str,
    pipeline: Pipeline,
    counts: Sequence[StageCount],
    origin: Origin,
) -> list[ConfigFiles]:
    """Write the configs, the picture of their labels and the card; configs and picture only if the folder does not hold
    just what these shards give.

    Args:
        folder: the published folder, held by the caller.
        outputs: shards of each config; configs that are not named are removed.
        language: code of the dialogues' language.
        pipeline: what made the shards; its models are named in the card.
        counts: what each stage did.
        origin: how it was made, for the card.
    """
    out, record_path = folder.path, folder.run / "published.json"
    makers = [code_hash(layout.__name__), code_hash(pictures.__name__), version("matplotlib")]
    key = hash_json([{config: [digest(path) for path in shards] for config, shards in outputs.items()}, *makers])
    configs = _written_before(out, record_path, key)
    if configs is None:
        prepared = folder.prepare()
        configs = [write_config(config, shards, prepared) for config, shards in outputs.items()]
        labelled = labelled_config(configs)
        if labelled:
            draw_labels(labelled.labels, labelled.config, prepared / LABEL_PICTURE)
        else:
            (out / LABEL_PICTURE).unlink(missing_ok=True)
        folder.commit()
        files = [name for written in configs for names in written.files.values() for name in names]
        files += [LABEL_PICTURE] * bool(labelled)
        record = {
            "key": key,
            "files": {name: digest(out / name) for name in files},
            "configs": list(map(vars, configs)),
        }
        write_text(record_path, json.dumps(record))
    for config in CONFIGS:
        if config not in outputs:
            shutil.rmtree(out / config, ignore_errors=True)  # of an earlier run with a longer pipeline
    picture = labelled_config(configs) is not None
    models, segmenters = _records(pipeline, LabelTurns), _records(pipeline, SegmentTurns)
    stages = [vars(count) for count in counts]
    write_text(out / "README.md", dataset_card(configs, language, models, stages, segmenters, origin, picture))
    return configs


def _written_before(out: Path, record_path: Path, key: str) -> list[ConfigFiles] | None:
    """Return what an earlier call wrote, if it is what is wanted and still there."""
    try:
        record = json.loads(record_path.read_text(encoding="utf-8"))
        if record["key"] != key or any(digest(out / name) != known for name, known in record["files"].items()):
            return None
        return [from_record(ConfigFiles, written) for written in record["configs"]]
    # Absent, cut off or from another version: write it again.
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _records(pipeline: Pipeline, kind: type[LabelTurns] | type[SegmentTurns]) -> dict[str, dict[str, Any]]:
    """Return the records of the models that the stages of a kind use, by the models' names."""
    return {name: record for item in pipeline if isinstance(item, kind) for name, record in item.records().items()}


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
