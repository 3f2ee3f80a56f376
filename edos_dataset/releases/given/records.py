"""From records, the objects of a JSON file or the rows of a table, to dialogues.

A record is a dialogue: `{"dialogue_id": "a1", "turns": ["...", ...]}`, with texts, `{"speaker", "text"}` or chat
messages `{"role", "content"}` as turns. Or it is a turn, with a text in `text`; then the records of one `dialogue_id`
that stand together are a dialogue, in the order of their `turn_number` where they have one, and without an id each is a
dialogue of its own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from edos_dataset.releases.given.dialogue import (
    LARGEST,
    OURS,
    OURS_OF_A_TURN,
    Dialogue,
    Place,
    as_extra,
    checked_id,
    checked_text,
)
from edos_dataset.text import shown

WANTED = '{"dialogue_id": "...", "turns": ["...", ...]}'
DIALOGUE_KEYS = ("turns", "messages", "dialogue", "dialog", "conversation", "conversations", "utterances")
TEXT_KEYS = ("text", "utterance", "content", "value")
ID_KEYS = ("dialogue_id", "conversation_id", "conv_id", "id")
_NUMBERS = ("turn_number", "turn_id", "turn_idx", "turn", "utterance_idx")
_SPEAKERS = ("speaker", "role", "from")
_LABELLED = frozenset(OURS_OF_A_TURN)


class Record(NamedTuple):
    """A record.

    Attributes:
        place: where it is from.
        number: of its line or row, from 1.
        value: what it holds, a mapping if it is to be one.
        typed: it is from columns with types.
    """

    place: Place
    number: int
    value: Any
    typed: bool = False


class _Row(NamedTuple):
    """A turn that is a record."""

    id: str | None
    text: str
    number: int | None
    record: Record
    beside: dict[str, Any]


def text_column(names: Sequence[str], column: str | None) -> str | None:
    """Return the name of those that holds the texts or dialogues; None where none does."""
    if column is not None:
        return column if column in names else None
    return next((name for name in (*DIALOGUE_KEYS, *TEXT_KEYS) if name in names), None)


def dialogues_of(records: Iterable[Record], column: str | None = None) -> Iterator[Dialogue]:
    """Yield the dialogues of records.

    Args:
        records: in their order.
        column: the key of the texts or dialogues; by default the first known one that a record has.

    Raises:
        ValueError: a record is neither dialogue nor turn; the message names place and value.
    """
    rows: list[_Row] = []
    size = 0
    for record in records:
        one = _dialogue_or_turn(record, column)
        if rows and (isinstance(one, Dialogue) or one.id is None or one.id != rows[0].id):
            yield _of_rows(rows)
            rows, size = [], 0
        if isinstance(one, Dialogue):
            yield one
            continue
        rows.append(one)
        size += len(one.text)
        if size > LARGEST:
            raise ValueError(
                f"{record.place.at(record.number)}: the dialogue {shown(one.id)} is longer than {LARGEST:,} "
                "characters, as none is: give each dialogue its own id"
            )
    if rows:
        yield _of_rows(rows)


def _dialogue_or_turn(record: Record, column: str | None) -> Dialogue | _Row:
    where = record.place.at(record.number)
    value = record.value
    if isinstance(value, list) and record.typed:
        value = {"turns": value}
    key = text_column(list(value), column) if isinstance(value, Mapping) else None
    if key is None:
        wanted = f"the key {column!r}" if column is not None else WANTED
        raise ValueError(f"{where}: expected {wanted}, got {shown(value)}; mend or remove it, or name one by --column")
    content = value[key]
    if not isinstance(content, list) and ((key in DIALOGUE_KEYS and column is None) or not isinstance(content, str)):
        wanted = "a text" if key in TEXT_KEYS else "a list of texts"
        raise ValueError(f"{where}: {key} must be {wanted}, got {shown(content)}; mend or remove it")
    name = next((name for name in ID_KEYS if name in value and name != key), None)
    number = next((name for name in _NUMBERS if name in value and name != key), None)
    loose = record.typed or name != ID_KEYS[0]
    given = checked_id(value[name], str(name), where, loose) if name is not None else None
    beside = {other: inner for other, inner in value.items() if other not in (key, name)}
    if isinstance(content, str):
        if given is None and (of_many := next((name for name in (*_SPEAKERS, *_NUMBERS) if name in beside), None)):
            raise ValueError(
                f"{where}: a turn with {of_many!r}, but of which dialogue? Name it by a dialogue_id on each of its "
                "turns, or give the dialogue whole, its turns as a list"
            )
        order = None if number is None or given is None else _number(value[number], number, where)
        return _Row(given, checked_text(content, where), order, record, beside)
    texts, extras = _turns(content, key, where)
    id_ = given or f"{record.place.unit}-{record.number}"
    return Dialogue(id_, texts, record.place, record.number, as_extra(beside, OURS, where), extras)


def _number(value: object, name: str, where: str) -> int:
    try:
        return int(value) if isinstance(value, str | int) else int("")
    except ValueError:
        raise ValueError(f"{where}: {name} must be the number of the turn, got {shown(value)}; mend it") from None


def _turns(turns: list[Any], key: str, where: str) -> tuple[list[str], list[str | None] | None]:
    """Return the texts of turns, and what stands beside each."""
    if not turns or isinstance(turns[0], str):
        if bad := [turn for turn in turns if not isinstance(turn, str)]:
            raise _no_text(where, key, bad[0])
        return [checked_text(turn, where) for turn in turns], None
    texts: list[str] = []
    extras: list[str | None] = []
    for number, turn in enumerate(turns, 1):
        name = text_column(list(turn), None) if isinstance(turn, Mapping) else None
        if name not in TEXT_KEYS:
            raise _no_text(where, key, turn)
        texts.append(checked_text(turn[name], f"{where}, turn {number}"))
        before = {*_LABELLED, "label_source"} if turn.keys() >= _LABELLED else set()  # labels of ours, made anew
        beside = {other: inner for other, inner in turn.items() if other != name and other not in before}
        extras.append(as_extra(beside, OURS_OF_A_TURN, where))
    return texts, extras if any(extras) else None


def _no_text(where: str, key: str, turn: object) -> ValueError:
    return ValueError(
        f"{where}: {key} must be a list of texts, or of objects with a text, got {shown(turn)} among them; mend or "
        "remove it"
    )


def _of_rows(rows: list[_Row]) -> Dialogue:
    """Return the dialogue of rows that have one id, or of a row without any."""
    first = rows[0]
    place, number = first.record.place, first.record.number
    if first.id is None:
        extra = as_extra(first.beside, OURS, place.at(number))
        return Dialogue(f"{place.unit}-{number}", [first.text], place, number, extra)
    if any(row.number is not None for row in rows):
        rows = sorted(rows, key=lambda row: row.number or 0)
        for one, other in zip(rows, rows[1:], strict=False):
            if one.number == other.number:
                raise ValueError(
                    f"{place.at(other.record.number)}: turn {other.number} of dialogue {shown(first.id)} stands in "
                    f"{place.at(one.record.number)}, too; number its turns each by its own"
                )
    extras = [as_extra(row.beside, OURS_OF_A_TURN, place.at(row.record.number)) for row in rows]
    return Dialogue(first.id, [row.text for row in rows], place, number, None, extras if any(extras) else None, True)
