"""What the labels of other makers' sets mean in ours."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from edos_dataset.labels import parse_label
from edos_dataset.runs.foreign import yaml_of
from edos_dataset.text import shown

TOGETHER = " + "
"""Between labels of a turn that mean something else together than each alone."""


class _Meanings(NamedTuple):
    silent_on_intents: bool
    sets: Mapping[str, frozenset[int] | None]


def label_set(source: str, names: Sequence[str]) -> frozenset[int] | None:
    """Return the ids of our labels for which the labels of a turn can stand: those of the labels together, where they
    mean something of their own, otherwise of any of them. None: they say nothing about ours.

    Args:
        source: name of the set.
        names: its labels of the turn, in the order in which they are read.

    Raises:
        ValueError: there is no such set, or it has no such label.
    """
    sets = _meanings(source).sets
    if strange := [name for name in names if name not in sets]:
        known = ", ".join(name for name in sets if TOGETHER not in name)
        raise ValueError(f"{source} has no label {shown(strange[0])}: expected one of {known}")
    together = TOGETHER.join(names)
    found = [sets[together]] if together in sets else [sets[name] for name in names]
    return frozenset().union(*(part for part in found if part)) or None


def silent_on_intents(source: str) -> bool:
    """Return whether a set never labels what a turn does: then our 8 intents, but for those in a turn's `label_set`,
    are neither right nor wrong there.

    Raises:
        ValueError: there is no such set.
    """
    return _meanings(source).silent_on_intents


@cache
def known_names(source: str) -> frozenset[str]:
    """Return the labels that a set has.

    Raises:
        ValueError: there is no such set.
    """
    return frozenset(name for name in _meanings(source).sets if TOGETHER not in name)


def _meanings(source: str) -> _Meanings:
    known = _load()
    if source not in known:
        raise ValueError(f"there is no labelled set {shown(source)}: expected one of {', '.join(known)}")
    return known[source]


@cache
def _load() -> dict[str, _Meanings]:
    text = (files("edos_dataset.releases.labelled_sets") / "label_sets.yaml").read_text(encoding="utf-8")
    return meanings_of(yaml_of(text))


def meanings_of(content: Mapping[str, Mapping[str, Any]]) -> dict[str, _Meanings]:
    """Return what `label_sets.yaml` says, by set.

    Raises:
        ValueError: a name is none of our labels, or labels are joined that don't stand alone.
    """
    known: dict[str, _Meanings] = {}
    for source, entry in content.items():
        sets: dict[str, frozenset[int] | None] = {}
        for name, ours in entry["labels"].items():
            if lone := [part for part in name.split(TOGETHER) if part not in entry["labels"]]:
                raise ValueError(f"label_sets.yaml, {source}: {shown(name)} joins {lone[0]}, which doesn't stand alone")
            try:
                sets[name] = frozenset(map(parse_label, ours)) if ours else None
            except ValueError as error:
                raise ValueError(f"label_sets.yaml, {source}, {name}: {error}") from error
        known[source] = _Meanings(entry["silent_on_intents"], sets)
    return known
