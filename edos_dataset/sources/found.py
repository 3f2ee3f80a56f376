"""What a walk over the sources gives: files of a known format, what is not wanted, what cannot be opened."""

from dataclasses import dataclass, field
from typing import Any

LONGEST_NAME = 4096
"""Characters of a member's name; no file system can hold a longer path."""

_SHOWN = 200


class SourceError(ValueError):
    """The sources as given cannot be read; the message says which, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a known format.

    Attributes:
        above: the folder that the source lies in, spelt out (`sources.paths`).
        path: begins with the name of the source; spelt out, too.
        location: where this machine has it, or the archive that holds it.
        member: name in the archive, or null.
        size: bytes as stored.
        stamp: as in FILE.
    """

    above: str
    path: str
    location: str
    member: str | None
    size: int
    stamp: str

    @property
    def full_path(self) -> str:
        """The whole path, spelt out."""
        return f"{self.above}/{self.path}"


@dataclass
class Found:
    """What lies below the sources.

    Attributes:
        entries: files of a known format.
        skipped: path and reason of what is not wanted.
        quarantined: notes of what is wanted and cannot be opened.
    """

    entries: list[Entry] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    quarantined: list[dict[str, Any]] = field(default_factory=list)

    def skip(self, path: str, reason: str) -> None:
        """List something as not wanted."""
        self.skipped.append((clipped(path), reason))

    def quarantine(self, path: str, reason: str, detail: str) -> None:
        """List something as wanted, but not to be opened."""
        path = clipped(path)
        self.quarantined.append({"path": path, "reason": reason, "detail": f"{path}: {detail}"})


def clipped(path: str) -> str:
    """Return a path, of one that no file system can hold its beginning."""
    return path if len(path) <= LONGEST_NAME else f"{path[:_SHOWN]}..."
