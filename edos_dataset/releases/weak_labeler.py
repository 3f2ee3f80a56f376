"""The training texts of the EDOS authors' weak labeler, of the EmpatheticIntents repository."""

import re
from collections.abc import Iterator
from pathlib import Path

from edos_dataset.labels import LABELS


def read_weak_labeler(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the texts of `train.txt` or `valid.txt` with the ids of their labels, 0 to 40: lines `id <SEP> text`.

    The labels.txt beside them gives neutral the id 38, the lines 40; the lines agree with `LABELS`.

    Raises:
        ValueError: a line is none of these.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = re.fullmatch(r"(\d+) <SEP> (.*)", line)
        if match is None or int(match[1]) >= len(LABELS):
            raise ValueError(
                f"{path}, line {number}: expected 'id <SEP> text' with an id from 0 to {len(LABELS) - 1}, got "
                f"{line[:60]!r}"
            )
        yield match[2].strip(), int(match[1])
