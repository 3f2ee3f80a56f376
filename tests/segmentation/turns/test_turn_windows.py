"""Windows of sentences: every seam is decided once, and read with what lies around it."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edos_dataset.segmentation.turns.evidence import read
from edos_dataset.segmentation.turns.net import EVIDENCE, evidence_rows
from edos_dataset.segmentation.turns.windows import (
    LONGEST,
    MARGIN,
    TOKENS,
    Marks,
    Sentences,
    Window,
    batch_of,
    read_sentences,
    token_ids,
    windows,
)
from small_models import VOCABULARY, small_tokenizer
from turn_documents import documents, spoken

LENGTHS = st.lists(st.integers(0, LONGEST), max_size=120)
MARKS = Marks(opening=2, between=3, padding=0)


@given(LENGTHS, st.integers(0, TOKENS // 2 - 1))
def test_each_seam_is_decided_once_in_a_window_that_fits(lengths, shift):
    found = list(windows(lengths, shift))
    assert [seam for window in found for seam in range(window.first, window.stop)] == list(range(len(lengths)))
    for number, window in enumerate(found):
        assert 0 <= window.begin <= window.first < window.stop <= window.end <= len(lengths)
        size = sum(lengths[window.begin : window.end]) + window.end - window.begin + 1
        assert size <= TOKENS - (0 if number else shift)
        if number:
            assert window.begin == max(0, window.first - MARGIN)
        if window.end < len(lengths):
            assert window.stop == window.end - MARGIN, "what another window decides better is left to it"
            assert size + lengths[window.end] + 1 > TOKENS - (0 if number else shift), "it is as long as it may be"


@pytest.mark.parametrize(("shift", "borders"), [(0, [0, 22, 41, 60]), (40, [0, 18, 37, 56])])
def test_training_moves_the_borders(shift, borders):
    """25 sentences of ten tokens fit, or 21 in the first window; the last three are left to the next one."""
    assert [window.first for window in windows([9] * 200, shift)][:4] == borders


def test_long_sentences_lose_their_middle_and_marks_in_texts_are_text():
    long = " ".join(VOCABULARY[5 + number % 30] for number in range(LONGEST + 5))
    texts = ["You are happy.", long, "", "You are happy.", "[SEP] oh"]
    tokenizer = small_tokenizer()
    tokenizer.split_special_tokens = True
    ids = token_ids(tokenizer, pa.array(texts))
    words = [[VOCABULARY[token] for token in sentence] for sentence in ids]
    assert words[0] == words[3] == ["you", "are", "happy", "."]
    whole = tokenizer(long, add_special_tokens=False)["input_ids"]
    assert ids[1] == whole[:15] + whole[-15:] and len(ids[1]) == LONGEST
    assert words[2] == []
    assert "[SEP]" not in words[4] and words[4][-1] == "oh"
    assert token_ids(tokenizer, pa.array([], pa.string())) == []


def test_sentences_of_documents_have_their_own_tokens_and_evidence():
    table = documents(spoken("You are sad.", "Oh no!"), [], spoken("Thank you."))
    reading = read(table, "en")
    found = list(read_sentences(reading, small_tokenizer()))
    assert [[len(ids) for ids in one.tokens] for one in found] == [[4, 3], [], [3]]
    np.testing.assert_array_equal(np.concatenate([one.evidence for one in found]), evidence_rows(reading))
    assert [len(one.evidence) for one in found] == [2, 0, 1]


def test_a_batch_has_a_mark_before_every_sentence():
    rows = np.arange(4 * len(EVIDENCE)).reshape(4, -1)
    one = Sentences([[10, 11], [], [12], [13, 14, 15]], rows)
    two = Sentences([[20]], rows[:1] + 100)
    batch = batch_of([(one, Window(0, 3, 0, 2)), (two, Window(0, 1, 0, 1)), (one, Window(1, 4, 2, 4))], MARKS)
    assert batch.ids.tolist() == [
        [2, 10, 11, 3, 3, 12, 3, 0],
        [2, 20, 3, 0, 0, 0, 0, 0],
        [2, 3, 12, 3, 13, 14, 15, 3],
    ]
    assert batch.mask.sum(axis=1).tolist() == [7, 3, 8]
    assert batch.marks.tolist() == [[0, 0], [0, 3], [0, 4], [1, 0], [2, 0], [2, 1], [2, 3]]
    np.testing.assert_array_equal(batch.evidence, np.concatenate([rows[:3], rows[:1] + 100, rows[1:]]))
    assert one.size(Window(0, 3, 0, 2)) == 7
    assert all(batch.ids[row, place] in (2, 3) for row, place in batch.marks)


def test_marks_are_the_tokenizers():
    assert Marks.of(small_tokenizer()) == MARKS


@pytest.mark.parametrize("lengths", [[], [0], [LONGEST] * 3])
def test_a_short_document_is_one_window(lengths):
    expected = [Window(0, len(lengths), 0, len(lengths))] if lengths else []
    assert list(windows(lengths)) == expected
