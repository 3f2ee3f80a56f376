"""Judgements of responses: planted differences are found, and none where there is none."""

import numpy as np
import pytest

from crowd_people import CHANCES, MODELS, answered, careful, judging, straight
from edos_dataset.crowd.agreement import fleiss_kappa, krippendorff_alpha
from edos_dataset.crowd.hit_answers import HitAnswers
from edos_dataset.crowd.judgements import holm, judgements, measure_judgements, permutation_p
from edos_dataset.crowd.quality import QualityRules

PEOPLE = {name: (careful, 15.0) for name in ("ann", "bob", "cid", "dee")}


@pytest.fixture(scope="module")
def batch():
    return judging(60)


@pytest.fixture(scope="module")
def report(batch):
    return measure_judgements(batch.hits, answered(batch, PEOPLE | {"eve": (straight, 9.0)}), QualityRules())


def test_shares_are_those_that_were_planted(report, batch):
    table = report["sets"]["all"]
    assert list(table) == [*MODELS, "truth"]
    for model in MODELS:
        row = table[model]
        assert row["judgements"] == 4 * 60 and row["good"] + row["okay"] + row["bad"] == pytest.approx(1, abs=2e-4)
        for grade, chance in zip(("good", "okay"), CHANCES[model], strict=True):
            low, high = row[f"{grade}_interval"]
            assert abs(row[grade] - chance) < 0.1 and low < row[grade] < high < low + 0.2
    assert table["truth"]["dialogues"] == 3 * len(batch.hits) and table["truth"]["good"] > 0.8
    films, letters = report["sets"]["films"]["warm"], report["sets"]["letters"]["warm"]
    assert films["judgements"] + letters["judgements"] == table["warm"]["judgements"]


def test_what_does_not_count_is_told(report, batch):
    assert report["discarded"]["same position"] == len(batch.hits)
    assert report["workers"] == 4 and report["assignments"] == 5 * len(batch.hits)


def test_models_that_differ_are_told_apart_and_equal_ones_are_not(report):
    tests = {(row["first"], row["second"]): row for row in report["tests"]}
    assert len(tests) == 6
    assert all(row["p_holm"] < 0.01 for pair, row in tests.items() if pair != ("even", "level"))
    assert tests["even", "level"]["p"] > 0.05 and tests["even", "level"]["p_holm"] >= tests["even", "level"]["p"]
    assert tests["cold", "warm"]["difference"] == pytest.approx(0.2 - 0.875, abs=0.08)


def test_agreement_is_that_of_counts(report, batch):
    found = judgements(
        batch.hits, answered(batch, PEOPLE | {"eve": (straight, 9.0)}), [(hit.id, "eve") for hit in batch.hits]
    )
    names = sorted({one.candidate for one in found})
    counts = np.zeros((len(names), 3), dtype=np.int64)
    for one in found:
        counts[names.index(one.candidate), one.grade] += 1
    assert report["agreement"]["responses"] == len(names)
    assert report["agreement"]["fleiss_kappa"] == pytest.approx(fleiss_kappa(counts), abs=5e-5)
    assert report["agreement"]["krippendorff_alpha"] == pytest.approx(krippendorff_alpha(counts), abs=5e-5)
    low, high = report["agreement"]["fleiss_kappa_interval"]
    assert low < report["agreement"]["fleiss_kappa"] < high


def test_nothing_to_measure(batch):
    with pytest.raises(ValueError, match="no judgement counts: 0 answers"):
        measure_judgements(batch.hits, HitAnswers(), QualityRules())


def test_the_permutation_test_and_holm():
    """Of 8 equal differences 2 of 256 signs are as far out; the exact p is 0.0078."""
    assert permutation_p(np.ones(8)) == pytest.approx(2 / 256, abs=0.003)
    assert permutation_p(np.array([1.0, -1.0, 1.0, -1.0])) == 1
    chance = np.random.default_rng(1).normal(size=(40, 25))
    assert 0.01 < np.mean([permutation_p(row, seed) < 0.1 for seed, row in enumerate(chance)]) < 0.25
    assert holm([0.01, 0.04, 0.03, 0.5]) == [0.04, 0.09, 0.09, 0.5] and holm([]) == []
