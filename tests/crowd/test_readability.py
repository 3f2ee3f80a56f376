"""Readability by hand."""

import pytest

from edos_dataset.crowd.selection import Readability, token_frequencies
from readability_runs import SAD, write_run


def test_frequencies_are_shares_of_all_tokens(tmp_path):
    run = write_run(tmp_path, {"a": [("No, no!", SAD, 0.5)], "b": [("Oh no.", SAD, 0.5)]})
    assert token_frequencies(run) == pytest.approx({"no": 3 / 7, ",": 1 / 7, "!": 1 / 7, "oh": 1 / 7, ".": 1 / 7})


def test_score_by_hand():
    readability = Readability({"no": 0.5, "!": 0.25}, alpha=7, weight=0.1)
    # Tokens: no no ! oh; words: no no oh.
    f, d, score = readability.score(["No no!", "Oh"])
    assert (f, d) == (pytest.approx(1.25 / (7 + 4)), pytest.approx(2 / 3))
    assert score == pytest.approx(1.25 / 11 + 0.1 * 2 / 3)
    assert Readability({}).alpha == 87 and Readability({}).weight == 0.04
    assert readability.score(["..."]) == (0, 0, 0)


def test_what_the_paper_wants_of_the_score():
    """Rare words make a dialogue hard; so does repetition, which f alone would reward."""
    frequent = {"you": 0.03, "know": 0.01, "him": 0.01, "well": 0.005}
    readability = Readability(frequent)
    assert readability.score(["You know him well"])[2] > readability.score(["Thou gnarly quixotic fjord"])[2]
    repeated, plain = readability.score(["you you you you"]), readability.score(["you know him well"])
    assert repeated[0] > plain[0] and repeated[2] < plain[2]
