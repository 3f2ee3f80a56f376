"""JSON lines with line numbers, and CSV safe from formula injection in spreadsheets."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from edos_dataset.sources.encodings import decode
from edos_dataset.sources.parsed import ReadError


def read_objects(path: Path, expected: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines, each with its line number, from 1; blank lines are skipped.

    Args:
        path: the file.
        expected: description of a line, for error messages.

    Raises:
        ValueError: a line is not a JSON object.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line.decode("utf-8-sig"))
                if b"\\u" in line:
                    json.dumps(row, ensure_ascii=False).encode()  # JSON allows half a surrogate pair, UTF-8 doesn't
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{path}, line {number}: no JSON ({error}); mend or remove the line") from error
            if not isinstance(row, dict):
                raise ValueError(f"{path}, line {number}: expected {expected}, got {str(row)[:60]}")
            yield number, row


def read_csv(path: Path, names: Iterable[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a CSV file, each with its line number, from 1; the first is the header, names to themselves.

    The separator is a comma, a semicolon or a tab, the encoding UTF-8 or what spreadsheets write.

    Args:
        path: the file.
        names: names of columns that may come in any case; so may the beginnings `Answer.` and `Input.`.

    Raises:
        ValueError: it is no CSV, or a row has more values than the header has names.
    """
    known = {name.casefold(): name for name in names}
    try:
        text = decode(path.read_bytes())[0]
    except ReadError as error:
        raise ValueError(f"{path} is no CSV file: {error}") from error
    header = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text, newline=""), restval="", delimiter=max(",;\t", key=header.count))
    try:
        reader.fieldnames = [_spelled(name, known) for name in reader.fieldnames or []]
        yield 1, {name: name for name in reader.fieldnames}
        for row in reader:
            if any(row.pop(None, [])):  # what stands after the last column; blank cells do no harm
                raise ValueError(
                    f"{path}, line {reader.line_num}: the row has more values than the header has names; put texts "
                    f"with {_SEPARATORS[reader.reader.dialect.delimiter]} in quotes"
                )
            yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(f"{path} is no CSV file: {error}") from error


_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}


def _spelled(name: str, known: Mapping[str, str]) -> str:
    folded = name.strip().casefold()
    prefix = next((prefix for prefix in ("Answer.", "Input.") if folded.startswith(prefix.casefold())), "")
    return known.get(folded, prefix + name.strip()[len(prefix) :] if prefix else name)


_RISKY = re.compile(r"'*[=+\-@\t\r]")
_DEFUSED = re.compile(r"'+[=+\-@\t\r]")


def harmless(cell: str) -> str:
    """Prefix a cell that a spreadsheet would take for a formula with an apostrophe; `restored` removes it."""
    return f"'{cell}" if _RISKY.match(cell) else cell


def restored(cell: str) -> str:
    """Undo `harmless`."""
    return cell[1:] if _DEFUSED.match(cell) else cell


def csv_text(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows as CSV with harmless cells."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(header)
    writer.writerows([harmless(cell) for cell in row] for row in rows)
    return file.getvalue()
