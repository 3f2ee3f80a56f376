"""Forms dialogues from records; the turns of a dialogue may be rows anywhere in a table."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from edos_dataset.releases.formats.faults import BadRecord
from edos_dataset.releases.formats.parsing import parsed
from edos_dataset.releases.formats.records import Dialogue, Record, Row
from edos_dataset.releases.formats.selection import ALL, Selection
from edos_dataset.releases.formats.texts import LARGEST
from edos_dataset.releases.formats.times import order_of
from edos_dataset.text import hash64, shown

T = TypeVar("T")


class _Group:
    """The turns of a dialogue read so far, or something that is complete by itself."""

    def __init__(self, id_: str | None, runs: int, whole: object = None) -> None:
        self.id, self.runs, self.whole = id_, runs, whole
        self.rows: list[Row] = []
        self._size = 0

    def add(self, row: Row) -> None:
        self.rows.append(row)
        self._size += len(row.text)
        if self._size > LARGEST:
            raise ValueError(
                f"{row.record.where}: the dialogue {shown(row.id)} is longer than {LARGEST:,} characters: give each "
                "dialogue its own id"
            )


def dialogues_of(
    records: Iterable[Record], meant: Selection = ALL, runs: Mapping[int, int] | None = None
) -> Iterator[Dialogue]:
    """Convert records to dialogues, in the order of their first records.

    Args:
        records: The records in order.
        meant: Columns, by default the first known ones of each record, and whether bad records are skipped.
        runs: Hash of a dialogue id → number of runs of consecutive rows with this id, for dialogues with several runs.

    Raises:
        ValueError: A record is neither a dialogue nor a turn; the message names location and value.
    """
    for one in grouped(_without_bad(records, meant), runs):
        yield _of_rows(one) if isinstance(one, list) else one


def grouped(ones: Iterable[Row | T], runs: Mapping[int, int] | None = None) -> Iterator[list[Row] | T]:
    """Yield the rows of each dialogue, unordered, and everything else as it is, in the order of the first rows.

    Args:
        ones: Rows, and anything else that is complete by itself. A row without an id stands alone.
        runs: As for `dialogues_of`.

    Raises:
        ValueError: A dialogue is too long.
    """
    waiting: dict[str | int, _Group] = {}
    current: _Group | None = None
    for one in ones:
        if current is not None and (not isinstance(one, Row) or one.id is None or one.id != current.id):
            current.runs -= 1
            current = None
            yield from _complete(waiting)
        if not isinstance(one, Row):
            waiting[-len(waiting) - 1] = _Group(None, 0, one)
            yield from _complete(waiting)
            continue
        if current is None:
            key = one.at if one.id is None else one.id
            runs_of_it = runs.get(hash64(one.id), 1) if runs and one.id is not None else 1
            current = waiting.setdefault(key, _Group(one.id, runs_of_it))
        current.add(one)
    if current is not None:
        current.runs -= 1
    yield from _complete(waiting)


def runs_of(ids: Iterable[str | None]) -> dict[int, int]:
    """Return the `runs` of `dialogues_of`, at 8 bytes a run.

    Args:
        ids: The id of each row; None for one without an id, and for everything else.
    """
    hashes, previous = array("Q"), None
    for id_ in ids:
        if id_ is not None and id_ != previous:
            hashes.append(hash64(id_))
        previous = id_
    found, counts = np.unique(np.array(hashes, np.uint64), return_counts=True)
    return dict(zip(found[counts > 1].tolist(), counts[counts > 1].tolist(), strict=True))


def _without_bad(records: Iterable[Record], meant: Selection) -> Iterator[Dialogue | Row]:
    left_out: Counter[str] = Counter()
    for at, record in enumerate(records):
        try:
            one = parsed(record, at, meant, left_out)
        except BadRecord:
            if not meant.skip_bad:
                raise
            continue
        if one is not None:
            yield one


def _complete(waiting: dict[str | int, _Group]) -> Iterator[Any]:
    """Yield and remove the complete dialogues before the first incomplete one, which keeps their order."""
    while waiting and (group := waiting[key := next(iter(waiting))]).runs <= 0:
        del waiting[key]
        yield group.whole or group.rows


def _of_rows(rows: list[Row]) -> Dialogue:
    first = rows[0]
    place, number = first.record.place, first.record.number
    if first.id is None:
        return Dialogue(f"{place.unit}-{number}", [first.text], place, number, first.extra, None, [first.at])
    rows = in_order(rows)
    extras = [row.extra for row in rows]
    texts, places = [row.text for row in rows], [row.at for row in rows]
    return Dialogue(first.id, texts, place, number, None, extras if any(extras) else None, places)


def in_order(rows: list[Row]) -> list[Row]:
    """Return the turns of a dialogue in the order of their numbers, else of their times, else unchanged.

    Raises:
        ValueError: Two turns have the same number.
    """
    if len(rows) < 2:
        return rows
    if all(row.number is None for row in rows):
        order = order_of([row.times for row in rows]) if all(row.times for row in rows) else None
        return rows if order is None else [rows[at] for at in order]
    rows = sorted(rows, key=lambda row: row.number or 0)
    for one, other in zip(rows, rows[1:], strict=False):
        if one.number == other.number:
            raise ValueError(
                f"{other.record.where}: turn {other.number} of dialogue {shown(one.id)} is also in "
                f"{one.record.where}; give each turn its own number"
            )
    return rows
