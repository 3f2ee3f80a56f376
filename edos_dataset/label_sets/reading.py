"""Loading of label sets, by name or from YAML files."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from edos_dataset import labels as edos
from edos_dataset.label_sets.label_set import LabelSet, LabelSetError, Shares
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.runs.untrusted import UntrustedInputError, read_yaml, yaml_of
from edos_dataset.text import nearest, shown

DEFAULT, EMOTIONS_ALONE = "edos41", "emotions32"
BUILT_IN: tuple[str, ...] = (
    DEFAULT,
    EMOTIONS_ALONE,
    "goemotions28",
    "ekman7",
    "plutchik8",
    "meld7",
    "dailydialog",
    "sentiment3",
)
"""Names of the built-in label sets."""

_OF_A_LABEL = {"definition": "definitions", "example": "examples", "colour": "colours"}
_KEYS = ("name", "description", "labels", "neutral", "intents", "groups", *_OF_A_LABEL.values(), "maps", "from")


def load_label_set(given: "str | Path | Mapping[str, Any] | Sequence[str] | LabelSet") -> LabelSet:
    """Return a label set by name, file, content or the names of its labels.

    Args:
        given: one of BUILT_IN, the path of a YAML file, its content as plain data, a list of the names of labels in the
            order of their ids, or a label set, which is returned as it is.

    Raises:
        LabelSetError: there is no such set, or the file is invalid; the message names file and line.
    """
    if isinstance(given, LabelSet):
        return given
    if isinstance(given, Mapping):
        return set_of(given)
    if not isinstance(given, str | Path):
        return set_of_names(given)
    if str(given) in BUILT_IN:
        return _built_in(str(given))
    return read_label_set(place_of(given))


def known_set(names: Iterable[str]) -> LabelSet | None:
    """Return the built-in set with exactly these labels, or None.

    The order of the names does not matter, except that among several such sets one in the same order is preferred.
    """
    wanted = list(names)
    found = [each for each in map(_built_in, BUILT_IN) if each.columns_of(wanted) is not None]
    return min(found, key=lambda each: each.columns_of(wanted) != list(range(len(each))), default=None)


def set_of_names(names: Sequence[Any]) -> LabelSet:
    """Return the built-in set with these labels in this order, or a new set of only their names.

    Raises:
        LabelSetError: the names are no texts, too few, or repeated.
    """
    known = known_set(names) if all(isinstance(name, str) for name in names) else None
    in_order = known is not None and known.columns_of(names) == list(range(len(names)))
    return known if known is not None and in_order else LabelSet.of_labels(names)


def read_label_set(path: Path) -> LabelSet:
    """Return the label set in a YAML file. Its default name is that of the file.

    Raises:
        LabelSetError: the file is invalid; the message names file and line.
    """
    content = read_plain(path)
    try:
        return set_of({"name": path.stem, **content})
    except LabelSetError as error:
        raise at_line(error, path) from error


def read_plain(path: Path) -> dict[str, Any]:
    """Return the content of a YAML file with a label set or a map.

    Raises:
        LabelSetError: the file does not exist, or is not plain YAML with `key: value` pairs.
    """
    if path.suffix and not path.exists():
        raise LabelSetError(f"there is no file {path}: give one, or a built-in label set: {', '.join(BUILT_IN)}")
    if not path.exists():
        near = nearest(str(path), BUILT_IN)
        raise LabelSetError(f"no label set is named {str(path)!r}{near}; or give a YAML file")
    try:
        content = read_yaml(path)
    except UntrustedInputError as error:
        raise LabelSetError(f"cannot read the label set {path}: {error}") from error
    if not isinstance(content, dict):
        raise LabelSetError(f"{path} is no label set or map of labels: expected `key: value` pairs")
    return content


def at_line(error: LabelSetError, path: Path) -> LabelSetError:
    """Return an error whose message begins with the file and line of the fault."""
    node: Any = yaml.compose(path.read_text(encoding="utf-8-sig"), Loader=yaml.SafeLoader)
    line = 1 if node is None else node.start_mark.line + 1
    for key in error.path:
        pairs = getattr(node, "value", ())
        if isinstance(node, yaml.MappingNode):
            found = next(((name, value) for name, value in pairs if name.value == str(key)), None)
        elif isinstance(node, yaml.SequenceNode):
            items = list(enumerate(pairs))
            found = next(((item, item) for place, item in items if key in (place, item.value)), None)
        else:
            found = None
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return LabelSetError(f"{path}, line {line}: {error}")


def set_of(content: object) -> LabelSet:
    """Return the label set that plain data describe, as in a YAML file.

    Raises:
        LabelSetError: they do not describe one.
    """
    if not isinstance(content, Mapping) or not isinstance(content.get("labels"), list | tuple | Mapping):
        raise LabelSetError(
            "this is no label set: expected a key 'labels' with a list of names, or with a definition for each; "
            "`edos labels show ekman7 --yaml` prints one"
        )
    for key in content:
        if key not in _KEYS:
            raise LabelSetError(f"unknown key {shown(key)}{nearest(str(key), _KEYS)}", str(key))
    for key in ("name", "neutral", "description"):
        if not isinstance(content.get(key), str | None):
            raise LabelSetError(f"{key} is {shown(content[key])}, which is no text: put it in quotes", key)
    labels = content["labels"]
    about = _about_labels(content, labels if isinstance(labels, Mapping) else {})
    return LabelSet(
        content.get("name") or "own",
        tuple(labels),
        content.get("neutral"),
        _names(content.get("intents"), "intents"),
        {
            group: _names(members, "groups", group)
            for group, members in _mapping(content.get("groups"), "groups").items()
        },
        **about,
        maps=_tables(content, "maps"),
        sources=_tables(content, "from"),
        description=content.get("description") or "",
    )


def _about_labels(content: Mapping[str, Any], labels: Mapping[Any, Any]) -> dict[str, dict[str, str]]:
    """Return the definitions, examples and colours of labels."""
    found = {
        about: {
            label: _text(value, label, about, about, label)
            for label, value in _mapping(content.get(about), about).items()
        }
        for about in _OF_A_LABEL.values()
    }
    for label, given in labels.items():
        facts = {"definition": given} if isinstance(given, str) else _mapping(given, "labels", label)
        for key, value in facts.items():
            if key not in _OF_A_LABEL:
                raise LabelSetError(
                    f"label {label!r}: unknown key {shown(key)}{nearest(str(key), list(_OF_A_LABEL))}",
                    "labels",
                    label,
                    str(key),
                )
            found[_OF_A_LABEL[key]][label] = _text(value, label, key, "labels", label, key)
    return found


def _text(value: object, label: str, key: str, *path: str) -> str:
    if not isinstance(value, str):
        raise LabelSetError(f"label {label!r}: {key} is {shown(value)}, which is no text: put it in quotes", *path)
    return value


def _tables(content: Mapping[str, Any], key: str) -> dict[str, dict[str, Shares]]:
    return {
        other: shares_of(_mapping(table, key, other), key, other)
        for other, table in _mapping(content.get(key), key).items()
    }


def shares_of(table: Mapping[Any, Any], *path: str) -> dict[str, Shares]:
    """Return the shares that a table gives to each label; they sum to 1, or there are none.

    A value of the table is `joy`, `[anger, disgust]` (equal shares), `{surprise: 0.7, fear: 0.3}`, or null (no
    counterpart).

    Raises:
        LabelSetError: a value is none of these; `path` is the keys that lead to the table.
    """
    found: dict[str, Shares] = {}
    for label, given in table.items():
        where = (*path, str(label))
        if not isinstance(label, str):
            raise LabelSetError(f"the label {shown(label)} is no text: put it in quotes", *where)
        if isinstance(given, str):
            given = [given]
        if isinstance(given, list | tuple):
            names = _names(given, *where)
            given = {name: 1 / len(names) for name in names}
        shares = _mapping(given, *where)
        if any(
            not isinstance(share, int | float) or isinstance(share, bool) or not 0 < share <= 1
            for share in shares.values()
        ):
            raise LabelSetError(f"the shares of {label!r} are {shown(shares)}: each is above 0, and at most 1", *where)
        if shares and abs(sum(shares.values()) - 1) > 0.001:
            raise LabelSetError(f"the shares of {label!r} sum to {sum(shares.values()):g}, not to 1", *where)
        found[label] = {str(name): float(share) for name, share in shares.items()}
    return found


def _names(given: object, *path: str) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, list | tuple) or not all(isinstance(name, str) for name in given):
        raise LabelSetError(f"{path[-1]} is {shown(given)}: expected a list of texts; put each in quotes", *path)
    if len(set(given)) < len(given):
        raise LabelSetError(f"{path[-1]} names a label twice: {', '.join(given)}", *path)
    return tuple(given)


def _mapping(given: object, *path: str) -> Mapping[Any, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise LabelSetError(f"{path[-1]} is {shown(given)}: expected `name: value` pairs", *path)
    return given


@cache
def _built_in(name: str) -> LabelSet:
    content = yaml_of((files("edos_dataset.label_sets") / "sets" / f"{name}.yaml").read_text(encoding="utf-8"))
    if name == DEFAULT:
        return _edos(content, edos.LABELS)
    if name == EMOTIONS_ALONE:
        whole = yaml_of((files("edos_dataset.label_sets") / "sets" / f"{DEFAULT}.yaml").read_text(encoding="utf-8"))
        return _edos({**whole, **content}, edos.EMOTIONS)
    return set_of(content)


def _edos(content: Mapping[str, Any], labels: tuple[str, ...]) -> LabelSet:
    """Return our 41 labels, or a subset of them, with the maps in a file."""
    maps = {other: {name: table[name] for name in labels} for other, table in _tables(content, "maps").items()}
    return LabelSet(
        content["name"],
        labels,
        edos.NEUTRAL if edos.NEUTRAL in labels else None,
        tuple(name for name in edos.INTENTS if name in labels),
        {
            group: kept
            for group, members in edos.GROUPS.items()
            if (kept := tuple(name for name in members if name in labels))
        },
        {name: edos.DEFINITIONS[name] for name in labels},
        {name: edos.EXAMPLES[name] for name in labels},
        maps=maps,
        description=content["description"],
    )
