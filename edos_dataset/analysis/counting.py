"""Counting Parquet files in parts, in this process or in several."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.analysis.batch import read_batches
from edos_dataset.analysis.counts import Counts
from edos_dataset.runs.engines.local import LocalEngine

MOST_DIALOGUES_FOR_WORDS = 400_000
"""Dialogues whose words are counted, drawn by hash: that bounds the vocabulary."""
_PART = 50_000
_FEW = 30_000


class Part(NamedTuple):
    """Some row groups of a file.

    Attributes:
        path: the Parquet file.
        split: theirs.
        groups: which of its row groups.
        rows: dialogues in them.
        labels: number of labels of the data set.
        word_share: as of `Counts`.
    """

    path: Path
    split: str
    groups: tuple[int, ...]
    rows: int
    labels: int
    word_share: float


def count_files(
    files: Mapping[str, Sequence[Path]], labels: int, workers: int = 1, done: Callable[[int, int], object] | None = None
) -> Counts:
    """Return what is counted of the dialogues in Parquet files.

    What comes out depends on the dialogues alone, not on how they lie in files or on the processes.

    Args:
        files: split → files.
        labels: number of labels.
        workers: processes, from 1; few dialogues are counted in this one.
        done: called with the dialogues counted and those of all.

    Raises:
        ValueError: a file is damaged, or holds no dialogues.
    """
    sizes = [(split, path, _groups(path)) for split, paths in files.items() for path in paths]
    total = sum(sum(groups) for _, _, groups in sizes)
    share = min(1.0, MOST_DIALOGUES_FOR_WORDS / max(total, 1))
    parts = [
        Part(path, split, groups, rows, labels, share)
        for split, path, sizes_ in sizes
        for groups, rows in _together(sizes_)
    ]
    counts, counted = Counts(labels, share), 0
    with LocalEngine(workers if total > _FEW else 1) as engine:
        found: Iterable[tuple[int, Counts]] = engine.map(count_part, parts)
        for rows, one in found:
            counts.merge(one)
            counted += rows
            if done is not None:
                done(counted, total)
    return counts


def count_part(part: Part) -> tuple[int, Counts]:
    """Return the dialogues of a part and what is counted of them."""
    counts = Counts(part.labels, part.word_share)
    for batch in read_batches(part.path, part.split, part.groups):
        counts.add(batch)
    return part.rows, counts


def _groups(path: Path) -> list[int]:
    """Return the rows of each row group."""
    try:
        metadata = pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} is no whole Parquet file ({error}): make or get it again") from error
    return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]


def _together(groups: Sequence[int]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield row groups that lie together, `_PART` rows or a row group more."""
    begin = rows = 0
    for place, size in enumerate(groups):
        rows += size
        if rows >= _PART or place == len(groups) - 1:
            yield tuple(range(begin, place + 1)), rows
            begin, rows = place + 1, 0
