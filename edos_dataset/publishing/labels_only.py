"""The config `labels_only`: a labelled config with hashes in place of the texts of its turns."""

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
from edos_dataset.label_sets import DEFAULT, label_set_of
from edos_dataset.label_sets.configs import schema_like
from edos_dataset.publishing.attach import text_hash
from edos_dataset.publishing.cards.single import labels_only_card
from edos_dataset.publishing.front_matter import with_content
from edos_dataset.publishing.layout import ROW_GROUP
from edos_dataset.runs.folder import config_files
from edos_dataset.runs.provenance import Provenance
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.runs.shards import digest, read_pieces, replacing, write_text
from edos_dataset.schema import LABELS_ONLY, SPLITS, TURN_LABEL_CONFIGS, arrow_schema

MANIFEST, RECIPE = f"{LABELS_ONLY}/manifest.json", f"{LABELS_ONLY}/recipe.yaml"
"""They are next to the labels, so that a repository that also has the text keeps them separate from the run's own."""


_OF_THE_TEXT = ("text_sha256", "speaker")  # names are content, too; `edos hydrate` brings them back


def without_text(table: pa.Table) -> pa.Table:
    """Return labelled dialogues with hashes in place of texts."""
    schema = schema_like(LABELS_ONLY, table.schema)
    turns, offsets = unnest(table, "turns")
    item: pa.StructType = schema.field("turns").type.value_type
    columns = {field.name: turns.field(field.name) for field in item if field.name not in _OF_THE_TEXT}
    columns["text_sha256"] = pa.array(map(text_hash, turns.field("text").to_pylist()), pa.string())
    return table.set_column(table.column_names.index("turns"), "turns", nest(offsets, item, columns)).cast(schema)


def write_labels_only(
    run: Path,
    out: Path,
    config: str,
    facts: Mapping[str, Any],
    recipe: str,
    models: Mapping[str, Mapping[str, Any]],
    made_of: Provenance = Provenance(),  # noqa: B008 - it is frozen
    force: bool = False,
) -> dict[str, Any]:
    """Write the labels of a config as a folder that `datasets.load_dataset(out, "labels_only")` loads.

    Each file of the config becomes one of the same name. Memory: a row group, ROW_GROUP dialogues.

    Args:
        run: A folder that `edos curate` or `edos label` wrote.
        out: A new or empty folder, or one that this function wrote, which is updated.
        config: One of TURN_LABEL_CONFIGS.
        facts: The run's manifest, of which fingerprint and versions are kept.
        recipe: YAML of the pipeline that made the dialogues; it is written to `labels_only/recipe.yaml`.
        models: Name of each model that assigned labels → record of its training, as far as known.
        made_of: Inputs that decide the labels.
        force: Replace finished labels of another config, recipe or run, and files that were edited since.

    Returns:
        The content of `labels_only/manifest.json`: `config`, `fingerprint`, `versions`, `files` (name → SHA-256 of the
            run's file, to compare a rebuilt one), `dialogues` and `turns` by split, `languages` (code → dialogues),
            `labels` (label id → turns), `label_sources` (model → turns), and `label_set` if it is not that of EDOS.

    Raises:
        ValueError: `config` is not in TURN_LABEL_CONFIGS, or the run has no such config or damaged files.
        FolderError: `out` has other contents, or cannot be written.
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
        if (labels := label_set_of(pq.read_schema(paths[0]))).name != DEFAULT:
            manifest["label_set"] = labels.as_dict()
        write_text(prepared / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False))
        write_text(prepared / RECIPE, recipe)
        known = {name: models.get(name, {}) for name in sorted(counts.label_sources)}
        digests = {f"{LABELS_ONLY}/{path.name}": digest(prepared / LABELS_ONLY / path.name) for path in paths}
        write_text(prepared / "README.md", with_content(labels_only_card(manifest, known, RECIPE), digests))
        made_of.write(folder, {"dialogues": sum(counts.dialogues.values()), "turns": sum(counts.turns.values())})
        folder.commit()
    return manifest


class _Counts:
    """Counts of the rows that were written."""

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
                    for entry in pc.value_counts(pc.drop_null(pc.struct_field(turns, name))).to_pylist()
                }
            )


def _convert(path: Path, target: Path, config: str, counts: _Counts) -> None:
    try:
        schema = pq.read_schema(path)
        with (
            replacing(target) as temporary,
            pq.ParquetWriter(
                temporary, schema_like(LABELS_ONLY, schema), compression="zstd", write_page_index=True
            ) as writer,
        ):
            for table in read_pieces(path, arrow_schema(config).names, ROW_GROUP):
                writer.write_table(without_text(table), row_group_size=ROW_GROUP)
                counts.add(path.name.split("-")[0], table)
    except (pa.ArrowInvalid, KeyError) as error:
        raise ValueError(
            f"{path} was not written by this version of `edos curate`: {error}; make the dataset of an "
            "earlier version again"
        ) from error
