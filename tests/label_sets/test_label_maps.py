"""Maps between label sets, built in and from files."""

from itertools import permutations

import numpy as np
import pytest

from edos_dataset.label_sets import BUILT_IN, LabelSet, LabelSetError, load_label_map, load_label_set, map_between

EDOS = load_label_set("edos41")


def test_every_known_map_keeps_all_of_the_probability_or_says_that_nothing_corresponds():
    known = 0
    for source, target in permutations(map(load_label_set, BUILT_IN), 2):
        try:
            sums = map_between(source, target).weights.sum(axis=1)
        except LabelSetError:
            continue
        known += 1
        assert np.isclose(sums[sums > 0], 1).all(), (source.name, target.name)
        lacking = {label for label, total in zip(source.labels, sums, strict=True) if not total}
        assert not lacking or target.neutral is None, (source.name, target.name)
    assert known > 35


def test_edos_translates_into_every_built_in_set():
    for name in BUILT_IN:
        assert map_between(EDOS, load_label_set(name)).target.name == name


def test_probabilities_are_summed():
    found = map_between(EDOS, load_label_set("sentiment3"))
    probabilities = np.zeros((1, 41), np.float32)
    probabilities[0, [EDOS.ids[name] for name in ("sad", "furious", "joyful", "neutral")]] = [0.3, 0.2, 0.4, 0.1]
    np.testing.assert_allclose(found.apply(probabilities), [[0.5, 0.1, 0.4]], atol=1e-6)
    assert found("furious") == "negative"


def test_what_has_no_counterpart_is_left_out_and_the_rest_scaled():
    found = map_between(EDOS, load_label_set("emotions32"))
    probabilities = np.zeros((2, 41), np.float32)
    probabilities[0, [EDOS.ids["sad"], EDOS.ids["neutral"]]] = [0.2, 0.8]
    probabilities[1, EDOS.ids["neutral"]] = 1
    applied = found.apply(probabilities)
    assert applied[0, EDOS.ids["sad"]] == pytest.approx(1) and found("neutral") is None
    np.testing.assert_allclose(applied[1], 1 / 32)


def test_sums_of_labels_that_hold_together_are_limited_to_1():
    found = load_label_map({"a": "x", "b": "x", "c": "y"}, LabelSet.of_labels("abc"))
    np.testing.assert_allclose(found.apply(np.array([[0.9, 0.8, 0.3]], np.float32), exclusive=False), [[1, 0.3]])


def test_the_same_labels_in_another_order_are_reordered_and_a_set_without_maps_translates_by_its_names():
    own = LabelSet.of_labels(["Joy", "anger", "fear", "disgust", "surprise", "sadness", "neutral"])
    assert map_between(own, load_label_set("ekman7"))("Joy") == "joy"
    assert map_between(own, load_label_set("sentiment3"))("Joy") == "positive"
    assert map_between(load_label_set("emotions32"), EDOS)("sad") == "sad"


def test_a_set_of_ones_own_may_say_what_it_makes_of_others(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("labels: [good, bad]\nfrom:\n  sentiment3: {positive: good, negative: bad, neutral: [good, bad]}\n")
    own = load_label_set(path)
    assert map_between(load_label_set("sentiment3"), own)("negative") == "bad"
    assert load_label_map(path, EDOS)("furious") == "bad"  # by way of sentiment3


def test_a_map_from_a_file(tmp_path):
    path, source = tmp_path / "map.yaml", load_label_set("sentiment3")
    path.write_text("negative: bad\nneutral: null\npositive: {good: 0.9, bad: 0.1}\n")
    found = load_label_map(path, source)
    assert found.target.labels == ("bad", "good") and found.target.name == "map"
    np.testing.assert_allclose(found.apply(np.array([[0.2, 0.3, 0.5]], np.float32)), [[0.25 / 0.7, 0.45 / 0.7]], 1e-6)
    path.write_text("to: ekman7\nlabels: {negative: [anger, sadness]}\nothers: neutral\n")
    found = load_label_map(path, source)
    assert found.target.name == "ekman7" and found("positive") == "neutral"
    assert load_label_map(found.as_dict(), source).table == found.table


WRONG = {
    "negative: bad\npositive: good": "map.yaml.*says nothing about 'neutral': map it to a label, or to null",
    "negative: bad\nneutral: bad\npostive: good": "line 3: 'postive' is no label of .* did you mean 'positive'",
    "to: ekman7\nothers: neutral\nlabels:\n  positive: joi": "line 4: 'positive' is mapped to 'joi', no label of",
    "to: ekman8\nlabels: {positive: joy}": "line 1: no label set is named|line 1: .*ekman8",
    "to: ekman7\nother: neutral\nlabels:\n  positive: joy": "line 2: unknown key 'other'; did you mean 'others'",
    "negative: 3": "line 1: negative is 3: expected",
}


@pytest.mark.parametrize(("text", "message"), WRONG.items())
def test_what_is_wrong_with_a_map_is_said_with_the_line(text, message, tmp_path):
    path = tmp_path / "map.yaml"
    path.write_text(text)
    with pytest.raises(LabelSetError, match=message):
        load_label_map(path, load_label_set("sentiment3"))


def test_a_map_that_is_not_known_names_those_that_are():
    with pytest.raises(LabelSetError, match=r"no map .* to 'edos41' is known .* give one by --map FILE"):
        map_between(load_label_set("ekman7"), EDOS)
