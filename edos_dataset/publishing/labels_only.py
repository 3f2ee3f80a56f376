"""The config `labels_only`: everything of a labelled config but the text of its turns, of which it has the hashes."""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.arrays import nest, unnest
from edos_dataset.publishing.cards.tables import label_table, model_table
from edos_dataset.publishing.cards.texts import closing
from edos_dataset.publishing.layout import ROW_GROUP, ConfigFiles, put_in_place
from edos_dataset.publishing.single import front_matter, loading
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.shards import digest, locked, read_pieces, replacing, write_text
from edos_dataset.schema import SPLITS, features, list_of, published

if TYPE_CHECKING:
    from datasets import Features

CONFIG = "labels_only"
MANIFEST, RECIPE = f"{CONFIG}/manifest.json", f"{CONFIG}/recipe.yaml"
"""They lie beside the labels, so that a repository that also holds the text keeps them apart from the run's own."""
SOURCES = ("edos", "edos_initial")
"""The configs whose labels can be published without their text."""

_OURS = {".run", "README.md", CONFIG}
_FLAWS = """\
- **There is no text in it.** The text of subtitles is under its owners' copyright, so here are ids, hashes and labels; `edos hydrate` rebuilds the text from
  your own copy of the subtitles, and lists what your copy lacks.
- **The same subtitle files are needed,** not other ones of the same films: sentences are named by their number in the file.
- **A hash is a check, not a secret.** Whoever has a list of common sentences finds the short turns again by their hashes.
- **The labels are a machine's.** Each turn names the model in `label_source`. Use `confidence` and `top`, not the label alone.
- **Nobody marked the speakers.** Turns are inferred; a turn may hold two speakers, or a speaker two turns. Dialogues are cut at pauses, not at scenes.
- **Licence.** This folder carries none of its own; the labels are under what the data allow that their models learned from."""


def labels_only_features() -> "Features":
    """Return the `datasets.Features` of the config: those of the config `edos`, but that a turn has `text_sha256` in
    the place of `text`.
    """
    from datasets import Features, Value

    whole = features("edos")
    turns = whole["turns"]
    whole_turn = turns[0] if isinstance(turns, list) else turns.feature  # a list before datasets 4
    turn = {
        "text_sha256" if name == "text" else name: Value("string") if name == "text" else kind
        for name, kind in whole_turn.items()
    }
    return Features({**whole, "turns": list_of(turn)})


@cache
def labels_only_schema() -> pa.Schema:
    """Return the Arrow schema of the config."""
    return labels_only_features().arrow_schema


def text_hash(text: str) -> str:
    """Return the SHA-256 (hex) of the UTF-8 bytes of a turn's text."""
    return hashlib.sha256(text.encode()).hexdigest()


def without_text(table: pa.Table) -> pa.Table:
    """Return labelled dialogues as the config has them: hashes for texts."""
    schema = labels_only_schema()
    turns, offsets = unnest(table, "turns")
    item: pa.StructType = schema.field("turns").type.value_type
    columns = {field.name: turns.field(field.name) for field in item if field.name != "text_sha256"}
    columns["text_sha256"] = pa.array(map(text_hash, turns.field("text").to_pylist()), pa.string())
    plain = pa.struct([pa.field(field.name, columns[field.name].type) for field in item])
    return table.set_column(table.column_names.index("turns"), "turns", nest(offsets, plain, columns)).cast(schema)


def write_labels_only(
    run: Path, out: Path, config: str, facts: Mapping[str, Any], recipe: str, models: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Write the labels of a published config as a folder that `datasets.load_dataset(out, "labels_only")` loads.

    Each file of the config gives one of the same name. Memory: a row group, ROW_GROUP dialogues.

    Args:
        run: a folder that `edos curate` or `edos label` wrote.
        out: a new or empty folder, or one that this function wrote, which is replaced.
        config: one of SOURCES.
        facts: the run's manifest; its fingerprint and versions are kept.
        recipe: YAML of the pipeline that made the dialogues; it goes to `labels_only/recipe.yaml`.
        models: name of each model that gave labels to the record of its making, as far as they are known.

    Returns:
        What goes to `labels_only/manifest.json`: `config`, `fingerprint`, `versions`, `files` (name → SHA-256 of the
            run's file, to compare a rebuilt
        one), `dialogues` and `turns` by split, `labels` (label id → turns), `label_sources` (model → turns).

    Raises:
        ValueError: `config` is none of SOURCES, or the run has no such config or damaged files.
        FolderError: `out` holds something else, or cannot be written.
    """
    if config not in SOURCES:
        raise ValueError(f"config is {config!r}, but only {' and '.join(SOURCES)} have labels of turns")
    paths = [path for split in SPLITS for path in sorted((run / config).glob(f"{split}-*.parquet"))]
    if not paths:
        raise ValueError(
            f"{run} has no dialogues in the config {config!r}: give a folder that `edos curate` wrote, and one of its "
            "configs as --config"
        )
    if out.exists() and (not out.is_dir() or {path.name for path in out.iterdir()} - _OURS):
        raise FolderError(f"{out} holds something else than labels without text: give a new or empty folder as --out")
    with locked(out):
        prepared = out / ".run" / "publishing"
        shutil.rmtree(prepared, ignore_errors=True)
        counts = _Counts()
        for path in paths:
            _convert(path, prepared / CONFIG / path.name, config, counts)
        manifest = {
            "config": config,
            "fingerprint": facts.get("fingerprint"),
            "versions": facts.get("versions"),
            "files": {f"{config}/{path.name}": digest(path) for path in paths},
            **vars(counts),
        }
        write_text(prepared / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False))
        write_text(prepared / RECIPE, recipe)
        write_text(
            prepared / "README.md",
            _card(manifest, {name: models.get(name, {}) for name in sorted(counts.label_sources)}),
        )
        put_in_place(prepared, out)
    return manifest


class _Counts:
    """What was written."""

    def __init__(self) -> None:
        self.dialogues = dict.fromkeys(SPLITS, 0)
        self.turns = dict.fromkeys(SPLITS, 0)
        self.labels: Counter[int] = Counter()
        self.label_sources: Counter[str] = Counter()

    def add(self, split: str, table: pa.Table) -> None:
        turns = pc.list_flatten(table["turns"])
        self.dialogues[split] += table.num_rows
        self.turns[split] += len(turns)
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
            pq.ParquetWriter(temporary, labels_only_schema(), compression="zstd", write_page_index=True) as writer,
        ):
            for table in read_pieces(path, published(config).names, ROW_GROUP):
                writer.write_table(without_text(table), row_group_size=ROW_GROUP)
                counts.add(path.name.split("-")[0], table)
    except (pa.ArrowInvalid, KeyError) as error:
        raise ValueError(f"{path} is no file of a data set that `edos curate` wrote: {error}") from error


def _card(manifest: Mapping[str, Any], models: Mapping[str, Mapping[str, Any]]) -> str:
    splits = [split for split in SPLITS if manifest["dialogues"][split]]
    dialogues, turns = sum(manifest["dialogues"].values()), sum(manifest["turns"].values())
    parts = ", ".join(f"{split} {count:,}" for split, count in manifest["dialogues"].items())
    labels = ConfigFiles(CONFIG, labels=manifest["labels"])
    versions = ", ".join(f"{name} {number}" for name, number in (manifest["versions"] or {}).items()) or "not stated"
    sections = [
        front_matter(
            CONFIG,
            labels_only_features(),
            "EDOS, labels without text",
            ["weak-supervision"],
            splits,
            licence="labels-without-text",
            rows=dialogues,
        ),
        "# EDOS: the labels of dialogues from subtitles, without their text",
        "## Know its flaws first\n\n" + _FLAWS,
        loading(CONFIG),
        "## Get the text back\n\n```\nedos hydrate FOLDER YOUR_SUBTITLES --out edos\n```\n\n"
        f"runs the stages of `{RECIPE}` on your files, compares every turn with its hash, and writes the config "
        f"`{manifest['config']}`, byte for byte the one "
        "that these labels are from where nothing is missing. What is missing is counted by its reason and listed in "
        "`missing.jsonl`.",
        f"## What is in it\n\n{dialogues:,} dialogues ({parts}) with {turns:,} turns, the config "
        f"`{manifest['config']}` of a run with the fingerprint "
        f"`{manifest['fingerprint']}`, made by {versions}.",
        "## Labels\n\n" + label_table(labels),
        "## The labelling models\n\n" + model_table(models),
        closing(opus=True),
    ]
    return "\n\n".join(sections) + "\n"
