"""Moves rejected members of a list column into rows of their own, and splits dialogues at rejected turns."""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import flags, unnest
from edos_dataset.schema.tables import REASON

AFTER_REMOVED = "after_removed_turn"
"""Reason for the turns after a rejected one."""

SINGLE = "single_turn"
"""Reason for a turn that is left alone."""

AfterRemoved = Literal["split", "drop"]
"""Treatment of the turns after a rejected one: they become a dialogue, or are rejected too (the papers)."""


def split_members(table: pa.Table, column: str, codes: np.ndarray, reasons: Sequence[str]) -> pa.Table:
    """Split each row into one with the members of a list column that stay, and one for each reason of rejected members.

    The rows keep the order of the input, with members that stay before rejected ones and reasons as listed, so the
    output does not depend on how the table was split into batches. A row without members gives no row.

    Args:
        table: any table with the list column.
        column: name of the list column; its members are split up, the other columns are copied.
        codes: [members] 0 where the member stays, k where it is rejected for `reasons[k - 1]`.
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


def cut_turns(
    table: pa.Table,
    reasons: Sequence[str | None] | pa.Array | None = None,
    of_dialogues: Sequence[str] = (),
    after_removed: AfterRemoved = "split",
) -> pa.Table:
    """End each dialogue before its first rejected turn.

    The rejected turn is removed for its reason; the turns after it become a new dialogue, named by its first sentence,
    or are rejected as "after_removed_turn". A dialogue that is left with one turn is rejected as "single_turn".

    Args:
        table: dialogues.
        reasons: reason of each turn of the table, dialogue by dialogue; null if it stays.
        of_dialogues: reasons that apply to dialogues rather than turns; later turns keep them.
        after_removed: what happens to the turns after a rejected one: "split" or "drop".

    Returns:
        The table with the column `reason`: for each input row, or each dialogue split from it, first the turns that
        stay, if any, then the rejected ones.
    """
    turns, offsets = unnest(table, "turns")
    given = pa.nulls(len(turns), pa.string()) if reasons is None else pa.array(reasons, pa.string())
    if len(given) != len(turns):
        raise ValueError(f"{len(given)} reasons for {len(turns)} turns: give one for each turn, null where it stays")
    names = sorted(set(pc.unique(given).to_pylist()) - {None, AFTER_REMOVED, SINGLE})
    names += [AFTER_REMOVED, SINGLE]
    codes = pc.fill_null(pc.add(pc.index_in(given, pa.array(names, pa.string())), 1), 0).to_numpy()
    own = np.isin(codes, [names.index(reason) + 1 for reason in of_dialogues if reason in names])
    if after_removed == "split" and len(codes):
        table = split_before(table, np.r_[False, ((codes > 0) & ~own)[:-1]])
        offsets = unnest(table, "turns")[1]
    lengths = np.diff(offsets)
    place = np.arange(len(turns)) - np.repeat(offsets[:-1], lengths)
    first = lengths.copy()
    rejected = np.flatnonzero(codes)
    np.minimum.at(first, np.repeat(np.arange(len(lengths)), lengths)[rejected], place[rejected])
    stay = np.repeat(first, lengths)
    codes = np.where((place > stay) & ~own, len(names) - 1, codes)
    codes = np.where((place == 0) & (stay == 1), len(names), codes)
    return split_members(table, "turns", codes, names)


SHELTERED = frozenset({"few_letters", "repeats_previous", "repetitive", "too_frequent", "too_short"})
"""Reasons of turns that are speech, only of little use: they stay where their block has another turn that stays."""


def shelter(table: pa.Table, reasons: pa.StringArray) -> pa.StringArray:
    """Return the reasons of turns without those of SHELTERED in a block that has a turn without any reason.

    Two people in a block answer each other, so a dialogue without one of them begins or ends inside the exchange.

    Args:
        table: dialogues.
        reasons: [turns], null where a turn stays.
    """
    turns, offsets = unnest(table, "turns")
    start, end = (turns.field(name).to_numpy(zero_copy_only=False) for name in ("start", "end"))
    joined = np.zeros(len(start), bool)  # whether a turn begins in the block in which the one before ends
    joined[1:] = start[1:] < end[:-1]
    joined[offsets[:-1][np.diff(offsets) > 0]] = False
    stays = flags(reasons.is_null())
    beside = (joined & np.r_[False, stays[:-1]]) | np.r_[joined[1:] & stays[1:], False][: len(stays)]
    soft = flags(pc.is_in(reasons, pa.array(sorted(SHELTERED), pa.string())))
    return pc.if_else(pa.array(beside & soft), pa.scalar(None, pa.string()), reasons)


def check_after_removed(choice: str) -> None:
    """Raise ValueError if the parameter is not one of AfterRemoved."""
    if choice not in get_args(AfterRemoved):
        raise ValueError(f"after_removed is {choice!r}; give 'split' or 'drop'")


def split_before(table: pa.Table, begins: np.ndarray) -> pa.Table:
    """Split dialogues before given turns.

    Args:
        table: dialogues.
        begins: bool [turns], dialogue by dialogue, whether a dialogue begins with the turn; the first turn of a
            dialogue begins one anyway.

    Returns:
        All dialogues in order. The first of each row keeps its id; the ids of the others are from `ids_by_first_turn`.
    """
    turns, offsets = unnest(table, "turns")
    new = np.setdiff1d(np.flatnonzero(begins), offsets)
    if not len(new):
        return table
    starts = np.r_[offsets[:-1], new]
    order = np.argsort(starts, kind="stable")  # keeps a row without turns and the next one
    rows = np.r_[np.arange(table.num_rows), np.searchsorted(offsets, new, side="right") - 1][order]
    taken = table.drop_columns(["turns"]).take(pa.array(rows))  # turns would be copied once for every part
    own = pc.replace_with_mask(
        taken["dialogue_id"].cast(pa.string()).combine_chunks(),
        pa.array(order >= table.num_rows),
        ids_by_first_turn(table, new),
    )
    lists = pa.ListArray.from_arrays(pa.array(np.r_[starts[order], len(turns)], pa.int32()), turns)
    taken = taken.set_column(taken.column_names.index("dialogue_id"), table.schema.field("dialogue_id"), own)
    return taken.add_column(table.column_names.index("turns"), table.schema.field("turns"), lists)


def ids_by_first_turn(table: pa.Table, places: np.ndarray) -> pa.StringArray:
    """Return the ids of dialogues that begin with given turns.

    An id is the document's id, "#", and the id of the turn's first sentence, as in `SegmentDialogues`. For turns
    without sentences, from sources other than films, it is the dialogue's id, "+", and the turn's position, from 0.

    Args:
        table: dialogues.
        places: [n], positions of the turns among all turns of the table.
    """
    turns, offsets = unnest(table, "turns")
    sentences = turns.field("sentence_ids")
    ends = sentences.offsets.to_numpy() - sentences.offsets[0].as_py()
    firsts = pa.array(ends[places], mask=ends[places] == ends[places + 1])
    rows = np.searchsorted(offsets, places, side="right") - 1
    documents, dialogues = (
        table[name].cast(pa.string()).combine_chunks().take(pa.array(rows)) for name in ("document_id", "dialogue_id")
    )
    numbers = sentences.flatten().take(firsts).cast(pa.string())
    by_place = pc.binary_join_element_wise(dialogues, pa.array(places - offsets[rows]).cast(pa.string()), "+")
    return pc.coalesce(pc.binary_join_element_wise(documents, numbers, "#"), by_place)
