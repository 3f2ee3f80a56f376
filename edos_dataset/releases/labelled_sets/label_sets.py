"""What the labels of other makers' sets mean in ours."""

from collections import Counter, defaultdict
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
    return frozenset().union(*(sets[name] or () for name in classes_of(source, names))) or None


def classes_of(source: str, names: Sequence[str]) -> list[str]:
    """Return the entries of a set that the labels of a turn are looked up under: all together, or one by one.

    Raises:
        ValueError: as for `label_set`.
    """
    sets = _meanings(source).sets
    if strange := [name for name in names if name not in sets]:
        known = ", ".join(name for name in sets if TOGETHER not in name)
        raise ValueError(f"{source} has no label {shown(strange[0])}: expected one of {known}")
    together = TOGETHER.join(names)
    return [together] if together in sets else list(names)


def shares_of_meaning(source: str, names: Sequence[str]) -> dict[int, float]:
    """Return the ids of our labels for which the labels of a turn can stand, each with the share that it has there: a
    label that stands for two of a set's is for each of them half. Without this, a model that says nothing but such
    labels would never be wrong: what we call annoyed is anger to some of XED's annotators, disgust to others.

    Args:
        source: as for `label_set`.
        names: likewise.

    Raises:
        ValueError: as for `label_set`.
    """
    found: dict[int, float] = defaultdict(float)
    for name in classes_of(source, names):
        for label in _meanings(source).sets[name] or ():
            found[label] = min(1.0, found[label] + 1 / max(1, _classes_with(source)[label]))
    return dict(found)


@cache
def _classes_with(source: str) -> Counter[int]:
    """Return how many labels of a set each of ours can stand for; those that only stand together are none."""
    sets = _meanings(source).sets
    return Counter(label for name, ours in sets.items() if ours and TOGETHER not in name for label in ours)


def silent_on_intents(source: str) -> bool:
    """Return whether a set never labels what a turn does: then our 8 intents, but for those in a turn's `label_set`,
    are neither right nor wrong there.

    Raises:
        ValueError: there is no such set.
    """
    return _meanings(source).silent_on_intents


def meanings(source: str) -> Mapping[str, frozenset[int] | None]:
    """Return what the labels of a set mean: a label, or several joined by TOGETHER → those of ours that they can stand
    for, None where they say nothing about ours.

    Raises:
        ValueError: there is no such set.
    """
    return _meanings(source).sets


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
