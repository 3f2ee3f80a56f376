import numpy as np
import pytest

from edos_dataset.segmentation.spelling import number_words


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
