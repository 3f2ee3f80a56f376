"""JSON lines, and JSON: a list, or objects one behind the other; read a record at a time."""

import json
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from edos_dataset.releases.given.dialogue import LARGEST, Place
from edos_dataset.releases.given.records import WANTED, Record
from edos_dataset.releases.given.streams import as_text, lines
from edos_dataset.text import shown

_BLOCK = 1 << 18


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} stands twice in an object")
    return made


def _constant(name: str) -> Any:  # noqa: ANN401 - it never returns
    raise ValueError(f"{name} is no number")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def json_lines(file: BinaryIO, name: str) -> Iterator[Record]:
    """Yield the records of JSON lines; empty lines are passed over.

    Raises:
        ValueError: a line is no JSON.
    """
    place = Place(f"{name}, line", "line")
    for number, line in lines(file, name):
        if not line.strip():
            continue
        try:
            value = _DECODER.decode(line)
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else error  # its own place is one in the line
            raise _no_json(place.at(number), line.strip(), why) from error
        yield Record(place, number, value)


def json_values(file: BinaryIO, name: str) -> Iterator[Record]:
    """Yield the records of a list, or of JSON values one behind the other. No more of the text than a record, at most
    LARGEST of it, and a block is in memory.

    Raises:
        ValueError: it is no JSON.
    """
    place = Place(f"{name}, record", "record")
    with as_text(file, name) as stream:
        text, number = _Text(stream.read), 0
        listed = text.ahead() == "["
        text.skip(listed)
        while (ahead := text.ahead()) and not (listed and ahead == "]"):
            if listed and number:
                if ahead != ",":
                    raise ValueError(f"{place.at(number)} has no comma behind it, but {ahead!r}; mend it")
                text.skip()
            number += 1
            yield Record(place, number, text.value(place.at(number)))
        if listed and not ahead:
            raise ValueError(f"{name} ends within its list, behind record {number}: it was cut off; get it again")
        text.skip(listed)
        if listed and text.ahead():
            raise ValueError(f"{name} goes on behind its list, with {text.ahead()!r}; mend it")


class _Text:
    """A text that is read by the block, and decoded by the value."""

    def __init__(self, read: Callable[[int], str]) -> None:
        self._read, self._text, self._at = read, "", 0

    def ahead(self) -> str:
        """Return the next character that is no blank; "" at the end."""
        while True:
            while self._at < len(self._text):
                if not self._text[self._at].isspace():
                    return self._text[self._at]
                self._at += 1
            self._text, self._at = self._read(_BLOCK), 0
            if not self._text:
                return ""

    def skip(self, characters: int = 1) -> None:
        """Pass over characters."""
        self._at += characters

    def value(self, where: str) -> Any:  # noqa: ANN401 - any JSON
        """Return the value that begins here; more is read, twice as much each time, until it is whole."""
        self.ahead()
        while True:
            try:
                value, self._at = _DECODER.raw_decode(self._text, self._at)
                return value
            except json.JSONDecodeError as error:
                rest = self._text[self._at :]
                more = self._read(max(_BLOCK, len(rest))) if len(rest) <= LARGEST else ""
                if not more:
                    raise _no_json(where, rest, error.msg) from error
                self._text, self._at = rest + more, 0
            except (ValueError, RecursionError) as error:
                raise _no_json(where, self._text[self._at : self._at + 100], error) from error


def _no_json(where: str, text: str, error: object) -> ValueError:
    return ValueError(
        f"{where}: expected {WANTED}, got {shown(text[:100])}, which is no JSON ({error}); mend or remove it"
    )
