"""The training of the encoder that gives every label, run as a user would; its parts are in tests/training/labels."""

import json
import os
import re
import shutil
import sys
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
import yaml
from safetensors.numpy import load_file

import training.labels.fit
from classifier_fixtures import ENVIRONMENT, TRAINING, make_backbone, read_log, start_process
from edos_dataset.hub.model_contents import read_model
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labels import LABELS
from labelled_sets import write_sets
from training import train_labels
from training.held_out import held_out
from training.labels.model import ANSWERS, answers_over
from training.labels.recipe import read_recipe

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]
SCRIPT = TRAINING / "train_labels.py"
HELD = 4 * sum(held_out("emorynlp", str(number)) for number in range(24))
WORDS = {"angry", "annoyed", "furious", "disgusted", "jealous"}
SETTINGS = {
    "sources": {"meld": 1.0, "emorynlp": 1, "xed": 1.0, "frequent": 0.5},
    "context_heads": 4,
    "context_layers": 1,
    "turn_tokens": 16,
    "frozen_embeddings": False,
    "updates": 60,
    "batch": 32,
    "micro_tokens": 256,
    "learning_rate": 0.005,
    "head_learning_rate": 0.01,
    "averaging": 0.7,
    "evaluations": 2,
    "context_rate": 0.005,
    "span": 3,
    "history": 1,
    "precision": "no",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A backbone, learnable sets and recipes."""
    folder = tmp_path_factory.mktemp("labels")
    base = {"base_model": str(make_backbone(folder / "backbone")), **SETTINGS}
    write_sets(folder / "data")
    silent = {"dropout": 0.0, "encoder_dropout": 0.0, "updates": 6}
    half = {"updates": 4, "precision": "bf16", "layers": 1}
    adapted = {"updates": 12, "lora_rank": 2, "evaluations": 1}
    for name, more in (("dropout", {}), ("silent", silent), ("half", half), ("adapted", adapted)):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump({**base, **more}))

    def command(name, out, data="data", every=5):
        found = ["--recipe", folder / f"{name}.yaml", "--data-dir", folder / data, "--out", folder / out]
        return [*map(str, found), "--threads", "1", "--checkpoint-every", str(every), "--name", "mine"]

    return SimpleNamespace(folder=folder, command=command)


def run_here(*values):
    """Run the script in this process."""
    from accelerate.state import AcceleratorState, GradientState

    with mock.patch.object(sys, "argv", [str(SCRIPT), *values]), mock.patch.dict(os.environ, ENVIRONMENT):
        try:
            train_labels.main()
        finally:
            AcceleratorState._reset_state(reset_partial_state=True)
            GradientState._reset_state()


def finished(place, name):
    """Return the folder of a training of this process; a finished one is not trained again."""
    folder = place.folder / name
    if not (folder / "metrics.json").is_file():
        run_here(*place.command(name, name))
    return folder


def record_of(folder, name="record"):
    return json.loads((folder / f"{name}.json").read_text())


def test_a_training_learns_what_words_tell_and_its_folder_says_how(place):
    folder = finished(place, "dropout")
    log, metrics, record = read_log(folder), record_of(folder, "metrics"), record_of(folder)
    losses = [entry["loss"] for entry in log if "loss" in entry]
    assert len(losses) == 60 and np.mean(losses[-5:]) < 0.7 * losses[0]
    for answer in ANSWERS:
        assert [entry["update"] for entry in log if f"right_{answer}_meld" in entry] == [30, 60]
    assert metrics["turns"] == {"emorynlp": HELD, "meld": 48, "xed": metrics["turns"]["xed"]}
    assert list(metrics["right"]) == list(ANSWERS)
    for right in metrics["right"].values():
        assert set(right) == {"meld", "emorynlp", "xed"} and right["meld"] > 0.8, "the word tells it"
    assert metrics["calibration"] == record["calibration"] == {}, "no turns of films or of the weak labeler's set"
    assert record["name"] == "mine" and record["task"] == "general" and record["seed"] == 0 and record["processes"] == 1
    assert record["limitations"] == []
    assert {row["file"]: row["licence"] for row in record["data"]} == {
        "meld/train_sent_emo.csv": "GPL v3",
        "meld/dev_sent_emo.csv": "GPL v3",
        "emorynlp/dev.json": "Apache-2.0",
        "xed/en-annotated.tsv": "CC BY 4.0",
        "xed/neu_en.txt": "CC BY 4.0",
    }
    assert sum(source["share"] for source in record["sources"].values()) == pytest.approx(1, abs=1e-3)
    taken = sum(source["turns"] * source["rounds"] for source in record["sources"].values())
    assert taken == pytest.approx(60 * 32, rel=0.02)
    left = {path.name for path in folder.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "context.py", "README.md", "log.jsonl"} <= left
    assert not [name for name in left if name.startswith(("checkpoint", "best")) or name.endswith(".tmp")]
    card = (folder / "README.md").read_text()
    shares = " | ".join(f"{100 * metrics['right'][answer]['meld']:.1f} %" for answer in ANSWERS)
    assert f"| meld | 48 | {shares} |" in card
    config = record_of(folder, "config")
    assert config["conventions"] == ["situations", "meld", "emorynlp", "xed"] and config["answer"] == "general"
    assert config["answers"] == answers_over(config["conventions"])
    assert "model.safetensors" in read_model(folder).files, "it can be published as it is"


def test_the_folder_labels(place):
    labeler = load_labeler(str(finished(place, "dropout")))
    found = labeler.predict_proba(
        [["neutral river stone", "angry angry angry angry boat winter"], ["sad letter letter music"]]
    )
    assert found.shape == (3, len(LABELS))
    assert np.allclose(found.sum(axis=1), 1, atol=1e-3) and LABELS[found[1].argmax()] in WORDS
    weak = load_labeler(f"{finished(place, 'dropout')}#weak")
    assert (labeler.context, weak.context) == (None, 0)
    assert LABELS[weak.predict_proba([["angry angry angry angry boat winter"]])[0].argmax()] in WORDS


def test_a_training_that_was_ended_anywhere_goes_on_to_the_same_weights(place, monkeypatch):
    """What a kill leaves behind is the same: a checkpoint is whole or absent (test_train_classifier.py kills)."""
    whole, folder = finished(place, "dropout"), place.folder / "ended"
    step, steps = training.labels.fit.take_step, []

    def count(*values):
        steps.append(step(*values) if len(steps) < 13 else stop())
        return steps[-1]

    def stop(*_):
        raise ValueError("the lights went out")

    with monkeypatch.context() as patch, pytest.raises(SystemExit, match="the lights went out"):
        patch.setattr(training.labels.fit, "take_step", count)
        run_here(*place.command("dropout", "ended"))
    assert [path.name for path in folder.glob("checkpoint-*")] == ["checkpoint-10"] and len(steps) == 13
    with pytest.raises(SystemExit, match=r"checkpoint-10 belongs to another training \(recipe differ\)"):
        run_here(*place.command("silent", "ended"))
    with monkeypatch.context() as patch, pytest.raises(SystemExit, match="the lights went out"):
        patch.setattr(train_labels, "calibrate_model", stop)
        run_here(*place.command("dropout", "ended"))
    assert [path.name for path in folder.glob("checkpoint-*")] == ["checkpoint-60"]
    with monkeypatch.context() as patch:
        patch.setattr(training.labels.fit, "take_step", stop)  # every update is done
        run_here(*place.command("dropout", "ended"))
    assert read_log(folder) == read_log(whole) and record_of(folder, "metrics") == record_of(whole, "metrics")
    assert (folder / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_two_processes_train_as_one_does(place, commands):
    one, two = finished(place, "silent"), place.folder / "two"
    process = start_process(commands / "python", *place.command("silent", "two"), processes=2, script=SCRIPT)
    output, _ = process.communicate(timeout=900)
    assert process.returncode == 0, output
    assert [record_of(folder)["processes"] for folder in (one, two)] == [1, 2]
    losses, others = ([entry["loss"] for entry in read_log(folder) if "loss" in entry] for folder in (one, two))
    assert len(losses) == 6 and others == pytest.approx(losses, rel=1e-4)
    for answer in ANSWERS:  # the vectors that each process encoded came together in order
        right = [record_of(folder, "metrics")["right"][answer] for folder in (one, two)]
        assert right[1] == pytest.approx(right[0], abs=0.05)


def test_half_precision_and_fewer_layers(place):
    folder = finished(place, "half")
    assert record_of(folder)["precision"] == "bf16"
    assert json.loads((folder / "config.json").read_text())["encoder"]["num_hidden_layers"] == 1
    assert np.isfinite(load_labeler(str(folder)).predict_proba([["sad letter", "boat"]])).all()


def test_adapters_are_trained_on_a_frozen_encoder_and_merged_into_it(place):
    folder = finished(place, "adapted")
    trained, base = (load_file(each / "model.safetensors") for each in (folder, place.folder / "backbone"))
    own = {name.removeprefix("encoder."): value for name, value in trained.items() if name.startswith("encoder.")}
    assert own.keys() <= base.keys(), "what is saved has no adapters of its own"
    moved = {name for name, value in own.items() if not np.array_equal(value, base[name])}
    assert moved == {name for name, value in own.items() if ".layer." in name and value.ndim == 2}
    assert np.isfinite(load_labeler(str(folder)).predict_proba([["sad letter", "boat"]])).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"recipe": {"learning_rat": 0.1}}, "has no parameter 'learning_rat'.*'learning_rate'"),
        ({"recipe": {"batch": 0}}, "batch must be at least 1, got 0"),
        ({"recipe": {"span": 0}}, "span must be at least 1, got 0"),
        ({"recipe": {"history": 3}}, r"history must be at least 0 and below span \(3\), got 3"),
        ({"recipe": {"history": -1}}, r"history must be at least 0 and below span \(3\), got -1"),
        ({"recipe": {"context_updates": 6}}, "has no parameter 'context_updates'"),
        ({"recipe": {"averaging": 1.0}}, "averaging must be at least 0 and below 1, got 1.0"),
        ({"recipe": {"sources": {}}}, "sources must name at least one source, each with a number above 0"),
        ({"recipe": {"sources": {"meld": 0}}}, "each with a number above 0"),
        ({"recipe": {"sources": {"meld": "much"}}}, "sources.meld must be of type float, got 'much'"),
        ({"recipe": {"sources": {"mold": 1}}}, "sources: 'mold' is unknown; there are weak, "),
        ({"recipe": {"sources": {"swda": 1}}}, "has nothing of the source 'swda' to learn from: expected swda/train"),
        ({"recipe": {"sources": {"weak": 1}}}, "No such file or directory: .*train.txt"),
        ({"recipe": {"precision": "fp8"}}, "precision must be one of 'no', 'bf16', 'auto', got 'fp8'"),
        ({"recipe": {"lora_rank": -1}}, "lora_rank must be at least 0, got -1"),
        ({"recipe": {"layers": 3}}, "layers is 3, but .*backbone has 2"),
        ({"recipe": {"context_heads": 5}}, "a width of 32, which the heads must divide"),
        ({"every": 0}, "--checkpoint-every must be at least 1, got 0"),
        ({"out": "dropout"}, "holds a finished training: choose another --out"),
        ({"data": "nowhere"}, "nowhere has nothing of the source 'emorynlp' to learn from"),
    ],
)
def test_what_cannot_be_trained_is_refused_with_a_sentence(place, capsys, change, message):
    if "out" in change:
        finished(place, change["out"])
    settings = {"base_model": str(place.folder / "backbone"), **SETTINGS, **change.get("recipe", {})}
    (place.folder / "bad.yaml").write_text(yaml.safe_dump(settings))
    command = place.command("bad", change.get("out", "bad"), change.get("data", "data"), change.get("every", 5))
    with pytest.raises(SystemExit) as stop:
        run_here(*command)
    said = capsys.readouterr().err if stop.value.code == 2 else stop.value.code
    assert re.search(message, said), said
    shutil.rmtree(place.folder / "bad", ignore_errors=True)


@pytest.mark.parametrize("path", sorted((TRAINING / "recipes").glob("*/labels*.yaml")), ids=lambda path: path.stem)
def test_the_recipes_that_come_along_can_be_read(path):
    from edos_dataset.releases.labelled_sets.readers import SOURCES
    from training.labels.sources import NAMES

    recipe = read_recipe(path)
    assert set(recipe.sources) <= set(NAMES)
    if path.stem == "labels_open":
        sets = {name for name in recipe.sources if name in SOURCES}
        assert sets and all(SOURCES[name].commercial for name in sets)
        assert set(recipe.sources) - sets == {"crowd", "crowd_undecided", "frequent"}
