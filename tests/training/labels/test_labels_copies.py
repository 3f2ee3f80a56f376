"""Texts that say the same as a held-out one."""

import numpy as np
import pytest

from training.labels.copies import near_copies

LONG = "the ship left harbour at seven with nobody aboard but me"


def test_equal_texts_are_copies_whatever_their_marks_and_near_ones_by_four_words_of_five():
    texts = ["Where did you put my green umbrella?!", "where did you put my green boots", "Where did you?", "And why?"]
    held = ["- where did you put my green umbrella", "You put the umbrella where?"]
    assert near_copies(texts, held).tolist() == [True, False, False, False]
    assert near_copies(["one two three four five"], ["five four three two one six"]).tolist() == [True], "5 of 6"
    assert near_copies(["one two three four five"], ["one two three four seven"]).tolist() == [False], "4 of 6"
    assert near_copies(["one two three four five"], ["one two three four seven"], share=0.6).tolist() == [True]
    assert near_copies(["so so so so good"], ["good so"], short=1).tolist() == [True], "words are counted once"


@pytest.mark.parametrize(("short", "found"), [(3, [False, True]), (2, [True, True]), (4, [False, False])])
def test_a_short_held_out_text_has_no_copies(short, found):
    texts = ["Thank you, Tom!", "Thank you so much."]
    assert near_copies(texts, texts, short).tolist() == found


def test_six_words_in_a_row_are_a_copy_only_of_what_may_be_cut_elsewhere():
    texts = ["Harbour at seven with nobody aboard", "harbour at seven with nobody else aboard", "at seven"]
    assert near_copies(texts, [LONG]).tolist() == [False, False, False]
    assert near_copies(texts, [], cut=[LONG]).tolist() == [True, False, False]
    assert near_copies([f"I said: {LONG}, and more of this and that and so on."], [], cut=[LONG]).tolist() == [True]
    five = "with nobody aboard but me"
    assert near_copies([five], [], cut=["Nobody.", five]).tolist() == [False]


def test_nothing_is_a_copy_of_nothing():
    assert near_copies([], [LONG], cut=[LONG]).tolist() == []
    assert near_copies([LONG, "", "..."], []).tolist() == [False] * 3
    assert near_copies(["", "..."], ["", "...", LONG]).tolist() == [False] * 2


def test_many_texts_come_out_as_if_each_were_compared_with_each():
    drawn = np.random.default_rng(0).integers(0, 4000, (9000, 9))
    texts = [" ".join(f"w{word}" for word in row) for row in drawn.tolist()]
    held = [" ".join(f"w{13 * row + word}" for word in range(9)) for row in range(300)]
    for row, changed in ((10, 0), (4095, 1), (4096, 1), (8999, 2)):
        own = held[row % 300].split()
        texts[row] = " ".join([*own[changed:], *(f"new{row}n{number}" for number in range(changed))])
    found = np.flatnonzero(near_copies(texts, held)).tolist()
    assert found == [10, 4095, 4096], "8 of 10 words in common are enough, 7 of 11 are not"


def test_words_that_all_texts_have_find_no_copies_but_equal_texts():
    texts = [f"you and me and all the rest {number}" for number in range(200)]
    assert near_copies([*texts, "you and me and all the rest"], ["You and me and all the rest!"]).tolist() == (
        [False] * 200 + [True]
    ), "as its docstring says: a word in common must be in at most fifty texts, or a hundredth of them"
