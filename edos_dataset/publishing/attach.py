"""Attaching published labels to dialogues rebuilt from the subtitles, by id and by the hash of each turn's text."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.arrays import flags, nest, unnest
from edos_dataset.cleaning.rejects import ids_by_first_turn, split_before
from edos_dataset.label_sets import label_set_of
from edos_dataset.label_sets.configs import schema_like
from edos_dataset.publishing.layout import ROW_GROUP
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.pipeline import Stage, Unit
from edos_dataset.runs.shards import digest, read_pieces
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.schema import DIFFERING, LABELS_ONLY, REASON, SPLITS, TURN, arrow_schema
from edos_dataset.schema.tables import SEVERAL, labelled

NOT_LABELLED = "not_labelled"
"""Reason for a dialogue without labels: the selection, or a corpus step, removed it."""

_TURN_NUMBERS = pa.list_(pa.int32())

TEXT_DIFFERS = "text_differs"
"""Reason for a dialogue in which the hash of a turn differs, or which has too few turns."""


def text_hash(text: str) -> str:
    """Return the SHA-256 (hex) of the UTF-8 bytes of a turn's text."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class AttachLabels(Stage):
    """Attach published labels to cleaned dialogues, turning DIALOGUES into the columns of config `edos` and `split`.

    A labelled dialogue is the beginning of the dialogue that the stages make, because the corpus steps, which are not
    repeated, only shorten or remove dialogues. So as many turns as have labels are compared, and the rest is dropped.
    All columns but the texts come from the labels.

    Args:
        folder: Folder of the labels.
        content: Its `PublishedLabels.content`.
    """

    folder: str = ""
    content: str = ""

    name: ClassVar[str] = "attach"
    unit: ClassVar[Unit] = "dialogues"

    def notes(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Return id, reason and the numbers of the differing turns of each dialogue whose text differs."""
        columns = [name for name in ("dialogue_id", REASON, DIFFERING) if name in rejected.column_names]
        rows = rejected.select(columns).to_pylist()
        return [
            {"dialogue_id": row["dialogue_id"], "reason": TEXT_DIFFERS, "turns": row[DIFFERING]}
            for row in rows
            if row[REASON] == TEXT_DIFFERS
        ]

    def __call__(self, table: pa.Table) -> pa.Table:
        """Attach the labels; the dialogues with labels come first, then the rejected ones."""
        labels = opened_labels(self.folder, self.content).of_documents(table["document_id"])
        places = pc.fill_null(
            pc.index_in(table["dialogue_id"], value_set=labels["dialogue_id"].combine_chunks()), -1
        ).to_numpy()
        rows = np.flatnonzero(places >= 0)
        turns, offsets = unnest(table, "turns")
        wanted, starts = unnest(labels, "turns")
        theirs = places[rows]
        have, want = np.diff(offsets)[rows], np.diff(starts)[theirs]
        length = np.minimum(have, want)
        ours, of_labels = _ranges(offsets[rows], length), _ranges(starts[theirs], length)
        texts, speakers = (turns.field(name).take(pa.array(ours)) for name in ("text", "speaker"))
        hashes = wanted.field("text_sha256").take(pa.array(of_labels))
        wrong = np.array(
            [text_hash(text) != known for text, known in zip(texts.to_pylist(), hashes.to_pylist(), strict=True)], bool
        )
        owner = np.repeat(np.arange(len(rows)), length)
        fits = have >= want
        fits[owner[wrong]] = False
        return pa.concat_tables(
            [
                _joined(
                    labels.take(pa.array(theirs[fits])),
                    *(column.filter(pa.array(fits[owner])) for column in (texts, speakers)),
                ),
                _leaving(table, np.setdiff1d(np.arange(table.num_rows), rows), NOT_LABELLED),
                _leaving(
                    table,
                    rows[~fits],
                    TEXT_DIFFERS,
                    list(_differing(fits, have, want, (ours - offsets[rows][owner])[wrong], owner[wrong])),
                ),
            ],
            promote_options="permissive",
        )


def _ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the concatenated ranges [start, start + length)."""
    ends = np.cumsum(lengths)
    places: np.ndarray = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)
    return places


def _joined(labels: pa.Table, texts: pa.StringArray, speakers: pa.StringArray) -> pa.Table:
    turns, offsets = unnest(labels, "turns")
    kind = labelled(TURN, SEVERAL in turns.type.names)
    own = {"text": texts, "speaker": speakers}
    theirs = {name: turns.field(name) for name in turns.type.names}  # without the fields that only screenplays have
    columns = {
        field.name: own[field.name]
        if field.name in own
        else theirs.get(field.name, pa.nulls(len(turns), field.type)).cast(field.type)
        for field in kind
    }
    joined = labels.set_column(labels.column_names.index("turns"), "turns", nest(offsets, kind, columns))
    return joined.append_column(REASON, pa.nulls(len(labels), pa.string())).append_column(
        DIFFERING, pa.nulls(len(labels), _TURN_NUMBERS)
    )


def _leaving(table: pa.Table, rows: np.ndarray, reason: str, differing: list[list[int]] | None = None) -> pa.Table:
    leaving = table.select([name for name in arrow_schema(LABELS_ONLY).names if name != "turns"]).take(pa.array(rows))
    numbers = pa.array([None] * len(rows) if differing is None else differing, _TURN_NUMBERS)
    reasons = pa.array([reason] * len(rows), pa.string())
    return leaving.append_column(REASON, reasons).append_column(DIFFERING, numbers)


def _differing(
    fits: np.ndarray, have: np.ndarray, want: np.ndarray, turns: np.ndarray, owners: np.ndarray
) -> Iterator[list[int]]:
    """Yield the numbers, from 0, of the turns that differ or are missing, for each dialogue whose text differs."""
    for row in np.flatnonzero(~fits):
        yield [*turns[owners == row].tolist(), *range(have[row], want[row])]


@dataclass(frozen=True)
class SplitAsLabelled(Stage):
    """Split cleaned dialogues where a labelled one begins inside them.

    There, a corpus step that is not repeated removed the turn before it, as too frequent in the corpus.

    Args:
        folder: Folder of the labels.
        content: Its `PublishedLabels.content`.
    """

    folder: str = ""
    content: str = ""

    name: ClassVar[str] = "split_as_labelled"
    unit: ClassVar[Unit] = "turns"
    needs, gives = ("dialogue_id", "turns"), ()

    def __call__(self, table: pa.Table) -> pa.Table:
        """Split DIALOGUES."""
        labelled = opened_labels(self.folder, self.content).of_documents(table["document_id"])["dialogue_id"]
        turns, _ = unnest(table, "turns")
        ids = ids_by_first_turn(table, np.arange(len(turns)))
        return split_before(table, flags(pc.is_in(ids, value_set=labelled.combine_chunks())))


class PublishedLabels:
    """The labels in a folder that `edos labels-only` wrote, or in a copy of it.

    Memory: the distinct document ids, 4 bytes per dialogue, and the row groups being read.

    Attributes:
        content: A digest of the files.
        documents: Ids of all documents, each once, in no order.
        dialogues: Number of labelled dialogues.

    Raises:
        FolderError: The folder has no labels, or damaged files.
    """

    def __init__(self, folder: Path) -> None:
        self.paths = [
            (split, path) for split in SPLITS for path in sorted((folder / LABELS_ONLY).glob(f"{split}-*.parquet"))
        ]
        if not self.paths:
            raise FolderError(
                f"{folder} holds no labels: expected {LABELS_ONLY}/*.parquet, as `edos labels-only` writes them"
            )
        self.content = hash_json([(path.name, digest(path)) for _, path in self.paths])
        ids = pa.chunked_array([chunk for _, path in self.paths for chunk in _document_ids(path).chunks], pa.string())
        self._starts = np.cumsum([0, *(pq.read_metadata(path).num_rows for _, path in self.paths)])
        self.dialogues = int(self._starts[-1])
        coded = ids.dictionary_encode().combine_chunks()
        self._codes: np.ndarray = coded.indices.to_numpy()
        self.documents: pa.StringArray = coded.dictionary

    def of_documents(self, documents: pa.ChunkedArray) -> pa.Table:
        """Return the rows of documents, in their order, with the column `split`."""
        wanted = pc.is_in(self.documents, value_set=pc.unique(documents)).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(wanted[self._codes])
        tables = [
            schema_like(LABELS_ONLY, pq.read_schema(self.paths[0][1]))
            .empty_table()
            .append_column("split", pa.array([], pa.string()))
        ]
        for (split, path), start, stop in zip(self.paths, self._starts[:-1], self._starts[1:], strict=True):
            here = rows[(rows >= start) & (rows < stop)] - start
            tables += [
                table.append_column("split", pa.array([split] * len(table), pa.string())) for table in _take(path, here)
            ]
        return pa.concat_tables(tables)

    def openings(self, documents: pa.Array) -> Iterator[tuple[str, str, str]]:
        """Yield the document's id, the id, and the hash of the first turn of each dialogue of documents."""
        for _, path in self.paths:
            for table in read_pieces(path, ["document_id", "dialogue_id", "turns"], ROW_GROUP):
                table = table.filter(pc.is_in(table["document_id"], value_set=documents))
                turns, offsets = unnest(table, "turns")
                hashes = turns.field("text_sha256").take(pa.array(offsets[:-1])).to_pylist()
                yield from zip(table["document_id"].to_pylist(), table["dialogue_id"].to_pylist(), hashes, strict=True)

    def pieces(self) -> Iterator[tuple[str, pa.Table]]:
        """Yield `dialogue_id` and `document_id` of all rows, in tables of bounded size, each with its split."""
        for split, path in self.paths:
            for table in read_pieces(path, ["dialogue_id", "document_id"], ROW_GROUP):
                yield split, table


def _document_ids(path: Path) -> pa.ChunkedArray:
    try:
        with pq.ParquetFile(path) as file:
            schema = schema_like(LABELS_ONLY, file.schema_arrow)
            file.schema_arrow.empty_table().select(schema.names).cast(schema)
            return file.read(columns=["document_id"])["document_id"]
    except (OSError, pa.ArrowException, KeyError) as error:
        raise FolderError(
            f"cannot read {path} as `edos labels-only` writes it ({error}): download or make it again"
        ) from error


def _take(path: Path, rows: np.ndarray) -> Iterator[pa.Table]:
    """Yield rows of a file, given in ascending order, as one table per row group concerned."""
    if not len(rows):
        return
    with pq.ParquetFile(path) as file:
        schema = schema_like(LABELS_ONLY, file.schema_arrow)
        starts = np.cumsum([0, *(file.metadata.row_group(group).num_rows for group in range(file.num_row_groups))])
        groups = np.searchsorted(starts, rows, side="right") - 1
        for group in np.unique(groups):
            try:
                table = file.read_row_group(int(group)).select(schema.names).cast(schema)
            except (KeyError, pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
                raise FolderError(
                    f"{path} does not have the columns of labels of this version ({error}): labels of an earlier "
                    f"version are hydrated by the version that {LABELS_ONLY}/manifest.json names"
                ) from error
            _check_labels(table, path)
            yield table.take(pa.array(rows[groups == group] - starts[group]))


def _check_labels(table: pa.Table, path: Path) -> None:
    """Refuse unknown labels: readers would take the number for another label, or fail."""
    turns, offsets = unnest(table, "turns")
    size = len(label_set_of(table.schema))
    if not np.diff(offsets).all():
        raise FolderError(f"{path} holds a dialogue without turns: download or make it again")
    for name, ids in (
        ("label", turns.field("label")),
        ("label of top", pc.list_flatten(turns.field("top")).field("label")),
    ):
        # A turn may have no label; the most probable ones are always labels.
        odd = ids.filter(pc.fill_null(pc.or_(pc.less(ids, 0), pc.greater_equal(ids, size)), name != "label"))
        if len(odd):
            raise FolderError(
                f"{path} holds the {name} {odd[0]}: labels are numbers from 0 to {size - 1}; download or make it again"
            )


@lru_cache(maxsize=1)
def opened_labels(folder: str, content: str) -> PublishedLabels:
    """Return the labels, cached in each process; `content` is part of the key, so changed labels are read again."""
    return PublishedLabels(place_of(folder))
