"""Responders: answers under predicted and given labels, and conversations."""

import json

import numpy as np
import pytest
import torch

from edos_dataset.generation.responder import Conversation, Responder
from edos_dataset.generation.response_pipeline import ResponsePipeline
from edos_dataset.generation.stages import AnswerDialogues
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labels import LABELS, parse_label
from small_responders import EMPATHETIC, save_responder
from untrusted_code import EVIL, change

DIALOGUES = [["the dog ran home", "where is the dog"], ["I am happy"], ["so the dog was home", "where", "today"]]
KNOWN = [[3, 36], [22], [9, 36, 40]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("responder")
    save_responder(folder, **EMPATHETIC)
    return folder


@pytest.fixture(scope="module")
def responder(folder):
    return Responder.load(folder, labeler="fast", batch=2)


def test_a_drawn_answer_grows_to_the_one_that_would_be_drawn_at_once(responder):
    drawn = {"sample": True, "seed": 3, "temperature": 0.8, "max_tokens": 12, "history_labels": KNOWN[:1]}
    for label in (None, "consoling"):
        wanted = responder.respond(DIALOGUES[:1], label, **drawn)[0][0]
        given = {key: value for key, value in drawn.items() if key not in ("sample", "history_labels")}
        *growing, last = responder.stream(DIALOGUES[0], label, history_labels=KNOWN[0], **given)
        assert last == wanted and len({each.text for each in growing}) > 2
        assert all(last.text.startswith(each.text) and each.label == last.label for each in growing)
    second = responder.respond(DIALOGUES[:1], candidates=2, **drawn)[0][1]
    assert [*responder.stream(DIALOGUES[0], history_labels=KNOWN[0], rank=1, **given)][-1] == second
    talk = Conversation(responder, {"sample": True, "seed": 3, "candidates": 1, "max_tokens": 6})
    talk.say("where is the dog")
    *_, whole = talk.stream("consoling")
    assert talk.turns[-1] == whole.text and talk.labels[-1] == parse_label("consoling")
    for settings in ({}, {"sample": True, "candidates": 2}, {"sample": True, "rerank": 2}):
        talk = Conversation(responder, settings)
        talk.say("so")
        with pytest.raises(ValueError, match="give sample, one candidate, no rerank"):
            next(talk.stream())


def test_every_candidate_has_another_predicted_label(responder):
    chances = responder.predict(DIALOGUES, KNOWN)
    assert chances.shape == (3, 41) and np.allclose(chances.sum(1), 1, atol=1e-5)
    found = responder.respond(DIALOGUES, candidates=3, beams=4, history_labels=KNOWN, max_tokens=8)
    for row, candidates in zip(chances, found, strict=True):
        best = (-row).argsort()[:3]
        assert [candidate.label for candidate in candidates] == [LABELS[label] for label in best]
        assert [candidate.probability for candidate in candidates] == pytest.approx(row[best], abs=1e-5)
        assert all(candidate.text and candidate.score < 0 for candidate in candidates)


def test_a_label_can_be_forced(responder):
    given = {"beams": 6, "history_labels": KNOWN, "max_tokens": 8}
    forced = responder.respond(DIALOGUES, "Consoling", 3, **given)
    for candidates in forced:
        assert {candidate.label for candidate in candidates} == {"consoling"}
        assert len({candidate.text for candidate in candidates}) == 3
        assert [each.score for each in candidates] == sorted((each.score for each in candidates), reverse=True)
        assert candidates[0].probability is None
    some = responder.respond(DIALOGUES, [None, "consoling", LABELS.index("proud")], **given)
    assert some[1] == forced[1][:1] and some[2][0].label == "proud"
    assert some[0] == responder.respond(DIALOGUES, **given)[0]
    every = {responder.respond(DIALOGUES[:1], label, **given | {"history_labels": KNOWN[:1]})[0][0].text for label in range(41)}  # fmt: skip  # noqa: E501
    assert len(every) > 1, "the label decides what is said"


@pytest.mark.parametrize("sample", [False, True])
def test_company_changes_no_answer(responder, sample):
    given = {"candidates": 2, "beams": 4, "sample": sample, "max_tokens": 8}
    together = responder.respond(DIALOGUES, history_labels=KNOWN, **given)
    backwards = responder.respond(DIALOGUES[::-1], history_labels=KNOWN[::-1], **given)[::-1]
    for number, own in enumerate(together):
        alone = responder.respond([DIALOGUES[number]], history_labels=[KNOWN[number]], **given)[0]
        for other in (alone, backwards[number]):
            assert [(each.text, each.label) for each in other] == [(each.text, each.label) for each in own]
            assert [each.score for each in other] == pytest.approx([each.score for each in own], abs=1e-5)


def test_drawn_answers_come_from_the_seed(responder):
    given = {"labels": "sad", "candidates": 3, "sample": True, "history_labels": KNOWN, "max_tokens": 8}
    before = torch.random.get_rng_state()
    first = responder.respond(DIALOGUES, seed=1, **given)
    assert first == responder.respond(DIALOGUES, seed=1, **given) != responder.respond(DIALOGUES, seed=2, **given)
    assert before.equal(torch.random.get_rng_state())


def test_the_history_is_labelled_by_the_labeler(responder):
    chances = load_labeler("fast").predict_proba(DIALOGUES).argmax(1).tolist()
    labels = responder.history_labels(DIALOGUES)
    assert [len(own) for own in labels] == [2, 1, 3] and sum(labels, []) == chances
    given = {"beams": 3, "max_tokens": 6}
    found = responder.respond(DIALOGUES, **given)
    assert found == responder.respond(DIALOGUES, history_labels=labels, **given)
    others = [[(label + 1) % 41 for label in own] for own in labels]
    assert found != responder.respond(DIALOGUES, history_labels=others, **given)


@pytest.mark.parametrize("limit", [None, 2])
def test_who_answers_is_counted_from_the_whole_history(folder, limit, monkeypatch):
    """However many of its turns are left out: for the responder, and for the pipeline."""
    writer = Responder.load(folder).writer
    monkeypatch.setattr(writer.model.config, "history_turns", limit)
    pipeline = ResponsePipeline(model=writer.model, tokenizer=writer.tokenizer)
    turns = [f"the dog ran home {word}" for word in ("so", "and", "where", "is", "today", "happy", "dog", "was", "I")]
    kept = []
    for count in range(1, len(turns) + 1):
        given = writer.read([turns[:count]], [[7] * count], [3])
        ends = (given["input_ids"] == writer.tokenizer.eos_token_id).sum()
        kept.append((int(ends) + 1) // 2)
        assert writer.model.next_segments(given["input_ids"], given["segment_ids"]).tolist() == [count % 2]
        read = pipeline.preprocess({"turns": turns[:count], "labels": [7] * count})
        assert read["input_ids"].equal(given["input_ids"]) and read["segment_ids"].equal(given["segment_ids"])
    assert kept[-1] < len(turns) and (limit is None or max(kept) == limit)


def test_a_plain_model_answers_without_labels(tmp_path):
    save_responder(tmp_path, predictor=False)
    responder = Responder.load(tmp_path, labeler="no such labeler")
    found = responder.respond(DIALOGUES, candidates=3, beams=4, max_tokens=8)
    assert all({each.label for each in own} == {None} and len({each.text for each in own}) == 3 for own in found)
    with pytest.raises(ValueError, match="trained without labels"):
        responder.respond(DIALOGUES, "sad")


def test_what_cannot_be_answered_is_refused(responder, tmp_path):
    save_responder(tmp_path, predictor=False, **EMPATHETIC)
    with pytest.raises(ValueError, match="no predictor of the answer's label.* give a label"):
        Responder.load(tmp_path).respond([["where"]], history_labels=[[1]])
    assert Responder.load(tmp_path).respond([["where"]], "sad", history_labels=[[1]], beams=2, max_tokens=5)
    for wrong, message in (
        ((["a text"],), "not a list of turns"),
        (([[]],), "dialogue 0 has no turn"),
        ((DIALOGUES, "glad"), "unknown label 'glad'"),
        ((DIALOGUES, ["sad"]), "got 1 label for 3 dialogues"),
        ((DIALOGUES, 41), "from 0 to 40, got 41"),
        ((DIALOGUES, None, 0), "candidates must be a whole number from 1"),
    ):
        with pytest.raises(ValueError, match=message):
            responder.respond(*wrong, history_labels=KNOWN)
    assert responder.respond([]) == []


def test_no_code_of_a_folder_is_run(tmp_path, monkeypatch):
    """Neither asked for on the terminal, nor because it has the name of ours, nor as a tokenizer."""
    monkeypatch.setattr("builtins.input", lambda *_: "yes")
    save_responder(tmp_path, **EMPATHETIC)
    wanted = Responder.load(tmp_path).respond([["where"]], "sad", history_labels=[[1]], beams=2, max_tokens=5)
    ran = tmp_path.parent / "ran"
    for part in (tmp_path, tmp_path / "predictor"):
        for path in part.glob("*.py"):
            path.write_text(EVIL.format(ran=str(ran)))
        (part / "evil.py").write_text(EVIL.format(ran=str(ran)))
        names = {"AutoConfig": "evil.Config", "AutoModelForSeq2SeqLM": "evil.Model", "AutoModel": "evil.Model"}
        change(part / "config.json", auto_map=names, custom_pipelines={})
    found = Responder.load(tmp_path).respond([["where"]], "sad", history_labels=[[1]], beams=2, max_tokens=5)
    assert found == wanted
    change(
        tmp_path / "tokenizer_config.json", tokenizer_class="Token", auto_map={"AutoTokenizer": [None, "evil.Token"]}
    )
    try:
        Responder.load(tmp_path)
    except ValueError as error:
        assert "contains code of its own" in str(error)
    change(tmp_path / "config.json", model_type="evil")
    with pytest.raises(ValueError):
        Responder.load(tmp_path)
    assert not ran.exists()


def test_a_damaged_folder_is_told(tmp_path):
    with pytest.raises(ValueError, match=r"holds no response model: it has no config\.json"):
        Responder.load(tmp_path)
    save_responder(tmp_path, **EMPATHETIC)
    tokenizer = (tmp_path / "tokenizer.json").read_text()
    other = json.loads(tokenizer)
    other["model"]["vocab"] = {word: number for word, number in other["model"]["vocab"].items() if number < 200}
    other["model"]["merges"] = []
    (tmp_path / "tokenizer.json").write_text(json.dumps(other))
    with pytest.raises(ValueError, match="is another model's"):
        Responder.load(tmp_path)
    (tmp_path / "tokenizer.json").write_text(tokenizer)
    change(tmp_path / "config.json", num_layers=3)
    with pytest.raises(ValueError, match="its weights do not match its configuration"):
        Responder.load(tmp_path)
    change(tmp_path / "config.json", num_layers=2)
    names = json.loads((tmp_path / "predictor" / "config.json").read_text())["id2label"]
    change(tmp_path / "predictor" / "config.json", id2label=names | {"0": names["1"], "1": names["0"]})
    with pytest.raises(ValueError, match="other labels than our 41, or in another order"):
        Responder.load(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(ValueError, match="pickle"):
        Responder.load(tmp_path)


@pytest.mark.parametrize("trust", [False, True])
def test_a_model_of_the_hub_comes_without_code_unless_trusted(tmp_path, monkeypatch, trust):
    save_responder(tmp_path, **EMPATHETIC)
    asked = []

    def fetch(name, **how):
        asked.append((name, how["allow_patterns"], how["revision"]))
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    responder = Responder.load("owner/chat", trust)
    assert responder.predictor is not None and [(name, version) for name, _, version in asked] == [("owner/chat", None)]
    assert ("*.py" in asked[0][1]) == trust and not {"*.bin", "*.pt"} & set(asked[0][1])
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: (_ for _ in ()).throw(OSError("offline")))
    with pytest.raises(ValueError, match="'owner/chat' is neither a folder nor a model that the Hub gave: offline"):
        Responder.load("owner/chat")


def test_a_model_of_the_hub_comes_in_the_revision_that_is_meant(tmp_path, monkeypatch):
    save_responder(tmp_path, predictor=False)
    asked = []
    monkeypatch.setattr(
        "huggingface_hub.snapshot_download", lambda name, **how: asked.append((name, how["revision"])) or str(tmp_path)
    )
    stage = AnswerDialogues("owner/chat", revision="v1.2.0", beams=2)
    stage.check()
    assert asked == [("owner/chat", "v1.2.0")]
    with pytest.raises(ValueError, match="only the Hub has revisions, and .* is a folder"):
        Responder.load(tmp_path, revision="v1.2.0")
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: (_ for _ in ()).throw(OSError("gone")))
    with pytest.raises(ValueError, match="'owner/chat' in the revision 'v9' is neither a folder nor .* gave: gone"):
        Responder.load("owner/chat", revision="v9")


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
