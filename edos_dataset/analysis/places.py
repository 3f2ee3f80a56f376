"""Dialogues by their places in the parts of Parquet files: a few, to be shown."""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.analysis.batch import batch_of, columns_of
from edos_dataset.analysis.counting import Part
from edos_dataset.analysis.samples import Dialogue, dialogue_of


def dialogues_at(parts: Sequence[Part], places: Iterable[int]) -> dict[int, Dialogue]:
    """Return place → dialogue; each row group that has one is read once, and one is held.

    Args:
        parts: all parts, by number.
        places: part and row in one number, as of `runs.likeness`.
    """
    wanted: dict[int, list[int]] = {}
    for place in sorted(set(places)):
        wanted.setdefault(place >> 32, []).append(place)
    found: dict[int, Dialogue] = {}
    for number, here in wanted.items():
        part, begin = parts[number], number << 32
        with pq.ParquetFile(part.path) as file:
            columns = columns_of(file.schema)
            for group in part.groups:
                end = begin + file.metadata.row_group(group).num_rows
                inside = [place for place in here if begin <= place < end]
                if inside:
                    rows = file.read_row_group(group, columns).take(pa.array(np.array(inside) - begin))
                    batch = batch_of(rows, part.split)
                    second = batch.second()
                    found |= {place: dialogue_of(batch, row, second) for row, place in enumerate(inside)}
                begin = end
    return found
