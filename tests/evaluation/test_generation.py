"""Tiny models meet tiny test sets: every cell is measured once, and the report comes of the records alone."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest
import torch

from edos_dataset.encoders.encoder import Encoder
from edos_dataset.labels import LABELS
from edos_dataset.metrics.responses.words import Words
from evaluation import generation
from evaluation.generation_models import Model, judge, mean_of, nearest_answers, predictor_scores
from evaluation.generation_sets import Context, read_invented, read_set, shared_documents
from generator_fixtures import copying, make_backbone, write_conversations
from small_responders import EMPATHETIC, save_responder

DRAWING = {"labeler": "fast", "most": 9, "limit": 6, "seed": 1}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a folder with EmpatheticDialogues of our own."""
    return write_conversations(tmp_path_factory.mktemp("data"), copying, count=160, turns=4)


@pytest.fixture(scope="module")
def held(data, tmp_path_factory):
    """Return the test set of it."""
    return read_set("empathetic_dialogues", data, None, cache=tmp_path_factory.mktemp("cache"), **DRAWING)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return folders of a plain model, and of an empathetic one with its predictor."""
    folder = tmp_path_factory.mktemp("models")
    save_responder(folder / "plain", predictor=False)
    save_responder(folder / "feeling", **EMPATHETIC)
    return folder


def run(models, data, records, out, *more):
    given = ["--models", f"a b={models / 'plain'}", f"feeling={models / 'feeling'}", "--data-dir", data]
    given += ["--records", records, "--out", out, "--test-dialogues", 9, "--limit", 6, "--beams", 2]
    generation.main([str(each) for each in [*given, "--max-tokens", 8, "--labeler", "fast", *more]])


def test_a_matrix_goes_on_where_it_was_killed(models, data, tmp_path, monkeypatch, capsys):
    """A lost cell alone is measured again, to the same figures; the records alone make the same report; texts of others
    are shown only if wanted.
    """
    records = tmp_path / "records"
    run(models, data, records, tmp_path / "one")
    cells = {path.name for path in records.glob("*--*.json")}
    ours = {f"invented--{row}.json" for row in ("GT", "a-b", "feeling", "feeling-predicted-label")}
    theirs = {f"empathetic_dialogues--{row}.json" for row in ("RT", "GT", "a-b", "feeling", "feeling-predicted-label")}
    assert cells == ours | theirs

    asked = []
    answer = Model.answer

    def spy(self, contexts, *more, **ways):
        asked.append((self.name, len(contexts)))
        return answer(self, contexts, *more, **ways)

    monkeypatch.setattr(Model, "answer", spy)
    (records / "empathetic_dialogues--a-b.json").write_text('{"key": "torn')
    run(models, data, records, tmp_path / "two")
    assert asked == [("a b", 1), ("a b", 4), ("a b", 6)]  # the first two show its pace
    stated = capsys.readouterr().out.splitlines()
    assert "6 of 6 cells of the models are to be measured, 54 answers: about " in stated[0]
    assert any(line.startswith("1 of 6 cells of the models are to be measured, 6 answers: about ") for line in stated)
    run(models, data, records, tmp_path / "two")
    assert "all 6 cells of the models are kept" in capsys.readouterr().out and len(asked) == 3
    monkeypatch.setattr(Model, "load", None)
    generation.main(["--render", "--records", str(records), "--out", str(tmp_path / "three")])
    reports = [(tmp_path / name / "report.md").read_text() for name in ("one", "two", "three")]
    assert reports[0] == reports[1] == reports[2] and (tmp_path / "three/perplexity.png").is_file()

    figures = (tmp_path / "one/generation.json").read_text()
    matrix = json.loads((records / "matrix.json").read_text())
    theirs = [each["truth"] for each in matrix["sets"]["empathetic_dialogues"]["contexts"]]
    long = [text for text in theirs if len(text) > 15]
    assert long and not any(f'"{text}"' in figures or f"| {text} |" in reports[0] for text in long)
    assert "They closed the bakery" in reports[0]
    generation.main(["--render", "--records", str(records), "--out", str(tmp_path / "four"), "--examples", "6"])
    assert all(f"| {text} |" in (tmp_path / "four/report.md").read_text() for text in theirs)


def test_the_rows_say_what_they_are(models, data, tmp_path):
    """The truth is as near as can be to itself; forced labels are those of the truth; the table has its order."""
    run(models, data, tmp_path / "records", tmp_path / "out")
    stated = json.loads((tmp_path / "out/generation.json").read_text())
    cells = {(cell["row"], cell["set"]): cell for cell in stated["cells"]}
    truth = cells["GT", "empathetic_dialogues"]["figures"]
    assert truth["ses"]["value"] == pytest.approx(1, abs=1e-3) and truth["BLEU-1"]["value"] == 1
    assert all(truth[name]["value"] == pytest.approx(100) for name in ("sacreBLEU", "chrF"))
    assert truth["BERTScore"]["value"] == pytest.approx(1, abs=1e-3) and "version:" in truth["chrF"]["made_by"]
    answers = cells["a b", "empathetic_dialogues"]["figures"]["chrF"]
    assert 0 <= answers["interval"][0] <= answers["value"] <= answers["interval"][1] < 50
    assert cells["a b", "empathetic_dialogues"]["perplexity"]["unigram"]["word"] > 1
    assert cells["feeling, predicted label", "empathetic_dialogues"]["perplexity"] is None
    assert set(cells["feeling, predicted label", "empathetic_dialogues"]["predictor"]) >= {"precision", "recall", "f1"}

    record = json.loads((tmp_path / "records/empathetic_dialogues--feeling.json").read_text())
    matrix = json.loads((tmp_path / "records/matrix.json").read_text())
    contexts = matrix["sets"]["empathetic_dialogues"]["contexts"]
    assert record["under"] == [context["label"] for context in contexts]
    report = (tmp_path / "out/report.md").read_text()
    section = report.partition("## empathetic_dialogues")[2].partition("<details>")[0]
    rows = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| ")]
    order = ["`a b`", "`feeling`", "`feeling, predicted label`", "`RT`", "`GT`", "single tokens"]
    assert rows[2:] == [f"| {name}" for name in order]


def test_answers_are_also_measured_as_decoded_otherwise_and_beside_the_nearest_context(models, data, held, tmp_path):
    given = ["--models", f"feeling={models / 'feeling'}", "--data-dir", data, "--records", tmp_path / "records"]
    given += ["--out", tmp_path / "out", "--test-dialogues", 9, "--limit", 6, "--beams", 2, "--max-tokens", 6]
    given += ["--labeler", "fast", "--seed", 1, "--nearest", "--how", "", "sample=true,temperature=0.7,rerank=2"]
    generation.main([str(each) for each in given])
    stated = json.loads((tmp_path / "out/generation.json").read_text())
    rows = [cell["row"] for cell in stated["cells"] if cell["set"] == "empathetic_dialogues"]
    how = "feeling (sample=true,temperature=0.7,rerank=2)"
    assert rows == ["feeling", how, "feeling, predicted label", f"{how}, predicted label", "nearest", "RT", "GT"]
    measured = {cell["row"]: cell for cell in stated["cells"] if cell["set"] == "empathetic_dialogues"}
    assert measured["feeling"]["perplexity"] and measured[how]["perplexity"] is None
    kept = {
        row: json.loads((tmp_path / "records" / f"empathetic_dialogues--{row}.json").read_text())["answers"]
        for row in ("feeling", "nearest", "feeling-sample-true-temperature-0.7-rerank-2-")
    }
    assert kept["feeling"] != kept["feeling-sample-true-temperature-0.7-rerank-2-"]
    assert kept["nearest"] == nearest_answers(held, Encoder())
    known = held.train.to_pylist()
    for context, answer in zip(held.contexts, kept["nearest"], strict=True):
        places = [(row, turn) for row in known for turn in range(1, len(row["texts"])) if row["texts"][turn] == answer]
        assert any(row["labels"][turn] == context.label for row, turn in places)


@pytest.mark.parametrize("given", ["rerank", "rerank=", "=8", "rerank=8,", "rerank=8 sample=true=1"])
def test_a_way_of_decoding_is_settings(given, capsys):
    with pytest.raises(SystemExit):
        generation.parse_arguments(["--records", "r", "--models", "a=b", "--how", given])
    assert "--how: expected KEY=VALUE,..." in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["plain", "feeling"])
def test_perplexity_is_that_of_the_model_pair_by_pair(models, held, kind):
    """The same nats as from the model's own loss, history by history."""
    from edos_dataset.generation.response_pipeline import encode_response
    from generator_fixtures import batch_responses

    model = Model.load(kind, str(models / kind))
    writer = model.responder.writer
    nats, tokens, words = 0.0, 0, 0
    for texts, labels in zip(held.test["texts"].to_pylist(), held.test["labels"].to_pylist(), strict=True):
        for turn in range(1, len(texts)):
            known = [labels[:turn]] if writer.takes_labels else None
            given = writer.read([texts[:turn]], known, [labels[turn]])
            if writer.takes_labels:
                given["response_segments"] = torch.tensor([turn % 2])
            answer = encode_response(writer.tokenizer, texts[turn])
            answer = batch_responses([answer], writer.tokenizer.bos_token_id, writer.tokenizer.pad_token_id)
            count = int((answer["labels"] >= 0).sum())
            with torch.inference_mode():
                nats += float(writer.model(**given, **answer).loss) * count
            tokens, words = tokens + count, words + len(texts[turn].split())
    found = model.perplexity(held)
    assert found["token"]["value"] == pytest.approx(math.exp(nats / tokens), rel=1e-3)
    assert found["word"]["value"] == pytest.approx(math.exp(nats / words), rel=1e-2)
    low, high = found["token"]["interval"]
    assert low < found["token"]["value"] < high
    assert found["pairs"] == 3 * len(held.test) and found["targets"] == tokens


@pytest.mark.parametrize("kind", ["gpt2", "t5"])
def test_models_of_others_are_measured(kind, held, tmp_path):
    """A decoder alone and an encoder-decoder that nobody trained know the answers as little as they can."""
    model = Model.load(kind, str(make_backbone(tmp_path / kind, kind)))
    found = model.perplexity(held)
    assert 100 < found["token"]["value"] < 5_000 and found["unigram"] is None
    assert model.path == "not told" and model.setting(held) == "zero-shot"
    texts, under = model.answer(held.contexts[:2], "none", beams=2, max_tokens=4)
    assert len(texts) == 2 and under == [None, None]


def test_a_model_that_may_know_the_test_set_is_refused(models, held):
    """What a record tells decides how a model stands to a set."""
    model = Model.load("plain", str(models / "plain"))

    def setting(data, facts):
        own = {"recipe": {"data": data}, "data": facts}
        return Model("m", model.responder, own, "").setting(held)

    fact = {"source": held.name, "division": held.division, "dialogues": held.dialogues}
    other = {"source": "os", "division": "as given", "dialogues": 5}
    assert setting([held.name], [fact]) == "held-out"
    assert setting([held.name], [fact, other]) == "fine-tuned"
    assert setting(["os"], [other, fact]) == "pre-trained"
    assert setting(["os"], [other]) == "zero-shot"
    with pytest.raises(ValueError, match="m was trained on empathetic_dialogues of 7 dialogues"):
        setting([held.name], [{**fact, "dialogues": 7}])


def test_sets_are_drawn_alike_and_share_no_document(data, held, tmp_path):
    """The same seed draws the same; the test part is none of the training part; another source that holds the documents
    is told.
    """
    again = read_set("empathetic_dialogues", data, None, cache=tmp_path, **DRAWING)
    other = read_set("empathetic_dialogues", data, None, cache=tmp_path, **{**DRAWING, "seed": 2})
    assert again.digest == held.digest != other.digest
    assert len(held.contexts) == 6 and len(held.test) == 9
    known = set(held.train["document_id"].to_pylist())
    assert known.isdisjoint(context.document for context in held.contexts)
    everything = type(held)("all", "", 0, "", pa.concat_tables([held.train, held.test]), held.test, held.contexts[:1])
    assert shared_documents([held, everything]) == {held.name: {"all": 6}}


def test_figures_of_answers():
    """Each measure by a case that can be counted by hand."""
    contexts = [Context(f"d{number}", [f"question {number}"], [0], "an answer", 32) for number in range(4)]
    answers = ["me too", "Me too!", "me too", "never in my life"]
    figures = judge(contexts, answers, [32, 32, 5, 5], Words.of(train=["me too"]), Encoder(), [5, 5, 5, None])
    assert figures["label_reached"]["value"] == 0.25 and figures["label_of_truth"]["value"] == 0.5
    assert figures["generic"]["value"] == 0.75 and figures["different"]["value"] == 0.5
    assert figures["distinct-1"]["value"] == round(7 / 11, 4)  # "!" is a word
    assert figures["length"] == {"value": 2.75, "interval": figures["length"]["interval"], "n": 4}
    assert -1 <= figures["ses"]["value"] < 1 and "embedding-average" not in figures

    assert mean_of(np.array([1.0, np.nan, 3.0]), np.array(["a", "a", "b"]))["value"] == 2
    assert mean_of(np.array([np.nan]), np.array(["a"])) == {"value": None, "interval": [None, None], "n": 0}
    # 0 twice of three right, 1 never predicted: P = 2/3 · 3/4, R = 1 · 3/4
    scores = predictor_scores([0, 0, 0, 0], [0, 0, 0, 1])
    assert scores == {"precision": 0.5625, "recall": 0.75, "f1": round(6 / 7 * 0.75, 4), "accuracy": 0.75}


def test_our_contexts_are_whole(tmp_path):
    """Every one has a history and an answer; a lone turn is refused."""
    found = read_invented().contexts
    assert len(found) >= 10 and all(context.turns and context.truth for context in found)
    assert {LABELS[context.label] for context in found} >= {"consoling", "questioning", "suggesting"}
    path = tmp_path / "lone.yaml"
    path.write_text("- - 'sad: Nobody answers.'\n")
    with pytest.raises(ValueError, match="dialogue 1: a history and its answer"):
        read_invented(path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--models", "folder"], "expected NAME=FOLDER, got 'folder'"),
        (["--models", "a b=x", "a-b=y"], "two are called 'a b'"),
        ([], "--models names none"),
        (["--models", "a=x", "--limit", "0"], "--limit must be at least 1"),
    ],
)
def test_commands_that_cannot_be(given, message, tmp_path, capsys):
    """What is wrong with a command is said before anything is read."""
    with pytest.raises(SystemExit):
        generation.main([*given, "--records", str(tmp_path)])
    assert message in capsys.readouterr().err
    with pytest.raises(SystemExit, match=r"matrix.json is not there"):
        generation.main(["--render", "--records", str(tmp_path)])
