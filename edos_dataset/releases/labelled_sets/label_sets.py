"""The map from the labels of third-party labelled sets to our 41."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from edos_dataset.labels import parse_label
from edos_dataset.runs.untrusted import yaml_of
from edos_dataset.text import shown

TOGETHER = " + "
"""Joins the labels of a turn that have a meaning of their own when they occur together."""


class _Meanings(NamedTuple):
    silent_on_intents: bool
    sets: Mapping[str, frozenset[int] | None]


def label_set(source: str, names: Sequence[str]) -> frozenset[int] | None:
    """Return the ids of our labels to which the labels of a turn can correspond; None if there are none.

    Labels with a joint meaning are looked up together, others one by one.

    Args:
        source: Name of the set.
        names: Its labels of the turn, in the order of the file.

    Raises:
        ValueError: There is no such set, or it has no such label.
    """
    sets = _meanings(source).sets
    return frozenset().union(*(sets[name] or () for name in classes_of(source, names))) or None


def classes_of(source: str, names: Sequence[str]) -> list[str]:
    """Return the entries of a set under which the labels of a turn are looked up: all together, or one by one.

    Raises:
        ValueError: See `label_set`.
    """
    sets = _meanings(source).sets
    if strange := [name for name in names if name not in sets]:
        known = ", ".join(name for name in sets if TOGETHER not in name)
        raise ValueError(f"{source} has no label {shown(strange[0])}: expected one of {known}")
    together = TOGETHER.join(names)
    return [together] if together in sets else list(names)


def shares_of_meaning(source: str, names: Sequence[str]) -> dict[int, float]:
    """Return the ids of our labels to which the labels of a turn can correspond, each with its weight: a label of ours
    that corresponds to two labels of the set has the weight 1/2 for each.

    Without weights, a model that only predicts labels with several counterparts would never be wrong: our "annoyed" is
    anger to some of XED's annotators and disgust to others. Arguments and errors are those of `label_set`.
    """
    found: dict[int, float] = defaultdict(float)
    for name in classes_of(source, names):
        for label in _meanings(source).sets[name] or ():
            found[label] = min(1.0, found[label] + 1 / max(1, _classes_with(source)[label]))
    return dict(found)


@cache
def _classes_with(source: str) -> Counter[int]:
    """Return for each of our labels the number of labels of a set that can correspond to it, without joined labels."""
    sets = _meanings(source).sets
    return Counter(label for name, ours in sets.items() if ours and TOGETHER not in name for label in ours)


def silent_on_intents(source: str) -> bool:
    """Return whether a set has no labels for response intents. If so, a predicted intent counts as neither right nor
    wrong for its turns, unless it is in the turn's `label_set`.

    Raises:
        ValueError: There is no such set.
    """
    return _meanings(source).silent_on_intents


def meanings(source: str) -> Mapping[str, frozenset[int] | None]:
    """Return the mapping of a set: a label, or several joined by TOGETHER → corresponding labels of ours, or None.

    Raises:
        ValueError: There is no such set.
    """
    return _meanings(source).sets


@cache
def known_names(source: str) -> frozenset[str]:
    """Return the labels of a set.

    Raises:
        ValueError: There is no such set.
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
    """Return the parsed content of `label_sets.yaml`, by set.

    Raises:
        ValueError: A name is not one of our labels, or a joined label is not itself in the set.
    """
    known: dict[str, _Meanings] = {}
    for source, entry in content.items():
        sets: dict[str, frozenset[int] | None] = {}
        for name, ours in entry["labels"].items():
            if lone := [part for part in name.split(TOGETHER) if part not in entry["labels"]]:
                raise ValueError(f"label_sets.yaml, {source}: {shown(name)} joins {lone[0]}, which the set lacks")
            try:
                sets[name] = frozenset(map(parse_label, ours)) if ours else None
            except ValueError as error:
                raise ValueError(f"label_sets.yaml, {source}, {name}: {error}") from error
        known[source] = _Meanings(entry["silent_on_intents"], sets)
    return known
