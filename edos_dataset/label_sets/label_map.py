"""Maps between label sets, which translate the probabilities of one set's labels into those of another's."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.label_sets.label_set import LabelSet, LabelSetError, Shares
from edos_dataset.label_sets.reading import (
    BUILT_IN,
    at_line,
    load_label_set,
    read_label_set,
    read_plain,
    shares_of,
)
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.text import nearest, shown

_KEYS = ("to", "labels", "others")


@dataclass(frozen=True, eq=False)
class LabelMap:
    """Translates the labels of one set into those of another.

    Attributes:
        source: the label set to translate from.
        target: the label set to translate to.
        table: label of the source → shares of labels of the target; empty if the label has no counterpart.
    """

    source: LabelSet
    target: LabelSet
    table: Mapping[str, Shares]

    def __post_init__(self) -> None:
        """Check that every label of the source is mapped, and only to labels of the target."""
        for label, shares in self.table.items():
            if label not in self.source.ids:
                near = nearest(str(label), self.source.labels)
                raise LabelSetError(f"{shown(label)} is no label of {self.source.name!r}{near}", label)
            for name in shares:
                if name not in self.target.ids:
                    near = nearest(str(name), self.target.labels)
                    raise LabelSetError(
                        f"{label!r} is mapped to {shown(name)}, no label of {self.target.name!r}{near}", label
                    )
        if lacking := [label for label in self.source.labels if label not in self.table]:
            raise LabelSetError(
                f"the map from {self.source.name!r} to {self.target.name!r} says nothing about {lacking[0]!r}"
                + f" and {len(lacking) - 1} more" * (len(lacking) > 1)
                + ": map it to a label, or to null if none corresponds"
            )

    @cached_property
    def weights(self) -> Floats:
        """The shares, float32 [labels of the source, labels of the target]; each row sums to 1, or to 0."""
        found = np.zeros((len(self.source), len(self.target)), np.float32)
        for label, shares in self.table.items():
            for name, share in shares.items():
                found[self.source.ids[label], self.target.ids[name]] = share
        return found

    @property
    def identical(self) -> bool:
        """Whether the map changes nothing, since both sets have the same labels in the same order."""
        return self.source.labels == self.target.labels

    def as_dict(self) -> dict[str, Any]:
        """Return the map as plain data, which `load_label_map` accepts."""
        target = self.target.name if self.target.name in BUILT_IN else self.target.as_dict()
        return {"to": target, "labels": {label: dict(shares) or None for label, shares in self.table.items()}}

    @cached_property
    def digest(self) -> str:
        """Hash of the map."""
        return hash_json(
            [self.source.labels, self.target.digest, {name: dict(each) for name, each in self.table.items()}]
        )

    def apply(self, probabilities: Floats, exclusive: bool = True) -> Floats:
        """Return the probabilities of the target's labels: the sum over the labels that are mapped to each.

        Args:
            probabilities: float32 [turns, labels of the source].
            exclusive: whether a turn has exactly one label. If so, probabilities without a counterpart are dropped and
                the rest is scaled to sum to 1 (the probability of each label, given that there is one); otherwise sums
                are limited to 1.

        Returns:
            float32 [turns, labels of the target].
        """
        if self.identical:
            return probabilities
        summed: Floats = probabilities @ self.weights
        if not exclusive:
            return np.minimum(summed, np.float32(1))
        if self.weights.any(axis=1).all():
            return summed
        total = summed.sum(axis=1, keepdims=True)
        even = np.full_like(summed, 1 / len(self.target))
        return np.where(total > 0, summed / np.where(total > 0, total, 1), even).astype(np.float32)

    def __call__(self, label: str) -> str | None:
        """Return the label with a label's largest share, the first of equal ones; None if it has no counterpart."""
        shares = self.table[self.source.labels[self.source.parse(label)]]
        return max(shares, key=lambda name: shares[name], default=None)

    def then(self, other: "LabelMap") -> "LabelMap":
        """Return this map followed by another."""
        table: dict[str, Shares] = {}
        for label, shares in self.table.items():
            onward: dict[str, float] = {}
            for middle, share in shares.items():
                for name, part in other.table[middle].items():
                    onward[name] = onward.get(name, 0.0) + share * part
            total = sum(onward.values())
            table[label] = {name: share / total for name, share in onward.items()}
        return LabelMap(self.source, other.target, table)


def load_label_map(given: "str | Path | Mapping[str, Any] | LabelSet | LabelMap", source: LabelSet) -> LabelMap:
    """Return a map from a label set.

    Args:
        given: the target: a label set, or the name or YAML file of one, to which a map is known; or a map: a YAML file
            or dictionary of `label: target`, where a target is a label, a list of labels with equal shares, `{label:
            share}`, or null. The pairs may instead be given under `labels`, next to `to` (name or file of the target
            set; without it, the labels used as targets form the set) or `others` (the target of all labels that are not
            listed).
        source: the set to translate.

    Raises:
        LabelSetError: the set does not exist, no map to it is known, or the map is invalid; the message names file and
            line.
    """
    if isinstance(given, LabelMap):
        if given.source.labels != source.labels:
            raise LabelSetError(f"the map is from {given.source.name!r}, but the labels are those of {source.name!r}")
        return given
    if isinstance(given, LabelSet) or (isinstance(given, str) and given in BUILT_IN):
        return map_between(source, load_label_set(given))
    if isinstance(given, Mapping):
        if "labels" in given and not _is_wrapped(given):
            return map_between(source, load_label_set(given))
        return _map_of(given, source, "own", Path())
    path = place_of(given)
    content = read_plain(path)
    if "labels" in content and not _is_wrapped(content):
        return map_between(source, read_label_set(path))
    try:
        return _map_of(content, source, path.stem, path.parent)
    except LabelSetError as error:
        raise at_line(error, path) from error


def checked_content(path: Path) -> dict[str, Any]:
    """Return the content of a file with a label set or a map as plain data, with the set that `to` names included.

    Raises:
        LabelSetError: the file is invalid. A label set is checked at once, a map once its source is known.
    """
    content = read_plain(path)
    if "labels" in content and not _is_wrapped(content):
        return read_label_set(path).as_dict()
    to = content.get("to")
    if isinstance(to, str) and to not in BUILT_IN and _is_wrapped(content):
        return {**content, "to": read_label_set(path.parent / to).as_dict()}
    return content


def map_between(source: LabelSet, target: LabelSet) -> LabelMap:
    """Return the map from one label set to another.

    The map is the identity if both have the same labels, else one that either set defines, else one by way of a
    built-in set.

    Raises:
        LabelSetError: no map is known.
    """
    if (direct := _direct(source, target)) is not None:
        return direct
    for middle in map(load_label_set, BUILT_IN):
        first, second = _direct(source, middle), _direct(middle, target)
        if first is not None and second is not None:
            return first.then(second)
    others = (name for name in BUILT_IN if name != source.name)
    known = [name for name in others if _direct(source, load_label_set(name)) is not None]
    there = f"there are maps from it to {', '.join(known)}" if known else "there is none from it to any other set"
    raise LabelSetError(
        f"no map from the label set {source.name!r} ({source.listed()}) to {target.name!r} is known ({there}): give "
        "one by --map FILE, with a line `label: target` for each label"
    )


def _direct(source: LabelSet, target: LabelSet) -> LabelMap | None:
    if (columns := target.columns_of(source.labels)) is not None:
        return LabelMap(
            source, target, {source.labels[column]: {target.labels[label]: 1.0} for label, column in enumerate(columns)}
        )
    table = source.maps.get(target.name) or target.sources.get(source.name) or {}
    found = [target.find(label) for label in source.labels]
    if not table and None not in found:  # the source's labels are a subset of the target's
        table = {label: {target.labels[place or 0]: 1.0} for label, place in zip(source.labels, found, strict=True)}
    return LabelMap(source, target, table) if table else None


def _is_wrapped(content: Mapping[str, Any]) -> bool:
    """Return whether the pairs of a map are under the key `labels`, as in a file that also names its target."""
    return isinstance(content.get("labels"), Mapping) and not {"to", "others"}.isdisjoint(content)


def _map_of(content: Mapping[str, Any], source: LabelSet, name: str, folder: Path) -> LabelMap:
    """Return the map that plain data describe; relative paths to its target are resolved in `folder`."""
    wrapped = _is_wrapped(content)
    path: tuple[str, ...] = ("labels",) if wrapped else ()
    pairs = dict(content["labels"] if wrapped else content)
    for key in content if wrapped else ():
        if key not in _KEYS:
            raise LabelSetError(f"unknown key {shown(key)}{nearest(str(key), _KEYS)}", str(key))
    table = shares_of(pairs, *path)
    if "others" in content and wrapped:
        rest = shares_of({"others": content["others"]})["others"]
        table = {**dict.fromkeys((label for label in source.labels if label not in table), rest), **table}
    target = _target(content.get("to") if wrapped else None, table, name, folder)
    try:
        return LabelMap(source, target, table)
    except LabelSetError as error:
        raise LabelSetError(str(error), *path, *error.path) from error


def _target(named: object, table: Mapping[str, Shares], name: str, folder: Path) -> LabelSet:
    if named is not None:
        if not isinstance(named, str | Mapping):
            raise LabelSetError(f"to is {shown(named)}: expected the name or the file of a label set", "to")
        try:
            return load_label_set(folder / named if isinstance(named, str) and named not in BUILT_IN else named)
        except LabelSetError as error:
            raise LabelSetError(str(error), "to") from error
    return LabelSet.of_labels(dict.fromkeys(label for shares in table.values() for label in shares), name)
