"""Published labels and dialogues made anew from the subtitles come together: by id, and turn by turn by the hash of its
text.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.arrays import nest, unnest
from edos_dataset.labels import LABELS
from edos_dataset.publishing.hashes import text_hash
from edos_dataset.publishing.layout import ROW_GROUP
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.pipeline import Stage, Unit
from edos_dataset.runs.shards import digest, read_pieces
from edos_dataset.schema import DIFFERING, LABELLED_TURN, LABELS_ONLY, REASON, SPLITS, arrow_schema

NOT_LABELLED = "not_labelled"
"""Reason of a dialogue that has no labels: the selection, or a corpus step, left it out."""

_TURN_NUMBERS = pa.list_(pa.int32())

TEXT_DIFFERS = "text_differs"
"""Reason of a dialogue of which a turn has another hash, or that has too few turns."""


@dataclass(frozen=True)
class AttachLabels(Stage):
    """Give cleaned dialogues the labels that were published for them: DIALOGUES to the columns of the config `edos`,
    and `split`.

    A labelled dialogue is the beginning of the one that the stages make: the corpus steps, which are not done again,
    only shorten dialogues or leave some out. So the first turns are compared, as many as have labels; what follows them
    is not wanted. All columns but the texts come from the labels.

    Args:
        folder: of the labels.
        content: what `PublishedLabels.content` says of it.
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
        """Attach the labels; first the dialogues that have them, then those that leave."""
        labels = opened_labels(self.folder, self.content).of_documents(table["document_id"])
        places = pc.fill_null(
            pc.index_in(table["dialogue_id"], value_set=labels["dialogue_id"].combine_chunks()), -1
        ).to_numpy()
        rows = np.flatnonzero(places >= 0)
        turns, offsets = unnest(table, "turns")
        wanted, borders = unnest(labels, "turns")
        theirs = places[rows]
        have, want = np.diff(offsets)[rows], np.diff(borders)[theirs]
        length = np.minimum(have, want)
        ours, of_labels = _ranges(offsets[rows], length), _ranges(borders[theirs], length)
        texts = turns.field("text").take(pa.array(ours))
        hashes = wanted.field("text_sha256").take(pa.array(of_labels))
        wrong = np.array(
            [text_hash(text) != known for text, known in zip(texts.to_pylist(), hashes.to_pylist(), strict=True)], bool
        )
        owner = np.repeat(np.arange(len(rows)), length)
        fits = have >= want
        fits[owner[wrong]] = False
        return pa.concat_tables(
            [
                _joined(labels.take(pa.array(theirs[fits])), texts.filter(pa.array(fits[owner]))),
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
    """Return start, start + 1, ... of each length, one after the other."""
    ends = np.cumsum(lengths)
    places: np.ndarray = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)
    return places


def _joined(labels: pa.Table, texts: pa.StringArray) -> pa.Table:
    turns, offsets = unnest(labels, "turns")
    columns = {
        field.name: texts if field.name == "text" else turns.field(field.name).cast(field.type)
        for field in LABELLED_TURN
    }
    joined = labels.set_column(labels.column_names.index("turns"), "turns", nest(offsets, LABELLED_TURN, columns))
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
    """Yield, for each dialogue whose text differs, the numbers of its turns that do or are not there, from 0."""
    for row in np.flatnonzero(~fits):
        yield [*turns[owners == row].tolist(), *range(have[row], want[row])]


class PublishedLabels:
    """The labels in a folder that `edos labels-only` wrote, or in a copy of it.

    Memory: the ids of all documents once, 4 bytes a dialogue, and while some are read the row groups in which they lie.

    Attributes:
        content: changes with the files.
        documents: ids of all documents, each once, in no order.
        dialogues: how many are labelled.

    Raises:
        FolderError: the folder holds none, or damaged files.
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
        """Return the rows of some documents, in their order, with the column `split`."""
        wanted = pc.is_in(self.documents, value_set=pc.unique(documents)).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(wanted[self._codes])
        tables = [arrow_schema(LABELS_ONLY).empty_table().append_column("split", pa.array([], pa.string()))]
        for (split, path), start, stop in zip(self.paths, self._starts[:-1], self._starts[1:], strict=True):
            here = rows[(rows >= start) & (rows < stop)] - start
            tables += [
                table.append_column("split", pa.array([split] * len(table), pa.string())) for table in _take(path, here)
            ]
        return pa.concat_tables(tables)

    def openings(self, documents: pa.Array) -> Iterator[tuple[str, str, str]]:
        """Yield for each dialogue of some documents its document's id, its own, and the hash of its first turn."""
        for _, path in self.paths:
            for table in read_pieces(path, ["document_id", "dialogue_id", "turns"], ROW_GROUP):
                table = table.filter(pc.is_in(table["document_id"], value_set=documents))
                turns, offsets = unnest(table, "turns")
                hashes = turns.field("text_sha256").take(pa.array(offsets[:-1])).to_pylist()
                yield from zip(table["document_id"].to_pylist(), table["dialogue_id"].to_pylist(), hashes, strict=True)

    def pieces(self) -> Iterator[tuple[str, pa.Table]]:
        """Yield `dialogue_id` and `document_id` of all rows, in tables of bounded size, each after its split."""
        for split, path in self.paths:
            for table in read_pieces(path, ["dialogue_id", "document_id"], ROW_GROUP):
                yield split, table


def _document_ids(path: Path) -> pa.ChunkedArray:
    try:
        with pq.ParquetFile(path) as file:
            file.schema_arrow.empty_table().select(arrow_schema(LABELS_ONLY).names).cast(arrow_schema(LABELS_ONLY))
            return file.read(columns=["document_id"])["document_id"]
    except (OSError, pa.ArrowException, KeyError) as error:
        raise FolderError(
            f"cannot read {path} as `edos labels-only` writes it ({error}): fetch or make it again"
        ) from error


def _take(path: Path, rows: np.ndarray) -> Iterator[pa.Table]:
    """Yield rows of a file, given in ascending order, in a table for each row group that holds some."""
    if not len(rows):
        return
    schema = arrow_schema(LABELS_ONLY)
    with pq.ParquetFile(path) as file:
        borders = np.cumsum([0, *(file.metadata.row_group(group).num_rows for group in range(file.num_row_groups))])
        groups = np.searchsorted(borders, rows, side="right") - 1
        for group in np.unique(groups):
            try:
                table = file.read_row_group(int(group)).select(schema.names).cast(schema)
            except (KeyError, pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
                raise FolderError(
                    f"{path} has not the columns of the labels of this version ({error}): those of an earlier one are "
                    f"hydrated by the version that {LABELS_ONLY}/manifest.json names"
                ) from error
            _check_labels(table, path)
            yield table.take(pa.array(rows[groups == group] - borders[group]))


def _check_labels(table: pa.Table, path: Path) -> None:
    """Refuse labels that are none of ours: readers would take the number for another label, or fail."""
    turns, offsets = unnest(table, "turns")
    if not np.diff(offsets).all():
        raise FolderError(f"{path} holds a dialogue without turns: fetch or make it again")
    for name, ids in (
        ("label", turns.field("label")),
        ("label of top", pc.list_flatten(turns.field("top")).field("label")),
    ):
        odd = ids.filter(pc.fill_null(pc.or_(pc.less(ids, 0), pc.greater_equal(ids, len(LABELS))), True))
        if len(odd):
            raise FolderError(
                f"{path} holds the {name} {odd[0]}: labels are numbers from 0 to {len(LABELS) - 1}; "
                "fetch or make it again"
            )


@lru_cache(maxsize=1)
def opened_labels(folder: str, content: str) -> PublishedLabels:
    """Return the labels, read once a process; `content` is there so that changed ones are read anew."""
    return PublishedLabels(Path(folder))
