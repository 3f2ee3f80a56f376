import pytest
from typer.testing import CliRunner

import edos_dataset
from edos_dataset.cli.app import app
from edos_dataset.generation.responder import Responder
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labels import LABEL_IDS
from small_responders import EMPATHETIC, save_responder


def test_respond_answers_texts_and_dialogues(tmp_path):
    save_responder(tmp_path, **EMPATHETIC)
    given = {"labeler": "fast", "beams": 2, "device": "cpu"}
    one = edos_dataset.respond("where is the dog", tmp_path, label="consoling", candidates=2, **given)
    wanted = Responder.load(tmp_path, labeler="fast").respond([["where is the dog"]], "consoling", 2, 2)
    assert one == wanted and len(one[0]) == 2
    some = edos_dataset.respond(["where is the dog", ["I am happy", "so"]], tmp_path, **given)
    assert len(some) == 2 and some[0][0].label and 0 < some[0][0].probability < 1
    drawn = [edos_dataset.respond("so", tmp_path, label=3, sample=True, seed=seed, **given) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    one_token = {"sample": True, "top_k": 1, "temperature": 2.0, "block": False, "max_tokens": 4}
    assert (
        len({edos_dataset.respond("so", tmp_path, label=3, seed=seed, **one_token, **given)[0][0] for seed in (1, 2)})
        == 1
    )
    with pytest.raises(ValueError, match="temperature=0.7 is for drawing answers: give sample=True too"):
        edos_dataset.respond("so", tmp_path, label=3, temperature=0.7, **given)
    with pytest.raises(ValueError, match="holds no response model"):
        edos_dataset.respond("so", tmp_path.parent, **given)


def test_rerank_keeps_the_answers_that_have_their_label_most_surely(tmp_path):
    save_responder(tmp_path, **EMPATHETIC)
    responder, dialogues = Responder.load(tmp_path, labeler="fast"), [["where is the dog"], ["I am happy", "so"]]
    every = responder.respond(dialogues, "consoling", candidates=6, beams=6)
    found = responder.respond(dialogues, "consoling", candidates=2, beams=6, rerank=6)
    labeler = load_labeler("fast")
    for turns, own, kept in zip(dialogues, every, found, strict=True):
        chances = [labeler.predict_proba([[*turns, one.text]])[-1, LABEL_IDS["consoling"]] for one in own]
        best = sorted(range(len(own)), key=lambda row: -chances[row])[:2]
        assert len(own) > 2 and [one.text for one in kept] == [own[row].text for row in best]
    predicted = responder.respond(dialogues, candidates=2, beams=6, rerank=6)
    assert [len({one.label for one in own}) for own in predicted] == [2, 2]
    with pytest.raises(ValueError, match="rerank must be a whole number from 1, got 0"):
        responder.respond(dialogues, "consoling", rerank=0)


def test_without_labels_nothing_is_reranked_or_guided(tmp_path):
    save_responder(tmp_path)
    with pytest.raises(ValueError, match="rerank=4 keeps answers that have their label, but the model has no labels"):
        Responder.load(tmp_path).respond([["so"]], rerank=4)
    with pytest.raises(ValueError, match="guidance=2 leads to the label, but the model has no labels: give 0"):
        Responder.load(tmp_path).respond([["so"]], guidance=2)


def test_guidance_is_as_strong_as_asked(tmp_path):
    save_responder(tmp_path, **EMPATHETIC)
    given = {"label": "consoling", "labeler": "fast", "beams": 2, "device": "cpu", "max_tokens": 8}
    texts = {
        strength: edos_dataset.respond(["where is the dog", "so"], tmp_path, guidance=strength, **given)
        for strength in (0.0, 1.0, 10.0)
    }
    plain = edos_dataset.respond(["where is the dog", "so"], tmp_path, **given)
    assert texts[0.0] == plain != texts[10.0]
    neutral = given | {"label": "neutral"}
    assert edos_dataset.respond(["so"], tmp_path, guidance=5.0, **neutral) == edos_dataset.respond(
        ["so"], tmp_path, **neutral
    )
    with pytest.raises(ValueError, match="guidance must be from 0 to 10, got 11"):
        edos_dataset.respond(["so"], tmp_path, guidance=11, **given)


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_who_may_be_in_danger_is_told_where_to_find_help(more, tmp_path):
    said = CliRunner().invoke(app, ["respond", "How are you?", "I want to die.", *more]).stdout
    assert "988" in said and ('"answers": []' in said) == bool(more)
    save_responder(tmp_path, **EMPATHETIC)
    model = ["--model", str(tmp_path), "--labeler", "fast", "--beams", "2"]
    typed = CliRunner().invoke(app, ["respond", "--chat", *model, *more], input="so\nI have been stabbed\n")
    said = typed.stdout.strip().splitlines()
    assert "112" in said[-1] and "112" not in said[0]
