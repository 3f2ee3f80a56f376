"""Array types, and list-of-struct columns as flat columns and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]


def nest(offsets: Sequence[int] | np.ndarray, item: pa.StructType, columns: dict[str, Any]) -> pa.ListArray:
    """Build a list-of-struct column from flat columns.

    Args:
        offsets: [rows + 1] positions in the flat columns at which each row begins, from 0 to their length.
        item: type of one struct.
        columns: one flat sequence or Arrow array per field of `item`, all of the same length; a field that is not given
            is null.
    """
    if unknown := set(columns) - {field.name for field in item}:
        raise KeyError(f"{sorted(unknown)[0]!r} is no field of {item}")
    size = len(next(iter(columns.values())))
    given = ((field, columns.get(field.name, pa.nulls(size, field.type))) for field in item)
    arrays = [column if isinstance(column, pa.Array) else pa.array(column, type=field.type) for field, column in given]
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), pa.StructArray.from_arrays(arrays, fields=list(item))
    )


def empty_lists(size: int, item: pa.DataType) -> pa.ListArray:
    """Return `size` empty lists of items of a type."""
    return pa.ListArray.from_arrays(pa.array(np.zeros(size + 1), pa.int32()), pa.array([], item))


def unnest(table: pa.Table, column: str) -> tuple[pa.StructArray, np.ndarray]:
    """Undo `nest`: return the flat structs of a list column and the offsets [rows + 1] of its rows, from 0.

    `flat.field(name)` gives one flat column. No value may be null, as no table of a run holds a null list.
    """
    array = table[column].combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], table.schema.field(column).type)
    offsets = array.offsets.to_numpy()
    return array.flatten(), offsets - offsets[0]


def flags(array: pa.BooleanArray) -> np.ndarray:
    """Return a boolean array as numpy, null as false."""
    values: np.ndarray = pc.fill_null(array, False).to_numpy(zero_copy_only=False)
    return values


def release_memory() -> None:
    """Return to the system the memory that Arrow no longer needs, and numpy where both use the system's allocator.
    Otherwise a process keeps the most that it ever used (BENCHMARKS.md, Growth). It takes some milliseconds.
    """
    pa.default_memory_pool().release_unused()
