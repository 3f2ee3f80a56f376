"""Untrusted input: read YAML and JSON that others may have written within limits, or refuse it with a clear message.

A few kilobytes of YAML can expand to gigabytes (an alias to an alias to …), to thousands of levels, or to Python
objects. Only plain data are read here: mappings, lists, texts, numbers, dates, true, false and null.
"""

import json
import pickle
import re
import sys
from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path
from typing import Any, TextIO

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode

from edos_dataset.text import clipped

MOST_CHARACTERS = 1 << 17
MOST_LEVELS = 32
_LONGEST_NUMBER = 40
_LONGEST_SHOWN = 200
_INT64 = 1 << 63
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
"""One half of a character beyond 16 bits, as JSON may write it; the other half should follow."""


class UntrustedInputError(ValueError):
    """The input is not plain YAML or JSON; the message says what is wrong, and where."""


class _PlainLoader(yaml.SafeLoader):
    """Refuses everything that plain data do not need."""

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
        """Refuse duplicate keys, of which PyYAML silently takes the last."""
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
        """Refuse numbers that take long to parse or that cannot be intended."""
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


def _at(place: Any, what: str) -> UntrustedInputError:  # noqa: ANN401 - a node or an event of PyYAML, which has no types
    mark = place.start_mark
    return UntrustedInputError(f"line {mark.line + 1}, column {mark.column + 1}: {what}")


def yaml_of(text: str) -> Any:  # noqa: ANN401 - a YAML text may hold any value
    """Return the value of a YAML text.

    Args:
        text: at most MOST_CHARACTERS characters and MOST_LEVELS levels, without aliases, tags or duplicate keys.

    Raises:
        UntrustedInputError: it is not YAML, or violates these limits.
    """
    if len(text) > MOST_CHARACTERS:
        raise UntrustedInputError(f"{len(text):,} characters, more than the {MOST_CHARACTERS:,} that are read")
    try:
        return pickle.loads(_parsed(text))
    except UntrustedInputError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date with month 13, for example
        raise UntrustedInputError(
            clipped(" ".join(str(error).split()) or type(error).__name__, _LONGEST_SHOWN)
        ) from error


@lru_cache(maxsize=16)  # one command reads a card ten times, and each reading takes 20 ms
def _parsed(text: str) -> bytes:
    """Return the value of a YAML text, pickled, so that every caller gets its own copy."""
    return pickle.dumps(yaml.load(text, Loader=_PlainLoader))  # noqa: S506 - a SafeLoader


def read_yaml(path: Path) -> Any:  # noqa: ANN401 - a YAML text may hold any value
    """Return the value of a YAML file in UTF-8, as `yaml_of` does.

    Raises:
        UntrustedInputError: the file cannot be read, is not UTF-8, or is not plain YAML.
    """
    try:
        with path.open("rb") as file:
            data = file.read(4 * MOST_CHARACTERS + 1)
        return yaml_of(data.decode("utf-8-sig"))
    except OSError as error:
        raise UntrustedInputError(error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise UntrustedInputError(f"byte {error.start:,} is no UTF-8: save it as UTF-8") from error


def json_of(text: str | bytes) -> Any:  # noqa: ANN401 - a JSON text may hold any value
    """Return the value of a JSON text.

    Raises:
        UntrustedInputError: it is not JSON, is nested too deeply, or a text in it has half of a character.
    """
    try:
        value = json.loads(text)
        if _HALF.search(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")):
            json.dumps(value, ensure_ascii=False).encode()  # JSON allows half a surrogate pair, UTF-8 doesn't
        return value
    except RecursionError as error:
        raise UntrustedInputError("brackets within brackets, too deep to be read") from error
    except UnicodeEncodeError as error:
        raise UntrustedInputError(f"half of a character, {shown(error.object[error.start : error.end])}") from error
    except ValueError as error:  # also for bytes that are not UTF-8 and numbers of thousands of digits
        raise UntrustedInputError(clipped(str(error), _LONGEST_SHOWN)) from error


def standard_input() -> TextIO:
    """Return standard input, whose `buffer` gives its bytes.

    Raises:
        UntrustedInputError: the program was started without one, as by `<&-` or some schedulers.
    """
    found: TextIO | None = sys.stdin
    if found is None:
        raise UntrustedInputError("standard input is closed: give it a file or a pipe, such as `< FILE`")
    return found


def shown(value: object) -> str:
    """Return a value for a message: its `repr`, shortened if it is long."""
    return clipped(repr(value), _LONGEST_SHOWN)
