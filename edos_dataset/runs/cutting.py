"""How a corpus is cut into shards: by a hash of what belongs together, so that one film more changes one shard."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.text import hash64

_BITS = 64
_FEWEST = 8


class Part(NamedTuple):
    """A shard of the input: its name and its rows."""

    name: str
    rows: pa.Table


def cut_by_hash(table: pa.Table, column: str, weights: npt.NDArray[np.float64], target: int) -> list[Part]:
    """Part rows into shards by a hash of a column.

    The rows are put into the order of their hash, so that what is made of them comes out in one order however they are
    cut. The range of the hash is halved until what lies in a part weighs `target` at most, or is one row; a part is
    called by the bits that its hashes begin with. So a part depends on its own rows alone: one row more remakes its
    part, or parts it in two, and no other. While less than eight times the target is there, the target is halved, too.

    Args:
        table: the rows; none give one part without rows, so that every stage still counts.
        column: texts, each once.
        weights: [rows] what each weighs, more than 0.
        target: weight of a part at most, from 1.
    """
    if not table.num_rows:
        return [Part("all", table)]
    names: list[str] = table[column].to_pylist()
    hashes = np.fromiter(map(hash64, names), np.uint64, len(names))
    order = np.lexsort((np.array(names, object).astype(str), hashes))
    # Whole numbers add up to the same whatever is beside them.
    whole = np.maximum(np.rint(weights), 1)
    table, hashes, total = table.take(pa.array(order)), hashes[order], np.r_[0, np.cumsum(whole[order])]
    limit = float(target)
    while limit > 1 and total[-1] < _FEWEST * limit:
        limit /= 2
    return [
        Part(prefix or "all", table.slice(start, stop - start)) for prefix, start, stop in _halved(hashes, total, limit)
    ]


def _halved(
    hashes: npt.NDArray[np.uint64], total: npt.NDArray[np.float64], limit: float
) -> Iterator[tuple[str, int, int]]:
    """Yield the first bits, the start and the stop of each part, in the order of the hashes."""
    waiting = [("", 0, len(hashes))]
    while waiting:
        prefix, start, stop = waiting.pop()
        if start == stop:
            continue
        if total[stop] - total[start] <= limit or stop - start == 1 or len(prefix) == _BITS:
            yield prefix, start, stop
            continue
        border = np.uint64(int((prefix + "1").ljust(_BITS, "0"), 2))
        middle = start + int(np.searchsorted(hashes[start:stop], border))
        waiting += [(prefix + "1", middle, stop), (prefix + "0", start, middle)]


def cut_in_order(table: pa.Table, weights: npt.NDArray[np.float64], target: int) -> list[Part]:
    """Part rows into shards of about `target`, or smaller ones while there are fewer than eight, in their order.

    A part is never heavier than that and one row more. One row more changes all parts behind it: this is for output
    whose order is that of the input, and which is made once.

    Args:
        table: the rows; none give one part without rows.
        weights: [rows] what each weighs, more than 0.
        target: weight of a part, from 1.
    """
    if not table.num_rows:
        return [Part("all", table)]
    limit = max(1, min(target, int(weights.sum()) // _FEWEST))
    shard = np.cumsum(weights) // limit
    starts = np.flatnonzero(np.diff(shard, prepend=-1))
    ends = [*starts[1:], table.num_rows]
    return list(numbered(table.slice(start, end - start) for start, end in zip(starts, ends, strict=True)))


def numbered(tables: Iterable[pa.Table]) -> Iterator[Part]:
    """Yield tables that are cut already as parts, in their order."""
    return (Part(f"{number:05d}", table) for number, table in enumerate(tables))
