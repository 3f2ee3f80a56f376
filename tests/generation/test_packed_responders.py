"""Response models as they ship: packed in 8 bits, unpacked once, found by name."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from edos_dataset.generation import loading, packed, shipped
from edos_dataset.generation.chosen import chosen_model
from edos_dataset.generation.packed import FILE, pack, unpack
from edos_dataset.generation.responder import Responder
from small_responders import EMPATHETIC, save_responder

ASKED = ([["where is the dog", "so"]], None, 2, 3)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    save_responder(folder, **EMPATHETIC)
    (folder / "record.json").write_text(json.dumps({"name": "small", "files": {"model.safetensors": "ab"}}))
    return folder


@pytest.fixture
def home(trained, tmp_path, monkeypatch):
    """Ship the small model as `chat`, and keep what is unpacked in a folder of this test."""
    monkeypatch.setattr(shipped, "WEIGHTS", tmp_path / "weights")
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path / "home"))
    pack(trained, tmp_path / "weights" / "chat")
    return tmp_path


def test_packing_keeps_weights_within_half_a_step(trained, tmp_path):
    pack(trained, tmp_path / "packed")
    unpack(tmp_path / "packed", tmp_path / "model")
    for part in ("", "predictor"):
        before, after = (load_file(folder / part / "model.safetensors") for folder in (trained, tmp_path / "model"))
        assert before.keys() == after.keys()
        for name, value in before.items():
            step = np.abs(value).max(axis=-1, keepdims=True) / 127 if value.ndim == 2 else 0
            assert (np.abs(after[name] - value) <= 0.52 * step + 1e-6).all(), name
        size = (tmp_path / "packed" / part / FILE).stat().st_size
        assert size < 0.6 * (trained / part / "model.safetensors").stat().st_size, "names weigh much in a small one"
    assert json.loads((tmp_path / "model" / "record.json").read_text()) == {"name": "small"}
    code = {path.name for path in (tmp_path / "model").glob("*.py")}
    assert code == {path.name for path in trained.glob("*.py")}, "the same modules travel as with save_pretrained"
    assert {path.name for path in (tmp_path / "model" / "predictor").glob("*.py")} == {
        path.name for path in (trained / "predictor").glob("*.py")
    }


def test_chat_is_unpacked_once_and_answers_where_none_is_named(home, trained):
    assert chosen_model(None) == chosen_model(" ") == "chat" and chosen_model("other") == "other"
    responder = Responder.load("chat", labeler="fast")
    assert responder.folder.is_relative_to(home / "home") and responder.folder.name.startswith("chat-")
    written = (responder.folder / "model.safetensors").stat().st_mtime_ns
    answers = responder.respond(*ASKED, max_tokens=5)
    assert Responder.load("chat", labeler="fast").respond(*ASKED, max_tokens=5) == answers
    assert (responder.folder / "model.safetensors").stat().st_mtime_ns == written
    assert [path.name for path in responder.folder.parent.iterdir()] == [responder.folder.name], "nothing is left over"
    own = Responder.load(trained, labeler="fast")
    told = (each.predictor.predict([["where is the dog"]], [[1]]) for each in (own, responder))
    assert np.allclose(*told, atol=0.1)


def test_other_weights_get_another_folder(home, trained):
    first = shipped.shipped_folder("chat")
    record = home / "weights" / "chat" / "record.json"
    record.write_text('{"name": "other"}')
    second = shipped.shipped_folder("chat")
    assert second != first and (second / "record.json").read_text() == '{"name": "other"}'


@pytest.mark.parametrize("damage", ["cut", "no factor", "no weights", "other kind"])
def test_a_damaged_packed_model_is_one_sentence_and_leaves_nothing(home, damage):
    folder = home / "weights" / "chat"
    weights = load_file(folder / FILE)
    if damage == "cut":
        (folder / FILE).write_bytes((folder / FILE).read_bytes()[:1000])
    elif damage == "no factor":
        del weights["encoder.embedder.words.weight" + packed.FACTOR]
        save_file(weights, folder / FILE)
    elif damage == "no weights":
        del weights["encoder.embedder.words.weight"]
        save_file(weights, folder / FILE)
    else:
        (folder / "config.json").write_text('{"model_type": "bert"}')
    wanted = "no response model of this package" if damage == "other kind" else f"{FILE} cannot be used"
    with pytest.raises(ValueError, match=wanted):
        Responder.load("chat")
    assert not list((home / "home").rglob("*.safetensors"))


def test_what_does_not_ship_is_said_with_what_does(home):
    with pytest.raises(
        ValueError, match=r"(?s)'chta' is neither a folder .*, or 'chat', which comes with this package"
    ):
        Responder.load("chta")
    with pytest.raises(ValueError, match="only the Hub has revisions, and chat comes with this package"):
        loading.load_writer("chat", revision="v1")
    (home / "weights" / "chat" / FILE).unlink()
    with pytest.raises(ValueError, match="no response model 'chat' comes with this package: 'chat' should"):
        Responder.load("chat")


def test_another_kind_of_model_is_not_packed(trained, tmp_path):
    (tmp_path / "bert").mkdir()
    save_file({"a": np.ones((2, 2), np.float32)}, tmp_path / "bert" / "model.safetensors")
    (tmp_path / "bert" / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ValueError, match="no response model of this package"):
        pack(tmp_path / "bert", tmp_path / "out")
    assert not (tmp_path / "out").exists()
