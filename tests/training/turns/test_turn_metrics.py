import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edos_dataset.schema import SENTENCES
from training.turns import boundaries as labelled_boundaries
from training.turns import metrics


def boundaries(same, group=None):
    return labelled_boundaries.Boundaries(
        np.array(same, np.int8),
        np.array(group if group is not None else [0] * len(same)),
        np.ones(len(same), np.float32),
    )


def scores(*values):
    return np.array(values, np.float32)


def noisy(documents=30, length=40, seed=1):
    """Return documents whose scores are true probabilities: a label is drawn with its score."""
    generator = np.random.default_rng(seed)
    score = generator.random(documents * length).astype(np.float32)
    same = (generator.random(documents * length) < score).astype(np.int8)
    same[::length], score[::length] = -1, np.nan
    return boundaries(same, np.repeat(np.arange(documents), length)), score


def test_values_at_a_threshold_are_of_the_class_new_turn():
    found = metrics.measure(
        boundaries([-1, 0, 0, 0, 1, 1, 1, 1, -1]), scores(np.nan, 0.1, 0.2, 0.6, 0.4, 0.5, 0.8, 0.9, 0.3)
    )
    assert (found["seams"], found["documents"], found["accuracy"]) == (7, 1, round(5 / 7, 4))
    assert found["precision"] == found["recall"] == found["f1"] == round(2 / 3, 4), "0.5 is not below the threshold"
    assert found["roc_auc"] == round(10 / 12, 4)
    assert found["average_precision"] == round((1 + 1 + 3 / 5) / 3, 4)
    assert found["log_loss"] == pytest.approx(-np.log([0.9, 0.8, 0.4, 0.4, 0.5, 0.8, 0.9]).mean(), abs=1e-4)
    assert found["brier"] == pytest.approx(np.square([0.1, 0.2, 0.6, 0.6, 0.5, 0.2, 0.1]).mean(), abs=1e-4)
    assert found["baselines"] == {
        "new_turn_everywhere": {"accuracy": 0.4286, "f1": 0.6},
        "majority_class": {"accuracy": 0.5714, "f1": 0.0},
    }
    assert found["accuracy_interval"] == [None, None], "one document says nothing about others"


def test_best_thresholds_lie_amid_those_that_are_equally_good():
    found = metrics.measure(boundaries([0, 0, 1, 1], [0, 0, 1, 1]), scores(0.1, 0.2, 0.6, 0.8), threshold=0.7)
    assert found["accuracy"] == 0.75
    assert found["best_accuracy"]["accuracy"] == found["best_f1"]["f1"] == 1
    assert found["best_f1"]["threshold"] == pytest.approx(0.4, abs=0.002)


def test_curve_is_short_and_trades_precision_for_recall():
    known, score = noisy()
    curve = metrics.measure(known, score)["curve"]
    recalls = [point["recall"] for point in curve]
    assert 40 <= len(curve) <= 50
    assert recalls == sorted(recalls) and recalls[-1] == 1
    for point in curve[::10]:
        again = metrics.measure(known, score, point["threshold"])
        assert {name: again[name] for name in point} == point


def test_true_probabilities_are_calibrated_and_others_are_not():
    known, score = noisy(200)
    assert metrics.measure(known, score)["ece"] < 0.03
    sharpened = metrics.measure(known, (score**3 / (score**3 + (1 - score) ** 3)).astype(np.float32))
    assert sharpened["ece"] > 0.08
    assert sum(row["seams"] for row in sharpened["reliability"]) == sharpened["seams"]
    assert sharpened["reliability"][0]["same"] > sharpened["reliability"][0]["score"]


def test_intervals_know_that_documents_differ():
    """Boundaries of one document fail together: the interval is as wide as for the few documents, not
    as for the many boundaries.
    """
    group = np.repeat(np.arange(20), 100)
    wrong = np.isin(group, [3, 8, 13, 18])
    same = np.tile([0, 1], 1000)
    together = metrics.measure(boundaries(same, group), np.where(wrong, 1 - same, same).astype(np.float32))
    spread = metrics.measure(
        boundaries(same, group), np.where(np.arange(2000) % 5 == 3, 1 - same, same).astype(np.float32)
    )
    assert together["accuracy"] == spread["accuracy"] == 0.8
    low, high = together["accuracy_interval"]
    assert low < 0.7 and high > 0.9, "4 of 20 documents"
    assert spread["accuracy_interval"] == [0.8, 0.8]


def test_intervals_depend_on_the_seed_alone():
    first, again, other = (metrics.measure(*noisy(), seed=seed)["f1_interval"] for seed in (1, 1, 2))
    assert first == again != other


def test_comparison_is_paired():
    known, score = noisy()
    wrong = np.arange(len(score)) % 4 == 0
    worse = np.where(wrong, 1 - score, score).astype(np.float32)
    found = metrics.compare(known, score, worse)
    low, high = found["accuracy_interval"]
    difference = metrics.measure(known, score)["accuracy"] - metrics.measure(known, worse)["accuracy"]
    assert found["accuracy_difference"] == pytest.approx(difference, abs=2e-4)
    assert 0 < low < found["accuracy_difference"] < high
    changed = found["only_first_right"] + found["only_second_right"]
    assert changed == (wrong & known.known()).sum()
    same = metrics.compare(known, score, score)
    assert same["accuracy_interval"] == same["f1_interval"] == [0, 0]


@pytest.mark.parametrize(
    ("same", "score", "mixed", "cut", "length"),
    [
        ([-1, 1, 0, 1], [np.nan, 0.9, 0.1, 0.9], 0, 0, 2),
        ([-1, 1, 0, 1], [np.nan, 0.9, 0.9, 0.9], 1, 0, 4),
        ([-1, 1, 0, 1], [np.nan, 0.1, 0.1, 0.9], 0, 1 / 2, 4 / 3),
        ([-1, 1, 0, 1], [np.nan, 0.1, 0.9, 0.1], 1 / 3, 1, 4 / 3),
        ([-1, 0, 0, 1, -1, 1], [np.nan, 0.9, 0.1, 0.9, 0.9, 0.9], 1 / 3, 0, 2),  # an unknown boundary parts turns
        ([-1, -1, -1, 1], [np.nan, 0.9, 0.9, 0.9], 0, 0, 2),  # lone sentences don't count
    ],
)
def test_turns_that_are_mixed_and_runs_that_are_cut(same, score, mixed, cut, length):
    (found,) = metrics.turn_shares(boundaries(same), scores(*score), [0.5])
    assert found == {
        "threshold": 0.5,
        "mixed_turns": round(mixed, 4),
        "cut_runs": round(cut, 4),
        "sentences_per_turn": round(length, 4),
    }


def test_turns_end_with_their_document_even_where_its_first_seam_was_dropped():
    found = metrics.turn_shares(boundaries([1, 1, 1, 1], [0, 0, 1, 1]), scores(0.9, 0.9, 0.9, 0.9), [0.5])
    assert found[0]["sentences_per_turn"] == 2


def test_accuracy_by_confidence_of_the_label():
    known = labelled_boundaries.Boundaries(
        np.array([0, 1, 1, 0, -1], np.int8), np.zeros(5, np.int64), scores(0.2, 0.85, 0.95, 1, 1)
    )
    assert metrics.by_confidence(known, scores(0.9, 0.9, 0.9, 0.9, 0.9)) == [
        {"from": 0, "to": 0.5, "seams": 1, "accuracy": 0},
        {"from": 0.8, "to": 0.9, "seams": 1, "accuracy": 1},
        {"from": 0.9, "to": 1, "seams": 2, "accuracy": 0.5},
    ]


def test_one_class_alone_has_no_ranking_and_everything_is_plain_json():
    found = metrics.measure(boundaries([-1, 1, 1]), scores(np.nan, 0.9, 0.2))
    assert (found["roc_auc"], found["average_precision"], found["recall"], found["curve"]) == (None, None, None, [])
    assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.parametrize(
    ("same", "score", "message"),
    [
        ([0, 1], [0.5], "1 scores for 2 boundaries"),
        ([-1, -1], [0.5, 0.5], "none of the 2 boundaries has a label"),
        ([-1, 1, 0], [np.nan, 0.2, np.nan], "score of boundary 2 is nan"),
        ([0, 1], [0.2, 1.5], "score of boundary 1 is 1.5"),
    ],
)
def test_what_cannot_be_measured_is_said(same, score, message):
    with pytest.raises(ValueError, match=message):
        metrics.measure(boundaries(same), scores(*score))


def labelled(same, confidence):
    def column(field):
        return {"document_id": "d", "film": "f", "source": {"kind": "subtitle"}, "sentences": []}.get(field.name)

    table = pa.table({field.name: pa.array([column(field)] * len(same), field.type) for field in SENTENCES})
    table = table.append_column("same_turn", pa.array(same, pa.list_(pa.int8())))
    return table.append_column("label_confidence", pa.array(confidence, pa.list_(pa.float32()))).append_column(
        "corpus", pa.array(["c"] * len(same))
    )


def test_labelled_documents_are_read_in_order(tmp_path):
    pq.write_table(labelled([[-1, 1], [-1, 0, 1]], [[0, 1], [0, 0.5, 0.25]]), tmp_path / "b.parquet")
    pq.write_table(labelled([[-1, 0]], [[0, 0.75]]), tmp_path / "a.parquet")
    found = labelled_boundaries.Boundaries.of(
        labelled_boundaries.read_labelled([tmp_path / "b.parquet", tmp_path / "a.parquet"])
    )
    assert found.same.tolist() == [-1, 1, -1, 0, 1, -1, 0]
    assert found.group.tolist() == [0, 0, 1, 1, 1, 2, 2]
    assert found.confidence.tolist() == [0, 1, 0, 0.5, 0.25, 0, 0.75]
    assert found.at_least(0.5).known().tolist() == [False, True, False, True, False, False, True]
    pq.write_table(labelled([[-1]], [[0]]).drop_columns("corpus"), tmp_path / "c.parquet")
    with pytest.raises(ValueError, match="c.parquet has no column 'corpus'"):
        labelled_boundaries.read_labelled([tmp_path / "c.parquet"])
