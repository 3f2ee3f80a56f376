"""Counts of the dialogues in Parquet files, part by part, in one process or in several."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.analysis.batch import read_batches
from edos_dataset.analysis.counts import Counts
from edos_dataset.analysis.duplicates import sketch_of
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.near_duplicates import SKETCH, Comparison

MOST_DIALOGUES_FOR_WORDS = 400_000
"""Dialogues whose words are counted, drawn by hash, which bounds the vocabulary."""
_PART = 50_000


class Part(NamedTuple):
    """Some row groups of a Parquet file.

    Attributes:
        number: Number among the parts of all datasets, from 0.
        path: The file.
        split: Its split.
        groups: Numbers of the row groups.
        rows: Dialogues in them.
        labels: Number of labels of the dataset.
        word_share: See `Counts`.
    """

    number: int
    path: Path
    split: str
    groups: tuple[int, ...]
    rows: int
    labels: int
    word_share: float


def parts_of(files: Mapping[str, Sequence[Path]], labels: int, first: int = 0) -> list[Part]:
    """Divide Parquet files into parts; only their footers are read.

    Args:
        files: Split → files.
        labels: Number of labels.
        first: Number of the first part.

    Raises:
        ValueError: A file is damaged.
    """
    sizes = [(split, path, _groups(path)) for split, paths in files.items() for path in paths]
    share = min(1.0, MOST_DIALOGUES_FOR_WORDS / max(sum(sum(groups) for _, _, groups in sizes), 1))
    cut = ((split, path, *each) for split, path, groups in sizes for each in _together(groups))
    return [
        Part(number, path, split, groups, rows, labels, share)
        for number, (split, path, groups, rows) in enumerate(cut, first)
    ]


def count_files(
    files: Mapping[str, Sequence[Path]], labels: int, workers: int = 1, done: Callable[[int, int], object] | None = None
) -> Counts:
    """Count the dialogues in Parquet files; the result does not depend on their distribution over files or processes.

    Args:
        files: Split → files.
        labels: Number of labels.
        workers: Number of processes, from 1.
        done: Called with the number of dialogues counted so far and the total.

    Raises:
        ValueError: A file is damaged, or contains no dialogues.
    """
    with LocalEngine(workers) as engine:
        return count_parts(parts_of(files, labels), labels, engine, None, done)


def count_parts(
    parts: Sequence[Part],
    labels: int,
    engine: Engine,
    sketches: tuple[Comparison, int] | None = None,
    done: Callable[[int, int], object] | None = None,
) -> Counts:
    """Count the dialogues in parts of a dataset.

    Args:
        parts: Result of `parts_of`.
        labels: Number of labels.
        engine: Engine that reads the parts.
        sketches: Result of `duplicates.comparison_of`, to which the sketches of the dialogues are added.
        done: Called with the number of dialogues counted so far and the total.

    Raises:
        ValueError: See `count_files`.
    """
    counts, counted, total = Counts(labels, parts[0].word_share if parts else 1.0), 0, sum(part.rows for part in parts)
    found: Iterable[tuple[int, Counts]] = engine.map(partial(count_part, sketches=sketches), parts)
    for rows, one in found:
        counts.merge(one)
        counted += rows
        if done is not None:
            done(counted, total)
    return counts


def count_part(part: Part, sketches: tuple[Comparison, int] | None = None) -> tuple[int, Counts]:
    """Return the number of dialogues in a part and their counts; write their sketches, if wanted."""
    counts, rows, found = Counts(part.labels, part.word_share), 0, [SKETCH.empty_table()]
    for batch in read_batches(part.path, part.split, part.groups):
        counts.add(batch, (part.number << 32) + rows)
        if sketches is not None:
            found.append(sketch_of(batch, sketches[1], rows))
        rows += len(batch.ids)
    if sketches is not None:
        sketches[0].add(part.number, [(part.number, pa.concat_tables(found))])
    return part.rows, counts


def _groups(path: Path) -> list[int]:
    try:
        metadata = pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} is not a complete Parquet file ({error}): make or get it again") from error
    return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]


def _together(groups: Sequence[int]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield adjacent row groups and their rows: `_PART` rows, rounded up to whole row groups."""
    begin = rows = 0
    for place, size in enumerate(groups):
        rows += size
        if rows >= _PART or place == len(groups) - 1:
            yield tuple(range(begin, place + 1)), rows
            begin, rows = place + 1, 0
