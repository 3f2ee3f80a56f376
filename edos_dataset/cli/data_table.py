"""Tables whose cells, headings and titles are data: what they hold is shown as it is, never read as rich's markup."""

from typing import Any

from rich.console import RenderableType
from rich.table import Table as RichTable
from rich.text import Text


class Table(RichTable):
    """A table of rich in which a text is shown as it is. For colours give a `Text`, such as `console.styled` makes."""

    def __init__(self, *headers: str, title: str | None = None, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(title=_plain(title), **settings)
        for header in headers:
            self.add_column(header)

    def add_column(self, header: RenderableType = "", *more: Any, **settings: Any) -> None:  # noqa: ANN401
        """Add a column, as rich does."""
        super().add_column(_plain(header) or "", *more, **settings)

    def add_row(self, *cells: RenderableType | None, **settings: Any) -> None:  # noqa: ANN401
        """Add a row, as rich does."""
        super().add_row(*map(_plain, cells), **settings)


def _plain(cell: Any) -> Any:  # noqa: ANN401 - whatever rich renders
    return Text(cell) if isinstance(cell, str) else cell
