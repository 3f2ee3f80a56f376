"""Batches of dialogues as flat columns, from any config; of a Parquet file only what a report needs is read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.arrays import Doubles, Hashes, Ints, unnest
from edos_dataset.schema import TOP as TOP_LABEL
from edos_dataset.text import hash64

NONE = -1
"""Label of an unlabelled turn, and year of a dialogue whose year is not known."""

_OF_DIALOGUE = ("dialogue_id", "document_id", "certainty", "label", "confidence", "soft_label", "source", "year")
_OF_TURN = ("text", "label", "confidence", "top", "truth", "certainty")
ROWS = 5_000
"""Dialogues of a file that are in memory at once."""
TOP = pa.list_(TOP_LABEL)


def split_order(split: str) -> tuple[int, str]:
    """Return the sort key of a split: train, validation, test, then others by name."""
    known = ("train", "validation", "dev", "test")
    return (known.index(split) if split in known else len(known), split)


class Top(NamedTuple):
    """The most probable labels of turns, one entry per turn and label.

    Attributes:
        turn: [entries] positions of the turns.
        label: [entries] label ids.
        probability: [entries], 0 to 1.
    """

    turn: Ints
    label: Ints
    probability: Doubles


@dataclass(frozen=True)
class Batch:
    """Dialogues of one split.

    Attributes:
        split: The split.
        ids: [dialogues] strings.
        documents: [dialogues] ids of their films or books, null if not known.
        years: [dialogues], `NONE` if not known.
        certainty: [dialogues], 0 to 1, NaN if not known.
        offsets: [dialogues + 1] offsets of their turns.
        texts: [turns].
        labels: [turns] label ids, `NONE` for none.
        confidence: [turns], 0 to 1, NaN for none.
        top: The most probable labels, as far as known.
        truth: [turns] ids of the correct labels, `NONE` if not known.
        boundaries: [turns] certainty of the boundary before each, 0 to 1, NaN for none.
    """

    split: str
    ids: pa.Array
    documents: pa.Array
    years: Ints
    certainty: Doubles
    offsets: Ints
    texts: pa.Array
    labels: Ints
    confidence: Doubles
    top: Top
    truth: Ints
    boundaries: Doubles

    @property
    def of_turn(self) -> Ints:
        """[turns] the dialogue of each turn."""
        rows: Ints = np.repeat(np.arange(len(self.ids)), np.diff(self.offsets))
        return rows

    @property
    def place(self) -> Ints:
        """[turns] the position of each turn in its dialogue, from 0."""
        places: Ints = np.arange(len(self.labels)) - np.repeat(self.offsets[:-1], np.diff(self.offsets))
        return places

    @property
    def same_id(self) -> Ints:
        """[dialogues] numbers from 0, equal for equal ids."""
        codes: Ints = self.ids.dictionary_encode().indices.to_numpy().astype(np.int64)
        return codes

    def second(self) -> tuple[Ints, Doubles]:
        """Return for each turn the most probable label other than its own (`NONE` if not known) and its probability
        (NaN if not known).
        """
        turn, label, probability = self.top
        others = np.flatnonzero(label != self.labels[turn])
        others = others[np.argsort(probability[others], kind="stable")]  # the last one written to a place stays
        labels, shares = np.full(len(self.labels), NONE, np.int64), np.full(len(self.labels), np.nan)
        labels[turn[others]], shares[turn[others]] = label[others], probability[others]
        return labels, shares

    def probability(self) -> Doubles:
        """Return for each turn the probability of its label in `top`: 0 if `top` lacks it, NaN if there is no label or
        no `top`.
        """
        turn, label, probability = self.top
        shares = np.full(len(self.labels), np.nan)
        shares[turn[self.labels[turn] != NONE]] = 0
        own = label == self.labels[turn]
        shares[turn[own]] = probability[own]
        return shares

    def hashes(self) -> Hashes:
        """Return a hash of each dialogue's id, by which dialogues are sampled."""
        return np.fromiter(map(hash64, self.ids.to_pylist()), np.uint64, len(self.ids))


def batch_of(table: pa.Table, split: str) -> Batch:
    """Return the dialogues of a table of any config as flat columns.

    A label of the dialogue counts as that of its last turn; its confidence is the stated one, else its fraction in
    `soft_label`.
    """
    turns, offsets = unnest(table, "turns")
    names = set(turns.type.names)
    labels, confidence = _ints(turns, "label"), _floats(turns, "confidence")
    if "label" in table.column_names:
        last = offsets[1:] - 1
        there = last >= offsets[:-1]
        labels[last[there]] = pc.fill_null(table["label"], NONE).to_numpy()[there]
        confidence[last[there]] = _shares(table)[there]
    source = table["source"].combine_chunks() if "source" in table.column_names else None
    years = pc.struct_field(source, "year") if source is not None else _column(table, "year", pa.int32())
    return Batch(
        split,
        table["dialogue_id"].combine_chunks().cast(pa.string()),
        _column(table, "document_id", pa.string()),
        pc.fill_null(years, NONE).to_numpy(zero_copy_only=False).astype(np.int64),
        _column(table, "certainty", pa.float32()).to_numpy(zero_copy_only=False).astype(np.float64),
        offsets.astype(np.int64),
        pc.fill_null(turns.field("text"), "") if "text" in names else pa.array([""] * len(turns)),
        labels,
        confidence,
        _top(turns.field("top") if "top" in names else pa.nulls(len(turns), TOP)),
        _ints(turns, "truth"),
        _floats(turns, "certainty"),
    )


def columns_of(schema: pq.ParquetSchema, texts: bool = True) -> list[str]:
    """Return the leaf columns of a Parquet file that a report needs, with or without the texts."""
    paths = [schema.column(index).path for index in range(len(schema))]
    return [
        path
        for path in paths
        if (parts := path.split("."))
        and (
            (parts[0] in _OF_DIALOGUE and parts[0] != "source")
            or parts[:2] == ["source", "year"]
            or (parts[0] == "turns" and len(parts) > 3 and parts[3] in _OF_TURN and (texts or parts[3] != "text"))
        )
    ]


def read_batches(path: Path, split: str, groups: Sequence[int], texts: bool = True) -> Iterator[Batch]:
    """Yield the dialogues of some row groups of a Parquet file; without `texts`, every text is empty.

    Raises:
        ValueError: The file is damaged, or contains no dialogues.
    """
    try:
        with pq.ParquetFile(path) as file:
            columns = columns_of(file.schema, texts)
            for rows in file.iter_batches(ROWS, row_groups=list(groups), columns=columns):
                yield batch_of(pa.Table.from_batches([rows]), split)
    except (pa.ArrowException, OSError, KeyError) as error:
        raise ValueError(f"{path} is not a complete file of dialogues ({error}): make or get it again") from error


def _column(table: pa.Table, name: str, kind: pa.DataType) -> pa.Array:
    if name not in table.column_names:
        return pa.nulls(len(table), kind)
    return table[name].combine_chunks().cast(kind)


def _ints(turns: pa.StructArray, name: str) -> Ints:
    if turns.type.get_field_index(name) < 0:
        return np.full(len(turns), NONE, np.int64)
    return np.array(pc.fill_null(turns.field(name), NONE).to_numpy(zero_copy_only=False), np.int64)


def _floats(turns: pa.StructArray, name: str) -> Doubles:
    if turns.type.get_field_index(name) < 0:
        return np.full(len(turns), np.nan)
    return np.array(turns.field(name).to_numpy(zero_copy_only=False), np.float64)


def _top(top: pa.ListArray) -> Top:
    top = pc.fill_null(top, pa.scalar([], top.type)) if top.null_count else top
    flat = top.flatten()
    labels = pc.fill_null(flat.field("label"), NONE).to_numpy(zero_copy_only=False).astype(np.int64)
    probability = flat.field("probability").to_numpy(zero_copy_only=False).astype(np.float64)
    turn = np.repeat(np.arange(len(top)), np.diff(top.offsets.to_numpy()))
    there = (labels != NONE) & ~np.isnan(probability)
    return Top(turn[there], labels[there], probability[there])


def _shares(table: pa.Table) -> Doubles:
    own: Doubles = _column(table, "confidence", pa.float32()).to_numpy(zero_copy_only=False).astype(np.float64)
    if "soft_label" not in table.column_names:
        return own
    labels = pc.fill_null(table["label"], NONE).to_numpy()
    soft = table["soft_label"].to_pylist()
    shares = [row[label] if row and 0 <= label < len(row) else np.nan for row, label in zip(soft, labels, strict=True)]
    filled: Doubles = np.where(np.isnan(own), np.array(shares, np.float64), own)
    return filled
