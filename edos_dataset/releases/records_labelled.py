"""Labelled dialogues from the records of a file or data set: labels by their names, on turns or on the dialogue."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from edos_dataset.labels import LABELS, parse_label
from edos_dataset.releases.given.dialogue import checked_id, checked_text
from edos_dataset.releases.given.records import DIALOGUE_KEYS, ID_KEYS, TEXT_KEYS, WANTED, Record
from edos_dataset.text import shown

_FILM = ("document_id", "film", "film_id")
_OF_TURN = ("label", "confidence", "top", "truth")

Row = dict[str, Any]


def labelled_rows(records: Iterable[Record]) -> Iterator[tuple[str, Row]]:
    """Yield (split, row) of records: `dialogue_id`, `document_id`, `year`, `certainty`, and `turns` of `text`, `label`,
    `confidence`, `top` and `truth`, with the ids of labels.

    A record is a dialogue, `{"dialogue_id": "...", "turns": [{"text": "...", "label": "sad"}, ...]}`, with labels on
    turns, or one of its own, which is the last turn's; a record of one text is a turn, and those of one dialogue_id
    that stand together are a dialogue.

    Raises:
        ValueError: a record is neither, or a label is none of ours; the message names place and value.
    """
    waiting: tuple[str, Row] | None = None
    for record in records:
        where = record.place.at(record.number)
        if not isinstance(record.value, Mapping):
            raise ValueError(f"{where}: expected {WANTED}, got {shown(record.value)}; mend or remove it")
        split, row, whole = _row(record, where)
        if waiting and not whole and waiting[1]["dialogue_id"] == row["dialogue_id"] and waiting[0] == split:
            waiting[1]["turns"] += row["turns"]
            continue
        if waiting:
            yield waiting
        waiting = None if whole else (split, row)
        if whole:
            yield split, row
    if waiting:
        yield waiting


def _row(record: Record, where: str) -> tuple[str, Row, bool]:
    """Return the split and the row of a record, and whether it is a whole dialogue."""
    value = record.value
    id_key = next((name for name in ID_KEYS if name in value), None)
    given = None if id_key is None else checked_id(value[id_key], id_key, where, True)
    many = next((name for name in DIALOGUE_KEYS if isinstance(value.get(name), list)), None)
    one = next((name for name in TEXT_KEYS if isinstance(value.get(name), str)), None)
    if many is not None:
        turns = [_turn(turn, f"{where}, turn {number}") for number, turn in enumerate(value[many], 1)]
        if turns and value.get("label") is not None:
            turns[-1] |= _facts(value, where)
    elif one is not None:
        turns = [_turn(value, where)]
    else:
        raise ValueError(f"{where}: expected {WANTED}, got {shown(value)}; mend or remove it")
    source = value.get("source")
    row: Row = {
        "dialogue_id": given or f"{record.place.unit}-{record.number}",
        "document_id": next((str(value[name]) for name in _FILM if value.get(name) is not None), None),
        "year": _year(source.get("year") if isinstance(source, Mapping) else value.get("year"), where),
        "certainty": _share(value.get("certainty"), "certainty", where),
        "turns": turns,
    }
    return str(value.get("split") or "all"), row, many is not None


def _turn(turn: object, where: str) -> Row:
    if isinstance(turn, str):
        return {"text": checked_text(turn, where)}
    key = next((name for name in TEXT_KEYS if name in turn), None) if isinstance(turn, Mapping) else None
    if key is None or not isinstance(turn, Mapping):
        raise ValueError(f"{where}: expected a text or an object with one, got {shown(turn)}; mend or remove it")
    return {"text": checked_text(turn[key], where), **_facts(turn, where)}


def _facts(value: Mapping[str, Any], where: str) -> Row:
    """Return label, confidence, the most probable labels and the right one of a turn, as far as they are given."""
    facts: Row = {name: _label(value.get(name), name, where) for name in ("label", "truth")}
    facts["confidence"] = _share(value.get("confidence"), "confidence", where)
    facts["top"] = [
        {"label": _label(each.get("label"), "top", where), "probability": _share(each.get("probability"), "top", where)}
        for each in value.get("top") or ()
        if isinstance(each, Mapping)
    ]
    soft = value.get("soft_label")
    if (
        facts["confidence"] is None
        and facts["label"] is not None
        and isinstance(soft, list)
        and len(soft) == len(LABELS)
    ):
        facts["confidence"] = _share(soft[facts["label"]], "soft_label", where)
    return facts


def _label(value: object, name: str, where: str) -> int | None:
    if value is None or value == "":
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(LABELS):
        return value
    if not isinstance(value, str):
        raise ValueError(f"{where}: {name} must be the name of one of our labels, got {shown(value)}; mend it")
    try:
        return parse_label(value)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _share(value: object, name: str, where: str) -> float | None:
    if value is None or value == "":
        return None
    try:
        share = float(str(value))
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1 + 1e-6:
        raise ValueError(f"{where}: {name} must be a number from 0 to 1, got {shown(value)}; mend it")
    return share


def _year(value: object, where: str) -> int | None:
    if value is None or value == "":
        return None
    if not str(value).isdecimal() or int(str(value)) > 9999:
        raise ValueError(f"{where}: year must be a year such as 1994, got {shown(value)}; mend it")
    return int(str(value))
