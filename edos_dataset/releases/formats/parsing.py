"""Parses a record, which is a dialogue, a turn, or neither.

A record is a dialogue, `{"dialogue_id": "a1", "turns": ["...", ...]}`, whose turns are texts, objects
`{"speaker", "text"}` or chat messages `{"role", "content"}`; or it is a turn, with a text in `text`.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from edos_dataset.releases.formats.columns import ID_KEYS, Columns, columns_of
from edos_dataset.releases.formats.faults import BadRecord
from edos_dataset.releases.formats.records import (
    OURS,
    OURS_OF_A_TURN,
    WANTED,
    Dialogue,
    Record,
    Row,
    as_extra,
    checked_id,
    checked_text,
)
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.text import clipped, shown

ROLES = ("role", "from")
"""Keys of the role of a chat message; messages with some roles are not turns."""

_LABELLED = frozenset(OURS_OF_A_TURN)
_SYSTEM = frozenset({"system", "developer"})
_TOOLS = frozenset({
    "tool", "function", "ipython", "observation", "function_call", "tool_call", "function_response", "tool_response",
})  # fmt: skip
NO_TURNS = _SYSTEM | _TOOLS
"""Roles of messages that may not be turns."""

_CALLS = frozenset({"tool_calls", "function_call", "audio", "refusal"})


def parsed(record: Record, at: int, meant: Selection, left_out: Counter[str]) -> Dialogue | Row | None:
    """Return a record as a dialogue or turn; None if it is a message that is left out.

    Args:
        record: The record.
        at: Its number in the source, from 0.
        meant: Columns, and whether system prompts are turns.
        left_out: Counts messages that are left out, by kind.

    Raises:
        BadRecord: The record is neither.
        ValueError: Turns lack the id of their dialogue, so the options do not fit the source.
    """
    if isinstance(record.value, BadRecord):
        raise record.value
    where = record.where
    value = {"turns": record.value} if isinstance(record.value, list) and record.typed else record.value
    if not isinstance(value, Mapping):
        raise _no_record(value, meant, where)
    columns = columns_of(tuple(map(str, value)), meant)
    key, content = _content(value, columns, meant, where)
    if isinstance(content, str):
        if left := _no_turn(value.get(columns.speaker) if columns.speaker in ROLES else None, meant):
            left_out[left] += 1
            return None
        return _row(record, at, value, columns, key, content, meant)
    name, given = _id(record, value, columns, key)
    texts, extras = _turns(content, key, where, meant, left_out)
    extra = as_extra({other: inner for other, inner in value.items() if other not in (key, name)}, OURS, where)
    id_ = given or f"{record.place.unit}-{record.number}"
    return Dialogue(id_, texts, record.place, record.number, extra, extras)


def _row(
    record: Record, at: int, value: Mapping[str, Any], columns: Columns, key: str, text: str, meant: Selection
) -> Row:
    where = record.where
    name, given = (None, f"{record.place.unit}s") if meant.one_dialogue else _id(record, value, columns, key)
    if given is None:
        _check_unlinked(columns, name, where)
    number = None if given is None or columns.number is None else turn_number(value, columns.number, where)
    times = tuple(value[time] for time in columns.times)
    beside = {other: inner for other, inner in value.items() if other not in (key, name)}
    if meant.speaker_column is not None and columns.speaker is not None and "speaker" not in beside:
        beside = {"speaker" if other == columns.speaker else other: inner for other, inner in beside.items()}
    extra = as_extra(beside, OURS if given is None else _taken(meant), where)
    return Row(given, checked_text(text, where), number, times, record, at, extra)


def _id(record: Record, value: Mapping[str, Any], columns: Columns, key: str) -> tuple[str | None, str | None]:
    """Return the key of a record's dialogue id, and the id."""
    name = columns.id if columns.id != key else columns.own_id
    if name is None:
        return None, None
    return name, checked_id(value[name], name, record.where, record.typed or name != ID_KEYS[0])


def _check_unlinked(columns: Columns, name: str | None, where: str) -> None:
    """Raise an error for a turn that belongs to a longer dialogue, but does not say to which."""
    if name is not None:
        why = f"{name} is empty, so the dialogue of this turn is not known; fill it in"
        raise BadRecord(where, "no dialogue id", why)
    if columns.unlinked:
        raise ValueError(
            f"{where}: a turn has {shown(columns.unlinked)}, but no dialogue_id: name the column of the dialogues as "
            "--id-column, or give --one-dialogue if all rows are one"
        )


def _content(value: Mapping[str, Any], columns: Columns, meant: Selection, where: str) -> tuple[str, Any]:
    """Return the key of a record's text or turns, and its value."""
    if columns.dialogue is not None and (isinstance(value[columns.dialogue], list) or columns.text is None):
        key, must_be_list = columns.dialogue, meant.column is None
    elif columns.text is not None:
        key, must_be_list = columns.text, False
    else:
        raise _no_record(value, meant, where)
    content = value[key]
    if not must_be_list and isinstance(content, list) and _is_parts(content):
        content = _text_of_parts(content)
    if isinstance(content, list) or (isinstance(content, str) and not must_be_list):
        return key, content
    raise _no_content_of(key, content, must_be_list, where)


def _no_content_of(key: str, content: object, must_be_list: bool, where: str) -> BadRecord:
    if must_be_list:
        why = f"{key} must be a list of texts, got {shown(content)}; correct or remove it"
        return BadRecord(where, "no list of turns", why)
    empty = " (the cell is empty)" if content is None else ""
    why = f"{key} must be a string, got {shown(content)}{empty}; correct or remove it"
    return BadRecord(where, "no text" if content is None else "text is no string", why)


def _no_record(value: object, meant: Selection, where: str) -> BadRecord:
    wanted = f"the key {meant.column!r}" if meant.column is not None else WANTED
    likely = [
        clipped(str(key), 80)
        for key, inner in (value.items() if isinstance(value, Mapping) else ())
        if isinstance(inner, str | list) and inner
    ]
    hint = f"--column, such as {' or '.join(likely[:3])}" if likely and meant.column is None else "--column"
    why = f"expected {wanted}, got {shown(value)}; correct or remove it, or give {hint}"
    return BadRecord(where, "no text or turns", why)


def turn_number(value: Mapping[str, Any], name: str | None, where: str) -> int | None:
    """Return the number of a turn, from a column with a name; None without one.

    Raises:
        BadRecord: It is no integer.
    """
    if name is None:
        return None
    number = value[name]
    try:
        if isinstance(number, float) and number.is_integer():
            return int(number)
        return int(number) if isinstance(number, str | int) else int("")
    except ValueError:
        why = f"{name} must be the number of the turn, got {shown(number)}; correct it"
        raise BadRecord(where, "no number of the turn", why) from None


def _turns(
    turns: list[Any], key: str, where: str, meant: Selection, left_out: Counter[str]
) -> tuple[list[str], list[str | None] | None]:
    """Return the texts of turns, and the other values of each."""
    if not turns or isinstance(turns[0], str):
        return _texts(turns, key, where), None
    kept: list[tuple[str, str | None]] = []
    for number, turn in enumerate(turns, 1):
        found = _message(turn, number, key, where, meant)
        if isinstance(found, str):
            left_out[found] += 1
        else:
            kept.append(found)
    if not kept:
        raise BadRecord(where, "no turn with a text", f"no turn of {key} has a text; correct or remove it")
    extras = [extra for _, extra in kept]
    return [text for text, _ in kept], extras if any(extras) else None


def _texts(turns: list[Any], key: str, where: str) -> list[str]:
    if bad := [turn for turn in turns if not isinstance(turn, str)]:
        raise _no_text(where, key, bad[0])
    return [checked_text(turn, where) for turn in turns]


def _message(turn: object, number: int, key: str, where: str, meant: Selection) -> tuple[str, str | None] | str:
    """Return the text and the other values of a turn; if the message is left out, its kind."""
    if not isinstance(turn, Mapping):
        raise _no_text(where, key, turn)
    name = columns_of(tuple(map(str, turn))).text
    text = turn[name] if name is not None else None
    if isinstance(text, list) and _is_parts(text):
        text = _text_of_parts(text)
    role = next((turn[each] for each in ROLES if each in turn), None)
    if left := _no_turn(role, meant) or _no_content(turn, name, text):
        return left
    if name is None:
        raise _no_text(where, key, turn)
    return checked_text(text, f"{where}, turn {number}"), as_extra(
        _beside_text(turn, name, meant), _taken(meant), where
    )


def _taken(meant: Selection) -> tuple[str, ...]:
    """Return the keys of a turn that what stands beside its text may not have."""
    return () if meant.keep_labels else OURS_OF_A_TURN


def _no_turn(role: object, meant: Selection) -> str | None:
    """Return the kind of a message that according to its role is not a turn; None for a turn."""
    name = role.casefold() if isinstance(role, str) else None
    if name in _SYSTEM and not meant.keep_system:
        return "system prompt"
    return "call or answer of a tool" if name in _TOOLS else None


def _no_content(turn: Mapping[str, Any], name: str | None, text: object) -> str | None:
    if name is None and not _CALLS & turn.keys():
        return None
    return "turn without a text" if text is None or (isinstance(text, str) and not text.strip()) else None


def _is_parts(content: list[Any]) -> bool:
    """Return whether a list is the content of a single chat message in parts: texts, images, audio."""
    return bool(content) and all(isinstance(part, Mapping) and isinstance(part.get("type"), str) for part in content)


def _text_of_parts(parts: list[Any]) -> str:
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str) and part["text"].strip())


def _beside_text(turn: Mapping[str, Any], name: str, meant: Selection) -> dict[str, Any]:
    """Return the other values of a turn, without labels from an earlier call, which are written anew."""
    again = turn.keys() >= _LABELLED and not meant.keep_labels
    labels_of_ours = {*_LABELLED, "label_source", "labels"} if again else set()
    return {other: inner for other, inner in turn.items() if other != name and other not in labels_of_ours}


def _no_text(where: str, key: str, turn: object) -> BadRecord:
    why = f"{key} must be a list of texts, or of objects with a text, but has {shown(turn)}; correct or remove it"
    return BadRecord(where, "no text", why)
