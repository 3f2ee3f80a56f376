"""The dialogues that response models learn from, each source in one form: a table of CONVERSATIONS."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import unnest
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

_COLUMNS = ["dialogue_id", "document_id", "turns"]
_LINES = (".jsonl", ".ndjson")
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
    """Read a config of a folder of ours or of a data set of the Hub, with its splits and labels, or dialogues in any
    other form; of these, the lines that `edos label` writes have labels.

    Raises:
        ValueError: there is no such config, or a file is damaged.
    """
    folder = Path(source)
    if folder.is_dir() and not is_saved(folder):
        files = config_files(folder, source_config(folder, config))
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
    """Return the conversations of a Parquet file of ours."""
    try:
        return _of_pieces(read_pieces(path, _COLUMNS, rows=10_000), split)
    except (pa.ArrowException, OSError, KeyError) as error:
        raise ValueError(f"{path} is no file of dialogues that `edos curate` wrote: {error}") from error


def _of_the_hub(name: str, config: str) -> pa.Table | None:
    """Return a config of a data set of ours on the Hub; None where it is of another form, or not there."""
    from datasets import load_dataset

    try:
        found = load_dataset(name, config, trust_remote_code=False)
    except Exception:  # noqa: BLE001 - of the Hub, the network, and files of others; `read_dialogues` says which
        return None
    if any(set(_COLUMNS) - set(part.column_names) for part in found.values()):
        return None
    parts = {split: part.select_columns(_COLUMNS).with_format("arrow") for split, part in found.items()}
    return pa.concat_tables([_of_pieces(part.iter(10_000), _SPLITS.get(split)) for split, part in parts.items()])


def _of_pieces(pieces: Iterable[pa.Table], split: str | None) -> pa.Table:
    """Return the conversations of tables with the columns of a config of ours."""
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
    """Return the labels of JSON lines in the form of `edos label`, by dialogue."""
    found = {}
    for line in path.read_text(encoding="utf-8-sig").splitlines():
        with suppress(ValueError, TypeError, KeyError, AttributeError):  # `read_dialogues` says what is wrong
            row = json.loads(line)
            found[row["dialogue_id"]] = [_label(turn.get("label")) for turn in row["turns"]]
    return found


def _table(rows: Iterable[tuple[str, str, str | None, list[str], list[int | None]]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(CONVERSATIONS)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, CONVERSATIONS, strict=True)],
        schema=CONVERSATIONS,
    )
