"""What people judged about the manner of turns is kept without the words."""

import json

import pytest

from evaluation.judged_manner import digest_of_row, judged_of

_SAID = {"narration": ["she sighed."], "verbs": ["sighed"], "manner": "sighed"}
ROW = {"book": "Emma", "text": "Yes.", "lead": "", **_SAID}


def test_a_judgement_has_a_digest_instead_of_words():
    kept = judged_of(ROW | {"right": False, "why": "of another speaker"})
    assert kept == {"book": "Emma", "digest": digest_of_row(ROW), "right": False, "why": "of another speaker"}
    assert "sigh" not in json.dumps(kept)
    assert digest_of_row(ROW) != digest_of_row(ROW | {"manner": "sadly"})


@pytest.mark.parametrize("right", [{}, {"right": None}, {"right": "yes"}])
def test_what_is_not_judged_is_said(right):
    with pytest.raises(ValueError, match=r"Emma: 'sighed' is not judged: set right to true or false"):
        judged_of(ROW | right)
