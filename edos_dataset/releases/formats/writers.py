"""Writers of tables: CSV, Excel workbooks, Parquet and Arrow."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.releases.formats.faults import Findings
from edos_dataset.releases.formats.forms import SUFFIXES, WRITTEN

_MOST_ROWS, _MOST_CHARACTERS = 1 << 20, (1 << 15) - 1
"""Maximum numbers of rows of a sheet and of characters of a cell."""

ENCODINGS = ("utf-8", "utf-8-sig")
"""Encodings of CSV: the second one begins with a byte order mark, by which Excel knows UTF-8."""

_ROWS = 10_000


def form_of(out: str | Path, form: str | None = None) -> str:
    """Return the format of an output file: the given one, else that of its suffix, else JSON lines.

    Raises:
        ValueError: The format is unknown or cannot be written.
    """
    if form is not None:
        if form not in WRITTEN:
            raise ValueError(f"unknown --out-format {form!r}: expected one of {', '.join(WRITTEN)}")
        return form
    suffix = Path(str(out).removesuffix(".gz")).suffix.lower()
    if suffix in (".tsv", ".tab"):
        return "tsv"
    if suffix in (".xls", ".xlsm"):
        raise ValueError(f"{out}: workbooks are written as .xlsx")
    known = next((name for name, suffixes in SUFFIXES.items() if suffix in suffixes), "jsonl")
    return known if known in WRITTEN else "jsonl"


def check_writable(form: str, encoding: str | None = None) -> None:
    """Check that a format can be written in an encoding, one of ENCODINGS, to fail before anything is read.

    Raises:
        ValueError: The encoding is unknown, or the format has none to choose.
        ImportError: The library of the format is not installed; the message names the command that installs it.
    """
    if encoding is not None and encoding not in ENCODINGS:
        raise ValueError(f"unknown --out-encoding {encoding!r}: expected {' or '.join(ENCODINGS)}")
    if encoding is not None and form not in ("csv", "tsv"):
        raise ValueError(f"--out-encoding is for CSV and TSV, and the output is {form}: leave it out")
    if form != "xlsx":
        return
    try:
        import openpyxl  # noqa: F401
    except ImportError as error:
        raise ImportError('--out: workbooks need `pip install "edos-dataset[excel]"`') from error


def write_rows(
    file: BinaryIO,
    form: str,
    names: Sequence[str],
    rows: Iterable[Mapping[str, Any]],
    source: Findings,
    encoding: str | None = None,
) -> None:
    """Write a table.

    Args:
        file: The file to write to.
        form: One of WRITTEN except the two for dialogues.
        names: Its columns.
        rows: Its rows; a missing value leaves the cell empty.
        source: Findings about the source, whose delimiter and encoding a CSV file gets.
        encoding: One of ENCODINGS for CSV; by default that which suits the source.

    Raises:
        ValueError: The table is too large for a workbook.
    """
    if form == "xlsx":
        _write_workbook(file, names, rows)
    elif form in ("parquet", "arrow"):
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for row in rows:
            for name, column in columns.items():
                column.append(row.get(name))
        table = pa.table({name: typed(column) for name, column in columns.items()})
        write_tables(file, form, iter([table]))
    else:
        delimiter = "\t" if form == "tsv" else ";" if source.delimiter == ";" else ","
        _write_csv(file, encoding or _encoding_like(source), delimiter, names, rows)


def write_tables(file: BinaryIO, form: str, tables: Iterator[pa.Table]) -> None:
    """Write one or more tables with the same schema to a Parquet or Arrow file."""
    first = next(tables)
    opened = pq.ParquetWriter(file, first.schema) if form == "parquet" else pa.ipc.new_file(file, first.schema)
    with opened as writer:
        waiting = first
        for table in tables:
            waiting = pa.concat_tables([waiting, table])
            if waiting.num_rows >= _ROWS:
                writer.write_table(waiting)
                waiting = first.slice(0, 0)
        if waiting.num_rows:  # `datasets` cannot read an empty row group
            writer.write_table(waiting)


def typed(values: list[Any]) -> pa.Array:
    """Return values as an array of their type, or as texts if they have several types."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if value is None else _text(value) for value in values], pa.string())


def _text(value: Any) -> str:  # noqa: ANN401 - any value of a table
    """Return the text of a value for a cell."""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _with_comma(value: Any) -> str:  # noqa: ANN401 - any value of a table
    return str(value).replace(".", ",") if isinstance(value, float) else _text(value)


def _has_decimal_commas(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether numbers are written with decimal commas, the only form that Excel reads in most of Europe."""
    values = {value for row in rows for value in row.values() if isinstance(value, str) and len(value) < 20}
    commas = any(re.fullmatch(r"-?\d+,\d+", value) for value in values)
    return commas and not any(re.fullmatch(r"-?\d+\.\d+", value) for value in values)


def _encoding_like(source: Findings) -> str:
    """Return the encoding of CSV for a source: that for Excel if it was a workbook or not plain UTF-8. Programs that
    wrote plain UTF-8 read it, and some take a byte order mark for part of the first column's name.
    """
    of_excel = source.form == "xlsx" or (source.form == "csv" and source.encoding != "utf-8")
    return ENCODINGS[1] if of_excel else ENCODINGS[0]


def _write_csv(
    file: BinaryIO, encoding: str, delimiter: str, names: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> None:
    text = io.TextIOWrapper(file, encoding, newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(names)
    rows = iter(rows)
    first = list(islice(rows, _ROWS))
    as_text = _with_comma if delimiter == ";" and _has_decimal_commas(first) else _text
    for row in chain(first, rows):
        writer.writerow(["" if (value := row.get(name)) is None else as_text(value) for name in names])
    text.flush()
    text.detach()


def _write_workbook(file: BinaryIO, names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    import openpyxl
    from openpyxl.cell import WriteOnlyCell

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("labels")
    sheet.freeze_panes = "A2"

    def cell(value: Any, where: str) -> Any:  # noqa: ANN401 - any value of a table
        if value is None or isinstance(value, bool | int | float | date | time):
            naive = value.replace(tzinfo=None) if isinstance(value, datetime | time) else value
            return WriteOnlyCell(sheet, naive)
        text = openpyxl.cell.cell.ILLEGAL_CHARACTERS_RE.sub("\ufffd", _text(value))
        if len(text) > _MOST_CHARACTERS:
            raise ValueError(f"{where}: a cell of Excel holds {_MOST_CHARACTERS:,} characters: write .csv instead")
        made = WriteOnlyCell(sheet, text)
        made.data_type = "s"  # "=1+1" is a text, not a formula
        return made

    sheet.append([cell(name, "the header") for name in names])
    for number, row in enumerate(rows, 2):
        if number > _MOST_ROWS:
            raise ValueError(f"a sheet of Excel holds {_MOST_ROWS:,} rows: write .csv or .parquet instead")
        sheet.append([cell(row.get(name), f"row {number}") for name in names])
    book.save(file)
