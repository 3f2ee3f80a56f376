"""Dialogues by their places in the parts of Parquet files: a few, to be shown."""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.analysis.batch import ROWS, batch_of, columns_of
from edos_dataset.analysis.counting import Part
from edos_dataset.analysis.samples import Dialogue, dialogue_of
from edos_dataset.arrays import Ints
from edos_dataset.runs.engines.base import Engine


def dialogues_at(parts: Sequence[Part], places: Iterable[int], engine: Engine) -> dict[int, Dialogue]:
    """Return place → dialogue; each row group that has one is read once.

    Args:
        parts: all parts, by number.
        places: part and row in one number, as of `runs.likeness`.
        engine: what reads.
    """
    wanted = np.unique(np.fromiter(places, np.int64))
    numbers, begin = np.unique(wanted >> 32, return_index=True)
    tasks = [(parts[number], here) for number, here in zip(numbers.tolist(), np.split(wanted, begin[1:]), strict=False)]
    found: dict[int, Dialogue] = {}
    for one in engine.map(_of_part, tasks):
        found |= one
    return found


def _of_part(task: tuple[Part, Ints]) -> dict[int, Dialogue]:
    """Return those of one part: of its dialogues that are at some places, in order, from 0."""
    part, places = task
    found: dict[int, Dialogue] = {}
    with pq.ParquetFile(part.path) as file:
        columns, begin = columns_of(file.schema), part.number << 32
        for group in part.groups:
            end = begin + file.metadata.row_group(group).num_rows
            here = places[np.searchsorted(places, begin) : np.searchsorted(places, end)]
            batches = file.iter_batches(ROWS, row_groups=[group], columns=columns) if len(here) else ()
            for rows in batches:
                inside = here[(here >= begin) & (here < begin + len(rows))]
                batch = batch_of(pa.Table.from_batches([rows]).take(pa.array(inside - begin)), part.split)
                second = batch.second()
                found |= {place: dialogue_of(batch, row, second) for row, place in enumerate(inside.tolist())}
                begin += len(rows)
            begin = end
    return found
