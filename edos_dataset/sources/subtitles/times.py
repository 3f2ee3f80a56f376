"""Times of subtitle blocks: parsing into seconds, and removal of impossible times."""

import re
from collections.abc import Sequence

import numpy as np

LATEST = 24 * 3600.0
"""Seconds after which a time is impossible."""

LONGEST_BLOCK = 60.0
"""Maximum duration of a block in seconds; the end of a longer block is impossible."""

BACKWARD = 1.0
"""Seconds by which a block may start before the previous one, as captions of signs and speech overlap."""

_SHAPE = re.compile(r"\s*(-?\d+)\s*:\s*(\d+)\s*:\s*(\d+)(?:\s*[,.:]\s*(\d{1,3}))?\s*", re.ASCII)
_NEGATIVE_HOUR = re.compile(r"^\s*0-(\d)")  # written by programs that subtract only from the hours
_WEIGHTS = np.array([36_000_000, 3_600_000, 0, 600_000, 60_000, 0, 10_000, 1_000, 0, 100, 10, 1], dtype=np.int64)
_SEPARATORS = np.frombuffer(b"::,", dtype=np.uint8)


def parse_times(values: Sequence[str]) -> np.ndarray:
    """Return times "HH:MM:SS,mmm" as float64 seconds, NaN for values that are not times; other numbers of digits are
    accepted.
    """
    # All values of the usual length are parsed at once; each other value is parsed alone, with a placeholder here.
    joined = "".join([value if len(value) == 12 else "?" * 12 for value in values]).encode("ascii", "replace")
    characters = np.frombuffer(joined, dtype=np.uint8).reshape(-1, 12)
    digits = characters.astype(np.int64) - ord("0")
    digits[:, [2, 5, 8]] = 0
    usual = (
        (characters[:, [2, 5, 8]] == _SEPARATORS).all(axis=1) & (digits >= 0).all(axis=1) & (digits <= 9).all(axis=1)
    )
    times = (digits @ _WEIGHTS) / 1000
    for index in np.flatnonzero(~usual).tolist():
        times[index] = parse_time(values[int(index)])
    return np.asarray(times)


def parse_time(value: str) -> float:
    """Return one time, as `parse_times` does."""
    match = _SHAPE.fullmatch(_NEGATIVE_HOUR.sub("-\\1", value)) if len(value) <= 40 else None
    if not match:
        return np.nan
    hours, minutes, seconds = (int(part) for part in match.group(1, 2, 3))
    milliseconds = int((match[4] or "0").ljust(3, "0"))
    rest = minutes * 60_000 + seconds * 1000 + milliseconds
    before = match[1].startswith("-") and "0-" not in value  # "-00:00:05" is 5 s before 0, and so is "0-1:59:55"
    return (hours * 3_600_000 + (-rest if before else rest)) / 1000


def check_times(starts: np.ndarray, ends: np.ndarray, latest: float = LATEST) -> tuple[np.ndarray, np.ndarray]:
    """Replace impossible times by NaN.

    A start is dropped with its end if it is after `latest`, or if the starts decrease by more than `BACKWARD`. In that
    case the earlier block is dropped if its neighbours agree, otherwise the later one. An end is dropped if it is
    before its start or more than `LONGEST_BLOCK` after it.

    Args:
        starts: float64 seconds of the blocks in the order of the file, NaN where missing.
        ends: the same for their ends.
        latest: seconds from 0 after which a time is impossible.

    Returns:
        Both arrays, checked.
    """
    starts, ends = starts.copy(), ends.copy()
    starts[starts > latest] = np.nan
    ends[ends > latest] = np.nan
    known = np.flatnonzero(~np.isnan(starts))
    times = starts[known]
    steps = np.flatnonzero(times[1:] < times[:-1] - BACKWARD)
    before = np.where(steps > 0, times[steps - 1], -np.inf)
    ahead = before <= times[steps + 1] + BACKWARD
    dropped = known[np.where(ahead, steps, steps + 1)]
    starts[dropped] = np.nan
    ends[dropped] = np.nan
    ends[(ends < starts) | (ends > starts + LONGEST_BLOCK)] = np.nan
    return starts, ends
