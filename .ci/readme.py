"""The long description of the package: README.md without links that lead nowhere outside the repository."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = re.compile(r"\[([^]]+)\]\((?![a-z]+:)([^)]+)\)")


class LongDescription(MetadataHookInterface):
    """Gives `readme`: relative links lead to `Repository` of `project.urls`, and are plain text while there is none."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the field."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        repository = metadata.get("urls", {}).get("Repository")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text, repository)}


def absolute(text: str, repository: str | None) -> str:
    """Return Markdown without relative links.

    Args:
        text: the Markdown.
        repository: address of the repository, under which the files are; None leaves of each link its text.
    """
    link = r"\1" if repository is None else rf"[\1]({repository.rstrip('/')}/blob/main/\2)"
    return _RELATIVE.sub(link, text)
