"""Training on labels of one's own, as a user would: from a table to a model that every command takes."""

import json
import os
import random
import signal

import numpy as np
import pytest
import yaml

import training.classifier.fit
from classifier_fixtures import NOUNS, make_backbone, read_log, run_here
from edos_dataset.labels import LABELS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

SAID = {"calm": LABELS[3], "tense": LABELS[7], "tired": LABELS[11]}
"""A label → the word of a text by which a model can tell it; the tiny backbone knows no others."""

TINY = {
    "architecture": "plain",
    "shares": [0.6, 0.2, 0.2],
    "frequent_turns": 0,
    "context": 0,
    "max_tokens": 24,
    "batch": 16,
    "epochs": 12,
    "learning_rate": 0.004,
    "head_learning_rate": 0.01,
    "layer_decay": 1.0,
    **dict.fromkeys(("dropout", "encoder_dropout", "attention_dropout"), 0.0),
}


def text_of(labels, draw):
    """A text with the words of its labels that is no near-copy of another."""
    words = [*(SAID[label] for label in labels), draw.choice(NOUNS), f"x{draw.getrandbits(40)}"]
    return " ".join([*words, *words])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Tables with one and with several labels, a set, and a recipe of a tiny model."""
    folder, draw = tmp_path_factory.mktemp("own"), random.Random(0)
    single, several = ["Chat,Who,Text,Mood"], ["text,labels"]
    for number in range(80):
        for turn in range(2):
            mood = draw.choice(list(SAID))
            single.append(f"c{number},{'AB'[turn]},{text_of([mood], draw)},{mood.upper()}")
    for _ in range(240):
        moods = [mood for mood in SAID if draw.random() < 0.5] or ["tired"]
        several.append(f'"{text_of(moods, draw)}","{", ".join(moods)}"')
    (folder / "single.csv").write_text("\n".join(single) + "\n")
    (folder / "several.csv").write_text("\n".join(several) + "\n")
    (folder / "moods.yaml").write_text(
        "labels: {calm: At ease., tense: Under strain., tired: Worn out.}\nneutral: calm\n"
    )
    recipe = TINY | {"base_model": str(make_backbone(folder / "backbone"))}
    (folder / "tiny.yaml").write_text(yaml.safe_dump(recipe))
    return folder


def train(place, table, out, *more):
    """Train, unless that was done before, and return the folder."""
    folder = place / out
    if not (folder / "metrics.json").is_file():
        command = ["--recipe", place / "tiny.yaml", "--labelled", place / table, "--out", folder, "--threads", 1, *more]
        run_here(*map(str, command))
    return folder


def read(folder, name):
    return json.loads((folder / name).read_text())


def test_a_table_becomes_a_model_that_keeps_its_set_and_says_what_it_reaches(place):
    import edos_dataset
    from edos_dataset.labeling.models.labelers import load_labeler

    model = train(place, "single.csv", "single", "--label-set", place / "moods.yaml")
    metrics, made = read(model, "metrics.json"), read(model, "record.json")
    assert metrics["macro_f1"] > 0.8 > 0.5 > metrics["majority_class_macro_f1"]
    assert set(metrics["by_label"]) == set(SAID) and metrics["weighted_f1"] > 0.8
    assert sum(sum(row.values()) for row in metrics["confusion"].values()) == metrics["examples"]
    assert metrics["resampling"]["groups"] * 2 == metrics["examples"], "dialogues are drawn, not turns"
    assert made["task"] == "own" and made["labels"]["names"] == list(SAID)
    assert made["data"][0]["file"] == "single.csv" and "--label-set moods.yaml" in made["command"]
    labeler = load_labeler(str(model))
    assert labeler.label_set.definitions["tense"] == "Under strain." and labeler.label_set.neutral == "calm"
    [labelled] = edos_dataset.label([[f"{SAID['tense']} river", f"{SAID['tired']} stone"]], model=str(model))
    assert [turn["label"] for turn in labelled["turns"]] == ["tense", "tired"]


def test_the_card_names_the_flaws_first(place):
    card = (train(place, "single.csv", "single", "--label-set", place / "moods.yaml") / "README.md").read_text()
    body = card.split("---\n", 2)[2]
    flaws = body[: body.index("## Intended use")]
    assert body.index("## Know its flaws first") < body.index("## Intended use")
    assert "of its test examples" in flaws and "Always naming the most frequent label is wrong on" in flaws
    assert "knows one set of data" in flaws and "`calm`, `tense`, `tired`" in body
    assert "weighted F1" in body and "macro-F1 of always naming the most frequent label" in body
    assert "language: en" not in card and str(place) not in card.replace(str(place / "backbone"), "")


def test_a_stock_model_is_taken_by_a_pipeline(place):
    from transformers import pipeline

    model = train(place, "single.csv", "single", "--label-set", place / "moods.yaml")
    [found] = pipeline("text-classification", model=str(model))([f"{SAID['tense']} river"])
    assert found["label"] == "tense" and found["score"] > 0.5


def test_turns_can_have_several_labels(place):
    import edos_dataset

    model = train(place, "several.csv", "several", "--set", "epochs=10")
    metrics = read(model, "metrics.json")
    assert metrics["micro_f1"] > 0.8 > metrics["majority_class_micro_f1"] and metrics["threshold"] == 0.5
    assert "micro-F1" in (card := (model / "README.md").read_text()) and "if all labels of a turn must be right" in card
    text = f"{SAID['calm']} {SAID['tense']} river"
    [labelled] = edos_dataset.label([[text]], model=str(model))
    assert {each["label"] for each in labelled["turns"][0]["labels"]} == {"calm", "tense"}


def test_adapters_and_other_labels_start_from_a_trained_model(place):
    start = train(place, "single.csv", "single", "--label-set", place / "moods.yaml")
    (place / "two.yaml").write_text("calm: well\ntense: ill\ntired: ill\n")
    more = (
        "--start",
        start,
        "--label-set",
        place / "moods.yaml",
        "--map",
        place / "two.yaml",
        "--set",
        "lora_rank=4",
        "--set",
        "epochs=8",
    )
    model = train(place, "single.csv", "two", *more, "--set", "class_balance=1")
    from safetensors.numpy import load_file

    names, before = load_file(model / "model.safetensors"), load_file(start / "model.safetensors")
    assert not [name for name in names if "lora" in name] and names["classifier.weight"].shape[0] == 2
    words = "bert.embeddings.word_embeddings.weight"
    assert np.array_equal(names[words], before[words]), "adapters leave it as it was, that of --start"
    assert read(model, "config.json")["id2label"] == {"0": "well", "1": "ill"}
    assert read(model, "metrics.json")["macro_f1"] > 0.8


def test_an_interrupted_training_resumes_to_the_same_weights(place, monkeypatch):
    whole = train(place, "single.csv", "single", "--label-set", place / "moods.yaml")
    step, done = training.classifier.fit.take_step, []

    def killed(*values):
        done.append(None)
        if len(done) > 7:
            raise KeyboardInterrupt
        return step(*values)

    more = ("--label-set", place / "moods.yaml", "--checkpoint-every", 3)
    monkeypatch.setattr(training.classifier.fit, "take_step", killed)
    with pytest.raises(KeyboardInterrupt):
        train(place, "single.csv", "resumed", *more)
    monkeypatch.undo()
    again = train(place, "single.csv", "resumed", *more)
    assert read_log(again) == read_log(whole)
    assert (again / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--label-set", "ekman7"], "--label-set is about --labelled: give that, too"),
        (["--several", "--recipe", "a.yaml"], "--several is about --labelled: give that, too"),
        ([], "--recipe is missing: name a recipe of training/recipes, or your own data as --labelled"),
        (["--labelled", "-"], "--labelled - cannot be read again after an interruption: write a file"),
        (["--labelled", "a.csv", "--lora", "--recipe", "a.yaml"], "--lora chooses a recipe: leave it out"),
        (["--labelled", "nowhere.csv"], r"nowhere.csv: there is no such file or folder"),
        (["--labelled", "nowhere.csv", "--set", "class_balance=2"], "class_balance must be from 0 to 1, got 2"),
        (["--labelled", "nowhere.csv", "--set", "epochs"], "--set expects KEY=VALUE"),
    ],
)
def test_arguments_that_contradict_each_other_are_refused(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("EDOS_DATA_DIR", str(tmp_path))
    with pytest.raises(SystemExit) as stop:
        run_here(*arguments, "--out", str(tmp_path / "out"))
    assert message in (capsys.readouterr().err if stop.value.code == 2 else str(stop.value.code))
    assert not (tmp_path / "out").exists()


def test_a_training_that_is_stopped_leaves_a_checkpoint_and_says_how_to_go_on(place, tmp_path, monkeypatch, capsys):
    step, done = training.classifier.fit.take_step, []

    def stopped(*arguments):
        done.append(1)
        if len(done) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return step(*arguments)

    monkeypatch.setattr(training.classifier.fit, "take_step", stopped)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit, match="stopped after update 2; the same command continues from there"):
        train(place, "single.csv", tmp_path / "stopped", "--set", "epochs=1")
    assert signal.getsignal(signal.SIGTERM) is before
    train(place, "single.csv", tmp_path / "stopped", "--set", "epochs=1")
    said = capsys.readouterr().out
    assert "updates, a checkpoint after every" in said
    lines = map(json.loads, (tmp_path / "stopped" / "log.jsonl").read_text().splitlines())
    assert [line["update"] for line in lines if "loss" in line] == list(range(1, len(done) + 1))
