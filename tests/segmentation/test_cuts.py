"""The best way to cut a scene is the best of all ways."""

from itertools import product

import numpy as np
import pytest

from edos_dataset.segmentation.cuts import best_cuts, boundary_certainty, exchange_probabilities


def worth(cuts: tuple[bool, ...], worths: np.ndarray, costs: np.ndarray, starts: np.ndarray) -> float:
    """Return what a way to cut is worth, as the module says."""
    return sum(
        0.0 if start else -cost if cut else value
        for cut, value, cost, start in zip(cuts, worths, costs, starts, strict=True)
    )


@pytest.mark.parametrize("seed", range(20))
def test_no_other_way_to_cut_is_worth_more(seed: int) -> None:
    """All ways are tried, over seven turns of two scenes."""
    rng = np.random.default_rng(seed)
    worths, costs = rng.uniform(-3, 1, 7), rng.uniform(0, 1.5, 7)
    starts = np.array([True, False, False, False, rng.random() < 0.5, False, False])
    ways = [way for way in product([False, True], repeat=7) if all(np.array(way)[starts])]
    found = tuple(best_cuts(worths, costs, starts).tolist())
    assert worth(found, worths, costs, starts) == pytest.approx(max(worth(way, worths, costs, starts) for way in ways))
    assert found in ways


def test_nothing_is_cut_of_nothing() -> None:
    """A table without turns."""
    none = np.zeros(0)
    assert best_cuts(none, none, none.astype(bool)).tolist() == []


def test_unknown_probabilities() -> None:
    """They count as certain for cuts, and leave no certainty."""
    new, scene = np.array([np.nan, 0.8, 0.0, 1.0]), np.array([0.5, np.nan, 1.0, 1.0])
    assert exchange_probabilities(new, scene).tolist() == [0.5, 0.8, 0.0, 1.0]
    certainty = boundary_certainty(new, scene)
    assert np.isnan(certainty[0]) and 0.7 < certainty[1] < 0.85 and certainty[2:].tolist() == [0, 1]
