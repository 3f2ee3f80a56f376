import pytest

from edos_dataset.generation.conversation import Conversation
from edos_dataset.generation.responder import Responder
from edos_dataset.labels import LABELS, parse_label
from small_responders import EMPATHETIC, save_responder


def test_turns_and_labels_go_on(tmp_path, monkeypatch):
    """Of the person's turns the labeler's, of answers those under which they were written."""
    save_responder(tmp_path, **EMPATHETIC)
    responder = Responder.load(tmp_path, labeler="fast")
    asked = []
    respond = responder.respond

    def spy(dialogues, *arguments, **settings):
        asked.append((list(dialogues[0]), list(settings["history_labels"][0])))
        return respond(dialogues, *arguments, **settings)

    monkeypatch.setattr(responder, "respond", spy)
    talk = Conversation(responder, {"beams": 2, "candidates": 2, "max_tokens": 5})
    own = talk.say("where is the dog")
    assert own == LABELS[responder.history_labels([["where is the dog"]])[0][0]]
    first = talk.answer()
    assert len(first) == 2 and talk.turns == ["where is the dog", first[0].text]
    talk.say("so")
    second = talk.answer("consoling")
    turns = ["where is the dog", first[0].text, "so"]
    labels = [parse_label(own), parse_label(first[0].label), responder.history_labels([turns])[0][-1]]
    assert asked == [(turns[:1], labels[:1]), (turns, labels)]
    assert talk.labels == [*labels, parse_label("consoling")] and talk.turns == [*turns, second[0].text]
    talk.forget()
    assert talk.turns == talk.labels == []


def test_there_must_be_something_to_answer(tmp_path):
    save_responder(tmp_path, predictor=False)
    talk = Conversation(Responder.load(tmp_path), {"beams": 2, "max_tokens": 5})
    with pytest.raises(ValueError, match="nothing was said"):
        talk.answer()
    with pytest.raises(ValueError, match="no text"):
        talk.say(" ")
    assert talk.say("so") is None and talk.answer()[0].label is None
    assert talk.labels == [] and len(talk.turns) == 2
