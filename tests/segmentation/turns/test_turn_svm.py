"""Scores of the linear SVM: exact sums, the same after saving, each document by itself."""

import numpy as np
import pytest

from edos_dataset.segmentation.turns.evidence import read
from edos_dataset.segmentation.turns.features import FeatureSettings, products, read_seams
from edos_dataset.segmentation.turns.svm import SvmScorer
from turn_documents import documents, sentence, spoken

FILM = spoken("Where is Anna?", "Anna is not here.", "Oh.", "She left with Tom, I think.", "When?")
OTHER = spoken("Go!", "No.", "Then stay where you are, Tom.")


def scorer(bits=12, **settings):
    weights = np.random.default_rng(5).integers(-127, 128, 1 << bits).astype(np.int8)
    return SvmScorer(weights, 0.001, 0.1, FeatureSettings(bits=bits, **settings), {"name": "test"})


def test_margins_are_the_sums_of_the_weights():
    model = scorer(genres=("Drama",))
    seams = read_seams(read(documents(FILM, OTHER, genres=["Drama"]), "en"), model.settings)
    weights = model.weights.astype(int)
    for row in (1, 4, 6, 7):
        expected = sum(weights[codes].sum() for codes, _ in products(seams, model.settings, np.array([row])))
        assert model.margins(seams)[row] == expected
    assert model.margins(seams)[[0, 5]].tolist() == [0, 0]


def test_scores_are_probabilities_and_each_document_is_scored_by_itself():
    model = scorer()
    scores = model.same_turn(documents(FILM, OTHER))
    assert scores.dtype == np.float32
    assert np.isnan(scores).tolist() == [True, False, False, False, False, True, False, False]
    assert ((scores[1:5] > 0) & (scores[1:5] < 1)).all()
    np.testing.assert_array_equal(scores, np.r_[model.same_turn(documents(FILM)), model.same_turn(documents(OTHER))])


def test_many_seams_are_scored_as_few_are():
    model = scorer()
    many = model.same_turn(documents(*[FILM] * 700))
    np.testing.assert_array_equal(many, np.tile(model.same_turn(documents(FILM)), 700))


@pytest.mark.parametrize(
    "films", [(), ([],), ([sentence("Alone.")],), ([sentence(""), sentence("...", None, None, None)],)]
)
def test_small_tables(films):
    scores = scorer().same_turn(documents(*films))
    assert len(scores) == sum(map(len, films))
    assert np.isnan(scores[:1]).all()
    assert not np.isnan(scores[1:]).any()


def test_what_is_saved_is_loaded(tmp_path):
    model = scorer(genres=("Drama",), groups=("ngrams", "genre"))
    model.save(tmp_path / "a" / "b")
    again = SvmScorer.load(tmp_path / "a" / "b")
    assert (again.settings, again.languages, again.identity, again.record) == (
        model.settings,
        ("en",),
        model.identity,
        {"name": "test"},
    )
    np.testing.assert_array_equal(again.same_turn(documents(FILM)), model.same_turn(documents(FILM)))


def test_identity_changes_with_all_that_decides_a_score():
    model = scorer()
    changed = [
        scorer(groups=("block",)),
        SvmScorer(model.weights, 0.002, 0.1, model.settings),
        SvmScorer(-model.weights, 0.001, 0.1, model.settings),
    ]
    assert len({model.identity, *(other.identity for other in changed)}) == 4
    assert scorer().identity == model.identity


def test_bad_weights_and_folders_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"int8 \[4096\] for 12 bits, got int16 \(8,\)"):
        SvmScorer(np.zeros(8, np.int16), 1.0, 0.0, FeatureSettings(bits=12))
    with pytest.raises(FileNotFoundError, match="no turn scorer"):
        SvmScorer.load(tmp_path)
