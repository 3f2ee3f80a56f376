"""A card is YAML between two lines of dashes, then Markdown: taken apart, and put together."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from edos_dataset.runs.foreign import yaml_of

_LINE = "---\n"
_HEAD = re.compile(r"\ufeff?---\r?\n(.*?)^---(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
"""A value may hold dashes; the head ends at a line that is nothing but three of them."""


def split_card(card: str) -> tuple[dict[str, Any], str]:
    """Return what the YAML at the head of a card says, and the text after it.

    Raises:
        ValueError: it has no such YAML.
    """
    head = _HEAD.match(card)
    if head is None:
        raise ValueError("the card has no YAML between two lines of dashes at its head")
    try:
        values = yaml_of(head[1])
    except ValueError as error:
        raise ValueError(f"the card has no YAML between two lines of dashes at its head ({error})") from error
    if not isinstance(values, dict):
        raise ValueError("the card has no YAML between two lines of dashes at its head")
    return values, card[head.end() :]


def join_card(header: Mapping[str, Any], body: str = "") -> str:
    """Return a card: what its YAML says, in this order, then its text."""
    return f"{_LINE}{yaml.dump(dict(header), Dumper=_Dumper, sort_keys=False, allow_unicode=True)}{_LINE}{body}"


class _Dumper(yaml.SafeDumper):
    """Writes a list or mapping that comes twice out twice: what reads cards refuses aliases."""

    def ignore_aliases(self, data: object) -> bool:
        return True
