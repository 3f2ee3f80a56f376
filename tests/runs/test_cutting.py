"""How a corpus is cut into shards."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edos_dataset.runs.cutting import cut_by_hash, cut_in_order, numbered

WEIGHTS = st.lists(st.one_of(st.floats(1, 50), st.just(5_000.0)), max_size=60)


def films(number):
    return pa.table({"film": [f"film {place}" for place in range(number)], "size": range(number)})


def names(parts):
    return {part.name: part.rows["film"].to_pylist() for part in parts}


@given(WEIGHTS, st.integers(1, 2_000))
def test_nothing_is_lost_and_no_shard_too_heavy(weights, target):
    table = films(len(weights))
    parts = cut_by_hash(table, "film", np.array(weights), target)
    assert sorted(row for part in parts for row in part.rows["size"].to_pylist()) == list(range(len(weights)))
    assert all(part.rows.num_rows for part in parts) or not weights
    for part in parts:
        load = sum(max(round(weights[row]), 1) for row in part.rows["size"].to_pylist())
        assert load <= target or part.rows.num_rows == 1


@given(st.integers(1, 60), st.integers(1, 500), st.integers(1, 500))
def test_the_order_is_the_same_however_the_rows_are_cut_or_given(number, target, other):
    table, weights = films(number), np.full(number, 100.0)
    backwards = table.take(pa.array(range(number)[::-1]))
    orders = [
        pa.concat_tables([part.rows for part in cut_by_hash(given, "film", weights, size)]).to_pylist()
        for given, size in ((table, target), (table, other), (backwards, target))
    ]
    assert orders[0] == orders[1] == orders[2]


@pytest.mark.parametrize("number", [40, 100, 320])
def test_one_film_more_changes_one_shard(number):
    # The total stays on one side of the border at which the target is halved.
    before = names(cut_by_hash(films(number), "film", np.full(number, 100.0), 500))
    after = names(cut_by_hash(films(number + 1), "film", np.full(number + 1, 100.0), 500))
    gone, new = set(before) - set(after), set(after) - set(before)
    changed = {name for name in set(before) & set(after) if before[name] != after[name]}
    assert len(changed) + len(gone) == 1
    if gone:  # the shard was parted in two
        [prefix] = gone
        assert all(name.startswith(prefix) for name in new)


def test_small_shards_are_merged():
    parts = cut_by_hash(films(1_000), "film", np.full(1_000, 10.0), 500)
    assert len(parts) < 2 * 1_000 * 10 / 500 * 1.5  # on the average more than a third full


def test_equal_hashes_end_in_one_shard(monkeypatch):
    monkeypatch.setattr("edos_dataset.runs.cutting.hash64", lambda text: 5)
    [part] = cut_by_hash(films(3), "film", np.full(3, 100.0), 1)
    assert part.rows["film"].to_pylist() == ["film 0", "film 1", "film 2"]


@given(WEIGHTS, st.integers(1, 2_000))
def test_in_order(weights, target):
    table = films(len(weights))
    parts = [part.rows for part in cut_in_order(table, np.array(weights), target)]
    assert pa.concat_tables(parts).equals(table)
    assert all(part.num_rows for part in parts) or not weights
    loads = np.split(np.array(weights), np.cumsum([part.num_rows for part in parts])[:-1])
    limit = max(1, min(target, int(sum(weights)) // 8))
    for load in loads:
        assert load.sum() < limit + load.max(initial=0) + 1e-6


@pytest.mark.parametrize(
    ("weights", "target", "sizes"),
    [
        ([], 10, [0]),
        ([1_000_000], 10, [1]),
        ([10] * 16, 20, [1, 2, 2, 2, 2, 2, 2, 2, 1]),
        ([1, 1, 100_000, 1, 1], 10, [2, 3]),
        ([1] * 4, 1_000, [1, 1, 1, 1]),
    ],
)
def test_cases_in_order(weights, target, sizes):
    parts = cut_in_order(films(len(weights)), np.array(weights, float), target)
    assert [part.rows.num_rows for part in parts] == sizes


def test_numbered():
    assert [part.name for part in numbered([films(1), films(2)])] == ["00000", "00001"]
