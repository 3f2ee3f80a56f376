"""A validated set of labels, with their meanings."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.text import shown

Shares = Mapping[str, float]
"""Label of another set → its share of a label's probability; empty if the label has no counterpart."""

MOST_LABELS = 1_000
_LONGEST_NAME = 100
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")


class LabelSetError(ValueError):
    """A label set, or a map between two, is invalid.

    Attributes:
        path: the keys that lead to the error, from which its line in the file is found.
    """

    def __init__(self, message: str, *path: str | int) -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True)
class LabelSet:
    """The labels that a turn may have.

    Attributes:
        name: name of the set.
        labels: names of the labels; a label's id is its index.
        neutral: the label of turns without emotion or intent, or None.
        intents: the labels for what a turn does rather than what its speaker feels.
        groups: name → similar labels, for reports; a label is in at most one group.
        definitions: label → its meaning in one sentence.
        examples: label → a turn that has it.
        colours: label → colour as #rrggbb.
        maps: name of another set → label of this set → shares of labels of that set.
        sources: name of another set → label of that set → shares of labels of this set.
        description: one sentence about the set.
    """

    name: str
    labels: tuple[str, ...]
    neutral: str | None = None
    intents: tuple[str, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    definitions: Mapping[str, str] = field(default_factory=dict)
    examples: Mapping[str, str] = field(default_factory=dict)
    colours: Mapping[str, str] = field(default_factory=dict)
    maps: Mapping[str, Mapping[str, Shares]] = field(default_factory=dict)
    sources: Mapping[str, Mapping[str, Shares]] = field(default_factory=dict)
    description: str = ""

    def __post_init__(self) -> None:
        """Check the labels, and that all other attributes refer only to them."""
        _check_names(self.labels)
        if self.neutral is not None:
            self._check_known(self.neutral, "neutral: ", "neutral")
        for name in self.intents:
            self._check_known(name, "intents: ", "intents", name)
        for what in ("definitions", "examples", "colours"):
            for name in getattr(self, what):
                self._check_known(name, f"{what}: ", what, name)
        for name, colour in self.colours.items():
            if not _COLOUR.fullmatch(colour):
                raise LabelSetError(f"the colour of {name!r} is {shown(colour)}: expected #rrggbb", "labels", name)
        self._check_groups()
        self._check_maps()

    def _check_maps(self) -> None:
        for other, table in self.maps.items():
            for name in table:
                self._check_known(name, f"map to {other!r}: ", "maps", other, name)
        for other, table in self.sources.items():
            for source, name in ((source, name) for source, shares in table.items() for name in shares):
                self._check_known(name, f"map from {other!r}: ", "from", other, source)

    def _check_groups(self) -> None:
        placed: dict[str, str] = {}
        for group, name in ((group, name) for group, members in self.groups.items() for name in members):
            self._check_known(name, f"group {group!r}: ", "groups", group)
            if name in placed:
                raise LabelSetError(
                    f"{name!r} is in the groups {placed[name]!r} and {group!r}: put it into one", "groups", group
                )
            placed[name] = group

    def __hash__(self) -> int:
        return hash((self.name, self.labels))

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def of_labels(cls, names: Iterable[str], name: str = "own") -> "LabelSet":
        """Return a label set of which only the labels' names are known; a label named "neutral" becomes the neutral
        label.

        Args:
            names: in the order of the ids.
            name: name of the set.

        Raises:
            LabelSetError: there are no names, or a name is empty or repeated.
        """
        labels = tuple(names)
        neutral = next((label for label in labels if key_of(str(label)) in ("neutral", "no emotion")), None)
        return cls(name, labels, neutral)

    @property
    def emotions(self) -> tuple[str, ...]:
        """The labels that are neither intents nor neutral."""
        return tuple(label for label in self.labels if label not in self.intents and label != self.neutral)

    @cached_property
    def ids(self) -> dict[str, int]:
        """Label → id."""
        return {label: index for index, label in enumerate(self.labels)}

    @cached_property
    def _by_key(self) -> dict[str, int]:
        return {key_of(label): index for index, label in enumerate(self.labels)}

    def find(self, name: str) -> int | None:
        """Return the id of a label, or None if it is not in the set.

        Case, surrounding spaces, and spaces or hyphens in place of underscores are ignored.
        """
        return self._by_key.get(key_of(name))

    def parse(self, name: str) -> int:
        """Return the id of a label, found as by `find`.

        Raises:
            ValueError: it is not a label of the set; the message names the nearest label and the set.
        """
        if (found := self.find(name)) is None:
            raise ValueError(self.unknown(name))
        return found

    def unknown(self, name: str) -> str:
        """Return an error message about a name that is not a label of the set."""
        near = get_close_matches(name.strip().lower()[:_LONGEST_NAME], self.labels, n=1, cutoff=0.5)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        return f"unknown label {shown(name)}: expected one of {self.listed()}{meant}"

    def listed(self) -> str:
        """Return up to 50 labels as text for a message."""
        more = f" and {len(self) - 50:,} more" if len(self) > 50 else ""
        return f"{', '.join(self.labels[:50])}{more}"

    def columns_of(self, names: Sequence[str]) -> list[int] | None:
        """Return the index of each label of the set in `names`, or None if these are not the same labels."""
        found = [self.find(str(name)) for name in names]
        if len(names) != len(self) or set(found) != set(range(len(self))):
            return None
        return [found.index(label) for label in range(len(self))]

    def kind(self, label: str) -> str:
        """Return "neutral", "response intent" or "emotion"."""
        return "neutral" if label == self.neutral else "response intent" if label in self.intents else "emotion"

    def as_dict(self) -> dict[str, Any]:
        """Return the set as plain data, as in a YAML file; `load_label_set` accepts them."""
        about = {"definition": self.definitions, "example": self.examples, "colour": self.colours}
        facts = {label: {key: texts[label] for key, texts in about.items() if label in texts} for label in self.labels}
        content = {
            "name": self.name,
            "description": self.description,
            "labels": facts if any(facts.values()) else list(self.labels),
            "neutral": self.neutral,
            "intents": list(self.intents),
            "groups": {group: list(members) for group, members in self.groups.items()},
            "maps": _plain(self.maps),
            "from": _plain(self.sources),
        }
        return {key: value for key, value in content.items() if value}

    @cached_property
    def digest(self) -> str:
        """Hash of everything that affects rows: name, labels, which of them are intents and neutral, and maps."""
        decides = [self.name, self.labels, self.neutral, self.intents, _plain(self.maps), _plain(self.sources)]
        return hash_json(decides)

    def described(self) -> "LabelSet":
        """Return the set without its maps, as stored with data."""
        return replace(self, maps={}, sources={})

    def _check_known(self, name: str, where: str, *path: str) -> None:
        if name not in self.labels:
            near = get_close_matches(str(name)[:_LONGEST_NAME], self.labels, n=1, cutoff=0.5)
            meant = f"; did you mean {near[0]!r}?" if near else f": it has {self.listed()}"
            raise LabelSetError(f"{where}{shown(name)} is no label of {self.name!r}{meant}", *path)


def key_of(name: str) -> str:
    """Return a label name in the form in which names are compared."""
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").split())


def _plain(maps: Mapping[str, Mapping[str, Shares]]) -> dict[str, Any]:
    """Return maps as in YAML files: a label alone if it has the whole share."""
    return {
        other: {
            label: next(iter(shares)) if len(shares) == 1 else dict(shares) or None for label, shares in table.items()
        }
        for other, table in maps.items()
    }


def _check_names(labels: Sequence[Any]) -> None:
    if not 2 <= len(labels) <= MOST_LABELS:
        raise LabelSetError(f"a set has 2 to {MOST_LABELS:,} labels, this one {len(labels):,}", "labels")
    seen: dict[str, str] = {}
    for place, name in enumerate(labels):
        where = ("labels", name if isinstance(name, str) else place)
        if not isinstance(name, str):
            raise LabelSetError(f"label {place} is {shown(name)}, which is no text: put it in quotes", "labels", place)
        if not name.strip() or name != name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
            raise LabelSetError(
                f"label {place} is {shown(name)}: a name has 1 to {_LONGEST_NAME} printable characters without blanks "
                "around it",
                *where,
            )
        if (before := seen.get(key_of(name))) is not None:
            raise LabelSetError(f"the label {name!r} comes twice" + f", as {before!r}" * (before != name), *where)
        seen[key_of(name)] = name
