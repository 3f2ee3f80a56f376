"""The labels in a user's data: in which column they stand, of which set they are, and which turn has which."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from edos_dataset.arrays import Bools, Floats, Ints
from edos_dataset.label_sets import LabelSet, known_set, load_label_set
from edos_dataset.label_sets.label_set import MOST_LABELS, key_of
from edos_dataset.labeling.translation import Translation, as_parameter, translation_of
from edos_dataset.releases.formats.columns import find, named
from edos_dataset.releases.formats.faults import BadRecord, Faults
from edos_dataset.text import shown

KEYS = (
    "labels", "label", "emotions", "emotion", "emotion_label", "gold_label", "gold", "sentiment", "mood", "intent",
    "act", "dialogue_act", "category", "class", "target", "tags", "tag", "annotation", "emotionen", "gefühl",
    "gefuehl", "stimmung", "kategorie", "klasse",
)  # fmt: skip
"""Names of columns of labels, the surest first; they match as those of texts do."""

_PLURAL = ("labels", "emotions", "tags", "emotionen")
_SEPARATORS = re.compile(r"[,;|]")
_WEIGHTED = re.compile(r"label_(\d+)")
_MOST_SHOWN = 12

Where = Callable[[Sequence[tuple[int, int]]], list[str]]
"""Places, each the numbers of a dialogue and of a turn of it → their locations for messages."""


class Asked(NamedTuple):
    """What a user says about the labels.

    Attributes:
        columns: Columns of the labels; several are one for each label, with 1 or 0. By default found by name.
        label_set: The set that they are of, or are translated into, a name or a file.
        label_map: A set or a map into which they are translated after that.
        several: A turn can have several labels.
    """

    columns: tuple[str, ...] = ()
    label_set: str | None = None
    label_map: str | None = None
    several: bool = False


class Beside(NamedTuple):
    """What stands beside the texts of a dialogue: of the dialogue as a whole, and of each turn."""

    whole: Mapping[str, Any]
    turns: Sequence[Mapping[str, Any]]


class Mark(NamedTuple):
    """The labels of a turn, as they are given, and the probabilities that stand beside them."""

    names: tuple[str, ...]
    shares: Mapping[str, float]


@dataclass(frozen=True)
class TurnLabels:
    """The labels of all labelled turns.

    Attributes:
        places: [n, 2], numbers of the dialogue and of the turn.
        labels: [n] ids; where a turn can have several, one of them.
        soft: float32 [n, labels], probabilities: 1 for the label where none are given; or 1 for each of several.
        label_set: The labels.
        several: Whether a turn can have several.
        columns: The columns that they are from.
        by_model: Whether a model gave them, with a probability.
        unlabelled: The number of turns that have no label.
        remarks: What a user should know.
    """

    places: Ints
    labels: Ints
    soft: Floats
    label_set: LabelSet
    several: bool
    columns: tuple[str, ...]
    by_model: bool
    unlabelled: int
    remarks: tuple[str, ...]


def labels_of_turns(
    given: Sequence[Beside], asked: Asked, declared: LabelSet | None, name: str, where: Where, skip: bool
) -> TurnLabels:
    """Return the labels of all labelled turns of some dialogues.

    Args:
        given: What stands beside their texts.
        asked: What the user says about the labels.
        declared: The set that the data name.
        name: What messages call the data.
        where: Locates turns, for messages.
        skip: Whether turns with bad labels count as unlabelled, instead of raising an error.

    Raises:
        ValueError: There are no labels, one that is unknown or no label, or fewer than two different ones.
    """
    columns, of_turns, others = _columns(given, asked, name)
    faults, bad = Faults(), _Bad(where)
    marks = _marks(given, columns, of_turns, asked, bad)
    distinct = _distinct(marks.values(), name, columns)
    base = _base(distinct, asked, declared)
    ids = {spelling: base.find(spelling) for spelling in distinct}
    if all(found is None for found in ids.values()):  # numbers
        ids = {spelling: _by_number(spelling, base) for spelling in distinct}
    for place, mark in list(marks.items()):
        if strange := [each for each in mark.names if ids[each] is None]:
            bad.add(place, "unknown label", base.unknown(strange[0]) + _REMEDY)
            del marks[place]
    bad.report(faults)
    faults.check(name, skip)
    several = asked.several or len(columns) > 1 or any(len(mark.names) != 1 for mark in marks.values())
    soft = _matrix(list(marks.values()), ids, len(base), several)
    by_model = any(mark.shares for mark in marks.values())
    translation = translation_of(base, as_parameter(asked.label_set), as_parameter(asked.label_map))
    soft, kept = translated(soft, translation, several)
    places = np.array(list(marks), np.int64).reshape(-1, 2)[kept]
    remarks = [*faults.remarks(), *_remarks(columns, others, base, translation, int((~kept).sum()))]
    found = TurnLabels(
        places, soft[kept].argmax(axis=1), soft[kept], translation.labels, several, columns, by_model,
        sum(len(each.turns) for each in given) - len(places), tuple(remarks),
    )  # fmt: skip
    _check_enough(found, name)
    return found


_REMEDY = "; name the set that the labels are of as --label-set, or translate them by --map"


class _Bad:
    """Turns with bad labels, whose locations are looked up all at once."""

    def __init__(self, where: Where) -> None:
        self._where = where
        self._found: list[tuple[tuple[int, int], str, str]] = []

    def add(self, place: tuple[int, int], reason: str, why: str) -> None:
        self._found.append((place, reason, why))

    def report(self, faults: Faults) -> None:
        if not self._found:
            return
        found = sorted(self._found)
        for (_, reason, why), where in zip(found, self._where([place for place, _, _ in found]), strict=True):
            faults.add(BadRecord(where, reason, why))


def _columns(given: Sequence[Beside], asked: Asked, name: str) -> tuple[tuple[str, ...], bool, list[str]]:
    """Return the columns of the labels, whether they are the turns', and others that might be meant."""
    of_turns = list(dict.fromkeys(str(key) for each in given for turn in each.turns for key in turn))
    of_wholes = list(dict.fromkeys(str(key) for each in given for key in each.whole))
    labels = load_label_set(asked.label_set) if asked.label_set else None
    for names, are_turns in ((of_turns, True), (of_wholes, False)):
        if found := _asked_columns(names, asked) if asked.columns else _known_columns(names, labels):
            return found, are_turns, [] if asked.columns or len(found) > 1 else _others(names, found[0])
    known = ", ".join(map(repr, dict.fromkeys([*of_turns, *of_wholes]))) or "nothing but texts"
    if asked.columns:
        raise ValueError(f"{name}: --label-column {' '.join(asked.columns)}: there is no such column, but {known}")
    raise ValueError(f"{name} has no column that is known to hold labels, but {known}: name it as --label-column")


def _others(names: Sequence[str], column: str) -> list[str]:
    """Return the columns that might be meant in place of one; those that we write together are none."""
    return [each for each in names if find([each], KEYS) and each != column and {each, column} != {"label", "labels"}]


def _asked_columns(names: Sequence[str], asked: Asked) -> tuple[str, ...]:
    """Return the columns that the user names, or none unless all are there."""
    wanted = [named(column, names) for column in asked.columns]
    return () if None in wanted else tuple(filter(None, wanted))


def _known_columns(names: Sequence[str], labels: LabelSet | None) -> tuple[str, ...]:
    """Return the column of labels, or those named as labels of the set."""
    if column := find(names, KEYS):
        return (column,)
    columns = [each for each in names if labels is not None and labels.find(each) is not None]
    return tuple(columns) if len(columns) > 1 else ()


def _marks(
    given: Sequence[Beside], columns: Sequence[str], of_turns: bool, asked: Asked, bad: _Bad
) -> dict[tuple[int, int], Mark]:
    """Return the labels of each labelled turn, by the numbers of its dialogue and of itself."""
    splits = asked.several or columns[0].casefold() in _PLURAL
    found: dict[tuple[int, int], Mark] = {}
    by_turn = not of_turns and len(columns) == 1 and _is_by_turn(given, columns[0])
    for number, each in enumerate(given):
        if of_turns:
            values: Iterable[tuple[int, Mapping[str, Any]]] = enumerate(each.turns)
        elif by_turn:
            values = ((at, {columns[0]: value}) for at, value in enumerate(each.whole.get(columns[0]) or ()))
        else:
            values = [(len(each.turns) - 1, each.whole)]
        for turn, value in values:
            try:
                if (mark := _mark(value, columns, splits)) is not None:
                    found[number, turn] = mark
            except ValueError as error:
                bad.add((number, turn), "no label", str(error))
    return found


def _is_by_turn(given: Sequence[Beside], column: str) -> bool:
    """Return whether dialogues have lists with a label for each turn."""
    lists = [(each.whole.get(column), len(each.turns)) for each in given if each.whole.get(column) is not None]
    return any(turns > 1 for _, turns in lists) and all(
        isinstance(value, list) and len(value) == turns for value, turns in lists
    )


def _mark(values: Mapping[str, Any], columns: Sequence[str], splits: bool) -> Mark | None:
    """Return the labels of a turn, None if it has none.

    Raises:
        ValueError: A value is no label.
    """
    if len(columns) > 1:
        flags = {column: _flag(values.get(column), column) for column in columns}
        if all(flag is None for flag in flags.values()):
            return None
        return Mark(tuple(column for column, flag in flags.items() if flag), {})
    names = _names(values.get(columns[0]), columns[0], splits)
    return None if names is None else Mark(names, _shares(values) if columns[0].startswith("label") else {})


def _flag(value: object, column: str) -> bool | None:
    if value is None:
        return None
    text = str(value).strip().casefold()
    if text in ("1", "1.0", "true", "yes", "x"):
        return True
    if text in ("0", "0.0", "false", "no"):
        return False
    raise ValueError(f"{column} is {shown(value)}: of several columns of labels each has 1 or 0; correct it")


def _names(value: object, column: str, splits: bool) -> tuple[str, ...] | None:
    """Return the labels in a cell or under a key; None if it is empty."""
    if isinstance(value, list):
        found = [_names(each, column, False) for each in value]
        return tuple(dict.fromkeys(name for each in found for name in each or ()))
    if isinstance(value, Mapping) and "label" in value:
        return _names(value["label"], column, False)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # pandas makes floats of numbers with gaps
    if isinstance(value, Mapping | float):
        raise ValueError(f"{column} is {shown(value)}, which is no label; correct it, or name another --label-column")
    return None if value is None else _names_in(str(value).strip(), splits)


def _names_in(text: str, splits: bool) -> tuple[str, ...] | None:
    """Return the labels in the text of a cell, which may be a list as Python prints it; None if there is none."""
    if text.startswith("[") and text.endswith("]"):
        parts = [part.strip(" '\"") for part in text[1:-1].split(",")]
        return tuple(dict.fromkeys(filter(None, parts)))
    parts = [part.strip() for part in _SEPARATORS.split(text)] if splits else [text]
    return tuple(dict.fromkeys(filter(None, parts))) or None


def _shares(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the probabilities that `edos label` wrote beside a label: in `top`, or in the next columns of a table."""
    top = values.get("top")
    try:
        if isinstance(top, list):
            return {str(each["label"]): float(each["probability"]) for each in top}
        ranks = {"label": "confidence"} | {
            key: f"confidence_{match[1]}" for key in values if (match := _WEIGHTED.fullmatch(key))
        }
        if len(ranks) == 1:  # the confidence of somebody else
            return {}
        return {str(values[key]): float(values[beside]) for key, beside in ranks.items() if values.get(key)}
    except (KeyError, TypeError, ValueError):
        return {}


def _distinct(marks: Iterable[Mark], name: str, columns: Sequence[str]) -> list[str]:
    """Return the different labels, numbers by their value, others by their letters; all spellings of each."""
    found = {each for mark in marks for each in (*mark.names, *mark.shares)}
    what = f"{name}: the column {columns[0]!r}" if len(columns) == 1 else name
    if not found:
        raise ValueError(f"{what} has no label: nothing can be learned from it; name another one as --label-column")
    if len(keys := {key_of(each) for each in found}) > MOST_LABELS:
        raise ValueError(
            f"{what} has {len(keys):,} different values, such as {shown(min(found))}: is it one of labels? Name that "
            "one as --label-column"
        )
    return sorted(found, key=lambda each: (not each.isdigit(), int(each) if each.isdigit() else 0, key_of(each), each))


def _base(distinct: Sequence[str], asked: Asked, declared: LabelSet | None) -> LabelSet:
    """Return the set that the labels are of: the declared one, the one asked for, a built-in one with exactly these
    labels, or one of them alone.
    """
    if declared is not None:
        return declared
    first: dict[str, str] = {}
    for each in distinct:
        first.setdefault(key_of(each), each)
    known = known_set(first.values())
    if asked.label_set is None:
        if known is not None:
            return known
        if len(first) == 1:
            raise ValueError(
                f"all labels are {next(iter(first.values()))!r}: a classifier needs two at least; give more data, or "
                "name another column as --label-column"
            )
        return LabelSet.of_labels(first.values())
    wanted = load_label_set(asked.label_set)
    fits = all(wanted.find(each) is not None for each in distinct)
    return wanted if fits or known is None else known


def _by_number(text: str, labels: LabelSet) -> int | None:
    return int(text) if text.isdigit() and int(text) < len(labels) else None


def _matrix(marks: Sequence[Mark], ids: Mapping[str, int | None], width: int, several: bool) -> Floats:
    """Return the probabilities of the labels, float32 [n, labels]: those given, or 1 for each label of a turn."""
    soft = np.zeros((len(marks), width), np.float32)
    for row, mark in enumerate(marks):
        own = [found for name in mark.names if (found := ids[name]) is not None]
        known = {found: share for name, share in mark.shares.items() if (found := ids.get(name)) is not None}
        shares = {} if several or len(known) < len(mark.shares) else known
        if own and own[0] in shares and 0 < sum(shares.values()) < 1.001:
            soft[row] = max(0.0, 1 - sum(shares.values())) / max(width - len(shares), 1)
            soft[row, list(shares)] = list(shares.values())
            soft[row] /= soft[row].sum()
        else:
            soft[row, own] = 1
    return soft


def translated(soft: Floats, translation: Translation, several: bool) -> tuple[Floats, Bools]:
    """Return probabilities in another label set, and which turns still have a label there."""
    for step in translation.maps:
        soft = soft @ step.weights
    if several:
        return np.minimum(soft, 1).round().astype(np.float32), np.ones(len(soft), bool)
    total = soft.sum(axis=1, keepdims=True)
    return (soft / np.where(total > 0, total, 1)).astype(np.float32), total[:, 0] > 0


def _remarks(
    columns: Sequence[str], others: Sequence[str], base: LabelSet, translation: Translation, lost: int
) -> list[str]:
    """Return what a user should know about the labels, in sentences."""
    shown_columns = ", ".join(map(repr, columns[:_MOST_SHOWN])) + ", ..." * (len(columns) > _MOST_SHOWN)
    beside = f"; {' and '.join(map(repr, others))} could be, too: --label-column" if others else ""
    remarks = [f"labels: column {shown_columns}{beside}"]
    if translation.maps:
        remarks.append(f"labels were translated into {translation.labels.listed()}")
    if lost:
        remarks.append(f"{lost:,} turns whose label has no counterpart there count as unlabelled")
    if all(label.isdigit() for label in base.labels):
        remarks.append("the labels are numbers: --label-set FILE names them")
    return remarks


def _check_enough(found: TurnLabels, name: str) -> None:
    """Refuse labels from which nothing can be learned.

    Raises:
        ValueError: There are fewer than two different ones, or fewer than two turns for each.
    """
    used = np.flatnonzero((found.soft > 0.5).any(axis=0) | np.isin(np.arange(len(found.label_set)), found.labels))
    if len(used) < 2 and not (found.several and len(used)):
        only = f" {found.label_set.labels[used[0]]!r}" if len(used) else ""
        raise ValueError(
            f"{name}: all {len(found.places):,} labelled turns have the label{only}: a classifier needs two at least; "
            "give more data, or name another column as --label-column"
        )
    if len(found.places) < 2 * len(found.label_set):
        raise ValueError(
            f"{name}: {len(found.places):,} labelled turns are too few for the {len(found.label_set)} labels of "
            f"{found.label_set.name!r}: give two for each at least, or join labels by --map"
        )
