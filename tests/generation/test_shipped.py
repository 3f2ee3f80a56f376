"""The shipped response model, and the packed form of any."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import edos_dataset
from command_line import edos
from edos_dataset.generation import loading, shipped
from edos_dataset.generation.responder import Responder
from edos_dataset.generation.shipped import FILE, WEIGHTS, chosen_model, pack, unpack
from edos_dataset.labeling.models.shipped import cards_folder
from edos_dataset.labels import LABELS
from edos_dataset.publishing.front_matter import split_card
from model_cards.render import render_responder
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
    predicted = (each.predictor.predict([["where is the dog"]], [[1]]) for each in (own, responder))
    assert np.allclose(*predicted, atol=0.1)


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
        del weights["encoder.embedder.words.weight" + shipped.FACTOR]
        save_file(weights, folder / FILE)
    elif damage == "no weights":
        del weights["encoder.embedder.words.weight"]
        save_file(weights, folder / FILE)
    else:
        (folder / "config.json").write_text('{"model_type": "bert"}')
    wanted = "not a response model of this package" if damage == "other kind" else f"{FILE} cannot be used"
    with pytest.raises(ValueError, match=wanted):
        Responder.load("chat")
    assert not list((home / "home").rglob("*.safetensors"))


def test_what_does_not_ship_is_said_with_what_does(home):
    with pytest.raises(
        ValueError, match=r"(?s)'chta' is neither a folder .*, or 'chat' or 'chat-large', which come with this package"
    ):
        Responder.load("chta")
    with pytest.raises(ValueError, match="only the Hub has revisions, and chat comes with this package"):
        loading.load_writer("chat", revision="v1")
    (home / "weights" / "chat" / FILE).unlink()
    with pytest.raises(ValueError, match="no response model 'chat' comes with this package: .* 'chat-large' should"):
        Responder.load("chat")


def test_another_kind_of_model_is_not_packed(trained, tmp_path):
    (tmp_path / "bert").mkdir()
    save_file({"a": np.ones((2, 2), np.float32)}, tmp_path / "bert" / "model.safetensors")
    (tmp_path / "bert" / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ValueError, match="not a response model of this package"):
        pack(tmp_path / "bert", tmp_path / "out")
    assert not (tmp_path / "out").exists()


MOST = 25 * 10**6
FEW = {"beams": 4, "labeler": "fast", "device": "cpu"}


def test_chat_is_whole_and_small():
    files = [path for path in (WEIGHTS / "chat").rglob("*") if path.is_file()]
    assert {"packed.safetensors", "record.json", "metrics.json"} <= {path.name for path in files}
    assert sum(path.stat().st_size for path in files) <= MOST
    record = json.loads((WEIGHTS / "chat" / "record.json").read_text(encoding="utf-8"))
    assert record["task"] == "empathetic" and record["packing"]["perplexity_after"] > 1


def test_chat_answers_where_none_is_named_the_same_every_time(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    first, second = (edos_dataset.respond("I lost my job.", candidates=3, **FEW) for _ in range(2))
    assert first == second
    assert len({answer.label for answer in first[0]} & set(LABELS)) == 3
    assert all(answer.text.strip() and "\ufffd" not in answer.text for answer in first[0])
    assert sum(answer.probability for answer in first[0]) <= 1
    options = ("--candidates", 3, "--beams", 4, "--labeler", "fast", "--device", "cpu", "--json")
    done = edos("respond", "I lost my job.", *options)
    assert done.exit_code == 0 and json.loads(done.stdout)["answers"] == [answer.as_row() for answer in first[0]]


def test_chat_answers_as_it_is_asked_to():
    forced = [edos_dataset.respond("I lost my job.", label=label, **FEW)[0][0] for label in ("consoling", "joyful")]
    assert [answer.label for answer in forced] == ["consoling", "joyful"] and forced[0].text != forced[1].text


def test_its_card_says_the_flaws_first_and_is_as_rendered():
    card = (cards_folder() / "chat.md").read_text(encoding="utf-8")
    assert card == render_responder("chat", WEIGHTS / "chat"), "give `python -m model_cards.render`"
    flaws = split_card(card)[1].split("## ")[1]
    assert flaws.startswith("Know its flaws first") and "for non-commercial use" in flaws and "generic" in flaws
    assert "It comes with the package edos-dataset, as `chat`" in card and '$ edos respond "I lost my job."\n' in card
    assert "were then rounded to 8 bits: perplexity" in card


def test_the_adapter_is_whole_and_small_and_says_what_it_needs():
    folder = WEIGHTS / "chat-large"
    files = {path.name for path in folder.iterdir()}
    assert files == {"adapter_config.json", "packed.safetensors", "prompt.json", "record.json", "metrics.json"}
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 12 * 10**6
    settings = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    assert settings["base_model_name_or_path"] == "HuggingFaceTB/SmolLM2-135M-Instruct"
    card = (cards_folder() / "chat-large.md").read_text(encoding="utf-8")
    assert card == render_responder("chat-large", folder), "give `python -m model_cards.render`"
    assert "its base model comes from the Hub" in card and "edos respond --chat --model chat-large\n" in card
    assert split_card(card)[1].split("## ")[1].startswith("Know its flaws first")
