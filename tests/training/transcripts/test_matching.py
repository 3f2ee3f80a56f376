import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.transcripts import matching
from training.transcripts.matching import hash_phrases, match_words, number_words


def _score(ours: list[int], theirs: list[int], worth: np.ndarray, opening: int) -> int:
    """The best score by a full table: what `_best_chain` must reach."""
    free = np.zeros((len(ours) + 1, len(theirs) + 1), int)
    run = np.full_like(free, -(10**9))
    for i, j in itertools.product(range(1, len(ours) + 1), range(1, len(theirs) + 1)):
        if ours[i - 1] == theirs[j - 1]:
            run[i, j] = worth[ours[i - 1]] + max(run[i - 1, j - 1], free[i - 1, j - 1] - opening)
        free[i, j] = max(free[i - 1, j], free[i, j - 1], run[i, j])
    return int(free[-1, -1])


def _score_of(place: np.ndarray, ours: list[int], worth: np.ndarray, opening: int) -> int:
    score = 0
    for at, there in enumerate(place):
        if there >= 0:
            goes_on = at > 0 and place[at - 1] == there - 1 >= 0
            score += worth[ours[at]] - (0 if goes_on else opening)
    return int(score)


@given(st.lists(st.integers(0, 4), max_size=14), st.lists(st.integers(0, 4), max_size=14), st.integers(0, 150))
def test_the_chain_is_the_best_there_is(ours: list[int], theirs: list[int], opening: int) -> None:
    worth = np.array([20, 40, 60, 80, 100])
    place = matching._best_chain(np.array(ours, np.int64), np.array(theirs, np.int64), worth, opening)
    matched = place[place >= 0]
    assert (np.diff(matched) > 0).all()
    assert all(theirs[there] == ours[at] for at, there in enumerate(place) if there >= 0)
    assert _score_of(place, ours, worth, opening) == _score(ours, theirs, worth, opening)


def test_common_words_alone_do_not_match_in_the_open() -> None:
    rng = np.random.default_rng(0)
    here, there = 10 + rng.permutation(200), 300 + rng.permutation(200)
    here[50:150:10], there[50:150:10] = 0, 0  # the only word that both have
    place, _ = match_words(here, there)
    assert (place == -1).all()


def test_a_common_word_in_a_narrow_gap_matches() -> None:
    ours = [10, 11, 12, 13, 0, 14, 15, 16, 17, *[0] * 9]
    theirs = [10, 11, 12, 13, 90, 0, 91, 14, 15, 16, 17, *[92] * 9]
    place, worth = match_words(np.array(ours), np.array(theirs))
    assert place.tolist() == [0, 1, 2, 3, 5, 7, 8, 9, 10, *[-1] * 9]
    assert worth[4] == 20
    assert worth[0] == 100


@pytest.mark.parametrize("sizes", [(0, 0), (0, 3), (3, 0)])
def test_empty_sides(sizes: tuple[int, int]) -> None:
    place, worth = match_words(np.arange(sizes[0]), np.arange(sizes[1]))
    assert len(place) == len(worth) == sizes[0]
    assert (place == -1).all()


def test_long_texts_are_cut_and_match_as_whole_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    theirs = rng.zipf(1.3, 12_000) % 3_000
    kept = rng.random(len(theirs)) > 0.1
    kept[5_000:6_000] = False  # a scene that was cut
    ours, true = theirs[kept], np.flatnonzero(kept)
    cuts = matching._cuts(ours, theirs)
    assert len(cuts) >= 4
    assert all(true[at] == there for at, there in cuts)
    place, _ = match_words(ours, theirs)
    monkeypatch.setattr(matching, "_PIECE", 10**9)
    whole, _ = match_words(ours, theirs)
    assert np.mean(place == whole) > 0.999
    assert np.mean(place == true) > 0.97


def test_crossing_phrases_are_no_cuts() -> None:
    a, b, c = np.arange(3_000), np.arange(3_000, 6_000), np.arange(6_000, 9_000)
    assert matching._cuts(np.concatenate([a, b, c]), np.concatenate([b, a, c])) == [(6_004, 6_004), (7_504, 7_504)]


def test_phrases() -> None:
    phrases = hash_phrases(np.array([1, 2, 3, 1, 2, 4, 2, 1]), 2)
    assert len(phrases) == 7
    assert phrases[0] == phrases[3]
    assert len(set(phrases.tolist())) == 6
    assert len(hash_phrases(np.array([1]), 2)) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Dr West", "doctor west"),
        ("I'm gonna go.", "I am going to go"),
        ("You don't, won't, can't!", "you do not will not cannot"),
        ("They’re here; she’ll stay", "They are here, she will stay"),
        ("21 men & 20 boys, 7 dogs", "Twenty-one men and twenty boys: seven dogs"),
        ("500 bucks, 2,000 gulls, 1500", "five hundred bucks, two thousand gulls, fifteen hundred"),
        ("1994: 103", "1994 103"),
        ("Café, CAFÉ", "cafe cafe"),
        ("Nothin' to do", "nothing to do"),
        ("'em all, 'cause it's late", "Them all because it is late"),
        ("...well -- OK?", "Well, okay"),
        ("O’Hara's", "o'hara is"),
    ],
)
def test_two_spellings_of_one(one: str, other: str) -> None:
    words, owners = number_words([one, other])
    np.testing.assert_array_equal(words[owners == 0], words[owners == 1])


def test_words_and_their_texts() -> None:
    words, owners = number_words(["rain and\nrain", "", "...", "sun"])
    assert owners.tolist() == [0, 0, 0, 3]
    assert words[0] == words[2]
    assert sorted(set(words.tolist())) == [0, 1, 2]


@pytest.mark.parametrize("texts", [[], [""], ["", "?"]])
def test_no_words(texts: list[str]) -> None:
    words, owners = number_words(texts)
    assert len(words) == len(owners) == 0
