"""A cache of arrays that are expensive to compute, kept in a folder between runs."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.runs.shards import replacing


def key_of(parts: Sequence[str]) -> str:
    """Return a cache key for a result that depends only on some texts."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def kept(path: Path | None, rows: int, make: Callable[[], Floats]) -> Floats:
    """Return the array cached in a file; compute and store it if the file is missing.

    The file is written atomically. A damaged file, or one with another number of rows, is computed again.

    Args:
        path: `.npy` file; None caches nothing.
        rows: the expected length of the array.
        make: computes the array.
    """
    if path is None:
        return make()
    with suppress(OSError, ValueError, EOFError):
        array: Floats = np.load(path)
        if len(array) == rows:
            return array
    made = make()
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, made)
    return made
