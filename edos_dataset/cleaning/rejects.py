"""How the members of a list column leave a table: by a code each, into rows of their own."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.schema.tables import REASON


def part(table: pa.Table, column: str, codes: np.ndarray, reasons: Sequence[str]) -> pa.Table:
    """Give every row one output row for what stays in a list column, and one for each reason for which something
    leaves.

    The rows come in the order of the input, what stays before what leaves, the reasons as they are listed; so the
    output of a table does not depend on the batches in which it came. A row without members gives no row.

    Args:
        table: any table with the list column.
        column: name of the list column; its members are parted, the other columns are copied.
        codes: [members] 0 where the member stays, k where it leaves for `reasons[k - 1]`.
        reasons: the reason codes.

    Returns:
        The table with the column `reason`, which is null where members stay.
    """
    flat, offsets = unnest(table, column)
    rows = np.repeat(np.arange(table.num_rows), np.diff(offsets))
    keys = rows * (len(reasons) + 1) + codes
    if (keys[1:] < keys[:-1]).any():
        order = np.argsort(keys, kind="stable")
        keys, flat = keys[order], flat.take(pa.array(order))
    starts = np.flatnonzero(np.r_[len(keys) > 0, keys[1:] != keys[:-1]]) if len(keys) else np.zeros(0, np.int64)
    members = pa.ListArray.from_arrays(pa.array(np.r_[starts, len(keys)], pa.int32()), flat)
    row, code = np.divmod(keys[starts], len(reasons) + 1)
    taken = table.take(pa.array(row))
    names = pa.array([None, *reasons], pa.string()).take(pa.array(code))
    return taken.set_column(taken.column_names.index(column), table.schema.field(column), members).append_column(
        REASON, names
    )
