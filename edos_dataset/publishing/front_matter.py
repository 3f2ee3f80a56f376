"""Splitting cards into YAML front matter and Markdown, joining them, and the digest of the data in the YAML.

`datasets` caches a local folder by its name and the card's YAML, ignoring the data. Without the digest, it would
confuse two folders of the same name, or a folder before and after its labels change.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import yaml

from edos_dataset.runs.untrusted import yaml_of

_LINE = "---\n"
_HEAD = re.compile(r"\ufeff?---\r?\n(.*?)^---(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
"""A value may contain dashes; the front matter ends at a line of exactly three of them."""

KEY = "description"
"""Key of a config in the YAML with the digest; the only free text there that all versions of `datasets` accept."""

_KIND = "sha256:"


def split_card(card: str) -> tuple[dict[str, Any], str]:
    """Return the values of a card's YAML, and the text after it.

    Raises:
        ValueError: There is no such YAML.
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
    """Return a card: the values of its YAML, in this order, then its text."""
    return f"{_LINE}{yaml.dump(dict(header), Dumper=_Dumper, sort_keys=False, allow_unicode=True)}{_LINE}{body}"


def content_of(config: str, digests: Mapping[str, str]) -> str:
    """Return the digest of a config: the SHA-256 of the output of `sha256sum CONFIG/*.parquet` in its folder.

    Args:
        config: Its name.
        digests: File, relative to the folder, → SHA-256; those of other configs are ignored.
    """
    lines = [f"{known}  {name}\n" for name, known in sorted(digests.items()) if name.startswith(f"{config}/")]
    return _KIND + hashlib.sha256("".join(lines).encode()).hexdigest()


def with_content(card: str, digests: Mapping[str, str]) -> str:
    """Return a card whose configs state the digests of their data."""
    header, body = split_card(card)
    header["configs"] = [entry | {KEY: content_of(entry["config_name"], digests)} for entry in header["configs"]]
    return join_card(header, body)


def stated_content(card: str) -> dict[str, str]:
    """Return the digests that a card states, by config.

    Raises:
        ValueError: The card has no YAML.
    """
    entries = split_card(card)[0].get("configs") or []
    return {entry["config_name"]: entry[KEY] for entry in entries if str(entry.get(KEY, "")).startswith(_KIND)}


class _Dumper(yaml.SafeDumper):
    """Writes a list or mapping twice if it occurs twice: readers of cards refuse aliases."""

    def ignore_aliases(self, data: object) -> bool:
        return True
