"""Where scenes are known, how cuts are counted, and what is learned of invented episodes."""

import numpy as np
import pytest

from training.scenes.corpus import Breaks, Episode, breaks_of_scenes, breaks_of_script, joined
from training.scenes.fit import FitSettings, fit
from training.scenes.measure import calibration, describe, interval, judge
from training.transcripts.scripts import Speech

WORDS = [
    "Nobody told the baker about the missing flour.",
    "He counted seventeen sacks on Tuesday evening.",
    "Somebody opened the cellar window from inside.",
    "Then the parrot saw everything that happened.",
    "My lawyer arrives with the midnight ferry.",
    "Bring him soup and do not mention pirates.",
    "Pirates never worried such a stubborn gentleman.",
    "The harbour master wants his lantern back.",
]


def test_scripts_tell_breaks_and_insides():
    """A break lies between the last sentence known to be before it and the first known behind it."""
    texts = [*WORDS[:4], "Previously unheard nonsense!", *WORDS[4:]]
    scenes = [0, 0, 0, 0, 1, 1, 1, 2]
    found = breaks_of_script(texts, [Speech("Ann", text, *at, 1) for text, at in zip(WORDS, zip(scenes), strict=True)])
    assert found.first.tolist() == [4, 8] and found.last.tolist() == [5, 8]
    assert np.flatnonzero(found.within).tolist() == [1, 2, 3, 6, 7]
    assert found.weight.tolist() == [1, 1] and found.unplaced == 0


def test_single_scenes_tell_their_edges():
    """What lies between them is unknown; the edge of a scene that was not found whole is, too."""
    found = breaks_of_scenes(WORDS, [WORDS[1:3], [*WORDS[4:7], "Zebras quietly juggle ninety oranges abroad."]], 1.8)
    assert found.first.tolist() == found.last.tolist() == [1, 3, 4]
    assert found.weight.tolist() == [0.5] * 3 and found.boundary == 1.8
    assert np.flatnonzero(found.within).tolist() == [2, 5, 6]


def test_a_break_of_one_release_inside_a_scene_of_another_is_none():
    """As its scene was cut short."""
    both = joined([breaks_of_scenes(WORDS, [WORDS[1:4]]), breaks_of_scenes(WORDS, [WORDS[2:6]])])
    assert both.first.tolist() == [1, 6]
    assert np.flatnonzero(both.within).tolist() == [2, 3, 4, 5]


def episode(number, size=60, every=12):
    """Return an episode of which each twelfth turn begins a scene, told by the first of three features."""
    rng = np.random.default_rng(number)
    at = np.arange(every, size, every)
    features = rng.standard_normal((size, 3)).astype(np.float32)
    features[at, 0] += 4
    within = np.ones(size, bool)
    within[[0, *at]] = False
    silences = np.full(size, 0.5)
    silences[0] = np.nan
    codes = rng.integers(0, 16, size * 2), np.repeat(np.arange(size), 2)
    return Episode(
        "show", f"e{number}", Breaks(at, at, np.ones(len(at)), within), np.arange(size), features, codes, silences
    )


def test_cuts_are_counted_once():
    """A break counts as found by any score between its edges; every cut inside a scene is wrong."""
    one = episode(0, 8, 4)
    breaks = Breaks(
        np.array([3]), np.array([5]), np.array([1.0]), np.array([0, 1, 1, 0, 0, 0, 1, 1], bool), boundary=2.0
    )
    one = Episode("s", "f", breaks, np.arange(8), one.features, one.codes, one.silences)
    scores = [np.array([np.nan, 0.9, 0.1, 0.6, 0.7, -np.inf, 0.2, 0.1])]
    low, high = judge([one], scores, [0.5, 0.95])
    assert (low["precision"], low["recall"], low["f1"]) == (0.3333, 1.0, 0.5) and low["cuts"] == 3
    assert (high["precision"], high["recall"], high["f1"]) == (1.0, 0.0, 0.0)
    assert interval([one], scores, 0.5, samples=20) == [0.5, 0.5]
    label, weight = one.labels(np.arange(8.0))
    assert label.tolist() == [0, 0, 0, 0, 0, 1, 0, 0] and weight.tolist() == [0, 2, 2, 0, 0, 1, 2, 2]
    assert sum(row["borders"] for row in calibration([one], scores)) == 9


@pytest.mark.parametrize("words", [True, False])
def test_what_tells_scenes_is_learned(words):
    """On episodes that were not learned from, far better than by silences, which are all alike; twice the same."""
    settings = FitSettings(words=words, bits=4, members=2, epochs=40, rate=0.02)
    train, test = [episode(number) for number in range(40)], [episode(number) for number in range(40, 50)]
    fitted = fit(train, settings)
    scores = [one.by_sentence(1 / (1 + np.exp(-fitted.log_odds(one)))) for one in test]
    found = describe(test, scores, 0.4)
    assert found["chosen"]["f1"] > 0.8 and found["silence_over_5"]["f1"] == 0
    assert found["chosen"]["f1_interval"][0] <= found["chosen"]["f1"] <= found["chosen"]["f1_interval"][1]
    assert np.isneginf(scores[0][0])
    again = fit(train, settings)
    assert np.array_equal(again.first, fitted.first) and np.array_equal(again.words, fitted.words)
