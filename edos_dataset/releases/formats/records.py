"""Records (the objects of a JSON file or the rows of a table), dialogues and turns, and the checks of their values."""

import json
import math
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from edos_dataset.releases.formats.faults import BadRecord
from edos_dataset.text import shown

OURS = ("dialogue_id", "turns")
OURS_OF_A_TURN = ("text", "label", "confidence", "top")
"""Keys of dialogues and turns that `edos label` writes; other values of the input follow them unchanged."""


class Place(NamedTuple):
    """The location of records, such as "talks.csv, row", and the prefix of generated ids, such as "row"."""

    name: str
    unit: str

    def at(self, number: int) -> str:
        """Return the location of a record for messages."""
        return f"{self.name} {number}"


class Dialogue(NamedTuple):
    """A dialogue.

    Attributes:
        id: Id in the source, or generated from the number.
        texts: Texts of its turns.
        place: Its location.
        number: Number of its line or row there, from 1.
        extra: Other values of its record as a JSON object, or None.
        turn_extras: Other values of each turn in the same form, or None if no turn has any.
        rows: The numbers, from 0, of the records that are its turns; None if the dialogue itself is one record.
    """

    id: str
    texts: list[str]
    place: Place
    number: int
    extra: str | None = None
    turn_extras: list[str | None] | None = None
    rows: list[int] | None = None


def checked_text(text: object, where: str) -> str:
    """Return the text of a turn.

    Raises:
        BadRecord: The text is not a string, is blank, or contains NUL or half a surrogate pair.
    """
    if not isinstance(text, str):
        raise BadRecord(
            where, "text is no string", f"the text of a turn must be a string, got {shown(text)}; correct or remove it"
        )
    if not text.strip():
        why = f"a turn has no text ({shown(text)}), so it cannot be labelled; correct or remove it"
        raise BadRecord(where, "no text", why)
    return _checked_characters(text, where)


def checked_id(value: object, key: str, where: str, typed: bool) -> str | None:
    """Return the id of a dialogue, or None if it has none.

    Args:
        value: The value in the record.
        key: Its key.
        where: Location for messages.
        typed: Whether the value is from a typed column; an integer is then also an id.

    Raises:
        BadRecord: The value is of another type.
    """
    if value is None:
        return None
    if typed and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if typed and isinstance(value, float) and value.is_integer():  # pandas makes floats of ids with gaps
        return str(int(value))
    if not isinstance(value, str):
        raise BadRecord(where, "wrong id", f"{key} must be a string, got {shown(value)}; put it in quotes")
    return _checked_characters(value, where) or None


def _checked_characters(text: str, where: str) -> str:
    if "\0" in text:
        why = f"{shown(text)} contains the character NUL, which is not allowed; remove it"
        raise BadRecord(where, "character NUL", why)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start : error.end]
        why = f"{half!r} is half a character, which is not allowed; correct or remove the line"
        raise BadRecord(where, "half a character", why) from error
    return text


def renamed(names: Iterable[str], ours: Iterable[str]) -> dict[str, str]:
    """Return name → name in the output, which is "given_NAME" for a name that is one of `ours`."""
    if not (same := {name: name for name in names}).keys() & set(ours):
        return same
    taken = {*same, *ours}
    for name in same:
        new = name
        while new in ours or (new != name and new in taken):
            new = f"given_{new}"
        taken.add(new)
        same[name] = new
    return same


def as_extra(values: Mapping[str, Any], ours: Sequence[str], where: str) -> str | None:
    """Return the other values of a dialogue or turn as a JSON object, in which keys in `ours` become `given_NAME`.

    Dates become strings, bytes become Base64, and NaN and infinity become null. None if there are no values.

    Raises:
        BadRecord: The values cannot be written as JSON.
    """
    if not values:
        return None
    names = renamed([str(name) for name in values], ours)
    named = {names[str(name)]: value for name, value in values.items()}
    try:
        text = json.dumps(_plain(named), ensure_ascii=False, allow_nan=False)
    except RecursionError as error:
        why = "the values beside the turns are nested too deeply; remove them"
        raise BadRecord(where, "nested too deeply", why) from error
    return _checked_characters(text, where)


def _plain(value: Any) -> Any:  # noqa: ANN401 - any value of a file
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


WANTED = '{"dialogue_id": "...", "turns": ["...", ...]}'


class Record(NamedTuple):
    """A record.

    Attributes:
        place: Its location.
        number: Number of its line or row, from 1.
        value: Its content, which should be a mapping; a `BadRecord` if it could not be read.
        typed: Whether it is from typed columns.
    """

    place: Place
    number: int
    value: Any
    typed: bool = False

    @property
    def where(self) -> str:
        """Its location for messages."""
        return self.place.at(self.number)


class Row(NamedTuple):
    """A turn that is a record.

    Attributes:
        id: Id of its dialogue, or None.
        text: Its text.
        number: Its number in the dialogue, or None.
        times: Its values in the columns of times.
        record: The record.
        at: Number of the record in the source, from 0.
        extra: Other values as a JSON object, or None.
    """

    id: str | None
    text: str
    number: int | None
    times: tuple[Any, ...]
    record: Record
    at: int
    extra: str | None
