import math

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import chi2_contingency, entropy

from edos_dataset import analysis
from edos_dataset.analysis.divergence import SMOOTHING

A, B = [30, 5, 0, 65], [20, 20, 10, 50]


def test_divergences_are_those_of_scipy():
    assert analysis.kl_divergence(A, B) == pytest.approx(entropy(A, B))
    assert analysis.js_divergence(A, B) == pytest.approx(jensenshannon(A, B) ** 2)
    smoothed = [np.array(each) + SMOOTHING for each in (A, B)]
    assert analysis.kl_divergence(A, B, SMOOTHING) == pytest.approx(entropy(*smoothed))


def test_a_label_that_the_reference_lacks_makes_it_infinite_but_for_smoothing():
    assert analysis.kl_divergence(B, A) == math.inf
    assert math.isfinite(analysis.kl_divergence(B, A, 0.5))
    assert analysis.kl_divergence([5, 0], [7, 0]) == 0


def test_chi_squared_is_that_of_scipy_and_leaves_out_what_neither_has():
    found = analysis.chi_squared([*A, 0], [*B, 0])
    theirs = chi2_contingency([A, B], correction=False)
    assert found[:3] == pytest.approx((theirs.statistic, theirs.dof, theirs.pvalue))
    assert found.v == pytest.approx(math.sqrt(theirs.statistic / 200))
    assert analysis.chi_squared([3, 0], [9, 0]) == (0, 0, 1, 0)


def test_lift_is_observed_over_expected():
    ratio, residual = analysis.lift([[8, 2, 0], [2, 8, 0], [0, 0, 0]])
    assert ratio[:2, :2].tolist() == [[1.6, 0.4], [0.4, 1.6]] and np.isnan(ratio[2]).all()
    assert residual[0, 0] == pytest.approx(3 / math.sqrt(5)) and residual[2, 2] == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: analysis.kl_divergence([1, 2], [1, 2, 3]), "2 and 3 labels"),
        (lambda: analysis.kl_divergence([0, 0], [1, 2]), "every count is 0"),
        (lambda: analysis.js_divergence([1, -2], [1, 2]), "from 0"),
        (lambda: analysis.shares([[1, 2]]), "one per label"),
        (lambda: analysis.shares([1, float("nan")]), "finite"),
        (lambda: analysis.lift([[1, 2, 3]]), "square"),
    ],
)
def test_what_is_no_distribution_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_intervals_hold_the_share_and_shrink_with_more_films():
    draw = np.random.default_rng(0)
    few, many = (draw.multinomial(40, [0.5, 0.3, 0.2], films) for films in (10, 200))
    low, high = analysis.share_intervals(few)[0]
    assert low < 0.5 < high
    narrow = analysis.share_intervals(many)[0]
    assert narrow[1] - narrow[0] < (high - low) / 2
    assert analysis.share_intervals(many) == analysis.share_intervals(many)


def test_one_film_shows_no_variation():
    assert analysis.share_intervals([[3, 4], [0, 0]]) == [[None, None]] * 2
    assert analysis.divergence_intervals([[3, 4]], [[1, 2], [3, 1]]) == dict.fromkeys(
        ("kl", "js", "chi_squared", "v"), [None, None]
    )


def test_intervals_of_divergences_hold_that_of_the_sums():
    draw = np.random.default_rng(1)
    one, other = draw.multinomial(50, [0.6, 0.3, 0.1], 100), draw.multinomial(50, [0.3, 0.3, 0.4], 60)
    found = analysis.divergence_intervals(one, other)
    for name, value in (
        ("kl", analysis.kl_divergence(one.sum(axis=0), other.sum(axis=0))),
        ("js", analysis.js_divergence(one.sum(axis=0), other.sum(axis=0))),
    ):
        low, high = found[name]
        assert low < value < high
