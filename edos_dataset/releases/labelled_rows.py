"""Records of any form, in files or on the Hub, as dialogues whose turns have ids of labels."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from edos_dataset.label_sets import BUILT_IN, DEFAULT, LabelMap, LabelSet, load_label_set
from edos_dataset.releases.formats.columns import Columns, columns_of, named
from edos_dataset.releases.formats.faults import BadRecord
from edos_dataset.releases.formats.grouping import grouped, in_order, runs_of
from edos_dataset.releases.formats.parsing import turn_number
from edos_dataset.releases.formats.records import WANTED, Record, checked_id, checked_text
from edos_dataset.releases.formats.records import Row as Turn
from edos_dataset.releases.formats.selection import ALL, Selection
from edos_dataset.text import nearest, shown

_FILM = ("document_id", "film", "film_id")

Row = dict[str, Any]
EDOS = load_label_set(DEFAULT)
_LABEL = re.compile(r"label(_\d+)?")
_LOOKED_AT = 10_000


def labelled_rows(
    again: Callable[[], Iterable[Record]],
    labels: LabelSet = EDOS,
    meant: Selection = ALL,
    label_column: str | None = None,
    bad: list[str] | None = None,
) -> Iterator[tuple[str, Row]]:
    """Convert records to (split, row); a row has `dialogue_id`, `document_id`, `year`, `certainty`, and `turns` with
    `text`, `label`, `confidence`, `top`, `truth` and `certainty`, with ids of labels.

    A record is either a dialogue, `{"dialogue_id": "...", "turns": [{"text": "...", "label": "sad"}, ...]}`, with
    labels on the turns, or one label for the whole record, which is that of the last turn; or it has one text and is a
    turn. Turns of the same split with the same dialogue_id form a dialogue, wherever they stand, as for `edos label`.

    Args:
        again: Reads the records from the beginning.
        labels: The label set.
        meant: Columns of the texts and ids, whether all turns are of one dialogue, and whether bad records are left
            out.
        label_column: Key or column of the labels; by default `label`.
        bad: Gets the faults of records that are left out.

    Raises:
        ValueError: A record is neither a dialogue nor a turn, or a label is not in the set; the message names location
            and value.
    """
    turns_or_dialogues = partial(_labelled, labels=labels, meant=meant, label_column=label_column)
    runs = runs_of(one.id if isinstance(one, Turn) else None for one in turns_or_dialogues(again(), bad=None))
    for one in grouped(turns_or_dialogues(again(), bad=bad), runs):
        if not isinstance(one, list):
            yield one
            continue
        turns = in_order(one)
        split, row = turns[0].record.value
        yield split, {**row, "turns": [each for turn in turns for each in turn.record.value[1]["turns"]]}


def label_set_said(records: Iterable[Record]) -> LabelSet | None:
    """Return the label set that the labels in the first records are of: EDOS if they are all of it, else the built-in
    set with just these labels, or the only one that has them all; None if there is no such set.
    """
    names = dict.fromkeys(name for record in islice(records, _LOOKED_AT) for name in _labels_in(record.value))
    sets = [load_label_set(name) for name in BUILT_IN]
    knowing = [labels for labels in sets if all(labels.find(name) is not None for name in names)]
    if EDOS in knowing:
        return EDOS
    same = [labels for labels in knowing if len(labels) == len(names)]
    return (same or knowing)[0] if same or len(knowing) == 1 else None


def _labels_in(value: object) -> Iterator[str]:
    """Yield the names of labels in a record or turn: those of the turn, and the most probable ones."""
    if not isinstance(value, Mapping):
        return
    names = [str(name) for name in value]
    found = [value[name] for name in names if _LABEL.fullmatch(name)]
    found += [each.get("label") for each in value.get("top") or () if isinstance(each, Mapping)]
    yield from (each for each in found if isinstance(each, str) and each)
    dialogue = columns_of(tuple(names)).dialogue
    many = value[dialogue] if dialogue is not None else None
    for turn in many if isinstance(many, list) else ():
        yield from _labels_in(turn)


def _labelled(
    records: Iterable[Record],
    labels: LabelSet,
    meant: Selection,
    label_column: str | None,
    bad: list[str] | None,
) -> Iterator[Turn | tuple[str, Row]]:
    """Yield the split and row of each record that is a dialogue, and each turn, whose record has them as its value."""
    for at, record in enumerate(records):
        try:
            split, row, whole = _labelled_row(record, labels, meant, label_column)
            yield (split, row) if whole else _turn_of(record, at, split, row, meant)
        except ValueError as error:
            if not meant.skip_bad:
                raise
            if bad is not None:
                bad.append(str(error))


def _turn_of(record: Record, at: int, split: str, row: Row, meant: Selection) -> Turn:
    columns = columns_of(tuple(map(str, record.value)), meant)
    id_ = row["dialogue_id"] if split == "all" else f"{row['dialogue_id']} ({split})"
    number = turn_number(record.value, columns.number, record.where)
    times = tuple(record.value[time] for time in columns.times)
    return Turn(id_, row["turns"][0]["text"], number, times, record._replace(value=(split, row)), at, None)


def _labelled_row(
    record: Record, labels: LabelSet, meant: Selection, label_column: str | None
) -> tuple[str, Row, bool]:
    """Return the split and the row of a record, and whether it is a complete dialogue."""
    value, where = record.value, record.where
    if isinstance(value, BadRecord):
        raise value
    if not isinstance(value, Mapping):
        raise ValueError(f"{where}: expected {WANTED}, got {shown(value)}; correct or remove it")
    names = tuple(map(str, value))
    columns = columns_of(names, meant)
    if label_column is not None:
        value = {**value, "label": _named_label(value, label_column, where)}
    id_key = columns.id if columns.id != columns.dialogue else columns.own_id
    given = None if id_key is None else checked_id(value[id_key], id_key, where, True)
    turns, whole = _labelled_turns(value, columns, where, labels)
    if meant.one_dialogue and not whole:
        given = f"{record.place.unit}s"
    source = value.get("source")
    row: Row = {
        "dialogue_id": given or f"{record.place.unit}-{record.number}",
        "document_id": next((str(value[name]) for name in _FILM if value.get(name) is not None), None),
        "year": _year(source.get("year") if isinstance(source, Mapping) else value.get("year"), where),
        "certainty": _fraction(value.get("certainty"), "certainty", where),
        "turns": turns,
    }
    return str(value.get("split") or "all"), row, whole


def _named_label(value: Mapping[str, Any], column: str, where: str) -> object:
    name = named(column, tuple(map(str, value)))
    if name is None:
        raise ValueError(f"{where}: there is no column {column!r}{nearest(column, list(map(str, value)))}")
    return value[name]


def _labelled_turns(value: Mapping[str, Any], columns: Columns, where: str, labels: LabelSet) -> tuple[list[Row], bool]:
    """Return the turns of a record, and whether it is a complete dialogue."""
    many = value[columns.dialogue] if columns.dialogue is not None else None
    if isinstance(many, list) and many:
        turns = [_turn(turn, f"{where}, turn {number}", labels) for number, turn in enumerate(many, 1)]
        if value.get("label") is not None:
            turns[-1] |= _facts(value, where, labels)
        return turns, True
    if isinstance(many, list):
        return [], True
    if columns.text is not None and isinstance(value[columns.text], str):
        text = checked_text(value[columns.text], where)
        return [{"text": text, **_speaker(value, columns), **_facts(value, where, labels)}], False
    raise ValueError(f"{where}: expected {WANTED}, got {shown(value)}; correct or remove it")


def _turn(turn: object, where: str, labels: LabelSet) -> Row:
    if isinstance(turn, str):
        return {"text": checked_text(turn, where)}
    columns = columns_of(tuple(map(str, turn))) if isinstance(turn, Mapping) else None
    key = columns.text if columns is not None else None
    if columns is None or key is None or not isinstance(turn, Mapping):
        raise ValueError(f"{where}: expected a text or an object with one, got {shown(turn)}; correct or remove it")
    certainty = _fraction(turn.get("certainty"), "certainty", where)
    row = {"text": checked_text(turn[key], where), **_speaker(turn, columns), **_facts(turn, where, labels)}
    return row if certainty is None else {**row, "certainty": certainty}


def _speaker(value: Mapping[str, Any], columns: Columns) -> Row:
    name = None if columns.speaker is None else value.get(columns.speaker)
    return {"speaker": name} if isinstance(name, str) and name else {}


def _facts(value: Mapping[str, Any], where: str, labels: LabelSet) -> Row:
    facts: Row = {name: _label_id(value.get(name), name, where, labels) for name in ("label", "truth")}
    facts["confidence"] = _fraction(value.get("confidence"), "confidence", where)
    facts["top"] = [
        {
            "label": _label_id(each.get("label"), "top", where, labels),
            "probability": _fraction(each.get("probability"), "top", where),
        }
        for each in value.get("top") or ()
        if isinstance(each, Mapping)
    ]
    soft = value.get("soft_label")
    if (
        facts["confidence"] is None
        and facts["label"] is not None
        and isinstance(soft, list)
        and len(soft) == len(labels)
    ):
        facts["confidence"] = _fraction(soft[facts["label"]], "soft_label", where)
    return facts


def _label_id(value: object, name: str, where: str, labels: LabelSet) -> int | None:
    if value in (None, ""):
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(labels):
        return value
    if not isinstance(value, str):
        raise ValueError(f"{where}: {name} must be the name of a label, got {shown(value)}; correct it")
    if (found := labels.find(value)) is None:
        raise ValueError(f"{where}: {labels.unknown(value)}; if it is of another set, give --label-set NAME|FILE")
    return found


def _fraction(value: object, name: str, where: str) -> float | None:
    if value is None or value == "":
        return None
    try:
        share = float(str(value).replace(",", "."))  # of a table with decimal commas
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1 + 1e-6:
        raise ValueError(f"{where}: {name} must be a number from 0 to 1, got {shown(value)}; correct it")
    return share


def _year(value: object, where: str) -> int | None:
    if value is None or value == "":
        return None
    if not str(value).isdecimal() or len(str(value)) > 4:
        raise ValueError(f"{where}: year must be a year such as 1994, got {shown(value)}; correct it")
    return int(str(value))


def translated_rows(rows: Iterable[tuple[str, Row]], mapped: LabelMap) -> Iterator[tuple[str, Row]]:
    """Yield rows of `labelled_rows` with labels of a map's target: the largest share decides, probabilities are summed,
    and a label that corresponds to none becomes null.
    """
    targets = [
        {mapped.target.parse(name): share for name, share in mapped.table[label].items()}
        for label in mapped.source.labels
    ]
    for split, row in rows:
        yield split, {**row, "turns": [_translated(turn, targets) for turn in row["turns"]]}


def _translated(turn: Row, targets: Sequence[Mapping[int, float]]) -> Row:
    found = dict(turn)
    for name in ("label", "truth"):
        if turn.get(name) is not None:
            shares = targets[turn[name]]
            found[name] = max(shares, key=shares.__getitem__, default=None)
    summed: dict[int, float] = {}
    for each in turn.get("top") or ():
        for target, share in targets[each["label"]].items() if each["label"] is not None else ():
            summed[target] = summed.get(target, 0.0) + share * (each["probability"] or 0.0)
    ranked = sorted(summed.items(), key=lambda pair: (-pair[1], pair[0]))
    found["top"] = [{"label": label, "probability": min(share, 1.0)} for label, share in ranked]
    if found.get("label") is None:
        found["confidence"] = None
    elif found["label"] in summed:
        found["confidence"] = min(1.0, max(summed[found["label"]], turn.get("confidence") or 0.0))
    return found
