"""Readers of tables with a header: CSV in all its dialects, and Excel workbooks."""

import csv
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any, BinaryIO, NamedTuple
from zipfile import BadZipFile

from edos_dataset.releases.formats.columns import named, text_column
from edos_dataset.releases.formats.faults import BadRecord, Findings
from edos_dataset.releases.formats.forms import DELIMITERS
from edos_dataset.releases.formats.records import Place, Record
from edos_dataset.releases.formats.selection import ALL, Selection
from edos_dataset.releases.formats.texts import lines
from edos_dataset.text import shown
from edos_dataset.wording import counted

HEADER_LINES = 20
"""Number of first lines or rows that are searched for the header, which titles and empty rows may precede."""

_OLE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")  # what Excel calls a workbook with a password
_MOST_SEARCHED = 1 << 26
_MERGED = re.compile(rb'<mergeCell [^<>]{0,99}?ref="([A-Z]{1,3})(\d{1,7}):[A-Z]{1,3}(\d{1,7})"')
_LONGEST_TAG, _BLOCK, _MOST_ROWS = 200, 1 << 20, 1 << 20  # bytes, bytes, rows of a sheet of Excel
STRAY_LINES = 50
"""If a row with a quoting error has more lines than this, its closing quote is assumed to be missing."""


def delimiter_of(header: str, column: str | None) -> str | None:
    """Return the delimiter with which a line is a table header with a text column; None if there is none."""
    for delimiter in DELIMITERS:
        try:
            names = next(csv.reader([header.strip("\r\n")], delimiter=delimiter, strict=True), [])
        except csv.Error:
            continue
        if text_column(names, column):
            return delimiter
    return None


def is_table(begin: Iterable[str], column: str | None) -> bool:
    """Return whether one of the first lines of a file is the header of a table."""
    for line in begin:
        delimiter = delimiter_of(line, column)
        if delimiter is not None and (column or delimiter in line or line.strip() == "text"):
            return True
    return False


def csv_rows(file: BinaryIO, name: str, meant: Selection = ALL, findings: Findings | None = None) -> Iterator[Record]:
    """Yield the rows of a CSV or TSV file, with a `BadRecord` for each malformed one; empty rows are skipped.

    Raises:
        ValueError: The file has no header with the required columns, or a quote is never closed.
    """
    place = Place(f"{name}, line", "line")
    head = csv_head(file, name, meant, findings)
    if head is None:
        return
    file.seek(0)
    rest = (line for _, line in islice(lines(file, name, newline=""), head.number, None))
    for number, row in _csv_rows(rest, head.delimiter, place, head.number + 1):
        value = row if isinstance(row, BadRecord) else _record(row, head.names, head.delimiter, place, number)
        yield Record(place, number, value)


class Head(NamedTuple):
    """The header of a CSV file: its columns, the delimiter, and the number of its line, from 1."""

    names: list[str]
    delimiter: str
    number: int


def csv_head(file: BinaryIO, name: str, meant: Selection, findings: Findings | None = None) -> Head | None:
    """Return the header of a CSV file; None if it is empty. The arguments are those of `csv_rows`.

    Raises:
        ValueError: The file has no header with the required columns.
    """
    head = [line for _, line in islice(lines(file, name, findings, newline=""), HEADER_LINES)]
    at, delimiter = _csv_header(head, meant.column)
    if at is None:
        if any(line.strip() for line in head):
            raise _no_header(f"{name}, line 1", head[0].strip(), meant.column)
        return None
    names = _checked_names(next(csv.reader([head[at]], delimiter=delimiter)), f"{name}, line {at + 1}", meant)
    _remark_on_header(findings, f"{name}, line {at + 1}", at, head)
    if findings is not None:
        findings.delimiter = delimiter
    return Head(names, delimiter, at + 1)


def _csv_header(head: Sequence[str], column: str | None) -> tuple[int | None, str]:
    """Return the position of the header among the first lines, None if there is none, and the delimiter."""
    for at, line in enumerate(head):
        delimiter = delimiter_of(line, column)
        if delimiter is not None:
            return at, delimiter
    return None, ""


def _csv_rows(
    texts: Iterator[str], delimiter: str, place: Place, first: int
) -> Iterator[tuple[int, list[str] | BadRecord]]:
    reader = csv.reader(texts, delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + first
        try:
            row = next(reader, None)
        except csv.Error as error:
            why = f"the row that begins here is not CSV ({error}); correct it: is there a quote too many or too few?"
            if "unexpected end" in str(error) or reader.line_num + first - number > STRAY_LINES:
                raise ValueError(f"{place.at(number)}: {why}") from error  # it contains the rows after it
            yield number, BadRecord(place.at(number), "not CSV", why)
            continue
        if row is None:
            return
        if any(row):
            yield number, row


def _record(
    row: list[str], names: Sequence[str], delimiter: str, place: Place, number: int
) -> dict[str, str | None] | BadRecord:
    if len(row) != len(names):
        if len(names) == 1:  # Excel quotes only texts with its own country's delimiter
            row = [delimiter.join(row)]
        elif len(row) > len(names) and not any(row[len(names) :]):
            row = row[: len(names)]
        else:
            why = (
                f"{counted(len(row), 'values')} for {counted(len(names), 'columns')}, {shown(row)}; put texts "
                f"that contain {delimiter!r} in "
                "quotes"
            )
            return BadRecord(place.at(number), "wrong number of values", why)
    return {name: value or None for name, value in zip(names, row, strict=True)}


def _checked_names(header: Sequence[object], where: str, meant: Selection) -> list[str]:
    """Return the names of the columns; columns without a name are numbered.

    Raises:
        ValueError: Two columns have the same name, or a column that the user named is missing.
    """
    names = [str(name).strip() if name is not None else "" for name in header]
    if names.count("") > 1:
        names = [name or f"column_{number}" for number, name in enumerate(names, 1)]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"{where}: two columns have the name {twice[0]!r}; rename one")
    for option, name in meant.columns.items():
        if named(name, names) is None:
            raise ValueError(f"{where}: {option} {name}: there is no such column, but {', '.join(map(repr, names))}")
    return names


def _no_header(where: str, found: str, column: str | None) -> ValueError:
    wanted = repr(column) if column is not None else "'text'"
    return ValueError(
        f"{where}: there is no column {wanted} in {shown(found)}; give the file a header, or give its text column as "
        "--column"
    )


def _remark_on_header(findings: Findings | None, where: str, at: int, head: Sequence[str]) -> None:
    above = [line.strip() for line in head[:at]]
    if findings is not None and any(line.strip(";,\t") and not line.startswith("sep=") for line in above):
        findings.remarks.append(f"{where} is the header; the lines above it were left out")


def xlsx_rows(file: BinaryIO, name: str, meant: Selection = ALL, findings: Findings | None = None) -> Iterator[Record]:
    """Yield the rows of the sheet `config`, or of the first sheet that has a header with the required columns. A cell
    that is merged with those below it stands in each of their rows.

    Raises:
        ValueError: The file is not a workbook, or has no such sheet.
        ImportError: openpyxl is not installed.
    """
    first = None
    titles, sheets = _sheets(file, name, meant.config)
    for sheet in sheets:
        sheet.reset_dimensions()  # the stated dimensions may be wrong
        rows = enumerate(_unmerged(_values(sheet, name), _merged_downward(sheet)), 1)
        head = list(islice(rows, HEADER_LINES))
        first = first or next((row for _, row in head if any(row)), None)
        at = _sheet_header([row for _, row in head], meant.column)
        if at is None:
            continue
        if findings is not None and len(titles) > 1:
            findings.remarks.append(f"{name}: sheet {sheet.title!r} was read, of {', '.join(map(repr, titles))}")
        _remark_on_header(findings, f"{name}, row {at + 1}", at, ["".join(_titles(row)) for _, row in head])
        margin = _margin(head[at:])
        rest = ((number, row[margin:]) for number, row in chain(head[at + 1 :], rows))
        yield from _sheet_rows(rest, head[at][1][margin:], f"{name}, row {at + 1}", Place(f"{name}, row", "row"), meant)
        return
    if first is not None:
        raise _no_header(f"{name}, row 1", ", ".join(_titles(first)), meant.column)


def _sheets(file: BinaryIO, name: str, wanted: str | None) -> tuple[list[str], list[Any]]:
    """Return the titles of all sheets, and the sheets that may be read."""
    sheets = _workbook(file, name).worksheets
    titles = [sheet.title for sheet in sheets]
    if wanted is not None and wanted not in titles:
        raise ValueError(f"{name} has no sheet {wanted!r}, but {', '.join(map(repr, titles))}")
    return titles, [sheet for sheet in sheets if wanted in (None, sheet.title)]


def _margin(head: Sequence[tuple[int, tuple[Any, ...]]]) -> int:
    """Return the number of empty columns at the left of a sheet."""
    return min(next((at for at, cell in enumerate(row) if cell is not None), len(row)) for _, row in head if any(row))


def _titles(row: Iterable[object]) -> list[str]:
    return [str(cell) for cell in row if cell is not None]


def _workbook(file: BinaryIO, name: str) -> Any:  # noqa: ANN401 - openpyxl has no types
    try:
        import openpyxl
    except ImportError as error:
        raise ImportError(f'{name} is a workbook, which needs `pip install "edos-dataset[excel]"`') from error
    magic = file.read(len(_OLE))
    file.seek(0)
    if magic == _OLE and _ENCRYPTED in file.read(_MOST_SEARCHED):
        raise ValueError(f"{name} is encrypted: open it with its password, and save it as .xlsx without one")
    if magic == _OLE:
        raise ValueError(f"{name} is an old .xls: save it as .xlsx")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl warns of styles and validations that it does not read
            return openpyxl.load_workbook(file, read_only=True, data_only=True)
    except (BadZipFile, KeyError, ValueError, OSError, TypeError, AttributeError, SyntaxError) as error:
        raise ValueError(f"{name} is not a complete workbook ({error}): save it as .xlsx again") from error


def _values(sheet: Any, name: str) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401 - openpyxl has no types
    try:
        yield from sheet.iter_rows(values_only=True)
    except (BadZipFile, KeyError, ValueError, OSError, TypeError, AttributeError, SyntaxError, IndexError) as error:
        raise ValueError(f"{name}, sheet {sheet.title!r} is damaged ({error}): save it as .xlsx again") from error


def _sheet_header(head: Sequence[tuple[Any, ...]], column: str | None) -> int | None:
    """Return the position of the header among the first rows, None if there is none; of a header of two rows, with
    titles merged over both, the second.
    """
    places = [at for at, row in enumerate(head) if text_column(_titles(row), column)]
    if places[1:] and places[1] == places[0] + 1 and set(_titles(head[places[0]])) & set(_titles(head[places[1]])):
        return places[1]
    return places[0] if places else None


def _merged_downward(sheet: Any) -> dict[tuple[int, int], int]:  # noqa: ANN401
    """Return row and column of each first cell, from 0, of those merged with cells below → the last row.

    openpyxl does not read them in a sheet that it does not hold in memory; they follow the cells in the sheet's XML.
    """
    found: dict[tuple[int, int], int] = {}
    tail = b""
    with suppress(KeyError, BadZipFile, OSError), sheet.parent._archive.open(sheet._worksheet_path) as xml:
        while block := xml.read(_BLOCK):
            text = tail + block
            for match in _MERGED.finditer(text):
                column, first, last = match[1].decode(), int(match[2]), int(match[3])
                if first < last <= _MOST_ROWS:
                    found[first - 1, _column_number(column)] = last - 1
            tail = text[-_LONGEST_TAG:]
    return found


def _column_number(letters: str) -> int:
    """Return the number of a column, from 0: 0 for "A", 26 for "AA"."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def _unmerged(rows: Iterable[tuple[Any, ...]], merged: Mapping[tuple[int, int], int]) -> Iterator[tuple[Any, ...]]:
    """Yield rows in which each merged cell repeats the first of those above it."""
    if not merged:
        yield from rows
        return
    columns = sorted({column for _, column in merged})
    above: dict[int, tuple[int, Any]] = {}
    for number, row in enumerate(rows):
        cells = list(row)
        for column in columns:
            if column < len(cells) and (number, column) in merged:
                above[column] = merged[number, column], cells[column]
            elif column < len(cells) and cells[column] is None and number <= above.get(column, (-1, None))[0]:
                cells[column] = above[column][1]
        yield tuple(cells)


def _sheet_rows(
    rows: Iterable[tuple[int, tuple[Any, ...]]], header: Sequence[Any], where: str, place: Place, meant: Selection
) -> Iterator[Record]:
    last = max(at for at, cell in enumerate(header) if cell is not None) + 1
    names = _checked_names(header[:last], where, meant)
    text = text_column(names, meant.column) or ""
    for number, row in rows:
        cells = [cell if cell != "" else None for cell in row]
        if stray := _titles(cells[last:]):
            why = f"{shown(stray[0])} stands beside the columns of the header; name its column"
            yield Record(place, number, BadRecord(place.at(number), "wrong number of values", why), True)
        elif _titles(cells):
            cells += [None] * (last - len(cells))
            value = dict(zip(names, cells[:last], strict=True))
            if isinstance(value[text], int | float) and not isinstance(value[text], bool):
                value[text] = f"{value[text]:.15g}"  # Excel has made a number of the text "7"
            yield Record(place, number, value, True)
