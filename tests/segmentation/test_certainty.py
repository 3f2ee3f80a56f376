"""How sure a dialogue is follows from its turns, and only from them."""

import math

import pyarrow as pa
import pytest

from edos_dataset.schema import DIALOGUES
from edos_dataset.segmentation import certainty
from edos_dataset.segmentation.certainty import UNSURE, JudgeDialogues

Turn = tuple[float | None, float | None]


def dialogues(*given: list[Turn]) -> pa.Table:
    """Make dialogues of turns with these probabilities: a new speaker's, and one speaker's."""
    rows = [
        {
            "dialogue_id": f"d{number}",
            "turns": [
                {"text": "Hi.", "sentence_ids": [1], "new_speaker": new, "one_speaker": one} for new, one in turns
            ],
        }
        for number, turns in enumerate(given)
    ]
    return pa.Table.from_pylist(rows, schema=DIALOGUES)


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge by the seams alone."""
    monkeypatch.setattr(certainty, "OF_SEAMS", 1.0)
    monkeypatch.setattr(certainty, "OF_TURNS", 0.0)


def test_certainty_is_the_chance_that_no_seam_is_wrong() -> None:
    """The border before the first turn is none of the dialogue's."""
    (row,) = JudgeDialogues()(dialogues([(0.1, 0.9), (0.8, 1.0), (0.7, 0.5)])).to_pylist()
    assert row["certainty"] == pytest.approx(0.9 * 0.8 * 0.7 * 0.5)
    assert row["expected_errors"] == pytest.approx(0.1 + 0.2 + 0.3 + 0.5)


def test_a_dialogue_is_judged_by_itself() -> None:
    """Also beside one that nothing is known of, and one without any doubt."""
    table = JudgeDialogues()(dialogues([(None, 1.0), (1.0, 1.0)], [(0.5, None), (0.5, 1.0)], [(0.9, 1.0), (0.25, 1.0)]))
    assert table["certainty"].to_pylist() == [1.0, None, 0.25]
    assert table["expected_errors"].to_pylist() == [0.0, None, 0.75]
    assert table.schema.equals(DIALOGUES)


def test_a_seam_that_is_surely_wrong_leaves_no_certainty() -> None:
    """The logarithm of 0 is no error."""
    assert JudgeDialogues()(dialogues([(None, 1.0), (0.0, 1.0)]))["certainty"].to_pylist() == [0.0]


def test_a_new_scene_is_an_error_too() -> None:
    """But not before the first turn; what is not told is left out."""
    rows = dialogues([(0.1, 0.9), (0.8, 1.0), (0.7, 0.5)]).to_pylist()
    for turn, same_scene in zip(rows[0]["turns"], [0.1, 0.75, None], strict=True):
        turn["same_scene"] = same_scene
    (row,) = JudgeDialogues()(pa.Table.from_pylist(rows, schema=DIALOGUES)).to_pylist()
    assert row["certainty"] == pytest.approx(0.9 * 0.8 * 0.7 * 0.5 * 0.75)
    assert row["expected_errors"] == pytest.approx(0.1 + 0.2 + 0.3 + 0.5 + 0.25)


def test_dialogues_that_are_not_sure_enough_leave_for_a_reason() -> None:
    """One of which nothing is known stays."""
    table = JudgeDialogues(least=0.5)(dialogues([(None, 0.4)], [(None, 0.5)], [(None, None)]))
    assert table["reason"].to_pylist() == [UNSURE, None, None]


def test_other_errors_count_by_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer dialogues are less sure, of equally sure seams."""
    monkeypatch.setattr(certainty, "OF_TURNS", math.log(0.9))
    table = JudgeDialogues()(dialogues([(None, 1.0)] * 2, [(1.0, 1.0)] * 3))
    assert table["certainty"][1].as_py() == pytest.approx(0.9**3)


def test_least_is_a_probability() -> None:
    """As the message says."""
    with pytest.raises(ValueError, match="least"):
        JudgeDialogues(least=1.5)
