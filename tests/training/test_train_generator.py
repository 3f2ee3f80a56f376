"""The training of the response models, run as a user would; what it is made of is in generator/."""

import json
import math
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from classifier_fixtures import kill_after, read_log, run_here, start_process
from edos_dataset.labels import LABELS
from generator_fixtures import (
    SCRIPT,
    arguments,
    copying,
    labelled_by_opening,
    make_backbone,
    saying_the_label,
    write_conversations,
    write_recipe,
)
from training.generator.corpus import load_corpus
from training.generator.recipe import read_recipe

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Conversations of three kinds, and recipes."""
    folder = tmp_path_factory.mktemp("generator")
    write_conversations(folder / "copying", copying, turns=3)
    write_conversations(folder / "saying", saying_the_label, count=60, turns=4)
    write_conversations(folder / "labels", labelled_by_opening, count=200)
    recipes = {
        "plain": {"kind": "plain"},
        "whole": {"kind": "empathetic", "dropout": 0.1, "averaging": 0.9},
        "silent": {"kind": "empathetic", "averaging": 0.9, "label_smoothing": 0.1},
        "narrow": {"kind": "empathetic", "averaging": 0.9, "label_smoothing": 0.1, "micro_tokens": 20},
        "predictor": {"kind": "predictor", "epochs": 10, "learning_rate": 0.003, "mean_over": "pairs"},
        "noise": {"kind": "plain", "epochs": 40, "learning_rate": 0.02, "schedule": "constant", "patience": 2},
    }
    for name, settings in recipes.items():
        write_recipe(folder / f"{name}.yaml", **settings)

    def command(name, out, *more, data="copying"):
        given = arguments(folder / f"{name}.yaml", folder / data, folder / out, "--checkpoint-every", 5, *more)
        return given

    return SimpleNamespace(folder=folder, command=command)


def finished(place, name, *more, out=None, **given):
    """Return the folder of a training of this process; a finished one is not trained again."""
    folder = place.folder / (out or name)
    if not (folder / "metrics.json").is_file():
        run_here(*place.command(name, folder.name, *more, **given), script=SCRIPT)
    return folder


def read(folder, name):
    return json.loads((folder / name).read_text())


def weights(folder):
    from safetensors.numpy import load_file

    return load_file(folder / "model.safetensors")


def losses(folder, key="loss"):
    return [entry[key] for entry in read_log(folder) if key in entry]


def test_a_toy_copy_task_is_learned_to_almost_nothing(place, tmp_path):
    write_conversations(tmp_path / "data", copying, count=400)
    write_recipe(
        tmp_path / "copy.yaml", kind="plain", epochs=20, learning_rate=0.004, batch_tokens=500, micro_tokens=500
    )
    run_here(*arguments(tmp_path / "copy.yaml", tmp_path / "data", tmp_path / "out"), script=SCRIPT)
    figures = read(tmp_path / "out", "metrics.json")
    assert np.mean(losses(tmp_path / "out")[-10:]) < 0.03
    assert figures["test"]["cross_entropy"] < 0.1, "openings that it never saw are copied"
    assert figures["test"]["perplexity"] == pytest.approx(math.exp(figures["test"]["cross_entropy"]))
    assert figures["unigram"]["perplexity"] > 5
    assert figures["test"]["history_gain"] > 2, "behind the history of another pair the copy is wrong"


def test_a_training_leaves_a_folder_that_loads_and_answers(place):
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    from edos_dataset.generation.response_pipeline import batch_histories, encode_history

    folder = finished(place, "whole")
    left = {path.name for path in folder.iterdir()}
    assert {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "record.json",
        "log.jsonl",
        "learning_curves.png",
        "README.md",
    } <= left
    card = (folder / "README.md").read_text()
    assert card.index("people in distress") < card.index("## Data") and "CC BY-NC 4.0" in card
    assert not [
        name for name in left if name.startswith(("checkpoint", "best", "tokenizer-in")) or name.endswith(".tmp")
    ]
    record, figures = read(folder, "record.json"), read(folder, "metrics.json")
    assert record["recipe"]["kind"] == record["task"] == "empathetic" and record["split"]["train"] > 100
    assert record["data"][0]["source"] == "empathetic_dialogues" and len(record["data"][0]["sha256"]) == 64
    assert set(figures) == {"validation", "test", "unigram"}
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder)
    assert (model.config.num_response_labels, model.config.num_segments) == (len(LABELS), 2)
    history = batch_histories([encode_history(tokenizer, ["river stone"], [3], 24)], tokenizer.pad_token_id)
    with torch.no_grad():
        said = model.eval().generate(**history, response_labels=torch.tensor([7]), max_new_tokens=5, do_sample=False)
    assert said.shape[0] == 1


def test_who_is_told_the_label_answers_better(place):
    settings = ("--set", "epochs=8", "--set", "learning_rate=0.003")
    labelled, plain = (
        finished(place, name, *settings, out=f"{name}-said", data="saying") for name in ("silent", "plain")
    )
    with_label, without = (read(folder, "metrics.json")["test"] for folder in (labelled, plain))
    assert with_label["perplexity"] < 1.5 < without["perplexity"], "four labels are drawn, each a single answer"
    assert abs(with_label["history_gain"]) < 0.02, "the label tells all, and the history nothing"
    assert "hardly uses the history" in (labelled / "README.md").read_text()


def test_a_predictor_learns_which_label_comes(place):
    figures = read(finished(place, "predictor", data="labels"), "metrics.json")
    assert figures["test"]["accuracy"] > 0.9 > 0.5 > figures["unigram"]["accuracy"]
    assert figures["test"]["targets"] == figures["test"]["pairs"]


def test_a_killed_training_goes_on_to_the_same_weights(place, commands):
    whole, folder = finished(place, "whole"), place.folder / "killed"
    kill_after(start_process(commands / "python", *place.command("whole", "killed"), script=SCRIPT), 10, folder)
    assert not (folder / "model.safetensors").is_file()
    with pytest.raises(SystemExit, match=r"checkpoint-\d+ belongs to another training \(recipe differ\)"):
        run_here(*place.command("silent", "killed"), script=SCRIPT)
    run_here(*place.command("whole", "killed"), script=SCRIPT)
    assert read_log(folder) == read_log(whole)
    assert (folder / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_two_processes_train_as_one_does_even_if_killed_between(place, commands):
    one, two, changed = finished(place, "silent"), place.folder / "two", place.folder / "changed"
    command = place.command("silent", "two", "--processes", 2)
    kill_after(start_process(commands / "python", *command, processes=2, script=SCRIPT), 10, two)
    shutil.copytree(two, changed)
    process = start_process(commands / "python", *command, processes=2, script=SCRIPT)
    output, _ = process.communicate(timeout=900)
    assert process.returncode == 0, output
    run_here(*place.command("silent", "changed"), script=SCRIPT)
    assert [read(folder, "record.json")["processes"] for folder in (one, two, changed)] == [1, 2, 1]
    for folder in (two, changed):
        assert_same_training(one, folder)


def assert_same_training(one, other):
    assert len(losses(one)) > 20
    for key in ("loss", "validation_cross_entropy"):
        assert losses(other, key) == pytest.approx(losses(one, key), rel=1e-4)
    # Keys' biases have no gradient but rounding errors, which Adam makes large; no output depends on them.
    theirs = weights(other)
    far = {name: np.abs(each - theirs[name]).max() for name, each in weights(one).items() if "key.bias" not in name}
    assert max(far.values()) < 1e-3, max(far, key=far.get)
    assert read(other, "metrics.json")["test"]["perplexity"] == pytest.approx(
        read(one, "metrics.json")["test"]["perplexity"], rel=1e-4
    )


def test_an_update_accumulated_over_many_small_batches_is_the_same(place):
    assert_same_training(finished(place, "silent"), finished(place, "narrow"))


def test_a_training_starts_from_another_ones_weights(place):
    before = finished(place, "silent")
    folder = finished(
        place, "silent", "--start", before, "--set", "updates=1", "--set", "learning_rate=1e-9", out="tuned"
    )
    assert (folder / "tokenizer.json").read_bytes() == (before / "tokenizer.json").read_bytes()
    assert all(np.allclose(each, weights(before)[name], atol=1e-6) for name, each in weights(folder).items())
    assert read(folder, "record.json")["start"] == read(before, "record.json")["name"]


def test_patience_ends_a_training_and_its_best_weights_are_kept(place):
    folder = finished(place, "noise")
    found = [
        (entry["validation_cross_entropy"], entry["update"])
        for entry in read_log(folder)
        if "validation_cross_entropy" in entry
    ]
    best, update = min(found)
    assert len(found) < 40 and [at for _, at in found].index(update) == len(found) - 3
    assert read(folder, "record.json")["best_update"] == update
    assert read(folder, "metrics.json")["validation"]["cross_entropy"] == pytest.approx(best, abs=1e-5)


OTHERS = [
    ("gpt2", {"kind": "causal_lora", "label_form": "tokens", "lora_rank": 4, "labeler": "dialogue"}),
    ("gpt2", {"kind": "causal_lora", "label_form": "words", "lora_rank": 0}),
    ("t5", {"kind": "seq2seq_lora", "label_form": "words", "lora_rank": 4}),
    ("gpt2", {"kind": "gpt2_two_heads", "history_turns": 3, "lora_rank": 0, "mean_over": "pairs"}),
]


@pytest.mark.parametrize(("backbone", "settings"), OTHERS)
def test_models_of_others_are_trained_and_load_as_writers(place, tmp_path, backbone, settings):
    import torch

    from edos_dataset.generation.loading import load_backbone
    from generator_fixtures import encode_pair

    base = make_backbone(tmp_path / "base", backbone)
    more = {"max_tokens": 120, "batch_tokens": 4000, "micro_tokens": 4000, "epochs": 6, "learning_rate": 0.01}
    recipe = write_recipe(tmp_path / "recipe.yaml", base_model=str(base), **more, **settings)
    out = tmp_path / "out"
    run_here(*arguments(recipe, place.folder / "saying", out), script=SCRIPT)
    found, figures = losses(out, "validation_cross_entropy"), read(out, "metrics.json")
    adapted = settings["lora_rank"] > 0
    assert min(found) < found[0] - 0.5
    assert adapted or figures["test"]["perplexity"] < figures["unigram"]["perplexity"]
    writer = load_backbone(out, base=base if adapted else None)
    assert writer.form.labels == settings.get("label_form", "none")
    assert writer.form.labeler == settings.get("labeler", "general")
    # What was measured is what the saved model does.
    table = load_corpus(read_recipe(recipe), place.folder / "saying", None, tmp_path / "cache").parts["test"]
    nats = count = 0
    for row in table.to_pylist():
        for turn in range(1, len(row["texts"])):
            known = row["labels"] if writer.takes_labels else [None] * len(row["labels"])
            lines = writer.form.lines(row["texts"][:turn], known[:turn], known[turn])
            causal = backbone == "gpt2"
            ids, labels = encode_pair(writer.tokenizer, lines, row["texts"][turn], causal=causal)
            with torch.no_grad():
                loss = writer.model(input_ids=torch.tensor([ids]), labels=torch.tensor([labels])).loss
            targets = sum(label != -100 for label in labels)
            nats, count = nats + float(loss) * targets, count + targets
    assert count == figures["test"]["targets"]
    assert nats / count == pytest.approx(figures["test"]["cross_entropy"], rel=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"recipe": {"learning_rat": 0.1}}, "has no parameter 'learning_rat'.*'learning_rate'"),
        ({"recipe": {"batch_tokens": 0}}, "batch_tokens must be at least 1, got 0"),
        ({"recipe": {"dropout": 1.0}}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"recipe": {"kind": "causal_lora"}}, "kind causal_lora needs a base_model"),
        ({"recipe": {"whole_dialogues": True}}, "whole_dialogues is for the kind causal_lora, not plain"),
        ({"recipe": {"base_model": "gpt2"}}, "kind plain has no base_model"),
        (
            {"recipe": {"kind": "causal_lora", "base_model": "gpt2", "drop_overlap": True}},
            "drop_overlap is for kinds plain, empathetic, predictor, not causal_lora",
        ),
        ({"recipe": {"hidden_size": 33}}, "num_heads must divide hidden_size, got 2 and 33"),
        ({"recipe": {"data": ["edos"]}}, "learns from the config 'edos': name its folder or Hub id as --dialogues"),
        ({"recipe": {"data": []}}, "data names no source"),
        ({"recipe": {"vocabulary": 10}}, "vocab_size must be at least 260"),
        ({"data": "nowhere"}, "has neither annotated/, unannotated/ nor original/"),
        ({"more": ["--set", "epochs"]}, "--set expects KEY=VALUE"),
        ({"more": ["--set", "epochs=many"]}, "epochs must be of type int, got 'many'"),
        ({"more": ["--start", "nowhere"]}, "--start nowhere is no model folder"),
        ({"more": ["--processes", "2"]}, "1 processes run, not 2"),
        ({"out": "whole"}, "holds a finished training"),
        ({"start": "silent"}, "has num_response_labels 41, the recipe 0"),
        ({"start": "predictor"}, "is a model of the kind edos_response_predictor, not edos_response"),
    ],
)
def test_what_cannot_be_trained_is_refused_with_a_sentence(place, tmp_path, capsys, change, message):
    recipe = write_recipe(tmp_path / "recipe.yaml", **{"kind": "plain", **change.get("recipe", {})})
    more = change.get("more", [])
    if name := change.get("start"):
        more = ["--start", finished(place, name, data="labels" if name == "predictor" else "copying")]
    out = finished(place, change["out"]) if "out" in change else tmp_path / "out"
    with pytest.raises(SystemExit) as stop:
        run_here(*arguments(recipe, place.folder / change.get("data", "copying"), out, *more), script=SCRIPT)
    said = capsys.readouterr().err if stop.value.code == 2 else stop.value.code
    assert re.search(message, said), said
    assert "out" in change or not (out / "model.safetensors").exists()
