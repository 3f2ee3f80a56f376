"""Agreement against published worked examples, by hand, and against crowd-kit."""

import os
from pathlib import Path

import numpy as np
import pytest

from crowd_tables import answers_of
from edos_dataset.crowd.aggregation import count_answers
from edos_dataset.crowd.agreement import MEASURES, fleiss_kappa, krippendorff_alpha, measure, pairwise_agreement
from edos_dataset.crowd.answers import read_answers
from edos_dataset.labels import LABELS

FLEISS = np.array(
    [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
)
"""14 raters, 10 subjects, 5 categories: the usual worked example of Fleiss' kappa."""

UNITS = ["1", "", "22", "11", "33", "334", "444", "13", "22", "11", "11", "33", "33", "", "34"]
"""Krippendorff (2011), section on missing data: what was answered to each unit."""


def test_fleiss_example():
    assert fleiss_kappa(FLEISS) == pytest.approx(0.210, abs=5e-4)
    assert pairwise_agreement(FLEISS) == pytest.approx(0.378, abs=5e-4)


def test_krippendorff_example_with_missing_answers():
    counts = np.array([[unit.count(category) for category in "1234"] for unit in UNITS])
    assert krippendorff_alpha(counts) == pytest.approx(0.691, abs=5e-4)


def test_by_hand_with_different_numbers_of_answers():
    # Task 1: a a; task 2: a a b; task 3: b, which says nothing. Pairs that agree: 1 of 1, 1 of 3.
    counts = np.array([[2, 0], [2, 1], [0, 1]])
    assert pairwise_agreement(counts) == pytest.approx(2 / 3)
    by_chance = (4 / 5) ** 2 + (1 / 5) ** 2
    assert fleiss_kappa(counts) == pytest.approx((2 / 3 - by_chance) / (1 - by_chance))
    # Coincidences (Krippendorff): task 2 gives each ordered pair 1 / 2, so a-b and b-a are 1 each; 5 answers, 4 a and 1
    # b.
    assert krippendorff_alpha(counts) == pytest.approx(1 - (5 - 1) * 2 / (2 * 4 * 1))


def test_extremes():
    assert fleiss_kappa(np.array([[3, 0], [0, 3]])) == krippendorff_alpha(np.array([[3, 0], [0, 3]])) == 1
    assert np.isnan(fleiss_kappa(np.array([[3, 0], [2, 0]]))) and np.isnan(krippendorff_alpha(np.array([[3, 0]])))
    with pytest.raises(ValueError, match="no task has two answers"):
        fleiss_kappa(np.array([[1, 0], [0, 1]]))


def drawn(tasks=60, seed=0):
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, 6, tasks)
    rows = [
        [
            LABELS[label if generator.random() < 0.7 else generator.integers(0, 6)]
            for _ in range(generator.integers(2, 5))
        ]
        for label in truth
    ]
    return answers_of(rows)


def test_alpha_is_that_of_crowd_kit():
    crowdkit = pytest.importorskip("crowdkit.metrics.data")
    import pandas as pd

    answers = drawn()
    table = pd.DataFrame({"task": answers.task, "worker": answers.worker, "label": answers.label})
    assert krippendorff_alpha(count_answers(answers)) == pytest.approx(crowdkit.alpha_krippendorff(table), abs=1e-9)


def test_kappa_is_that_of_statsmodels():
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    assert fleiss_kappa(FLEISS) == pytest.approx(inter_rater.fleiss_kappa(FLEISS), abs=1e-12)


def test_report():
    report = measure(
        answers_of(
            [["Sad", "sad", "Angry"], ["Sad", "greeting", "hello"], ["Greeting (Other)", "greeting", "Sad"], ["Angry"]]
        )
    )
    assert (report["rows"], report["rows_measured"], report["answers"], report["agreed"], report["agreed_share"]) == (
        4,
        3,
        10,
        2,
        0.5,
    )
    assert report["outside"] == {"greeting": 3, "hello": 1}
    assert report["pairwise_agreement"] == pytest.approx(2 / 9, abs=1e-4)
    sad = report["per_label"]["sad"]
    assert (sad["answers"], sad["agreed"], sad["agreement"]) == (
        4,
        1,
        0.25,
    )  # of the four who say so, two are seconded by one of two others
    assert report["per_label"]["joyful"] == {
        "answers": 0, "agreed": 0, "agreement": None, "agreement_interval": [None, None],
        "fleiss_kappa": None, "fleiss_kappa_interval": [None, None]
    }  # fmt: skip


def test_kappa_of_a_label_is_fleiss_own():
    # Fleiss (1971): kappa_j = 1 - sum of n_ij (n - n_ij) / (N n (n - 1) p_j (1 - p_j)), for equal numbers of answers.
    rows = [["Sad", "Sad", "Angry"], ["Sad", "Angry", "Angry"], ["Sad", "Sad", "Sad"], ["Angry", "Joyful", "Sad"]]
    n = np.array([2, 1, 3, 1])
    share = n.sum() / 12
    expected = 1 - (n * (3 - n)).sum() / (4 * 3 * 2 * share * (1 - share))
    assert measure(answers_of(rows))["per_label"]["sad"]["fleiss_kappa"] == pytest.approx(expected, abs=5e-5)


def test_rules_for_answers_outside():
    answers = answers_of([["Sad", "hello", "hi"], ["hello", "hi", "hi"], ["Sad", "Sad", "hi"]])
    agreed = {rule: measure(answers, rule)["agreed"] for rule in ("own", "other", "missing")}
    assert agreed == {"own": 2, "other": 3, "missing": 1}
    assert [measure(answers, rule)["rows_measured"] for rule in ("own", "other", "missing")] == [3, 3, 1]
    with pytest.raises(ValueError, match="outside is 'all': expected one of own, other, missing"):
        measure(answers, "all")


def test_intervals_narrow_with_the_tasks_and_hold_the_truth():
    widths = []
    for tasks in (30, 480):
        report = measure(drawn(tasks))
        widths.append(np.diff(report["fleiss_kappa_interval"])[0])
        assert all(report[f"{name}_interval"][0] < report[name] < report[f"{name}_interval"][1] for name in MEASURES)
    assert widths[0] / widths[1] == pytest.approx(4, rel=0.5)  # sixteen times the tasks, a quarter of the width
    assert measure(drawn(30)) == measure(drawn(30))


def test_repeated_texts_and_the_files_own_labels():
    answers = answers_of(
        [["Sad", "Sad"], ["Angry", "angry (Other)"], ["Sad", "Angry"], ["Sad", "Sad"]],
        [["Oh no!"], ["oh, no."], ["OH NO"], ["Another one."]],
    )
    answers.stated = ["Sad", "-", "-", "Angry"]
    report = measure(answers)
    assert report["repeated_texts"] == {"texts": 1, "tasks": 3, "conflicting": 1}
    assert report["stated"] == {"agreed": 2, "other_than_majority_as_given": 1, "other_than_majority_normalised": 2}


@pytest.mark.skipif("EDOS_DATA_DIR" not in os.environ, reason="needs the real data")
def test_the_authors_file():
    path = Path(os.environ["EDOS_DATA_DIR"]) / "edos_amt" / "mturk_groundtruth_labels.csv"
    report = measure(read_answers(path), resamples=200)
    assert report["stated"]["other_than_majority_as_given"] == 0, (
        "the file's labels are the majority of the answers as they stand"
    )
    assert report["agreed"] >= report["stated"]["agreed"]
    assert 0.40 < report["fleiss_kappa"] < 0.50
    assert sum(report["outside"].values()) / report["answers"] < 0.01
