"""Versions of a data set: what a step means for the data, whether one is large enough, and the changelog.

Patch: the same dialogues with the same texts in the same splits; labels may be corrected. Minor: new dialogues or
configs, or corrected texts. Major: other columns or label names, or dialogues that are gone, as they are when their ids
change.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from edos_dataset.hub.changes import ConfigChange
from edos_dataset.publishing.cards.markdown import code, table

Step = Literal["patch", "minor", "major"]

CHANGELOG = "DATA_CHANGELOG.md"
_VERSION = re.compile(r"v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_HEAD = """\
# Data changelog

What each version changed, counted by `dialogue_id`. A patch version has the same dialogues; a minor one has new \
dialogues, configs or corrected texts; a major
one has other columns or label names, or lacks dialogues of the one before.
"""


@dataclass(frozen=True, order=True)
class Version:
    """A semantic version; the order is theirs."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> "Version":
        """Return the version that "1.2.0" or "v1.2.0" names.

        Raises:
            ValueError: it is none.
        """
        match = _VERSION.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no version: give three numbers, such as 1.2.0")
        return cls(*map(int, match.groups()))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def tag(self) -> str:
        """The name of its tag, such as v1.2.0."""
        return f"v{self}"

    def after(self, step: Step) -> "Version":
        """Return the version that a step leads to."""
        if step == "major":
            return Version(self.major + 1, 0, 0)
        return (
            Version(self.major, self.minor + 1, 0)
            if step == "minor"
            else Version(self.major, self.minor, self.patch + 1)
        )


def reasons(changes: Sequence[ConfigChange]) -> dict[Step, list[str]]:
    """Return what asks for a major and for a minor step, in words."""
    major, minor = [], []
    for change in changes:
        name = f"config {change.config}"
        major += [f"{name}: {sentence}" for sentence in change.schema]
        if change.removed:
            major.append(f"{name}: {change.removed:,} of {change.before:,} dialogues are gone")
        if change.added:
            minor.append(f"{name}: {change.added:,} new dialogues")
        if change.texts:
            minor.append(f"{name}: {change.texts:,} dialogues have another text")
        if change.moved:
            minor.append(f"{name}: {change.moved:,} dialogues are in another split")
    return {"major": major, "minor": minor}


def needed(changes: Sequence[ConfigChange]) -> Step:
    """Return the smallest step that may carry these changes."""
    why = reasons(changes)
    return "major" if why["major"] else "minor" if why["minor"] else "patch"


def check_step(version: Version, previous: Version, changes: Sequence[ConfigChange]) -> None:
    """Check that a version says enough about what changed since the previous one.

    Raises:
        ValueError: the step is too small; the message says why and what the version must be.
    """
    step = needed(changes)
    least = previous.after(step)
    if version < least:
        why = "; ".join(reasons(changes)[step])
        raise ValueError(
            f"{version} is too small a step after {previous}, as this is a {step} change ({why}): publish it as "
            f"{least} or more"
        )


def changelog(existing: str, version: Version, previous: Version | None, changes: Sequence[ConfigChange]) -> str:
    """Return the changelog with the entry of a version at its head, in the place of one that it had for the same
    version.

    Args:
        existing: the changelog so far, or "".
        version: the new one.
        previous: that before it, or None for the first.
        changes: of each config.
    """
    place = existing.find("\n## ")
    entries = re.split(r"(?m)^(?=## )", existing[place + 1 :]) if place >= 0 else []
    kept = [entry.rstrip() for entry in entries if entry.strip() and entry.split("\n", 1)[0].strip() != f"## {version}"]
    return "\n\n".join([_HEAD.rstrip(), _entry(version, previous, changes), *kept]) + "\n"


def _entry(version: Version, previous: Version | None, changes: Sequence[ConfigChange]) -> str:
    if previous is None:
        rows = [[code(change.config), f"{change.after:,}"] for change in changes]
        return f"## {version}\n\nThe first version.\n\n{table(['config', 'dialogues'], rows)}"
    heads = ["config", "dialogues", "added", "removed", "labels changed", "texts changed", "in another split"]
    rows = []
    for change in changes:
        counts = (change.after, change.added, change.removed, change.labels, change.texts, change.moved)
        rows.append([code(change.config), *(f"{count:,}" for count in counts)])
    sentences = [f"- Config {code(change.config)}: {sentence}." for change in changes for sentence in change.schema]
    parts = [f"## {version}", f"Since {previous}:", table(heads, rows), "\n".join(sentences)]
    return "\n\n".join(part for part in parts if part)


def versions_of(tags: Mapping[str, str]) -> dict[Version, str]:
    """Return the versions among some tags: version → what the tag points to. Other tags are left out."""
    return {
        Version.parse(name): target
        for name, target in tags.items()
        if name.startswith("v") and _VERSION.fullmatch(name)
    }
