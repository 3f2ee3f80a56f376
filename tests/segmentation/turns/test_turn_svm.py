"""Codes of boundaries: the groups, and that a document's codes are its own."""

import numpy as np
import pytest

from edos_dataset.segmentation.turns.evidence import read
from edos_dataset.segmentation.turns.svm import GROUPS, FeatureSettings, SvmScorer, products, read_boundaries
from turn_documents import documents, sentence, spoken

FILM = spoken("Where is Anna?", "Anna is not here.", "Oh.", "She left with Tom, I think.", "When?")
OTHER = spoken("Go!", "No.", "Then stay where you are, Tom.")


def test_codes_do_not_depend_on_other_documents():
    settings = FeatureSettings()
    both, alone = (
        read_boundaries(read(documents(FILM, OTHER), "en"), settings),
        read_boundaries(read(documents(OTHER), "en"), settings),
    )
    assert both.columns[:, len(FILM) :].tolist() == alone.columns.tolist()
    assert both.bags[:, both.offsets[len(FILM)] :].tolist() == alone.bags.tolist()
    assert both.first.tolist() == [True, False, False, False, False, True, False, False]


@pytest.mark.parametrize("group", [group for group in GROUPS if group not in ("ngrams", "quadratic")])
def test_a_group_can_be_left_out(group):
    names = read_boundaries(read(documents(FILM), "en"), FeatureSettings()).names
    fewer = read_boundaries(
        read(documents(FILM), "en"), FeatureSettings(groups=tuple(name for name in GROUPS if name != group))
    ).names
    assert {name.split(".")[0] for name in names} - {name.split(".")[0] for name in fewer} == {group}


@pytest.mark.parametrize(
    ("groups", "columns", "bags"),
    [
        (("block",), 1, 0),
        (("ngrams",), 0, 2),
        (("edge_tokens", "edge_bigrams"), 8, 0),
        (("ngrams", "block", "density"), 2, 2),
    ],
)
def test_number_of_features(groups, columns, bags):
    settings = FeatureSettings(groups=groups)
    blocks = list(products(read_boundaries(read(documents(FILM), "en"), settings), settings, np.array([1, 2])))
    assert sum(len(codes) for codes, offsets in blocks if offsets is None) == columns
    assert sum(offsets is not None for _, offsets in blocks) == bags


def test_products_of_columns_and_of_lemmas():
    settings = FeatureSettings(groups=("ngrams", "block", "density", "edge_tokens", "quadratic"))
    boundaries = read_boundaries(read(documents(FILM), "en"), settings)
    blocks = list(products(boundaries, settings, np.array([1, 3])))
    flat = sum(len(codes) for codes, offsets in blocks if offsets is None)
    assert flat == 6 + 1 + 2 * 4  # linear; block by density; both by four words, which are not multiplied by each other
    codes, offsets = blocks[-1]
    assert np.diff(offsets).tolist() == [
        4 * 5,
        2 * 8,
    ]  # "Where is Anna ?" by "Anna is not here ."; "Oh ." by the eight tokens of the fourth
    before, here = boundaries.bags[0, ::2], boundaries.bags[1, ::2]
    assert codes[: 4 * 5].tolist() == [left ^ right for left in before[:4] for right in here[4:9]]


def test_a_name_is_any_name():
    settings = FeatureSettings(groups=("ngrams", "edge_tokens"))
    tom, eve = (
        read_boundaries(read(documents(spoken(f"Ask {name}.", f"{name} knows.")), "en"), settings)
        for name in ("Tom", "Eve")
    )
    assert tom.columns.tolist() == eve.columns.tolist()
    assert tom.bags.tolist() == eve.bags.tolist()
    small = read_boundaries(read(documents(spoken("Ask tom.", "Tom knows.")), "en"), settings)
    assert small.columns.tolist() != tom.columns.tolist()


def test_a_genre_that_the_model_does_not_know_is_unknown():
    settings = FeatureSettings(groups=("genre",), genres=("Comedy", "Drama"))
    none, strange, comedy, drama = (
        read_boundaries(read(documents(FILM, genres=genres), "en"), settings).columns
        for genres in (None, ["Western"], ["Comedy"], ["Drama"])
    )
    assert none.tolist() == strange.tolist()
    assert len({columns[0, 1] for columns in (none, comedy, drama)}) == 3


@pytest.mark.parametrize(("settings", "message"), [({"groups": ["grams"]}, "'grams'"), ({"bits": 30}, "bits is 30")])
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        FeatureSettings(**settings)


def test_no_documents_and_empty_documents():
    assert read_boundaries(read(documents(), "en"), FeatureSettings()).columns.shape[1] == 0
    assert (
        read_boundaries(read(documents([], FILM, []), "en"), FeatureSettings()).columns.tolist()
        == read_boundaries(read(documents(FILM), "en"), FeatureSettings()).columns.tolist()
    )


SCORED_FILM = spoken("Where is Anna?", "Anna is not here.", "Oh.", "She left with Tom, I think.", "When?")
SCORED_OTHER = spoken("Go!", "No.", "Then stay where you are, Tom.")


def scorer(bits=12, **settings):
    weights = np.random.default_rng(5).integers(-127, 128, 1 << bits).astype(np.int8)
    return SvmScorer(weights, 0.001, 0.1, FeatureSettings(bits=bits, **settings), {"name": "test"})


def test_margins_are_the_sums_of_the_weights():
    model = scorer(genres=("Drama",))
    boundaries = read_boundaries(read(documents(SCORED_FILM, SCORED_OTHER, genres=["Drama"]), "en"), model.settings)
    weights = model.weights.astype(int)
    for row in (1, 4, 6, 7):
        expected = sum(weights[codes].sum() for codes, _ in products(boundaries, model.settings, np.array([row])))
        assert model.margins(boundaries)[row] == expected
    assert model.margins(boundaries)[[0, 5]].tolist() == [0, 0]


def test_scores_are_probabilities_and_each_document_is_scored_by_itself():
    model = scorer()
    scores = model.same_turn(documents(SCORED_FILM, SCORED_OTHER))
    assert scores.dtype == np.float32
    assert np.isnan(scores).tolist() == [True, False, False, False, False, True, False, False]
    assert ((scores[1:5] > 0) & (scores[1:5] < 1)).all()
    np.testing.assert_array_equal(
        scores, np.r_[model.same_turn(documents(SCORED_FILM)), model.same_turn(documents(SCORED_OTHER))]
    )


def test_many_seams_are_scored_as_few_are():
    model = scorer()
    many = model.same_turn(documents(*[SCORED_FILM] * 700))
    np.testing.assert_array_equal(many, np.tile(model.same_turn(documents(SCORED_FILM)), 700))


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
    np.testing.assert_array_equal(again.same_turn(documents(SCORED_FILM)), model.same_turn(documents(SCORED_FILM)))


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
