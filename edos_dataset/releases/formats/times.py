"""The order of turns by their times, which tables write in many formats."""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime, time
from functools import lru_cache
from typing import Any

_FORMATS = (
    "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d.%m.%y %H:%M:%S", "%d.%m.%y %H:%M", "%d.%m.%Y", "%d.%m.%y",
    "%d.%m.%Y, %H:%M:%S", "%d.%m.%Y, %H:%M", "%d.%m.%y, %H:%M:%S", "%d.%m.%y, %H:%M",
    *(
        f"{day}{comma} {clock}".strip()
        for day in ("%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y")
        for comma in ("", ",")
        for clock in ("%H:%M:%S", "%H:%M", "%I:%M:%S %p", "%I:%M %p", "")
    ),
    "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M", "%Y/%m/%d", "%H:%M:%S", "%H:%M", "%I:%M:%S %p", "%I:%M %p", "%M:%S.%f",
    "%H:%M:%S.%f", "%H:%M:%S,%f", "%a %b %d %H:%M:%S %z %Y", "%d %b %Y %H:%M:%S", "%d %b %Y %H:%M",
)  # fmt: skip

_UNREADABLE = (ValueError, TypeError, AttributeError, OverflowError, OSError)


def order_of(times: Sequence[tuple[Any, ...]]) -> list[int] | None:
    """Return the order of turns by time; None if the times cannot be compared.

    The sort is stable. If the times can be read in several formats, such as days before months or after them, a format
    that keeps the order is preferred.

    Args:
        times: For each turn the time, or the day and the time.

    Returns:
        The positions of the turns, from 0, in the order of time.
    """
    columns = [_readings([row[at] for row in times]) for at in range(len(times[0]))]
    if not all(columns):
        return None
    kept = list(range(len(times)))
    orders: list[list[int]] = []
    for days in columns[0]:
        keys = list(zip(days, *(column[0] for column in columns[1:]), strict=True))
        orders.append(sorted(kept, key=keys.__getitem__))
    return kept if kept in orders else orders[0]


def _readings(values: Sequence[Any]) -> list[list[float]]:
    """Return the times as numbers, once for every format in which all of them can be read."""
    found: list[list[float]] = []
    for read in (_number, _instant):
        with suppress(*_UNREADABLE):
            return [[read(value) for value in values]]
    for form in _forms_of(re.sub(r"\d", "1", str(values[0]).strip())):
        with suppress(*_UNREADABLE):
            found.append([_written(value, form) for value in values])
    return found


@lru_cache(maxsize=256)
def _forms_of(shape: str) -> tuple[str, ...]:
    """Return the formats in which a time may be read. Its digits must be replaced by ones, since 11.11.11 is valid in
    all formats of its shape.
    """
    forms: list[str] = []
    for form in _FORMATS:
        with suppress(*_UNREADABLE):
            _written(shape, form)
            forms.append(form)
    return tuple(forms)


def _written(value: Any, form: str) -> float:  # noqa: ANN401 - any value of a table
    return _seconds(datetime.strptime(value.strip(), form))


def _number(value: Any) -> float:  # noqa: ANN401 - any value of a table
    if isinstance(value, bool) or not math.isfinite(number := float(value)):
        raise ValueError
    return number


def _instant(value: Any) -> float:  # noqa: ANN401 - any value of a table
    if isinstance(value, datetime):
        return _seconds(value)
    if isinstance(value, date):
        return _seconds(datetime(value.year, value.month, value.day))
    if isinstance(value, time):
        return value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6
    return _seconds(datetime.fromisoformat(value.strip().replace("Z", "+00:00")))


def _seconds(moment: datetime) -> float:
    """Return seconds since 1970; a moment without a time zone is taken as UTC."""
    return (moment.replace(tzinfo=None) - (moment.utcoffset() or datetime.min - datetime.min) - _ZERO).total_seconds()


_ZERO = datetime(1970, 1, 1)
