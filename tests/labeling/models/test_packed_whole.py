"""A shipped model around an encoder of its own: packed whole, with its tokenizer."""

import json

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from edos_dataset.labeling.models import packed, shipped
from edos_dataset.labeling.models.context import ContextClassifier, ContextClassifierConfig
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.models.saved_labelers import ContextLabeler
from edos_dataset.labels import LABELS

TALKS = [["Ich bin so froh!", "Warum denn?"], ["nein"]]


@pytest.fixture
def trained(tmp_path, monkeypatch):
    """A small trained model, packed in place of `multilingual`."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "\u2581ich", "\u2581", *"abcdefghijklmnopqrstuvwxyzIW!?."]
    tokenizer = Tokenizer(models.Unigram([(piece, -float(at)) for at, piece in enumerate(pieces)], unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = {"bos_token": "<s>", "cls_token": "<s>", "sep_token": "</s>", "eos_token": "</s>", "pad_token": "<pad>"}
    encoder = {"model_type": "bert", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    encoder |= {"intermediate_size": 64, "vocab_size": len(pieces), "pad_token_id": 1}
    torch.manual_seed(0)
    config = ContextClassifierConfig(
        {**ContextClassifierConfig().encoder, **encoder, "max_position_embeddings": 64, "type_vocab_size": 1}
        | {"layer_norm_eps": 1e-12},
        context_heads=4,
        separator_id=2,
        start_id=0,
        padding_id=1,
        separators=2,
        answers={"multilingual": {"sees": "history", "conventions": {"own": 1.0}, "temperature": 1.0}},
        projected=True,
        id2label=dict(enumerate(LABELS)),
    )
    model = ContextClassifier(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3 if "head" in name or "project" in name else 0.05)
    folder = tmp_path / "trained"
    model.save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", **special).save_pretrained(folder)
    (folder / "record.json").write_text('{"name": "multilingual-e5", "data": []}')
    monkeypatch.setattr(shipped, "WEIGHTS", tmp_path / "weights")
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path / "home"))
    packed.pack(folder, tmp_path / "weights" / "multilingual")
    load_labeler.cache_clear()
    yield folder
    load_labeler.cache_clear()


def test_it_labels_as_the_trained_one_without_another_models_files(trained, monkeypatch):
    def refused(*_: object) -> None:
        raise AssertionError("it needs no other encoder")

    monkeypatch.setattr(packed, "model_folder", refused)
    monkeypatch.setattr("edos_dataset.encoders.changes.model_folder", refused)
    found = load_labeler("multilingual").predict_proba(TALKS)
    expected = ContextLabeler(trained).predict_proba(TALKS)
    assert np.abs(found - expected).max() < 0.02
    assert found.std(axis=0).max() > 0.02, "the turns differ"


def test_unpacked_it_is_a_model_of_transformers_with_its_tokenizer(trained):
    folder = packed.unpack("multilingual")
    assert ContextClassifierConfig.from_pretrained(folder).projected
    found = ContextLabeler(folder).predict_proba(TALKS)
    assert np.array_equal(found, load_labeler("multilingual").predict_proba(TALKS))


def test_another_tokenizer_is_another_model(trained, tmp_path):
    weights = tmp_path / "weights" / "multilingual"
    before, encoder = packed.identify("multilingual"), packed.identify_encoder("multilingual")
    words = json.loads((weights / "tokenizer.json").read_text())
    words["model"]["vocab"][5][1] -= 1
    (weights / "tokenizer.json").write_text(json.dumps(words))
    packed._digest.cache_clear()
    assert packed.identify("multilingual") != before and packed.identify_encoder("multilingual") != encoder


@pytest.mark.parametrize("value", [1, "yes", None])
def test_projected_is_a_truth_value(value):
    with pytest.raises(ValueError, match="projected must be true or false"):
        ContextClassifierConfig(projected=value)
