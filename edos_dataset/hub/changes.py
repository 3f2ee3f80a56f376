"""What changed between two published versions of a config, dialogue by dialogue.

Files are read in pieces, and of their columns only the id, the texts and the labels. Memory: 33 bytes a dialogue and
version, and one piece.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.publishing.cards.markdown import code, plain

ID = "dialogue_id"
_LABELS = ("label", "turns.label")
_TEXTS = ("turns.text", "turns.text_sha256")
_ROWS = 10_000
_ONE_OF = "one of "

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class ConfigChange:
    """What changed in a config.

    Attributes:
        config: its name.
        before: dialogues of the earlier version, 0 where that had no such config.
        after: dialogues of the later version, 0 where that has no such config.
        added: dialogues whose id is new.
        removed: dialogues whose id is gone.
        labels: dialogues of both versions with another label of a turn.
        texts: dialogues of both versions with another text of a turn, or other turns.
        moved: dialogues of both versions in another split.
        schema: what changed in the columns and label names, one sentence of Markdown each.
    """

    config: str
    before: int
    after: int
    added: int = 0
    removed: int = 0
    labels: int = 0
    texts: int = 0
    moved: int = 0
    schema: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rows:
    """The dialogues of a config, by hashes that are comparable within this process: [dialogues] each, sorted by id.

    Attributes:
        ids: of the id.
        labels: of the labels of all turns, in order.
        texts: of the texts of all turns, in order.
        splits: of the name of the split.
        columns: each leaf column, such as `turns[].label`, and its type, which for a label includes the names.
    """

    ids: Hashes
    labels: Hashes
    texts: Hashes
    splits: Hashes
    columns: Mapping[str, str]


def read_rows(files: Mapping[str, str], opened: Callable[[str], Any]) -> Rows:
    """Read the files of a config.

    Args:
        files: path → split, at least one.
        opened: returns what `pyarrow` opens for a path: a path of this machine or an open file.

    Raises:
        ValueError: there is no column `dialogue_id`.
        OSError: a file cannot be read.
        pyarrow.ArrowInvalid: it is no Parquet file.
    """
    pieces = [[np.empty(0, np.uint64)] * 4]
    columns: dict[str, str] = {}
    for path, split in sorted(files.items()):
        with pq.ParquetFile(opened(path), pre_buffer=True) as file:
            columns = columns or _leaves(file.schema_arrow)
            if ID not in columns:
                raise ValueError(f"{path} has no column {ID}, by which the dialogues of two versions are compared")
            leaves = {
                _plain(file.schema.column(place).path): file.schema.column(place).path
                for place in range(len(file.schema))
            }
            wanted = [leaves[name] for name in (ID, *_LABELS, *_TEXTS) if name in leaves]
            for batch in file.iter_batches(_ROWS, columns=wanted):
                ids = _hashes(batch[ID])
                pieces.append(
                    [
                        ids,
                        _mixed(batch, _LABELS),
                        _mixed(batch, _TEXTS),
                        np.full(len(ids), hash(split), np.int64).view(np.uint64),
                    ]
                )
    ids, labels, texts, splits = (np.concatenate([piece[place] for piece in pieces]) for place in range(4))
    ids, first = np.unique(ids, return_index=True)
    return Rows(ids, labels[first], texts[first], splits[first], columns)


def compare(config: str, old: Rows | None, new: Rows | None) -> ConfigChange:
    """Compare two versions of a config, either of which may lack it, but not both."""
    if old is None or new is None:
        before, after = (0 if rows is None else len(rows.ids) for rows in (old, new))
        return ConfigChange(config, before, after, added=after, removed=before)
    _, there, here = np.intersect1d(old.ids, new.ids, assume_unique=True, return_indices=True)
    differ = {name: int(np.sum(getattr(old, name)[there] != getattr(new, name)[here])) for name in ("labels", "texts")}
    moved = int(np.sum(old.splits[there] != new.splits[here]))
    counts = (len(old.ids), len(new.ids), len(new.ids) - len(here), len(old.ids) - len(there))
    return ConfigChange(config, *counts, **differ, moved=moved, schema=tuple(_schema_changes(old.columns, new.columns)))


def _schema_changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    differences = []
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            differences.append(f"column {code(name)} is gone")
        elif name not in old:
            differences.append(f"column {code(name)} is new")
        elif old[name] != new[name]:
            differences.append(_other_type(name, old[name], new[name]))
    return differences


def _other_type(name: str, old: str, new: str) -> str:
    if not (old.startswith(_ONE_OF) and new.startswith(_ONE_OF)):
        return f"column {code(name)} was {plain(old)} and is {plain(new)}"
    before, after = (names.removeprefix(_ONE_OF).split(", ") for names in (old, new))
    gone, more = [label for label in before if label not in after], [label for label in after if label not in before]
    parts = [f"{plain(', '.join(labels))} {word}" for labels, word in ((gone, "gone"), (more, "new")) if labels]
    return f"label names of {code(name)}: {'; '.join(parts) or 'in another order'}"


def _plain(path: str) -> str:
    """Return the path of a leaf in a Parquet file without the steps that only say "list": `turns.list.element.text` is
    turns.text.
    """
    parts = path.split(".")
    return ".".join(
        part for place, part in enumerate(parts) if part != "list" and (place == 0 or parts[place - 1] != "list")
    )


def _leaves(schema: pa.Schema) -> dict[str, str]:
    features = json.loads((schema.metadata or {}).get(b"huggingface", b"{}")).get("info", {}).get("features", {})
    kinds: dict[str, str] = {}

    def walk(name: str, kind: pa.DataType, feature: object) -> None:
        inner = feature if isinstance(feature, dict) else {}
        if pa.types.is_struct(kind):
            for field in kind:
                walk(f"{name}.{field.name}", field.type, inner.get(field.name))
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
            walk(f"{name}[]", kind.value_type, feature[0] if isinstance(feature, list) else inner.get("feature"))
        else:
            names = inner.get("names")
            kinds[name] = _ONE_OF + ", ".join(names) if isinstance(names, list) else str(kind)

    for field in schema:
        walk(field.name, field.type, features.get(field.name))
    return kinds


def _hashes(values: pa.Array) -> Hashes:
    return np.fromiter(map(hash, values.to_pylist()), np.int64, len(values)).view(np.uint64)


def _mixed(batch: pa.RecordBatch, names: tuple[str, ...]) -> Hashes:
    """Return a hash a row of the named columns that the batch has; `turns.x` is that of the field `x` of all turns, in
    order.
    """
    total = np.zeros(batch.num_rows, np.uint64)
    for name in names:
        column, _, field = name.partition(".")
        if column not in batch.schema.names:
            continue
        if not field:
            total += _hashes(batch[column])
        elif field in batch.schema.field(column).type.value_type.names:
            total += _of_lists(batch[column], field)
    return total


def _of_lists(lists: pa.ListArray, field: str) -> Hashes:
    rows = pc.list_parent_indices(lists).to_numpy()
    starts, ends = (np.searchsorted(rows, np.arange(len(lists)), side) for side in ("left", "right"))
    places = (np.arange(len(rows)) - starts[rows] + 1).astype(np.uint64)
    turns = _hashes(pc.struct_field(pc.list_flatten(lists), field)) * np.uint64(0x9E3779B97F4A7C15) + places
    turns = (turns ^ (turns >> np.uint64(29))) * (
        np.uint64(2) * places + np.uint64(0xBF58476D1CE4E5B9)
    )  # so that the order of the turns counts
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(turns, dtype=np.uint64)])
    hashes: Hashes = sums[ends] - sums[starts]
    return hashes
