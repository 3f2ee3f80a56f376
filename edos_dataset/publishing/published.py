"""The published form of a run, prepared for one stroke: the configs, the picture of their labels, and the card."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from edos_dataset.labeling.stages import LabelTurns
from edos_dataset.publishing import layout
from edos_dataset.publishing.cards import pictures
from edos_dataset.publishing.cards.dataset import Origin, dataset_card, labelled_config
from edos_dataset.publishing.cards.pictures import LABEL_PICTURE, draw_labels
from edos_dataset.publishing.content import with_content
from edos_dataset.publishing.layout import ConfigFiles, write_config
from edos_dataset.publishing.statistics import from_record
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.fingerprints import code_hash, hash_json
from edos_dataset.runs.folder import OutputFolder
from edos_dataset.runs.pipeline import Pipeline
from edos_dataset.runs.shards import StageCount, digest, read_checked, write_checked, write_text
from edos_dataset.segmentation.turns.stage import SegmentTurns

_RECORD = "published.json"


def prepare_published(
    folder: OutputFolder,
    outputs: Mapping[str, Sequence[Path]],
    language: str,
    pipeline: Pipeline,
    counts: Sequence[StageCount],
    origin: Origin,
    engine: Engine,
) -> list[ConfigFiles]:
    """Prepare the configs, the picture of their labels and the card in a folder; configs and picture only if the
    folder does not hold just what these shards give. The caller adds what else belongs there, and commits.

    Args:
        folder: the published folder, held by the caller.
        outputs: shards of each config; configs that are not named are not part of the new set.
        language: code of the dialogues' language.
        pipeline: what made the shards; its models are named in the card.
        counts: what each stage did.
        origin: how it was made, for the card.
        engine: whose workers write the configs.
    """
    makers = [code_hash(layout.__name__), code_hash(pictures.__name__), version("matplotlib")]
    key = hash_json([{config: [digest(path) for path in shards] for config, shards in outputs.items()}, *makers])
    configs = _written_before(folder, key)
    labelled = labelled_config(configs or [])
    if configs is not None:
        prepared = folder.prepare(keep=[*digests_of(configs), *[LABEL_PICTURE] * bool(labelled)])
    else:
        prepared = folder.prepare()
        corpus = engine.corpus
        configs = [write_config(config, shards, folder.shared, engine=corpus) for config, shards in outputs.items()]
        files = digests_of(configs)
        labelled = labelled_config(configs)
        if labelled:
            draw_labels(labelled.labels, labelled.config, prepared / LABEL_PICTURE)
            files |= {LABEL_PICTURE: digest(prepared / LABEL_PICTURE)}
        record = {"key": key, "files": files, "configs": list(map(vars, configs))}
        write_checked(prepared / ".run" / _RECORD, record)
    models, segmenters = records_of(pipeline, LabelTurns), records_of(pipeline, SegmentTurns)
    stages = [vars(count) for count in counts]
    card = dataset_card(configs, language, models, stages, segmenters, origin, labelled is not None)
    write_text(prepared / "README.md", with_content(card, digests_of(configs)))
    return configs


def holds(films: int, configs: Iterable[ConfigFiles]) -> dict[str, int]:
    """Return what a folder holds, for `runs.made_of`."""
    return {"films": films, "dialogues": max((written.total_rows for written in configs), default=0)}


def digests_of(configs: Iterable[ConfigFiles]) -> dict[str, str]:
    """Return the SHA-256 of each data file of some configs."""
    return {name: known for written in configs for name, known in written.digests.items()}


def _written_before(folder: OutputFolder, key: str) -> list[ConfigFiles] | None:
    """Return what an earlier call wrote, if it is what is wanted and still there."""
    try:
        record = read_checked(folder.run / _RECORD)
        if record["key"] != key or not folder.has(record["files"]):
            return None
        return [from_record(ConfigFiles, written) for written in record["configs"]]
    # Absent, cut off or from another version: write it again.
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def records_of(pipeline: Pipeline, kind: type[LabelTurns] | type[SegmentTurns]) -> dict[str, dict[str, Any]]:
    """Return the records of the models that the stages of a kind use, by the models' names."""
    return {name: record for item in pipeline if isinstance(item, kind) for name, record in item.records().items()}


def summary(written: ConfigFiles) -> dict[str, Any]:
    """Return a config's entry in a manifest."""
    rows, turns, tokens = written.total_rows, written.total_turns, written.total_tokens
    _, certainty = written.sure()
    return {
        "dialogues": rows,
        "turns": turns,
        "tokens": tokens,
        "turns_per_dialogue": round(turns / max(rows, 1), 3),
        "tokens_per_turn": round(tokens / max(turns, 1), 3),
        "certainty": None if certainty is None else round(certainty, 4),
        "splits": written.rows,
        "bytes": sum(written.bytes.values()),
    }
