"""Candidates that differ in nothing that matters make room for others."""

import pytest

from edos_dataset.generation.alike import gist, most_different
from edos_dataset.generation.answering import Job, write_answers
from edos_dataset.generation.decoding import Answer
from edos_dataset.generation.responder import Responder
from small_responders import save_responder


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("I'm so sorry to hear that.", "I'm sorry to hear about that!", True),
        ("That's great!", "that is really GREAT...", True),
        ("Where is it?", "where is it", True),
        ("I am happy.", "I am not happy.", False),
        ("I'm happy.", "You are happy.", False),
        ("What did you do?", "Why did you do that?", False),
        ("It is.", "So it was.", False),
        ("...", "?!", False),
        ("Là-bas !", "là bas", True),
        ("你好", "你 好", False),
    ],
)
def test_what_is_nearly_the_same(one, other, alike):
    assert (gist(one) == gist(other)) == alike


def test_nearly_equal_texts_come_only_where_others_are_lacking():
    texts = ["That's great!", "That is great.", "Great.", "I'm sorry.", "So great!", "Where?"]
    assert most_different(texts, 1) == [0]
    assert most_different(texts, 3) == [0, 3, 5]
    assert most_different(texts, 5) == [0, 1, 2, 3, 5] and most_different(texts, 9) == list(range(6))
    assert most_different([], 3) == []


def test_candidates_of_a_search_are_different(tmp_path, monkeypatch):
    """The best stays; what is nearly the same as it gives way to the next one, and the scores still fall."""
    save_responder(tmp_path, predictor=False)
    writer = Responder.load(tmp_path).writer
    said = ["the dog ran home", "The dog ran home!", "", "so the dog ran home", "where is the dog", "today"]
    ids = [writer.tokenizer(text, add_special_tokens=False)["input_ids"] for text in said]
    answers = [Answer(tuple(own), -float(rank), True) for rank, own in enumerate(ids)]
    monkeypatch.setattr("edos_dataset.generation.answering.beam_search", lambda *_, **__: [answers])
    for wanted, rows in ((1, [0]), (3, [0, 4, 5]), (4, [0, 1, 4, 5]), (9, [0, 1, 3, 4, 5])):
        (found,) = write_answers(writer, [Job(["so"], None, None, wanted)])
        assert [(each.text, each.score) for each in found] == [(said[row], -row) for row in rows]
    monkeypatch.setattr("edos_dataset.generation.answering.beam_search", lambda *_, **__: [answers[2:3]])
    assert [each.text for each in write_answers(writer, [Job(["so"], None, None, 3)])[0]] == [""]
