"""Films and books are divided by a hash, and few of them so that no split is empty."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edos_dataset.publishing.splits import SHARES, Division, division_of, parse_shares, split_of
from edos_dataset.schema import SPLITS

KEYS = st.lists(st.text(max_size=4), min_size=1, max_size=12, unique=True)


@settings(max_examples=30)
@given(KEYS, st.integers(0, 3))
def test_no_split_is_empty_where_there_are_films_for_it(keys, seed):
    division = Division(seed=seed, fill=True).filled(keys)
    found = [division.split_of(key) for key in keys]
    assert len(set(found)) == min(3, len(keys))
    assert "train" in found


@settings(max_examples=30)
@given(KEYS)
def test_only_as_many_films_move_as_splits_were_empty(keys):
    before = {split_of(key) for key in keys}
    division = Division(fill=True).filled(keys)
    assert len(division.moved) <= 3 - len(before)
    assert all(split not in before for split in division.moved.values())
    assert Division(fill=False).filled(keys).moved == {}


def test_films_that_fill_the_splits_stay_where_their_hash_puts_them():
    keys = [f"1994/{number}" for number in range(200)]
    division = Division(fill=True).filled(keys)
    assert division.moved == {} and [division.split_of(key) for key in keys] == [split_of(key) for key in keys]


def test_a_split_that_nobody_wants_stays_empty():
    division = Division(parse_shares("90/0/10"), fill=True).filled(["a", "b", "c"])
    assert {division.split_of(key) for key in "abc"} == {"train", "test"}


def test_a_seed_divides_otherwise():
    keys = [f"film {number}" for number in range(300)]
    first, second = ([split_of(key, seed=seed) for key in keys] for seed in (0, 1))
    assert first != second and all(abs(each.count("train") / 300 - 0.8) < 0.08 for each in (first, second))


@pytest.mark.parametrize("given", ["80/10/10", "8/1/1", "0.8/0.1/0.1", (80, 10, 10)])
def test_shares_in_any_scale(given):
    assert parse_shares(given) == pytest.approx(SHARES)
    assert division_of(given, 0, (0.9, 0.05), fill=False) == Division(parse_shares(given), fill=True)


@pytest.mark.parametrize("given", ["80/20", "a/b/c", "0/50/50", "-1/1/1", "nan/1/1", "80,10,10", "inf/1/1", 80])
def test_what_is_no_shares_is_refused(given):
    with pytest.raises(ValueError, match="give the shares of train, validation and test, as in 80/10/10"):
        parse_shares(given)


def test_the_splits_are_in_the_order_of_the_shares():
    assert [Division((1.0, 0.0)).wanted, Division((0.2, 0.3)).wanted] == [["train"], list(SPLITS)]
    assert Division((0.2, 0.3)).as_text == "20/30/50"
