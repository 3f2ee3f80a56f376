"""The dialogues that response models learn from, each source in one form: a table of CONVERSATIONS."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.labels import LABEL_IDS
from edos_dataset.releases.conversations import read_conversations, read_splits
from edos_dataset.releases.dialogues import read_dialogues, source_config
from edos_dataset.releases.given.sources import Selection, is_saved
from edos_dataset.releases.labelled_sets.sources import SOURCES
from edos_dataset.releases.raw import Reject
from edos_dataset.runs.shards import read_pieces
from edos_dataset.runs.tables import config_files

CONVERSATIONS = pa.schema(
    {
        "dialogue_id": pa.string(),
        "document_id": pa.string(),
        "split": pa.string(),
        "texts": pa.list_(pa.string()),
        "labels": pa.list_(pa.int8()),
    }
)
"""`document_id` names what belongs to one part (a film, a book, two talks of the same people); `split` is null where
the data give none; `labels` has an id or a null for each turn.
"""

RELEASES = ("empathetic_dialogues", "dailydialog")
"""Sources that lie in the folder of raw releases."""

_SPLITS = {"train": "train", "valid": "validation", "dev": "validation", "validation": "validation", "test": "test"}
_ORIGINAL = {"train.csv": "train", "valid.csv": "validation", "test.csv": "test"}


def read_source(name: str, data_dir: Path | None, dialogues: str | None) -> pa.Table:
    """Read a source.

    Args:
        name: one of RELEASES, or a config of `dialogues`.
        data_dir: folder of the raw releases.
        dialogues: folder of a data set of ours, its Hub id, or whatever else `edos label` takes for dialogues.

    Raises:
        ValueError: it is not there, or has no dialogue of two turns.
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
    """Read EmpatheticDialogues: `annotated/`, whose turns have the authors' automatic labels, else `unannotated/`, else
    `original/`. The two talks of one pair of people are one document; splits are those of `original/`, where it is.

    Raises:
        ValueError: none of these folders is there.
    """
    folder = data_dir / "empathetic_dialogues"
    original = {folder / "original" / file: part for file, part in _ORIGINAL.items()}
    splits = {row["dialogue_id"]: part for path, part in original.items() if path.is_file() for row in _whole(path)}
    for kind in ("annotated", "unannotated"):
        if paths := sorted((folder / kind).glob("*.csv")):
            rows = (row for path in paths for row in read_conversations(path, annotated=kind == "annotated"))
            break
    else:
        rows = (row for path in original if path.is_file() for row in _whole(path))
        if not splits:
            raise ValueError(f"{folder} has neither annotated/, unannotated/ nor original/: `edos download` gets them")
    found: dict[str, Any] = {}
    for row in rows:
        if not isinstance(row, Reject):
            found.setdefault(row["dialogue_id"], row)
    return _table(
        (name, name.partition("_conv")[0], splits.get(name), [t["text"] for t in row["turns"]], _labels(row["turns"]))
        for name, row in found.items()
    )


def _whole(path: Path) -> Iterator[dict[str, Any]]:
    return (row for row in read_splits(path) if not isinstance(row, Reject))


def _labels(turns: Sequence[dict[str, Any]]) -> list[int | None]:
    return [_label(turn["label"]) for turn in turns]


def _label(label: object) -> int | None:
    """Return the id of a label that is given by id or name, None for anything else."""
    if isinstance(label, str):
        return LABEL_IDS.get(label)
    return label if isinstance(label, int) else None


def read_daily(data_dir: Path) -> pa.Table:
    """Read DailyDialog; its emotions and acts are none of our labels. With one file only it has no splits.

    Raises:
        ValueError: none of its files is there.
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
    """Read a config of a folder of ours with its splits, or dialogues in any other form, with the labels that they
    have.

    Raises:
        ValueError: there is no such config, or a file is damaged.
    """
    folder = Path(source)
    if folder.is_dir() and not is_saved(folder):
        return pa.concat_tables([_of_file(path, split) for split, path in _files(folder, config)])
    meant = Selection(config=None if folder.exists() else config)
    rows = []
    for dialogue in read_dialogues(source, meant):
        beside = json.loads(dialogue.extra) if dialogue.extra else {}
        document = beside.get("document_id")
        extras = dialogue.turn_extras or [None] * len(dialogue.texts)
        known = [_label(json.loads(extra).get("label") if extra else None) for extra in extras]
        split = _SPLITS.get(str(beside.get("split")))
        rows.append((dialogue.id, str(document or dialogue.id), split, dialogue.texts, known))
    return _table(rows)


def _files(folder: Path, config: str) -> list[tuple[str, Path]]:
    files = config_files(folder, source_config(folder, config))
    return [(split, path) for split, paths in files.items() for path in paths]


def _of_file(path: Path, split: str) -> pa.Table:
    """Return the conversations of a Parquet file of ours."""
    tables = []
    try:
        for piece in read_pieces(path, ["dialogue_id", "document_id", "turns"], rows=10_000):
            turns = piece["turns"].combine_chunks()
            offsets, flat = turns.offsets, turns.values
            has = {field.name for field in flat.type}
            labels = flat.field("label").cast(pa.int8()) if "label" in has else pa.nulls(len(flat), pa.int8())
            columns = [piece["dialogue_id"], piece["document_id"], pa.array([split] * len(piece), pa.string())]
            texts = pa.ListArray.from_arrays(offsets, flat.field("text"))
            tables.append(pa.table([*columns, texts, pa.ListArray.from_arrays(offsets, labels)], schema=CONVERSATIONS))
    except (pa.ArrowException, OSError, KeyError) as error:
        raise ValueError(f"{path} is no file of dialogues that `edos curate` wrote: {error}") from error
    return pa.concat_tables(tables) if tables else CONVERSATIONS.empty_table()


def _table(rows: Iterable[tuple[str, str, str | None, list[str], list[int | None]]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(CONVERSATIONS)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, CONVERSATIONS, strict=True)],
        schema=CONVERSATIONS,
    )
