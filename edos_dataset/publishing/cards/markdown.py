"""Figures and tables as the cards show them."""

from collections.abc import Sequence
from typing import Any

MISSING = "not stated"


def percent(value: float | None) -> str:
    """Return a share as percent with one decimal."""
    return MISSING if value is None else f"{100 * value:.1f} %"


def interval(values: Sequence[float | None]) -> str:
    """Return an interval of shares in percent."""
    return MISSING if None in values else "[" + ", ".join(f"{100 * (value or 0):.1f}" for value in values) + "]"


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    lines = [
        head,
        ["---"] * len(head),
        *([str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows),
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
