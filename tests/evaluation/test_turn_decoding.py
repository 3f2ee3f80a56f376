"""Speakers of a document are found as a search through all of them finds them, and names move them."""

from itertools import product

import numpy as np
import pytest

from evaluation.turn_decoding import Weights, calls, decode

NOBODY: set[str] = set()


def searched(same: list[float], called: list[set[str]], weights: Weights) -> list[float]:
    """Return P(same) by adding up every way in which three or four people may have said all this."""
    names = sorted({name for those in called for name in those})
    people = range(max(len(names) + 2, 3))
    total, on = 0.0, np.zeros(len(same))
    for speakers in product(people, repeat=len(same)):
        for before in people:
            chance, last, back = 1.0, speakers[0], before
            for place, who in enumerate(speakers):
                if who < len(names) and names[who] in called[place]:
                    chance *= weights.himself
                if place and who == last:
                    chance *= same[place]
                elif place:
                    likely = [0.0 if other == last else 1.0 for other in people]
                    for other in people:
                        likely[other] *= weights.returning if other == back else 1.0
                        if other < len(names) and names[other] in called[place - 1]:
                            likely[other] *= weights.called
                    chance *= (1 - same[place]) * likely[who] / sum(likely)
                    last, back = who, last
            total += chance
            on += chance * np.array([place > 0 and who == speakers[place - 1] for place, who in enumerate(speakers)])
    return list(on / total)


def test_every_way_to_speak_is_added_up() -> None:
    """Also where somebody is called, who then speaks, or cannot be speaking."""
    same = [0.5, 0.8, 0.3, 0.6, 0.4, 0.5]
    called = [NOBODY, {"Anna"}, NOBODY, {"Anna"}, {"Anna"}, NOBODY]
    for weights in (Weights(), Weights(6.0, 2.0, 0.3)):
        decided = decode(np.array(same, np.float32), called, weights)
        assert np.isnan(decided[0])
        np.testing.assert_allclose(decided[1:], searched(same, called, weights)[1:], rtol=1e-5)


def test_nothing_known_of_people_changes_nothing() -> None:
    """Then each seam says what it said."""
    same = np.array([np.nan, 0.8, 0.3, 0.6], np.float32)
    np.testing.assert_allclose(decode(same, [NOBODY] * 4, Weights(1.0, 1.0, 1.0))[1:], same[1:], rtol=1e-5)


def test_one_who_is_called_is_not_who_calls() -> None:
    """Of two doubtful seams, a turn that calls Anna is not hers who spoke just now."""
    same = np.full(9, 0.5, np.float32)
    called = [{"Anna"}, NOBODY] * 4 + [NOBODY]
    assert decode(same, called, Weights())[2] < 0.49


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Anna, come here.", {"Anna"}),
        ("Oh, hey Anna, come here.", {"Anna"}),
        ("Come here, Anna!", {"Anna"}),
        ("Anna!", {"Anna"}),
        ("Well, come here.", set()),
        ("I saw Anna in town.", set()),
    ],
)
def test_who_is_called(text: str, names: set[str]) -> None:
    """By name, at the beginning or the end."""
    assert calls([text]) == [names]
