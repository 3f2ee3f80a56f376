"""The config `labels_only`: everything of a labelled config but the text of its turns, of which it has the hashes."""

import json
from collections import Counter
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.arrays import nest, unnest
from edos_dataset.publishing.cards.labels_only import labels_only_card
from edos_dataset.publishing.content import with_content
from edos_dataset.publishing.hashes import text_hash
from edos_dataset.publishing.layout import ROW_GROUP
from edos_dataset.runs.made_of import MadeOf
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.runs.shards import digest, read_pieces, replacing, write_text
from edos_dataset.runs.tables import config_files
from edos_dataset.schema import LABELS_ONLY, SPLITS, TURN_LABEL_CONFIGS, arrow_schema

MANIFEST, RECIPE = f"{LABELS_ONLY}/manifest.json", f"{LABELS_ONLY}/recipe.yaml"
"""They lie beside the labels, so that a repository that also holds the text keeps them apart from the run's own."""


def without_text(table: pa.Table) -> pa.Table:
    """Return labelled dialogues as the config has them: hashes for texts."""
    schema = arrow_schema(LABELS_ONLY)
    turns, offsets = unnest(table, "turns")
    item: pa.StructType = schema.field("turns").type.value_type
    columns = {field.name: turns.field(field.name) for field in item if field.name != "text_sha256"}
    columns["text_sha256"] = pa.array(map(text_hash, turns.field("text").to_pylist()), pa.string())
    return table.set_column(table.column_names.index("turns"), "turns", nest(offsets, item, columns)).cast(schema)


def write_labels_only(
    run: Path,
    out: Path,
    config: str,
    facts: Mapping[str, Any],
    recipe: str,
    models: Mapping[str, Mapping[str, Any]],
    made_of: MadeOf = MadeOf(),  # noqa: B008 - it is frozen
    force: bool = False,
) -> dict[str, Any]:
    """Write the labels of a config as a folder that `datasets.load_dataset(out, "labels_only")` loads.

    Each file of the config gives one of the same name. Memory: a row group, ROW_GROUP dialogues.

    Args:
        run: a folder that `edos curate` or `edos label` wrote.
        out: a new or empty folder, or one that this function wrote, which is brought up to date.
        config: one of TURN_LABEL_CONFIGS.
        facts: the run's manifest; its fingerprint and versions are kept.
        recipe: YAML of the pipeline that made the dialogues; it goes to `labels_only/recipe.yaml`.
        models: name of each model that gave labels to the record of its making, as far as they are known.
        made_of: what decides the labels.
        force: replace finished labels by those of another config, recipe or run, and files that were edited since.

    Returns:
        What goes to `labels_only/manifest.json`: `config`, `fingerprint`, `versions`, `files` (name → SHA-256 of the
            run's file, to compare a rebuilt one), `dialogues` and `turns` by split, `languages` (code → dialogues),
            `labels` (label id → turns), `label_sources` (model → turns).

    Raises:
        ValueError: `config` is none of TURN_LABEL_CONFIGS, or the run has no such config or damaged files.
        FolderError: `out` holds something else, or cannot be written.
    """
    if config not in TURN_LABEL_CONFIGS:
        raise ValueError(f"config is {config!r}, but only {' and '.join(TURN_LABEL_CONFIGS)} have labels of turns")
    paths = list(chain.from_iterable(config_files(run, config).values()))
    if not paths:
        raise ValueError(
            f"{run} has no dialogues in the config {config!r}: give a folder that `edos curate` wrote, and one of its "
            "configs as --config"
        )
    with output_folder(out, "labels-only", force=force) as folder:
        made_of.check(folder)
        prepared = folder.prepare()
        counts = _Counts()
        for path in paths:
            _convert(path, prepared / LABELS_ONLY / path.name, config, counts)
        manifest = {
            "config": config,
            "fingerprint": facts.get("fingerprint"),
            "versions": facts.get("versions"),
            "files": {f"{config}/{path.name}": digest(path) for path in paths},
            **vars(counts),
        }
        write_text(prepared / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False))
        write_text(prepared / RECIPE, recipe)
        known = {name: models.get(name, {}) for name in sorted(counts.label_sources)}
        digests = {f"{LABELS_ONLY}/{path.name}": digest(prepared / LABELS_ONLY / path.name) for path in paths}
        write_text(prepared / "README.md", with_content(labels_only_card(manifest, known, RECIPE), digests))
        made_of.write(folder, {"dialogues": sum(counts.dialogues.values()), "turns": sum(counts.turns.values())})
        folder.commit()
    return manifest


class _Counts:
    """What was written."""

    def __init__(self) -> None:
        self.dialogues = dict.fromkeys(SPLITS, 0)
        self.turns = dict.fromkeys(SPLITS, 0)
        self.languages: Counter[str] = Counter()
        self.labels: Counter[int] = Counter()
        self.label_sources: Counter[str] = Counter()

    def add(self, split: str, table: pa.Table) -> None:
        turns = pc.list_flatten(table["turns"])
        self.dialogues[split] += table.num_rows
        self.turns[split] += len(turns)
        self.languages.update(table["language"].drop_null().to_pylist())
        for counter, name in ((self.labels, "label"), (self.label_sources, "label_source")):
            counter.update(
                {
                    entry["values"]: entry["counts"]
                    for entry in pc.value_counts(pc.struct_field(turns, name)).to_pylist()
                }
            )


def _convert(path: Path, target: Path, config: str, counts: _Counts) -> None:
    """Write a file of the run without its text."""
    try:
        with (
            replacing(target) as temporary,
            pq.ParquetWriter(temporary, arrow_schema(LABELS_ONLY), compression="zstd", write_page_index=True) as writer,
        ):
            for table in read_pieces(path, arrow_schema(config).names, ROW_GROUP):
                writer.write_table(without_text(table), row_group_size=ROW_GROUP)
                counts.add(path.name.split("-")[0], table)
    except (pa.ArrowInvalid, KeyError) as error:
        raise ValueError(
            f"{path} is no file of a data set that this version of `edos curate` wrote: {error}; what "
            "an earlier version made, make again"
        ) from error
