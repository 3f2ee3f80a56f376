import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.analysis.batch import batch_of
from edos_dataset.analysis.counts import Counts
from edos_dataset.analysis.label_system import OURS
from edos_dataset.analysis.suspicious_labels import SuspiciousLabels, suspicious_label_figures
from reported_folder import dialogues, table_of


def turn(label, **top):
    return {
        "text": "a",
        "label": label,
        "confidence": 0.5,
        "top": [{"label": int(name[1:]), "probability": share} for name, share in top.items()],
    }


def found_in(table):
    batch, counts = batch_of(table, "train"), Counts(41)
    counts.add(batch)
    turns, sums = counts.given
    thresholds = np.divide(sums / 1e6, turns, out=np.full(41, np.inf), where=turns > 0)
    doubts = SuspiciousLabels(41)
    doubts.add(batch, thresholds, 0)
    return doubts, counts


def test_a_turn_is_doubted_where_another_label_is_as_probable_as_usual():
    turns = [
        turn(0, l0=0.9, l1=0.1),
        turn(0, l0=0.6, l1=0.35),  # as label 1 is mostly at 0.3, this may be one
        turn(1, l1=0.3, l0=0.2),
        turn(1, l0=0.9),  # a person's label that the model does not know of
        turn(2, l5=0.9),  # nothing has label 5, so it has no threshold
        turn(None, l0=0.9),
    ]
    doubts, counts = found_in(pa.table({"dialogue_id": ["a"], "turns": [turns]}))
    assert {tuple(place): int(doubts.table[tuple(place)]) for place in np.argwhere(doubts.table)} == {
        (0, 1): 1,
        (1, 0): 1,
    }
    assert [entry.value for entry in doubts.worst.groups[1]] == [(0, 3, 0)]
    figures = suspicious_label_figures(doubts, counts.given, OURS)
    assert (figures["turns"], figures["doubted"]) == (5, 2)
    assert [row["threshold"] for row in figures["by_label"][:4]] == [0.75, 0.15, 0.0, None]


def test_doubts_are_those_of_plain_python():
    rows = dialogues(200, seed=5)
    given = [
        (one["label"], {each["label"]: each["probability"] for each in one["top"]})
        for row in rows
        for one in row["turns"]
        if one["label"] is not None and one["top"]
    ]
    means = {
        label: np.mean([top.get(label, 0) for its, top in given if its == label]) for label in {its for its, _ in given}
    }
    expected = np.zeros((41, 41), int)
    for label, top in given:
        able = {name: share for name, share in top.items() if share >= means.get(name, 9) - 1e-6}
        if able and max(able, key=able.get) != label:
            expected[label, max(able, key=able.get)] += 1
    doubts, _ = found_in(table_of(rows))
    assert doubts.table.tolist() == expected.tolist()


def test_the_next_label_is_the_most_probable_other():
    turns = [turn(3, l1=0.5, l3=0.3, l2=0.1), turn(1, l1=0.5), turn(None)]
    batch = batch_of(pa.table({"dialogue_id": ["a"], "turns": [turns]}), "train")
    labels, shares = batch.second()
    assert labels.tolist() == [1, -1, -1] and shares[0] == pytest.approx(0.5) and np.isnan(shares[1:]).all()
