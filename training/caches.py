"""Arrays that are dear to make and kept in a folder for the next run."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.runs.shards import replacing


def key_of(parts: Sequence[str]) -> str:
    """Return a name for what is made of some texts, and of nothing else."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def kept(path: Path | None, rows: int, make: Callable[[], Floats]) -> Floats:
    """Return the array that a file keeps; where there is none, make it and keep it.

    The file is whole or absent. One that is torn by other means, or has another number of rows, is made again.

    Args:
        path: `.npy`; None keeps nothing.
        rows: the array's length.
        make: what makes it.
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
