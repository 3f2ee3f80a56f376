"""YAML and JSON that others may have written: read within bounds, and refused in a sentence.

YAML of a few kilobytes can stand for gigabytes (an alias to an alias to …), for thousands of levels, or for objects of
Python. What is read here is plain data: mappings, lists, texts, numbers, dates, true, false and null.
"""

import json
import pickle
from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode

from edos_dataset.text import clipped

MOST_CHARACTERS = 1 << 17
MOST_LEVELS = 32
_LONGEST_NUMBER = 40
_LONGEST_SHOWN = 200
_INT64 = 1 << 63


class ForeignError(ValueError):
    """What was read is no plain YAML or JSON; the message says what is wrong, and where."""


class _PlainLoader(yaml.SafeLoader):
    """Refuses what plain data have no need of."""

    depth = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        """Refuse aliases, tags and depth before anything is built."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise _at(event, f"the alias *{event.anchor}: write what it stands for")
        if getattr(event, "tag", None) is not None:
            raise _at(event, f"the tag {event.tag}: write the plain value")
        if self.depth == MOST_LEVELS:
            raise _at(event, f"more than {MOST_LEVELS} levels")
        self.depth += 1
        node: Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Refuse a key that comes twice, of which PyYAML silently takes the last."""
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):
                if key in seen:
                    raise _at(key_node, f"the key {shown(key)} twice")
                seen.add(key)
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return mapping

    def construct_number(self, node: ScalarNode) -> int | float:
        """Refuse numbers that take long to read, or that nobody can mean."""
        if len(node.value) > _LONGEST_NUMBER:
            raise _at(node, f"a number of {len(node.value):,} digits")
        value: int | float = (
            self.construct_yaml_int(node) if node.tag.endswith(":int") else self.construct_yaml_float(node)
        )
        if isinstance(value, int) and not -_INT64 <= value < _INT64:
            raise _at(node, "a whole number that takes more than 64 bits")
        return value


for _kind in ("int", "float"):
    _PlainLoader.add_constructor(f"tag:yaml.org,2002:{_kind}", _PlainLoader.construct_number)


def _at(place: Any, what: str) -> ForeignError:  # noqa: ANN401 - a node or an event of PyYAML, which has no types
    mark = place.start_mark
    return ForeignError(f"line {mark.line + 1}, column {mark.column + 1}: {what}")


def yaml_of(text: str) -> Any:  # noqa: ANN401 - whatever the YAML says
    """Return what a YAML text says.

    Args:
        text: at most MOST_CHARACTERS characters and MOST_LEVELS levels, without aliases, tags or keys that come twice.

    Raises:
        ForeignError: it is none, or not so plain.
    """
    if len(text) > MOST_CHARACTERS:
        raise ForeignError(f"{len(text):,} characters, more than the {MOST_CHARACTERS:,} that are read")
    try:
        return pickle.loads(_parsed(text))
    except ForeignError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date of a month 13, too
        raise ForeignError(clipped(" ".join(str(error).split()) or type(error).__name__, _LONGEST_SHOWN)) from error


@lru_cache(maxsize=16)  # of a card, which one command reads ten times, a reading takes 20 ms
def _parsed(text: str) -> bytes:
    """Return what a YAML text says, pickled: whoever reads it has a copy, to change as they like."""
    return pickle.dumps(yaml.load(text, Loader=_PlainLoader))  # noqa: S506 - a SafeLoader


def read_yaml(path: Path) -> Any:  # noqa: ANN401 - whatever the YAML says
    """Return what a YAML file in UTF-8 says, as `yaml_of` does.

    Raises:
        ForeignError: it cannot be read, is not UTF-8, or no plain YAML.
    """
    try:
        with path.open("rb") as file:
            data = file.read(4 * MOST_CHARACTERS + 1)
        return yaml_of(data.decode("utf-8-sig"))
    except OSError as error:
        raise ForeignError(error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise ForeignError(f"byte {error.start:,} is no UTF-8: save it as UTF-8") from error


def json_of(text: str | bytes) -> Any:  # noqa: ANN401 - whatever the JSON says
    """Return what a JSON text says.

    Raises:
        ForeignError: it is none, or too deep to be read.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ForeignError("brackets within brackets, too deep to be read") from error
    except ValueError as error:  # bytes that are no UTF-8, and numbers of thousands of digits, too
        raise ForeignError(clipped(str(error), _LONGEST_SHOWN)) from error


def shown(value: object) -> str:
    """Return a value for a message: as Python writes it, cut where it is long."""
    return clipped(repr(value), _LONGEST_SHOWN)
