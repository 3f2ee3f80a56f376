"""Labelled dialogues written in the form in which they were read: the same table with a label for each row."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.label_sets import label_set_of
from edos_dataset.releases.dialogues import ROWS, lines_of
from edos_dataset.releases.formats.faults import Findings
from edos_dataset.releases.formats.readers import arrow_tables, parquet_tables
from edos_dataset.releases.formats.records import Record, renamed
from edos_dataset.releases.formats.writers import write_rows, write_tables
from edos_dataset.runs.untrusted import json_of
from edos_dataset.schema.tables import SEVERAL

_WRITTEN_BEFORE = {"label", "confidence", "label_2", "confidence_2"}
_OURS = re.compile(r"(label|confidence)(_\d+)?")
_FEATURES = b"huggingface"
_TYPED = {"parquet": parquet_tables, "arrow": arrow_tables}


def label_columns(top: int) -> list[str]:
    """Return the columns added to a table: label and confidence, then the next labels with their probabilities."""
    return [name if rank == 1 else f"{name}_{rank}" for rank in range(1, top + 1) for name in ("label", "confidence")]


def kept_columns(columns: Iterable[str], ours: Sequence[str]) -> dict[str, str]:
    """Return the columns of a table to keep: name → name in the output, "given_NAME" if the name is one of `ours`.

    Columns of labels from an earlier call are left out, as they are written anew.
    """
    names = list(columns)
    if set(names) >= _WRITTEN_BEFORE:
        names = [name for name in names if not _OURS.fullmatch(name)]
    return renamed(names, ours)


class RowLabels(NamedTuple):
    """The labels of the rows of a table.

    Attributes:
        rows: Numbers of the labelled rows, from 0, ascending: int64[rows].
        columns: Column of `label_columns` → its values.
    """

    rows: np.ndarray
    columns: dict[str, list[Any]]

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, place: int) -> dict[str, Any]:
        """Return the labels of one of the rows."""
        return {name: values[place] for name, values in self.columns.items()}


def row_labels(tables: Iterable[pa.Table], top: int) -> RowLabels:
    """Return the labels of the rows that are turns, given labelled tables.

    Args:
        tables: Labelled dialogues with the column `rows`.
        top: Number of labels listed with each turn.
    """
    rows: list[np.ndarray] = []
    gathered: dict[str, list[Any]] = {name: [] for name in label_columns(top)}
    for table in tables:
        rows.append(table[ROWS].combine_chunks().flatten().to_numpy())
        turns, _ = unnest(table, "turns")
        ranked = turns.field("top")
        names = label_set_of(table.schema).labels
        labelled = turns.field("label").is_valid().to_numpy(zero_copy_only=False)
        found = np.array(names, object)[ranked.flatten().field("label").to_numpy()]
        # 0.3, not 0.30000001192092896
        chances = ranked.flatten().field("probability").to_numpy().astype(str).astype(float)
        width = min(top, len(names))
        labels, shares = _in_rows(found, labelled, width), _in_rows(chances, labelled, width)
        for rank in range(labels.shape[1]):
            suffix = f"_{rank + 1}" if rank else ""
            gathered[f"label{suffix}"] += labels[:, rank].tolist()
            gathered[f"confidence{suffix}"] += shares[:, rank].tolist()
        if SEVERAL in turns.type.names:
            given = turns.field(SEVERAL).to_pylist()
            gathered[SEVERAL] = gathered.get(SEVERAL, []) + [
                _joined(names[each["label"]] for each in several) for several in given
            ]
    numbers = np.concatenate(rows) if rows else np.array([], np.int64)
    order = np.argsort(numbers, kind="stable")
    return RowLabels(
        numbers[order], {name: [values[at] for at in order.tolist()] for name, values in gathered.items() if values}
    )


def _in_rows(values: np.ndarray, labelled: np.ndarray, width: int) -> np.ndarray:
    """Return the values of labelled turns in a row for each turn, [turns, width]; None for others."""
    rows = np.full((len(labelled), width), None, object)
    rows[labelled] = values.reshape(-1, width)
    return rows


def _joined(labels: Iterable[str]) -> str:
    """Return the labels that a multi-label model gave to a turn as the text of a cell."""
    return ", ".join(labels)


class Source(NamedTuple):
    """The source of labelled dialogues.

    Attributes:
        records: Reads its records again.
        findings: Its format, columns, remarks and warnings.
        opened: Opens its file again; None if it is not a file.
    """

    records: Callable[[], Iterator[Record]]
    findings: Findings
    opened: Callable[[], Any] | None = None


def write_labelled(
    file: BinaryIO,
    form: str,
    tables: Callable[[], Iterator[pa.Table]],
    source: Source,
    top: int,
    encoding: str | None = None,
) -> None:
    """Write labelled dialogues as a file in one of `writers.WRITTEN`.

    A table of turns is written row by row with its own columns and those of `label_columns`. For a source of dialogues,
    CSV and Excel get one row per turn, Parquet and Arrow one row per dialogue.

    Args:
        file: The file to write to.
        form: Its format.
        tables: Reads the labelled dialogues.
        source: The source of the dialogues.
        top: Number of labels listed with each turn.
        encoding: Encoding of CSV, one of `writers.ENCODINGS`; by default that which suits the source.
    """
    if source.findings.has_rows and form not in ("jsonl", "json"):
        _write_rows(file, form, row_labels(tables(), top), source, encoding)
    else:
        write_dialogues(file, form, tables, lines_of, _turn_rows, source.findings, encoding)


def write_dialogues(
    file: BinaryIO,
    form: str,
    tables: Callable[[], Iterator[pa.Table]],
    lines_of: Callable[[pa.Table], Iterator[bytes]],
    rows_of: Callable[[bytes], Iterator[dict[str, Any]]],
    source: Findings,
    encoding: str | None = None,
) -> None:
    """Write dialogues as a file in one of `writers.WRITTEN`.

    Args:
        file: The file to write to.
        form: Its format.
        tables: Reads the dialogues.
        lines_of: Table → one line of JSON per dialogue.
        rows_of: Such a line → the rows of the dialogue in a CSV or Excel table.
        source: Findings about the source, whose delimiter and encoding a CSV file gets.
        encoding: As for `write_labelled`.
    """

    def lines() -> Iterator[bytes]:
        return (line for table in tables() for line in lines_of(table))

    if form == "jsonl":
        file.writelines(lines())
    elif form == "json":
        _write_list(file, lines())
    elif form in ("parquet", "arrow"):
        rows = [json.loads(line) for line in lines()]
        write_rows(file, form, list(dict.fromkeys(name for row in rows for name in row)), rows, source)
    else:
        names = list(dict.fromkeys(name for line in lines() for row in rows_of(line) for name in row))
        write_rows(file, form, names, (row for line in lines() for row in rows_of(line)), source, encoding)


def _write_list(file: BinaryIO, lines: Iterator[bytes]) -> None:
    file.write(b"[")
    for number, line in enumerate(lines):
        file.write(b",\n" if number else b"\n")
        file.write(line.rstrip(b"\n"))
    file.write(b"\n]\n")


def _turn_rows(line: bytes) -> Iterator[dict[str, Any]]:
    """Yield a row for each turn of a labelled dialogue."""
    dialogue = json.loads(line)
    turns = dialogue.pop("turns")
    for number, turn in enumerate(turns, 1):
        row = {"dialogue_id": dialogue["dialogue_id"], "turn": number, "text": turn["text"]}
        row |= {"label": turn["label"], "confidence": turn["confidence"]}
        for rank, each in enumerate(turn["top"], 1):
            row |= dict(zip(label_columns(rank)[-2:], each.values(), strict=True))
        if SEVERAL in turn:
            row[SEVERAL] = _joined(each["label"] for each in turn[SEVERAL])
        for beside in (turn, dialogue):
            others = {name: value for name, value in beside.items() if name not in ("text", "label", "top")}
            row |= {name: value for name, value in others.items() if name not in row}
        yield row


def _write_rows(file: BinaryIO, form: str, labels: RowLabels, source: Source, encoding: str | None) -> None:
    findings = source.findings
    if form in _TYPED and findings.form in _TYPED and source.opened is not None:
        with source.opened() as opened:
            write_tables(file, form, _labelled_tables(_TYPED[findings.form](opened), labels))
        return
    names = kept_columns(findings.names, list(labels.columns))
    wanted = [*names.values(), *labels.columns]
    write_rows(file, form, wanted, labelled_rows(source.records(), labels, names), findings, encoding)


def labelled_rows(records: Iterator[Record], labels: RowLabels, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the labelled rows with their labels, in the order of the source.

    Args:
        records: All rows of the source.
        labels: Labels of some of them.
        names: Column → its name in the output; other columns are left out.
    """
    previous = -1
    for place, row in enumerate(labels.rows.tolist()):
        record = next(islice(records, row - previous - 1, None))
        previous = row
        yield {names[name]: value for name, value in record.value.items() if name in names} | labels.at(place)


def _labelled_tables(tables: Iterator[pa.Table], labels: RowLabels) -> Iterator[pa.Table]:
    """Yield the labelled rows of tables with their labels; the columns keep their types."""
    start = 0
    for table in tables:
        first, last = np.searchsorted(labels.rows, [start, start + table.num_rows])
        yield with_labels(table.take(labels.rows[first:last] - start), labels, slice(first, last))
        start += table.num_rows


def with_labels(table: pa.Table, labels: RowLabels, part: slice) -> pa.Table:
    """Return a table with the labels of its rows, which are those at `part` of all labels."""
    names = kept_columns(table.column_names, list(labels.columns))
    metadata = _metadata(table.schema, names, labels.columns)
    table = table.select(list(names)).rename_columns(list(names.values()))
    for name, values in labels.columns.items():
        kind = pa.string() if name.startswith("label") else pa.float64()
        table = table.append_column(name, pa.array(values[part], kind))
    return table.replace_schema_metadata(metadata)


def _metadata(schema: pa.Schema, names: Mapping[str, str], labels: Iterable[str]) -> dict[bytes, bytes] | None:
    """Return the metadata of a schema, with the features of `datasets` changed to those of the labelled table."""
    metadata: dict[bytes, bytes] = dict(schema.metadata or {})
    if text := metadata.pop(_FEATURES, None):
        with suppress(ValueError, KeyError, TypeError, AttributeError):  # of another version, or damaged
            known = json_of(text)
            features = known["info"]["features"]
            kinds = {name: "string" if name.startswith("label") else "float64" for name in labels}
            ours = {name: {"dtype": kind, "_type": "Value"} for name, kind in kinds.items()}
            known["info"]["features"] = {new: features[name] for name, new in names.items()} | ours
            metadata[_FEATURES] = json.dumps(known).encode()
    return metadata or None
