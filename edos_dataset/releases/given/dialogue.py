"""A dialogue as somebody gave it, checked: its texts, its id, where it stood, and what stood beside it."""

import json
import math
from array import array
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from edos_dataset.text import hash64, shown

LARGEST = 1 << 24
"""Bytes of a line, and characters of a dialogue, at most: no dialogue is that long, and memory is bounded by it."""

OURS = ("dialogue_id", "turns")
OURS_OF_A_TURN = ("text", "label", "confidence", "top")
"""What `edos label` writes of a dialogue and of a turn; all else goes behind it as it came."""


class Place(NamedTuple):
    """Where records stand: "talks.csv, row", and what an id is made of where there is none, "row"."""

    name: str
    unit: str

    def at(self, number: int) -> str:
        """Return the place of a record, for a message."""
        return f"{self.name} {number}"


class Dialogue(NamedTuple):
    """A dialogue.

    Attributes:
        id: given, or made from the number.
        texts: of its turns.
        place: where it stands.
        number: of its line or row there, from 1.
        extra: what stood beside it, as the text of a JSON object, or None.
        turn_extras: likewise for each turn, or None where no turn has anything.
        of_rows: it came as a row a turn, so that its rows may lie apart.
    """

    id: str
    texts: list[str]
    place: Place
    number: int
    extra: str | None = None
    turn_extras: list[str | None] | None = None
    of_rows: bool = False


def checked_text(text: object, where: str) -> str:
    """Return a turn's text.

    Raises:
        ValueError: it is no text, a blank one, or holds what no text may hold.
    """
    if not isinstance(text, str):
        raise ValueError(f"{where}: the text of a turn must be a text, got {shown(text)}; mend or remove it")
    if not text.strip():
        raise ValueError(f"{where}: a turn has no text ({shown(text)}), which nothing can label; mend or remove it")
    return _checked_characters(text, where)


def checked_id(value: object, key: str, where: str, typed: bool) -> str | None:
    """Return the id of a dialogue, None where there is none.

    Args:
        value: what was given.
        key: its name.
        where: for the message.
        typed: it is from a column with a type, where whole numbers are ids, too.

    Raises:
        ValueError: it is neither.
    """
    if value is None:
        return None
    if typed and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise ValueError(f"{where}: {key} must be a text, got {shown(value)}; put it in quotes")
    return _checked_characters(value, where) or None


def _checked_characters(text: str, where: str) -> str:
    if "\0" in text:
        raise ValueError(f"{where}: {shown(text)} holds the character NUL, which no text may hold; remove it")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{where}: {error.object[error.start : error.end]!r} is half a character, which no text may hold; mend or "
            "remove the line"
        ) from error
    return text


def as_extra(values: Mapping[str, Any], ours: Sequence[str], where: str) -> str | None:
    """Return what stands beside a dialogue or a turn as the text of a JSON object; what is called as one of ours
    becomes `given_NAME`.

    Dates become texts, bytes Base64, and what is no number null.

    Raises:
        ValueError: it cannot be written as JSON.
    """
    if not values:
        return None
    named: dict[str, Any] = {}
    for name, value in values.items():
        key = str(name)
        while key in ours or key in named or (key != name and key in values):
            key = f"given_{key}"
        named[key] = value
    try:
        text = json.dumps(_plain(named), ensure_ascii=False, allow_nan=False)
    except RecursionError as error:
        raise ValueError(f"{where}: what stands beside the turns is nested too deeply to be kept; remove it") from error
    return _checked_characters(text, where)


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a file held
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


class _Ids:
    """The ids of all dialogues of a source, of which none may come twice; each takes 18 bytes."""

    def __init__(self) -> None:
        self._hashes, self._numbers, self._places = array("Q"), array("Q"), array("H")
        self._known: dict[Place, int] = {}
        self._of_rows = False

    def add(self, dialogue: Dialogue) -> None:
        """Remember an id."""
        self._hashes.append(hash64(dialogue.id))
        self._numbers.append(dialogue.number)
        self._places.append(self._known.setdefault(dialogue.place, len(self._known)))
        self._of_rows |= dialogue.of_rows

    def check(self) -> None:
        """Refuse ids that came twice, with both places."""
        hashes = np.array(self._hashes, np.uint64)
        order = np.argsort(hashes, kind="stable")
        again = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
        if not len(again):
            return
        at = again[np.argmin(order[again + 1])]
        first, second = (self._where(int(row)) for row in order[at : at + 2])
        apart = "sort the rows so that those of a dialogue stand together, or "
        raise ValueError(
            f"{second}: the same dialogue_id stands in {first}; {apart if self._of_rows else ''}give each dialogue an "
            "id of its own"
        )

    def _where(self, row: int) -> str:
        return str(list(self._known)[self._places[row]].at(self._numbers[row]))


def unique(dialogues: Iterator[Dialogue]) -> Iterator[Dialogue]:
    """Yield dialogues.

    Raises:
        ValueError: at the end, an id came twice; the message names both places.
    """
    ids = _Ids()
    for dialogue in dialogues:
        ids.add(dialogue)
        yield dialogue
    ids.check()
