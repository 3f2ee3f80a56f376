"""Codes of seams: the groups, and that a document's codes are its own."""

import numpy as np
import pytest

from edos_dataset.segmentation.turns.evidence import read
from edos_dataset.segmentation.turns.features import GROUPS, FeatureSettings, products, read_seams
from turn_documents import documents, spoken

FILM = spoken("Where is Anna?", "Anna is not here.", "Oh.", "She left with Tom, I think.", "When?")
OTHER = spoken("Go!", "No.", "Then stay where you are, Tom.")


def test_codes_do_not_depend_on_other_documents():
    settings = FeatureSettings()
    both, alone = (
        read_seams(read(documents(FILM, OTHER), "en"), settings),
        read_seams(read(documents(OTHER), "en"), settings),
    )
    assert both.columns[:, len(FILM) :].tolist() == alone.columns.tolist()
    assert both.bags[:, both.offsets[len(FILM)] :].tolist() == alone.bags.tolist()
    assert both.first.tolist() == [True, False, False, False, False, True, False, False]


@pytest.mark.parametrize("group", [group for group in GROUPS if group not in ("ngrams", "quadratic")])
def test_a_group_can_be_left_out(group):
    names = read_seams(read(documents(FILM), "en"), FeatureSettings()).names
    fewer = read_seams(
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
    blocks = list(products(read_seams(read(documents(FILM), "en"), settings), settings, np.array([1, 2])))
    assert sum(len(codes) for codes, offsets in blocks if offsets is None) == columns
    assert sum(offsets is not None for _, offsets in blocks) == bags


def test_products_of_columns_and_of_lemmas():
    settings = FeatureSettings(groups=("ngrams", "block", "density", "edge_tokens", "quadratic"))
    seams = read_seams(read(documents(FILM), "en"), settings)
    blocks = list(products(seams, settings, np.array([1, 3])))
    flat = sum(len(codes) for codes, offsets in blocks if offsets is None)
    assert flat == 6 + 1 + 2 * 4  # linear; block by density; both by four words, which are not multiplied by each other
    codes, offsets = blocks[-1]
    assert np.diff(offsets).tolist() == [
        4 * 5,
        2 * 8,
    ]  # "Where is Anna ?" by "Anna is not here ."; "Oh ." by the eight tokens of the fourth
    before, here = seams.bags[0, ::2], seams.bags[1, ::2]
    assert codes[: 4 * 5].tolist() == [left ^ right for left in before[:4] for right in here[4:9]]


def test_a_name_is_any_name():
    settings = FeatureSettings(groups=("ngrams", "edge_tokens"))
    tom, eve = (
        read_seams(read(documents(spoken(f"Ask {name}.", f"{name} knows.")), "en"), settings) for name in ("Tom", "Eve")
    )
    assert tom.columns.tolist() == eve.columns.tolist()
    assert tom.bags.tolist() == eve.bags.tolist()
    small = read_seams(read(documents(spoken("Ask tom.", "Tom knows.")), "en"), settings)
    assert small.columns.tolist() != tom.columns.tolist()


def test_a_genre_that_the_model_does_not_know_is_unknown():
    settings = FeatureSettings(groups=("genre",), genres=("Comedy", "Drama"))
    none, strange, comedy, drama = (
        read_seams(read(documents(FILM, genres=genres), "en"), settings).columns
        for genres in (None, ["Western"], ["Comedy"], ["Drama"])
    )
    assert none.tolist() == strange.tolist()
    assert len({columns[0, 1] for columns in (none, comedy, drama)}) == 3


@pytest.mark.parametrize(("settings", "message"), [({"groups": ["grams"]}, "'grams'"), ({"bits": 30}, "bits is 30")])
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        FeatureSettings(**settings)


def test_no_documents_and_empty_documents():
    assert read_seams(read(documents(), "en"), FeatureSettings()).columns.shape[1] == 0
    assert (
        read_seams(read(documents([], FILM, []), "en"), FeatureSettings()).columns.tolist()
        == read_seams(read(documents(FILM), "en"), FeatureSettings()).columns.tolist()
    )
