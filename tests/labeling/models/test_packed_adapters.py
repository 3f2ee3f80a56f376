"""A shipped model that is adapters of an encoder of the Hub."""

import json

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from edos_dataset.labeling.models import packed, shipped
from edos_dataset.labeling.models.context import ContextClassifier, ContextClassifierConfig
from edos_dataset.labeling.models.labelers import encoder_under, load_labeler
from edos_dataset.labeling.models.saved_labelers import ContextLabeler
from edos_dataset.labels import LABELS

TALKS = [["I am so glad!", "Why?"], ["no"]]
ANSWERS = {
    name: {"sees": sees, "conventions": {"own": 1.0}, "temperature": temperature}
    for name, sees, temperature in (("general", "history", 1.5), ("weak", "turn", 1.0))
}


@pytest.fixture
def base(tmp_path):
    """An encoder as the Hub has it."""
    pieces = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", *"abcdefghijklmnopqrstuvwxyz!?.", *(f"##{each}" for each in "aeiou")]
    tokenizer = Tokenizer(models.WordPiece(dict(zip(pieces, range(len(pieces)), strict=True)), unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64}
    encoder = BertModel(
        BertConfig(vocab_size=len(pieces), max_position_embeddings=64, **sizes), add_pooling_layer=False
    )
    encoder.save_pretrained(tmp_path / "base")
    special = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(tmp_path / "base")
    return tmp_path / "base"


@pytest.fixture
def trained(base, tmp_path, monkeypatch):
    """A model whose encoder is the base with merged adapters, packed in place of `large`."""
    encoder = BertModel.from_pretrained(base, add_pooling_layer=False)
    config = ContextClassifierConfig(
        encoder.config.to_dict(),
        context_heads=4,
        context_width=16,
        separator_id=2,
        start_id=1,
        answers=ANSWERS,
        id2label=dict(enumerate(LABELS)),
    )
    model = ContextClassifier(config).eval()
    model.encoder.load_state_dict(encoder.state_dict())
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "head" in name or "project" in name:
                parameter.add_(torch.randn_like(parameter), alpha=0.5)
        weight = model.encoder.encoder.layer[0].intermediate.dense.weight
        weight += torch.randn(64, 2) @ torch.randn(2, 32)
    folder = tmp_path / "trained"
    model.save_pretrained(folder)
    PreTrainedTokenizerFast.from_pretrained(base).save_pretrained(folder)
    (folder / "record.json").write_text('{"name": "x", "data": []}')
    (folder / "metrics.json").write_text('{"general": {"accuracy": 0.5}, "weak": {"accuracy": 0.1}}')
    monkeypatch.setattr(shipped, "WEIGHTS", tmp_path / "weights")
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path / "home"))
    large = shipped.ShippedModel("large", "large-mpnet", "context", "history", backbone=str(base), answer="general")
    monkeypatch.setitem(shipped.SHIPPED, "large", large)
    packed.pack(folder, tmp_path / "weights" / "large", str(base))
    load_labeler.cache_clear()
    yield folder
    load_labeler.cache_clear()


def test_it_labels_as_the_trained_one(trained, tmp_path):
    labeler = load_labeler("large")
    found, expected = labeler.predict_proba(TALKS), ContextLabeler(trained).predict_proba(TALKS)
    assert np.abs(found - expected).max() < 0.06
    assert found.std(axis=0).max() > 0.02, "the turns differ"
    assert labeler.identity.startswith("large-mpnet@") and labeler.record["metrics"] == {"test": {"accuracy": 0.5}}
    assert encoder_under("large") == "large", "a run keeps its vectors"
    assert not (tmp_path / "weights" / "large" / "tokenizer.json").exists(), "the base has it"


def test_the_package_has_its_adapters_alone(trained, tmp_path):
    own = (tmp_path / "weights" / "large" / "packed.safetensors").stat().st_size
    assert own < 0.5 * (trained / "model.safetensors").stat().st_size


def test_it_is_another_model_on_another_answer(trained, tmp_path):
    config = tmp_path / "weights" / "large" / "config.json"
    before = packed.identify("large")
    content = json.loads(config.read_text())
    content["answers"]["general"]["temperature"] = 2.0
    config.write_text(json.dumps(content))
    assert packed.identify("large") != before


def test_a_base_that_cannot_be_had_is_refused_in_a_sentence(trained, monkeypatch):
    model = shipped.ShippedModel("large", "large-mpnet", "context", "history", backbone="no/such", answer="general")
    monkeypatch.setitem(shipped.SHIPPED, "large", model)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ValueError, match="'large' is adapters of no/such, which could not be had; without"):
        load_labeler("large")
