"""Tables whose cells, headings and titles are data: what they hold is shown as it is, never read as rich's markup."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Column
from rich.table import Table as RichTable
from rich.text import Text

_READABLE = 16
"""Width at which longer texts may be wrapped."""
_BORDER = 3
"""Width of a column's padding and of the line beside it."""


class Table(RichTable):
    """A table of rich in which a text is shown as it is. For colours give a `Text`, such as `console.styled` makes.

    Where the columns are more than fit side by side, they are shown in several tables, below each other, that all begin
    with the first column, or with the first `keys` ones where one alone does not tell the rows apart.
    """

    def __init__(self, *headers: str, title: str | None = None, keys: int = 1, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(title=_plain(title), **settings)
        self._keys = keys
        for header in headers:
            self.add_column(header)

    def add_column(self, header: RenderableType = "", *more: Any, **settings: Any) -> None:  # noqa: ANN401
        """Add a column, as rich does, but break words that are longer than it: rich cuts them off."""
        super().add_column(_plain(header) or "", *more, **{"overflow": "fold", **settings})

    def add_row(self, *cells: RenderableType | None, **settings: Any) -> None:  # noqa: ANN401
        """Add a row, as rich does."""
        super().add_row(*map(_plain, cells), **settings)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines of the table, or its parts."""
        widths = [_widths(column, console, options) for column in self.columns]
        if 1 + sum(most for _, most in widths) <= options.max_width:
            yield from super().__rich_console__(console, options)
            return
        for number, places in enumerate(_parts([least for least, _ in widths], self._keys, options.max_width - 1)):
            part = RichTable(title=None if number else self.title, title_justify=self.title_justify, box=self.box)
            left = options.max_width - 1 - sum(widths[place][0] for place in places)
            for place in places:
                column, (least, most) = self.columns[place], widths[place]
                more = max(0, min(left, most - least))
                left -= more
                width = None if left < 0 else least + more - _BORDER
                part.add_column(column.header, justify=column.justify, style=column.style, overflow="fold", width=width)
            for row, *cells in zip(self.rows, *(self.columns[place].cells for place in places), strict=True):
                part.add_row(*cells, style=row.style, end_section=row.end_section)
            yield part


def _parts(widths: Sequence[int], keys: int, most: int) -> Iterator[list[int]]:
    """Yield the places of the columns of each part, which all begin with the first `keys` ones and are at most so wide,
    if these and another column are.
    """
    places: list[int] = []
    for place in range(len(widths)):
        if len(places) > keys and sum(widths[each] for each in (*places, place)) > most:
            yield places
            places = list(range(keys))
        places.append(place)
    yield places


def _widths(column: Column, console: Console, options: ConsoleOptions) -> tuple[int, int]:
    """Return the width that a column needs to be read, that of its longest word and of short cells as a whole; and the
    one at which nothing in it is wrapped.
    """
    wide = options.update(width=10_000)
    header, *cells = (Measurement.get(console, wide, cell) for cell in (column.header, *column.cells))
    needs = [min(cell.maximum, max(cell.minimum, _READABLE)) for cell in cells]
    return _BORDER + max([header.minimum, *needs]), _BORDER + max(cell.maximum for cell in (header, *cells))


def _plain(cell: Any) -> Any:  # noqa: ANN401 - whatever rich renders
    return Text(cell) if isinstance(cell, str) else cell
