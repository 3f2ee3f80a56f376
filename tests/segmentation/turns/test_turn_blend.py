"""The blend: the mean of two opinions in log-odds, and what a folder of weights is loaded as."""

import json

import numpy as np
import pytest
from test_turn_net import FILM, OTHER, SMALL
from test_turn_net import scorer as net
from test_turn_svm import scorer as svm

from edos_dataset.encoders.folders import download_model
from edos_dataset.segmentation.turns.scorers import SCORERS, BlendScorer, blend, load_scorer
from edos_dataset.segmentation.turns.stage import SegmentTurns
from turn_documents import documents, sentence

TABLE = documents(FILM, OTHER)


def log_odds(scores):
    return np.log(scores.astype(float) / (1 - scores.astype(float)))


def skip_without_backbone():
    """Skip a test where the encoder of `context`, which the Hub has, is not in the cache."""
    try:
        download_model("sentence-transformers/all-mpnet-base-v2", only_here=True)
    except (OSError, ValueError):
        pytest.skip("needs sentence-transformers/all-mpnet-base-v2")


def test_the_mean_of_log_odds():
    np.testing.assert_allclose(
        blend(np.array([2.0, -1.0, np.nan]), np.array([-2.0, -3.0, 1.0])), [0.5, 1 / (1 + np.exp(2)), np.nan], rtol=1e-6
    )


def test_the_blend_lies_between_its_parts():
    model = BlendScorer((svm(), net()))
    scores, parts = model.same_turn(TABLE), np.stack([part.same_turn(TABLE) for part in model.parts])
    assert scores.dtype == np.float32
    assert np.isnan(scores).tolist() == np.isnan(parts[0]).tolist()
    known = ~np.isnan(scores)
    np.testing.assert_allclose(log_odds(scores[known]), log_odds(parts[:, known]).mean(axis=0), atol=1e-3)
    assert (np.ptp(parts[:, known], axis=0) > 0.01).any()
    np.testing.assert_array_equal(scores, np.r_[model.same_turn(documents(FILM)), model.same_turn(documents(OTHER))])


@pytest.mark.parametrize("film", SMALL)
def test_small_documents(film):
    assert len(BlendScorer((svm(), net())).same_turn(documents(film))) == len(film)


def test_a_folder_of_weights_is_loaded_as_what_it_holds(tmp_path):
    first, second = svm(), net()
    first.save(tmp_path / "svm")
    second.save(tmp_path / "net")
    (tmp_path / "record.json").write_text(json.dumps({"name": "mine"}))
    both = load_scorer(str(tmp_path))
    assert (both.record, both.languages) == ({"name": "mine"}, ("en",))
    assert both.identity == first.identity + second.identity
    np.testing.assert_array_equal(both.same_turn(TABLE), BlendScorer((first, second)).same_turn(TABLE))
    for name, scorer in (("svm", first), ("net", second)):
        np.testing.assert_array_equal(load_scorer(str(tmp_path / name)).same_turn(TABLE), scorer.same_turn(TABLE))
    with pytest.raises(ValueError, match="no turn scorer is named"):
        SegmentTurns(scorer=str(tmp_path / "elsewhere"))


@pytest.mark.parametrize("name", SCORERS)
def test_shipped_scorers_tell_an_answer_from_a_sentence_that_goes_on(name):
    """Any scorer that is worth its name does; the record of a learned one says on what it was measured."""
    if name == "context":
        skip_without_backbone()
    scorer = load_scorer(name)
    words = (
        "I looked everywhere.",
        "Did you see my keys?",
        "No, I didn't.",
        "I went to the door.",
        "And then I came back.",
        "Where were you?",
        "At home.",
    )
    film = [sentence(text, 2.0 * at, 2.0 * at + 1.8, at) for at, text in enumerate(words)]
    scores = scorer.same_turn(documents(film))
    assert np.isnan(scores[0])
    assert scores[[2, 6]].max() + 0.15 < scores[4]
    assert scores[[2, 6]].max() < 0.4
    if name != "rules":
        assert 0.7 < scorer.record["metrics"]["unseen_shows"]["all"]["accuracy"] < 0.9
        assert SegmentTurns(scorer=name).records() == {f"turns-{name}": scorer.record}
