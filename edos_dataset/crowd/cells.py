"""Cells of CSV files that no spreadsheet takes for a formula, and their texts back."""

import csv
import io
import re
from collections.abc import Iterable, Sequence

_RISKY = re.compile(r"'*[=+\-@\t\r]")
_DEFUSED = re.compile(r"'+[=+\-@\t\r]")


def harmless(cell: str) -> str:
    """Return a cell with an apostrophe in front where a spreadsheet would calculate it; `restored` takes it off."""
    return f"'{cell}" if _RISKY.match(cell) else cell


def restored(cell: str) -> str:
    """Return the text that `harmless` was given."""
    return cell[1:] if _DEFUSED.match(cell) else cell


def csv_text(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows as CSV with harmless cells."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(header)
    writer.writerows([harmless(cell) for cell in row] for row in rows)
    return file.getvalue()
