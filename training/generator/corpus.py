"""The dialogues of a recipe, labelled if its kind needs labels, and split by document."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Doubles, unnest
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labels import LABEL_IDS, LABELS
from edos_dataset.releases.dialogues import read_dialogues
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.releases.formats.sources import is_saved
from edos_dataset.releases.labelled_sets.readers import SOURCES
from edos_dataset.releases.own_folders import source_configs
from edos_dataset.releases.raw import Reject, read_conversations, read_splits
from edos_dataset.runs.folder import config_files
from edos_dataset.runs.shards import read_pieces, read_shard, write_shard
from edos_dataset.schema import SPLITS
from training.caches import key_of
from training.generator.recipe import GeneratorRecipe

CONVERSATIONS = pa.schema(
    {
        "dialogue_id": pa.string(),
        "document_id": pa.string(),
        "split": pa.string(),
        "texts": pa.list_(pa.string()),
        "labels": pa.list_(pa.int8()),
    }
)
"""`document_id` identifies what must stay in one split (a film, a book, two conversations of the same people); `split`
is null if the data state none; `labels` has an id or null for each turn.
"""

RELEASES = ("empathetic_dialogues", "dailydialog")
"""Sources in the folder of raw releases."""

_COLUMNS = ["dialogue_id", "document_id", "turns"]
_LINES = (".jsonl", ".ndjson")
_SPLITS = {"train": "train", "valid": "validation", "dev": "validation", "validation": "validation", "test": "test"}
_ORIGINAL = {"train.csv": "train", "valid.csv": "validation", "test.csv": "test"}


def read_source(name: str, data_dir: Path | None, dialogues: str | None) -> pa.Table:
    """Read a source.

    Args:
        name: one of RELEASES, or a config of `dialogues`.
        data_dir: folder of the raw releases.
        dialogues: folder or Hub id of a dataset of ours, or anything else that `edos label` accepts as dialogues.

    Raises:
        ValueError: the source does not exist, or has no dialogue of two turns.
    """
    if name in RELEASES:
        if data_dir is None:
            raise ValueError(f"the recipe learns from {name}: name the folder of raw releases as --data-dir")
        table = (read_empathetic if name == "empathetic_dialogues" else read_daily)(data_dir)
    else:
        if dialogues is None:
            raise ValueError(f"the recipe learns from the config {name!r}: name its folder or Hub id as --dialogues")
        table = read_given(dialogues, name)
    table = table.filter(pa.array(np.diff(table["texts"].combine_chunks().offsets.to_numpy()) > 1))
    if not len(table):
        raise ValueError(f"{name} has no dialogue of two turns or more: nothing in it is an answer")
    return table


def read_empathetic(data_dir: Path) -> pa.Table:
    """Read EmpatheticDialogues from `annotated/`, whose turns have the authors' automatic labels, else from
    `unannotated/` or `original/`.

    The two conversations of one pair of people are one document; splits are those of `original/`, if it exists.

    Raises:
        ValueError: none of these folders exists.
    """
    folder = data_dir / "empathetic_dialogues"
    original = {folder / "original" / file: part for file, part in _ORIGINAL.items()}
    splits = {row["dialogue_id"]: part for path, part in original.items() if path.is_file() for row in _whole(path)}
    found: dict[str, Any] = {}
    for row in _conversations_in(folder):
        found.setdefault(row["dialogue_id"], row)
    return _table(
        (name, name.partition("_conv")[0], splits.get(name), [t["text"] for t in row["turns"]], _labels(row["turns"]))
        for name, row in found.items()
    )


def _conversations_in(folder: Path) -> Iterable[dict[str, Any]]:
    """Return the conversations in the preferred folder of EmpatheticDialogues."""
    for kind in ("annotated", "unannotated"):
        if paths := sorted((folder / kind).glob("*.csv")):
            read = (row for path in paths for row in read_conversations(path, annotated=kind == "annotated"))
            return (row for row in read if not isinstance(row, Reject))
    paths = [folder / "original" / file for file in _ORIGINAL]
    rows = [row for path in paths if path.is_file() for row in _whole(path)]
    if not rows:
        raise ValueError(f"{folder} has neither annotated/, unannotated/ nor original/: `edos download` gets them")
    return rows


def _whole(path: Path) -> Iterator[dict[str, Any]]:
    return (row for row in read_splits(path) if not isinstance(row, Reject))


def _labels(turns: Sequence[dict[str, Any]]) -> list[int | None]:
    return [_label(turn["label"]) for turn in turns]


def _label(label: object) -> int | None:
    """Return the id of a label given by id or name, None for anything else."""
    if isinstance(label, str):
        return LABEL_IDS.get(label)
    return label if isinstance(label, int) else None


def read_daily(data_dir: Path) -> pa.Table:
    """Read DailyDialog without its emotions and acts, which are not our labels. A single file has no splits.

    Raises:
        ValueError: none of its files exists.
    """
    source = SOURCES["dailydialog"]
    paths = {part: data_dir / file for part, files in source.files.items() for file in files}
    there = {part: path for part, path in paths.items() if path.is_file()}
    if not there:
        raise ValueError(f"none of {', '.join(map(str, paths.values()))} is there: `edos download` gets them")
    return _table(
        (
            f"{part}-{row.dialogue_id}",
            f"{part}-{row.dialogue_id}",
            _SPLITS[part] if len(there) == len(paths) else None,
            list(row.turns),
            [None] * len(row.turns),
        )
        for part, path in there.items()
        for row in source.read(path)
        if not isinstance(row, Reject)
    )


def read_given(source: str, config: str) -> pa.Table:
    """Read a config of a dataset of ours, in a folder or on the Hub, with its splits and labels; or dialogues in any
    other form, without labels unless `edos label` wrote them.

    Raises:
        ValueError: the config does not exist, or a file is damaged.
    """
    folder = Path(source)
    if folder.is_dir() and not is_saved(folder):
        files = config_files(folder, source_configs(folder, config)[0])
        return pa.concat_tables([_of_file(path, split) for split, paths in files.items() for path in paths])
    if not folder.exists() and (found := _of_the_hub(source, config)) is not None:
        return found
    labels = _labels_of_lines(folder) if folder.suffix in _LINES else {}
    rows = []
    for dialogue in read_dialogues(source, Selection(config=None if folder.exists() else config)):
        beside = json.loads(dialogue.extra) if dialogue.extra else {}
        known = labels.get(dialogue.id, [None] * len(dialogue.texts))
        document = str(beside.get("document_id") or dialogue.id)
        rows.append((dialogue.id, document, _SPLITS.get(str(beside.get("split"))), dialogue.texts, known))
    return _table(rows)


def _of_file(path: Path, split: str) -> pa.Table:
    try:
        return _of_pieces(read_pieces(path, _COLUMNS, rows=10_000), split)
    except (pa.ArrowException, OSError, KeyError) as error:
        raise ValueError(f"{path} is no file of dialogues that `edos curate` wrote: {error}") from error


def _of_the_hub(name: str, config: str) -> pa.Table | None:
    """Return a config of a dataset of ours on the Hub; None if it has another form or does not exist."""
    from datasets import load_dataset

    try:
        found = load_dataset(name, config, trust_remote_code=False)
    except Exception:  # noqa: BLE001 - of the Hub, the network or a file; `read_dialogues` reports it
        return None
    if any(set(_COLUMNS) - set(part.column_names) for part in found.values()):
        return None
    parts = {split: part.select_columns(_COLUMNS).with_format("arrow") for split, part in found.items()}
    return pa.concat_tables([_of_pieces(part.iter(10_000), _SPLITS.get(split)) for split, part in parts.items()])


def _of_pieces(pieces: Iterable[pa.Table], split: str | None) -> pa.Table:
    tables = []
    for piece in pieces:
        flat, offsets = unnest(piece, "turns")
        has = {field.name for field in flat.type}
        labels = flat.field("label").cast(pa.int8()) if "label" in has else pa.nulls(len(flat), pa.int8())
        names = [piece[name].combine_chunks() for name in ("dialogue_id", "document_id")]
        lists = [pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), each) for each in (flat.field("text"), labels)]
        columns = [*names, pa.array([split] * len(piece), pa.string()), *lists]
        tables.append(pa.table(columns, schema=CONVERSATIONS))
    return pa.concat_tables(tables) if tables else CONVERSATIONS.empty_table()


def _labels_of_lines(path: Path) -> dict[str, list[int | None]]:
    found = {}
    for line in path.read_text(encoding="utf-8-sig").splitlines():
        with suppress(ValueError, TypeError, KeyError, AttributeError):  # `read_dialogues` reports the error
            row = json.loads(line)
            found[row["dialogue_id"]] = [_label(turn.get("label")) for turn in row["turns"]]
    return found


def _table(rows: Iterable[tuple[str, str, str | None, list[str], list[int | None]]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(CONVERSATIONS)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, CONVERSATIONS, strict=True)],
        schema=CONVERSATIONS,
    )


_HELD = 0.1
"""Fraction of documents in the test split, and in the validation split."""

_BLOCK = 20_000
"""Number of turns that are labelled and cached at once."""


@dataclass(frozen=True)
class Corpus:
    """The training data and the held-out splits.

    Attributes:
        parts: split → table of CONVERSATIONS, with complete labels if the recipe needs them.
        facts: for the record: each source's dialogues, digest, and the origin of labels and splits.
    """

    parts: dict[str, pa.Table]
    facts: list[dict[str, object]]


def load_corpus(recipe: GeneratorRecipe, data_dir: Path | None, dialogues: str | None, cache: Path) -> Corpus:
    """Read the recipe's sources.

    Args:
        recipe: the training.
        data_dir: folder of the raw releases.
        dialogues: folder or Hub id of a dataset.
        cache: folder in which labels are cached.

    Raises:
        ValueError: a source does not exist, a turn has no label and the recipe no labeler, or a split is empty.
    """
    tables, facts = [], []
    for name in recipe.data:
        table = read_source(name, data_dir, dialogues)
        if recipe.without and name not in RELEASES:
            table = _without(table, read_source(recipe.without, data_dir, dialogues))
        labelled_by = "not needed"
        if recipe.labelled:
            table, labelled_by = with_labels(table, recipe, name, cache)
        table, division = with_splits(table, recipe.split_seed)
        tables.append(table)
        facts.append(
            {
                "source": name,
                "dialogues": len(table),
                "sha256": _digest(table),
                "labels": labelled_by,
                "division": division,
            }
        )
    whole = pa.concat_tables(tables)
    parts = {split: whole.filter(pc.equal(whole["split"], split)) for split in SPLITS}
    if empty := [split for split, part in parts.items() if not len(part)]:
        raise ValueError(
            f"{' and '.join(recipe.data)}: no dialogue for {' and '.join(empty)}, of {len(whole)} in all: give more "
            "dialogues, or a data set with all three splits"
        )
    return Corpus(parts, facts)


def _without(table: pa.Table, others: pa.Table) -> pa.Table:
    """Return conversations without those of another table, by their ids."""
    return table.filter(pc.invert(pc.is_in(table["dialogue_id"], others["dialogue_id"].combine_chunks())))


def with_labels(table: pa.Table, recipe: GeneratorRecipe, name: str, cache: Path) -> tuple[pa.Table, str]:
    """Return conversations with a label for every turn, and the origin of the labels. A labeler's labels are cached in
    blocks.

    Raises:
        ValueError: a turn has no label, and the recipe names no labeler.
    """
    labels = table["labels"].combine_chunks()
    missing = labels.values.null_count
    if labels.values.null_count < len(labels.values):
        extremes = pc.min_max(labels.values).as_py()
        if extremes["min"] < 0 or extremes["max"] >= len(LABELS):
            raise ValueError(f"{name}: a turn has the label {extremes['max']}; labels are 0 to {len(LABELS) - 1}")
    if not missing and not recipe.relabel:
        return table, "given"
    if recipe.labeler is None:
        raise ValueError(
            f"{name}: {missing} of {len(labels.values)} turns have no label, and the recipe names no labeler: say "
            "`labeler: general` (or fast), or label the data with `edos label`"
        )
    labeler = load_labeler(recipe.labeler)
    offsets, texts = labels.offsets, table["texts"].combine_chunks()
    bounds = offsets.to_numpy()
    starts = np.flatnonzero(np.diff(bounds[:-1] // _BLOCK, prepend=-1))
    said = []
    for start, stop in zip(starts, [*starts[1:], len(table)], strict=True):
        turns = texts.slice(start, stop - start).to_pylist()
        path = cache / f"labels-{key_of([labeler.identity, *(' | '.join(dialogue) for dialogue in turns)])}.parquet"
        if not path.is_file():
            ids = labeler.predict_proba(turns).argmax(axis=1).astype(np.int8)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_shard(path, pa.table({"label": ids}))
        said.append(read_shard(path)["label"].combine_chunks())
    given = pa.concat_arrays(said)
    values = given if recipe.relabel else pc.coalesce(labels.values, given)
    column = table.column_names.index("labels")
    table = table.set_column(column, CONVERSATIONS.field(column), pa.ListArray.from_arrays(offsets, values))
    source = f"{labeler.identity}, {len(given) if recipe.relabel else missing} of {len(given)} turns"
    return table, source


def with_splits(table: pa.Table, seed: int) -> tuple[pa.Table, str]:
    """Return conversations with a split for each, and how they were split.

    Splits in the data are kept if all three exist. Otherwise a tenth of the documents goes to the test split and a
    tenth to the validation split, by a digest of the document's id, so that a film is in the same split of every
    dataset that includes it. Each split gets at least one document; if there are fewer than three, dialogues are split
    instead.
    """
    if set(table["split"].unique().to_pylist()) >= set(SPLITS):
        return table.filter(table["split"].is_valid()), "as given"
    by = "document_id" if len(table["document_id"].unique()) >= len(SPLITS) else "dialogue_id"
    names = table[by].combine_chunks().dictionary_encode()
    drawn = np.array([_drawn(name, seed) for name in names.dictionary.to_pylist()])
    column = table.column_names.index("split")
    parts = np.array(SPLITS)[_parts(drawn)][names.indices.to_numpy()]
    return table.set_column(column, "split", pa.array(parts, pa.string())), f"80/10/10 by {by}, seed {seed}"


def _drawn(name: str, seed: int) -> float:
    """Return a number in [0, 1) that is determined by a name and a seed."""
    return int.from_bytes(sha256(f"{seed}\n{name}".encode()).digest()[:8], "big") / 2**64


def _parts(drawn: Doubles) -> np.ndarray:
    """Return the splits (0 train, 1 validation, 2 test) for numbers in [0, 1)."""
    parts = np.where(drawn < _HELD, 2, np.where(drawn < 2 * _HELD, 1, 0))
    ranked = np.argsort(drawn, kind="stable")
    if len(drawn) >= len(SPLITS) and len(np.unique(parts)) < len(SPLITS):
        parts = np.zeros(len(drawn), np.int64)
        parts[ranked[0]], parts[ranked[1]] = 2, 1
    return parts


def _digest(table: pa.Table) -> str:
    found = sha256()
    for batch in table.to_batches(1000):
        found.update(repr(batch.to_pydict()).encode())
    return found.hexdigest()
