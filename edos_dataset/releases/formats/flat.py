"""Fast reader of large, well-formed CSV files through Arrow; `sheets` reads all others and reports their faults."""

import json
import os
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from edos_dataset.releases.formats.columns import Columns, columns_of
from edos_dataset.releases.formats.faults import Findings
from edos_dataset.releases.formats.parsing import NO_TURNS, ROLES
from edos_dataset.releases.formats.records import OURS, OURS_OF_A_TURN, renamed
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.releases.formats.sheets import STRAY_LINES, csv_head
from edos_dataset.releases.formats.survey import remark_on_rows
from edos_dataset.releases.formats.texts import LARGEST, encoding_of
from edos_dataset.releases.formats.times import order_of

LEAST_BYTES, MOST_BYTES = 1 << 21, 1 << 28
"""Sizes in bytes of the files read here: smaller ones are fast anyway, larger ones should not be held in memory."""

_BLOCK = 1 << 20


class Flat(NamedTuple):
    """The turns of all dialogues of a table, ordered by dialogue.

    Attributes:
        ids: Id of each dialogue.
        offsets: Position of the first turn of each dialogue, then the number of turns: int64[dialogues + 1].
        rows: Number of the row of each turn, from 0: int64[turns].
        texts: Text of each turn.
        extras: Other values of each turn as a JSON object; None if there are none.
        of_turns: Whether the extras belong to turns; otherwise to dialogues of one turn.
    """

    ids: pa.Array
    offsets: np.ndarray
    rows: np.ndarray
    texts: pa.Array
    extras: pa.Array | None
    of_turns: bool


def read_flat(file: BinaryIO, name: str, meant: Selection, findings: Findings) -> Flat | None:
    """Return the dialogues of a CSV file; None if `sheets` must read it, because of its size, its form or a fault.

    Args:
        file: The file, which is rewound.
        name: Name of the file in messages.
        meant: What the user selected.
        findings: Receives remarks and the form of the file, if it is read here.
    """
    if (
        meant.speaker_column is not None
        or not _is_of_size(file)
        or encoding_of(file, name) not in (("utf-8", False), ("utf-8-sig", True))
    ):
        return None
    found = Findings(form="csv")
    head = csv_head(file, name, meant, found)
    file.seek(0)
    if head is None:
        return None
    table = _table(file, head.names, head.delimiter, head.number)
    file.seek(0)
    columns = columns_of(tuple(head.names), meant)
    if table is None or not _is_sound(table, columns, meant):
        return None
    numbers = _line_numbers(table, head.number + 1)
    file.seek(0)
    if numbers[-1] != _count_lines(file) + 1:  # there are empty lines
        return None
    flat = _grouped(table, columns, meant, numbers)
    if flat is not None:
        for remark in found.remarks:
            findings.remarks.append(remark)
        findings.form, findings.delimiter, findings.encoding = "csv", found.delimiter, found.encoding
        findings.has_rows, findings.names = True, dict.fromkeys(head.names)
        findings.records = table.num_rows
        order = np.argsort(flat.rows, kind="stable")
        of_row = np.repeat(np.arange(len(flat.ids)), np.diff(flat.offsets))[order]
        runs = np.bincount(of_row[np.flatnonzero(np.diff(of_row, prepend=-1))])
        remark_on_rows(table.num_rows, len(flat.ids), int((runs > 1).sum()), columns, meant, findings)
    return flat


def _is_of_size(file: BinaryIO) -> bool:
    try:
        return LEAST_BYTES <= os.fstat(file.fileno()).st_size <= MOST_BYTES and not hasattr(file, "mtime")
    except (OSError, AttributeError):
        return False


def _table(file: BinaryIO, names: Sequence[str], delimiter: str, skip: int) -> pa.Table | None:
    """Return the rows as texts, with null for empty ones; None if Arrow cannot read them as CSV."""
    try:
        return pa_csv.read_csv(
            pa.OSFile(file.name) if isinstance(file.name, str) else file,
            pa_csv.ReadOptions(column_names=names, skip_rows=skip, block_size=_BLOCK),
            pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        ).combine_chunks()
    except pa.ArrowException:
        return None


def _is_sound(table: pa.Table, columns: Columns, meant: Selection) -> bool:
    """Return whether every row is a valid turn, so that there is nothing to report or to leave out."""
    if not table.num_rows or columns.text is None or (columns.unlinked and not meant.one_dialogue):
        return False
    if any(pc.any(pc.match_substring_regex(column, _CONTROLS)).as_py() for column in table.columns):
        return False
    texts = table[columns.text]
    if texts.null_count or pc.min(pc.utf8_length(pc.utf8_trim_whitespace(texts))).as_py() == 0:
        return False
    if columns.id is not None and not meant.one_dialogue and table[columns.id].null_count:
        return False
    return columns.speaker not in ROLES or not _has_no_turns(table[columns.speaker])


def _has_no_turns(roles: pa.ChunkedArray) -> bool:
    return any(name.casefold() in NO_TURNS for name in roles.unique().to_pylist() if name is not None)


def _line_numbers(table: pa.Table, first: int) -> np.ndarray:
    """Return the number of the line at which each row begins, and of the line after the last row."""
    lines = np.ones(table.num_rows, np.int64)
    for column in table.columns:
        lines += pc.fill_null(pc.count_substring(column, "\n"), 0).to_numpy()
    if lines.max() > STRAY_LINES:  # a quote is not closed
        return np.array([-1])
    return np.concatenate([[first], first + np.cumsum(lines)])


def _count_lines(file: BinaryIO) -> int:
    count, last = 0, b"\n"
    while block := file.read(_BLOCK):
        count += block.count(b"\n")
        last = block[-1:]
    return count + (last != b"\n")


def _grouped(table: pa.Table, columns: Columns, meant: Selection, numbers: np.ndarray) -> Flat | None:
    """Return the turns by dialogue, in the order of their numbers or times; None if two turns have the same number."""
    rows = np.arange(table.num_rows)
    texts = table[columns.text].combine_chunks()
    of_turns = meant.one_dialogue or columns.id is not None
    if not of_turns:
        ids = pa.array([f"line-{number}" for number in numbers[:-1].tolist()], pa.string())
        return Flat(ids, np.arange(table.num_rows + 1), rows, texts, _extras(table, (columns.text,), OURS), False)
    if meant.one_dialogue:
        codes, ids = np.zeros(table.num_rows, np.int64), pa.array(["lines"])
    else:
        coded = table[columns.id].combine_chunks().dictionary_encode()
        codes, ids = coded.indices.to_numpy().astype(np.int64), coded.dictionary
    rows = np.argsort(codes, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(ids)))])
    if columns.number:
        ordered = _by_number(table[columns.number], codes)
    else:
        ordered = _by_time(table, columns.times, codes, rows, offsets)
    sizes = np.add.reduceat(pc.utf8_length(texts).to_numpy().astype(np.int64)[rows], offsets[:-1])
    if ordered is None or sizes.max() > LARGEST:
        return None
    extras = _extras(table, (columns.text, None if meant.one_dialogue else columns.id), OURS_OF_A_TURN)
    if (np.diff(ordered) < 0).any():
        texts, extras = texts.take(ordered), None if extras is None else extras.take(ordered)
    return Flat(ids, offsets, ordered, texts, extras, True)


def _by_number(column: pa.ChunkedArray, codes: np.ndarray) -> np.ndarray | None:
    try:
        numbers = pc.cast(column, pa.int64()).to_numpy()
    except pa.ArrowException:
        return None
    order = np.lexsort((numbers, codes))
    again = (np.diff(codes[order]) == 0) & (np.diff(numbers[order]) == 0)
    is_hexadecimal = pc.any(pc.match_substring(column, "x", ignore_case=True)).as_py()
    return None if again.any() or column.null_count or is_hexadecimal else order


def _by_time(
    table: pa.Table, names: Sequence[str], codes: np.ndarray, rows: np.ndarray, offsets: np.ndarray
) -> np.ndarray:
    if not names:
        return rows
    if len(names) == 1 and (numbers := _numbers(table[names[0]])) is not None:
        return np.lexsort((numbers, codes))
    times = list(zip(*(table[name].to_pylist() for name in names), strict=True))
    ordered = rows.copy()
    for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        own = rows[start:end]
        if len(own) > 1 and (order := order_of([times[row] for row in own])) is not None:
            ordered[start:end] = own[order]
    return ordered


def _numbers(column: pa.ChunkedArray) -> np.ndarray | None:
    try:
        numbers: np.ndarray = pc.cast(column, pa.float64()).to_numpy()
    except pa.ArrowException:
        return None
    return numbers if np.isfinite(numbers).all() else None


_CONTROLS = r"[\x00-\x08\x0B\x0C\x0E-\x1F]"
_ESCAPES = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))


def _extras(table: pa.Table, left_out: Sequence[Any], ours: Sequence[str]) -> pa.Array | None:
    """Return the other values of each row as `records.as_extra` does."""
    names = [name for name in table.column_names if name not in left_out]
    if not names:
        return None
    new = renamed(names, ours)
    parts: list[Any] = []
    for number, name in enumerate(names):
        value = table[name].combine_chunks()
        for found, escaped in _ESCAPES:
            value = pc.replace_substring(value, found, escaped)
        quoted = pc.binary_join_element_wise('"', value, '"', "")
        key = json.dumps(new[name], ensure_ascii=False)
        parts += [f"{', ' if number else '{'}{key}: ", pc.fill_null(quoted, "null")]
    return pc.binary_join_element_wise(*parts, "}", "")
