import pytest

from edos_dataset.generation.inputs import batch_histories, batch_responses, encode_history, encode_response
from edos_dataset.generation.tokenizer import train_tokenizer

TEXTS = ["the dog ran home", "where is the dog", "so the dog was home today, and I am happy"] * 5


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(TEXTS, 300)


def test_a_trained_tokenizer_reads_every_text(tokenizer, tmp_path):
    special = (tokenizer.bos_token_id, tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id)
    assert special == (0, 1, 2, 3) and len(tokenizer) <= 300
    tokenizer.save_pretrained(tmp_path)
    again = type(tokenizer).from_pretrained(tmp_path)
    for text in ("the dog", " Où est-il ? 犬🐕\n", "a </s> b"):
        ids = tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        assert 3 not in ids and 2 not in ids and tokenizer.decode(ids, skip_special_tokens=True) == text
        assert again(text, add_special_tokens=False, split_special_tokens=True)["input_ids"] == ids
    assert len(tokenizer("the dog", add_special_tokens=False)["input_ids"]) < len("the dog")
    with pytest.raises(ValueError, match="at least 260, for all bytes, got 100"):
        train_tokenizer(TEXTS, 100)


def test_turns_are_joined_as_the_peer_does(tokenizer):
    words = [tokenizer(turn, add_special_tokens=False)["input_ids"] for turn in TEXTS[:3]]
    ids, segments, labels = encode_history(tokenizer, TEXTS[:3], [7, 9, 40])
    assert ids == [0, *words[0], 2, 2, *words[1], 2, 2, *words[2], 2]
    lengths = [len(turn) + 2 for turn in words]
    assert segments == [0] * lengths[0] + [1] * lengths[1] + [0] * lengths[2]
    assert labels == [7] * lengths[0] + [9] * lengths[1] + [40] * lengths[2]
    assert set(encode_history(tokenizer, TEXTS[:3]).label_ids) == {0}


def test_a_long_history_loses_its_oldest_turns(tokenizer):
    words = [tokenizer(turn, add_special_tokens=False)["input_ids"] for turn in TEXTS[:3]]
    both = len(words[1]) + len(words[2]) + 4
    for limit, first in ((both + len(words[0]) + 2, 0), (both + len(words[0]) + 1, 1), (both, 1), (both - 1, 2)):
        found = encode_history(tokenizer, TEXTS[:3], [7, 9, 40], limit)
        whole = encode_history(tokenizer, TEXTS[first:3], [7, 9, 40][first:])
        assert found.input_ids == whole.input_ids and found.label_ids == whole.label_ids
        assert found.segment_ids == [(number + first) % 2 for number in whole.segment_ids]
    cut = encode_history(tokenizer, TEXTS[:3], max_tokens=5).input_ids
    assert cut == [0, *words[2][-3:], 2]


def test_a_history_may_be_of_so_many_turns_at_most(tokenizer):
    """The newest ones, spoken by whom they are spoken by in the whole dialogue."""
    whole = encode_history(tokenizer, TEXTS[:3], [7, 9, 40])
    lengths = [len(tokenizer(turn, add_special_tokens=False)["input_ids"]) + 2 for turn in TEXTS[:3]]
    for most, left in ((1, lengths[2]), (2, lengths[1] + lengths[2]), (3, sum(lengths)), (9, sum(lengths))):
        found = encode_history(tokenizer, TEXTS[:3], [7, 9, 40], most_turns=most)
        assert found.input_ids == [0, *whole.input_ids[-left + 1 :]]
        assert found.segment_ids == whole.segment_ids[-left:] and found.label_ids == whole.label_ids[-left:]


@pytest.mark.parametrize(("turns", "labels"), [([], None), (["a"], [1, 2]), (["a", "b"], [1])])
def test_histories_without_turns_or_labels_that_fit_are_refused(tokenizer, turns, labels):
    with pytest.raises(ValueError, match="at least one turn|each turn has one label"):
        encode_history(tokenizer, turns, labels)


def test_batches_are_filled_up_at_the_right(tokenizer):
    histories = [encode_history(tokenizer, TEXTS[:2], [7, 9]), encode_history(tokenizer, TEXTS[:1], [3])]
    batch = batch_histories(histories, 1)
    assert all(tensor.shape == batch["input_ids"].shape for tensor in batch.values())
    assert batch["attention_mask"].sum(1).tolist() == [len(each.input_ids) for each in histories]
    assert (batch["input_ids"] != 1).long().equal(batch["attention_mask"])
    answers = [encode_response(tokenizer, "the dog"), encode_response(tokenizer, TEXTS[2], 4)]
    assert len(answers[1]) == 4 and all(answer[-1] == 2 for answer in answers)
    learned = batch_responses([[5, 6, 2], [7, 2]], 0, 1)
    assert learned["decoder_input_ids"].tolist() == [[0, 5, 6], [0, 7, 1]]
    assert learned["labels"].tolist() == [[5, 6, 2], [7, 2, -100]]
