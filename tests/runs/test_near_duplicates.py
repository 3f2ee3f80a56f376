"""Which near-duplicates are removed: the same by turns, in any partitions, as from the best to the worst."""

import random

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.near_duplicates import PAIRS, IndependentSet, scattered
from edos_dataset.runs.shards import read_shard
from edos_dataset.runs.shuffle import Removals

SHARDS, ROWS = 5, 40


def place(unit):
    return (unit % SHARDS << 32) + unit // SHARDS


def one_by_one(pairs):
    """Return the units that leave; a unit's number is its order, the lower the better."""
    leaving = set()
    for worse in sorted({worse for worse, _ in pairs}):
        if any(better not in leaving for one, better in pairs if one == worse):
            leaving.add(worse)
    return leaving


def removed_by_turns(pairs, folder, parts, few):
    """Return the units that leave by turns, and the number of turns."""
    columns = [(worse, place(worse), place(better)) for worse, better in pairs]
    table = pa.table(list(zip(*columns, strict=True)) or [[], [], []], names=PAIRS.names).cast(PAIRS)
    job = IndependentSet(parts, folder, Removals.of(SHARDS, folder), "alike", few)
    owners = scattered("place")(table) % np.uint64(parts)
    for part in range(parts):
        job.write("alike", part, table.filter(pa.array(owners == part)))
    removals = [folder / f"{number}.parquet" for number in range(SHARDS)]
    tables = job.select(LocalEngine())
    job.leaving.split_among(removals, tables, LocalEngine())
    found = {row * SHARDS + shard for shard, path in enumerate(removals) for row in read_shard(path)["row"].to_pylist()}
    return found, len(list(folder.glob("left*-0.arrow")))


def drawn(seed, count):
    dice = random.Random(seed)
    return list({tuple(sorted(dice.sample(range(SHARDS * ROWS), 2), reverse=True)) for _ in range(count)})


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("parts", "few"), [(1, 0), (4, 0), (4, 60), (4, 1 << 15)])
def test_by_turns_as_one_by_one(tmp_path, seed, parts, few):
    pairs = drawn(seed, 300)
    found, turns = removed_by_turns(pairs, tmp_path, parts, few)
    assert found == one_by_one(pairs)
    assert (turns > 1) == (few < SHARDS * ROWS)


def test_a_chain_takes_a_turn_for_two_links(tmp_path):
    chain = [(unit + 1, unit) for unit in range(9)]
    assert removed_by_turns(chain, tmp_path, 3, 0)[0] == {1, 3, 5, 7, 9}


def test_without_pairs_nothing_leaves(tmp_path):
    assert removed_by_turns([], tmp_path, 2, 0) == (set(), 1)


def test_shards_of_few_rows_fill_all_partitions():
    units = pa.table({"place": [place(unit) for unit in range(SHARDS * 2)]})
    assert len(set((scattered("place")(units) % np.uint64(4)).tolist())) == 4
