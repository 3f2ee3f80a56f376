"""A card is YAML between two lines of dashes, then Markdown: taken apart, and put together."""

from collections.abc import Mapping
from typing import Any

import yaml

_LINE = "---\n"


def split_card(card: str) -> tuple[dict[str, Any], str]:
    """Return what the YAML at the head of a card says, and the text after it.

    Raises:
        ValueError: it has no such YAML.
    """
    try:
        _, header, body = card.split(_LINE, 2)
        values = yaml.safe_load(header)
        if isinstance(values, dict):
            return values, body
    except (ValueError, yaml.YAMLError):
        pass
    raise ValueError("the card has no YAML between two lines of dashes at its head")


def join_card(header: Mapping[str, Any], body: str = "") -> str:
    """Return a card: what its YAML says, in this order, then its text."""
    return f"{_LINE}{yaml.safe_dump(dict(header), sort_keys=False, allow_unicode=True)}{_LINE}{body}"
