"""Soft labels of a slow scorer: cached by document, mixed with the labels, and learned from."""

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.segmentation.turns.scorers import load_scorer
from labelled_films import flat, labelled
from small_context import random_scorer
from small_models import save_backbone
from training.turns.net_fit import NetSettings, fit_net
from training.turns.teacher import TAUGHT, in_haste, soft_targets, with_teacher

SMALL = NetSettings(
    embedding=8, filters=12, evidence=4, hidden=16, unknown_words=0.05, epochs=30, sentences=120, rate=1e-2, least=2
)


@dataclass
class ByOpening:
    """A teacher that knows that a turn goes on with every "And"."""

    identity: str = "by-opening"
    asked: list = field(default_factory=list)

    def same_turn(self, table):
        self.asked += table["document_id"].to_pylist()
        texts = table["sentences"].combine_chunks().flatten().field("text").to_pylist()
        scores = np.array([0.95 if text.startswith("And") else 0.05 for text in texts], np.float32)
        scores[0] = np.nan
        return scores


def films(count, corpus="mill"):
    return [(corpus, f"{corpus}{number}", f"f{number}") for number in range(count)]


def unlabelled(table):
    lists = table["same_turn"].combine_chunks()
    nothing = pa.array(np.full(len(lists.flatten()), -1), pa.int8())
    place = table.schema.get_field_index("same_turn")
    return table.set_column(place, "same_turn", pa.ListArray.from_arrays(lists.offsets, nothing))


def test_each_document_is_scored_once(tmp_path):
    table, teacher = labelled([*films(3), *films(2, "dashes")], sentences=6), ByOpening()
    found = with_teacher(table, teacher, tmp_path, frozenset({"dashes"}), print)
    assert teacher.asked == ["mill0", "mill1", "mill2"]
    assert found[TAUGHT].null_count == 2 and found.drop_columns([TAUGHT]).equals(table)
    assert found[TAUGHT].to_pylist()[0][1:] == pytest.approx(ByOpening().same_turn(table.slice(0, 1))[1:])
    again = with_teacher(table, teacher, tmp_path, frozenset(), print)
    assert teacher.asked[3:] == ["dashes0", "dashes1"], "the others were there"
    assert again[TAUGHT].null_count == 0
    with_teacher(table.slice(0, 1), replace(teacher, identity="another"), tmp_path, frozenset(), print)
    assert teacher.asked[5:] == ["mill0"]


def test_targets_mix_labels_and_teacher():
    """The loss is that of the labels and that of the teacher, by their shares."""
    table = labelled(films(2), sentences=4)
    soft = [[np.nan, 0.9, 0.2, 0.5], None]
    table = table.append_column(TAUGHT, pa.array(soft, pa.list_(pa.float32())))
    label = np.array([-1, 1, 1, -1, -1, 0, 1, -1], np.int8)
    weight = np.array([0, 1, 0.5, 0, 0, 1, 0.25, 0], np.float32)
    target, mixed = soft_targets(table, label, weight, 0.25)
    log_odds = np.linspace(-2, 2, 8)
    entropy = lambda truth: np.logaddexp(0, log_odds) - truth * log_odds  # noqa: E731
    teacher = np.nan_to_num(np.array([np.nan, 0.9, 0.2, 0.5]))
    there = np.array([0, 1, 1, 1])
    expected = (
        0.75 * (weight * entropy(np.maximum(label, 0)))[:4] + 0.25 * there * entropy(np.r_[teacher, 0, 0, 0, 0])[:4]
    )
    np.testing.assert_allclose((mixed * entropy(target))[:4], expected, rtol=1e-5)
    np.testing.assert_array_equal(mixed[4:], weight[4:])
    np.testing.assert_array_equal(target[4:], np.maximum(label, 0)[4:])
    for bare, share in ((table.drop_columns([TAUGHT]), 0.25), (table, 0.0)):
        same, unmixed = soft_targets(bare, label, weight, share)
        np.testing.assert_array_equal(same, np.maximum(label, 0))
        np.testing.assert_array_equal(unmixed, weight)


def test_boundaries_without_labels_are_learned_from_the_teacher(tmp_path):
    table = pa.concat_tables([labelled(films(1)), unlabelled(labelled(films(16, "harbour"), seed=1))])
    taught = with_teacher(table, ByOpening(), tmp_path, frozenset(), print)
    scorer = fit_net(taught, np.ones(len(flat(table, "same_turn")), bool), replace(SMALL, taught=0.9))
    unseen = labelled(films(8), seed=2)
    texts = unseen["sentences"].combine_chunks().flatten().field("text").to_pylist()
    goes_on = np.array([text.startswith("And") for text in texts])
    scores = scorer.same_turn(unseen)
    known = ~np.isnan(scores)
    assert ((scores > 0.5) == goes_on)[known].mean() > 0.95


def test_only_encoders_make_haste(tmp_path):
    random_scorer(save_backbone(tmp_path / "backbone")).save(tmp_path / "scorer")
    scorer = load_scorer(str(tmp_path / "scorer"))
    hasty = in_haste(scorer, 1)
    assert hasty.identity == scorer.identity and hasty.parts[0].threads == 1
    table = labelled(films(2), sentences=8)
    np.testing.assert_allclose(hasty.same_turn(table), scorer.same_turn(table), atol=0.1)
    half = replace(scorer.parts[0], half=True).same_turn(table)
    difference = np.nanmax(np.abs(half - scorer.parts[0].same_turn(table)))
    assert 0 < difference < 0.2
    for name in ("blend", "rules"):
        assert in_haste(load_scorer(name), 3).identity == load_scorer(name).identity
