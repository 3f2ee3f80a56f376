"""Times of subtitle blocks: from text to seconds, and which of them not to believe."""

import re
from collections.abc import Sequence

import numpy as np

LATEST = 24 * 3600.0
"""Seconds after which a time is absurd."""

LONGEST_BLOCK = 60.0
"""Seconds for which a block may be shown; of a longer one the end is absurd."""

BACKWARD = 1.0
"""Seconds by which a block may start before the one it follows, as signs and speech overlap."""

_SHAPE = re.compile(r"\s*(\d+)\s*:\s*(\d+)\s*:\s*(\d+)(?:\s*[,.:]\s*(\d{1,3}))?\s*", re.ASCII)
_WEIGHTS = np.array([36_000_000, 3_600_000, 0, 600_000, 60_000, 0, 10_000, 1_000, 0, 100, 10, 1], dtype=np.int64)
_SEPARATORS = np.frombuffer(b"::,", dtype=np.uint8)


def parse_times(values: Sequence[str]) -> np.ndarray:
    """Return "HH:MM:SS,mmm" as float64 seconds, NaN where a value is no time; other numbers of digits are understood
    too.
    """
    # All values of the usual length at once; each other one is parsed by itself, with something of that length in its
    # place here.
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
    """Return one time as `parse_times` does."""
    match = _SHAPE.fullmatch(value) if len(value) <= 40 else None
    if not match:
        return np.nan
    hours, minutes, seconds = (int(part) for part in match.group(1, 2, 3))
    milliseconds = int((match[4] or "0").ljust(3, "0"))
    return (hours * 3_600_000 + minutes * 60_000 + seconds * 1000 + milliseconds) / 1000


def check_times(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Replace the times that cannot be true by NaN.

    A start is dropped with its end where it is after `LATEST`, and where the starts step back by more than `BACKWARD`:
    then the block that ran ahead is dropped if the ones around it agree, otherwise the one that came late. An end is
    dropped where it is before its start or `LONGEST_BLOCK` after it.

    Args:
        starts: float64 seconds of the blocks in the order of the file, NaN where missing.
        ends: the same.

    Returns:
        Both arrays, checked.
    """
    starts, ends = starts.copy(), ends.copy()
    starts[starts > LATEST] = np.nan
    ends[ends > LATEST] = np.nan
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
