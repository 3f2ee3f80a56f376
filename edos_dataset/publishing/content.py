"""By what the data of a config are known: a digest of its files, which the card states for each config.

`datasets` keys what it has loaded from a local folder by the folder's name and the card's YAML, and looks at no data.
Without the digest there, two folders of one name, or a folder made again with other labels, would be one to it.
"""

import hashlib
from collections.abc import Mapping

from edos_dataset.publishing.front_matter import join_card, split_card

KEY = "description"
"""Of a config in the YAML: the only text that every version of `datasets` takes there and makes nothing else of."""

_KIND = "sha256:"


def content_of(config: str, digests: Mapping[str, str]) -> str:
    """Return the digest of a config: the SHA-256 of what `sha256sum CONFIG/*.parquet` prints in its folder.

    Args:
        config: its name.
        digests: file of the folder, relative to it, → SHA-256; those of other configs don't count.
    """
    lines = [f"{known}  {name}\n" for name, known in sorted(digests.items()) if name.startswith(f"{config}/")]
    return _KIND + hashlib.sha256("".join(lines).encode()).hexdigest()


def with_content(card: str, digests: Mapping[str, str]) -> str:
    """Return a card whose configs say by which digest their data are known."""
    header, body = split_card(card)
    header["configs"] = [entry | {KEY: content_of(entry["config_name"], digests)} for entry in header["configs"]]
    return join_card(header, body)


def stated_content(card: str) -> dict[str, str]:
    """Return the digest of each config of which a card says it.

    Raises:
        ValueError: the card has no YAML.
    """
    entries = split_card(card)[0].get("configs") or []
    return {entry["config_name"]: entry[KEY] for entry in entries if str(entry.get(KEY, "")).startswith(_KIND)}
