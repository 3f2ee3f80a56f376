"""The output of a training: the model folder with its record, metrics, card and predictions."""

import argparse
import json
import re
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from edos_dataset.arrays import Floats
from edos_dataset.encoders.encoder import DEFAULT_MODEL
from edos_dataset.labeling.models.classifier import DialogueClassifier
from edos_dataset.labeling.models.saved_model import digests_of
from edos_dataset.metrics.classification import fit_temperature, softmax
from edos_dataset.runs.shards import digest, replacing, write_text
from model_cards.classifiers import render_model_card, widget_examples
from training.classifier.fit import logits_of
from training.classifier.parts import Data, Part
from training.classifier.recipe import ClassifierRecipe
from training.loop import circumstances, draw_learning_curves
from training.predictions import evaluate_own, evaluate_predictions, evaluate_several

DEFAULT_ON_HUB = f"sentence-transformers/{DEFAULT_MODEL}"
TAUGHT = (
    "The automatic labels of EmpatheticDialogues' later turns, from which it learned, are those of the authors' "
    "classifier, which had been trained on the "
    "texts that the weak labeler is tested on. Turns of those texts' conversations were left out, but the teacher was "
    "not: the test figures of the weak "
    "labeler may be a little too good."
)


def make_record(
    recipe: ClassifierRecipe, data: Data, temperature: float, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Return how the model was made: the data and the starting model with their hashes, recipe, seed, machine,
    versions.
    """
    base = Path(recipe.base_model).name if Path(recipe.base_model).is_absolute() else recipe.base_model
    backbone = re.sub(r"[^a-z0-9]+", "-", recipe.base_model.split("/")[-1].lower())
    rows = [{"file": name, "sha256": digest(path), "licence": data.licence(name)} for name, path in data.files.items()]
    before = arguments.start / "record.json" if arguments.start else None
    started = json.loads(before.read_text(encoding="utf-8")) if before and before.is_file() else {}
    rows += [row for row in started.get("data", []) if row["file"] not in data.files]
    task = "own" if data.own else recipe.task
    labels = {"labels": {"set": data.label_set.name, "names": list(data.label_set.labels), "several": data.several}}
    return {
        "name": "-".join([task, backbone, *(["plain"] if recipe.architecture == "plain" else [])]),
        "task": task,
        **(labels if data.own else {}),
        "architecture": recipe.architecture,
        "base_model": DEFAULT_ON_HUB if recipe.base_model == DEFAULT_MODEL else base,
        "start": started.get("name"),
        "data": rows,
        "split": {
            "train": len(data.train),
            "replay": len(data.replay),
            "validation": len(data.validation),
            "test": len(data.test),
        },
        "near_duplicates_removed": data.left_out,
        "limitations": [
            *data.limitations,
            *([TAUGHT] if recipe.annotated else []),
            *started.get("limitations", []),
        ],
        "temperature": temperature,
        "seed": recipe.seed,
        "recipe": {**asdict(recipe), "base_model": base},
        "command": _command(data, arguments),
        **circumstances(),
    }


def _command(data: Data, arguments: argparse.Namespace) -> str:
    """Return the command that reproduces the model; absolute paths are shortened to names."""
    paths = {
        "--recipe": arguments.recipe,
        "--labelled": arguments.labelled,
        "--start": arguments.start,
        "--out": arguments.out,
    }
    given = [(name, _name_of(path)) for name, path in paths.items() if path]
    own = Path(arguments.labelled).resolve().name if arguments.labelled else None
    if any(name.partition("/")[0] != own for name in data.files):
        given.insert(1, ("--data-dir", "$EDOS_DATA_DIR"))
    given += [("--set", change) for change in arguments.set or []]
    given += given_options(arguments)
    return " ".join(
        [
            "accelerate launch training/train_classifier.py",
            *(
                shlex.join([name, *([value] if value else [])]) if value != "$EDOS_DATA_DIR" else f"{name} {value}"
                for name, value in given
            ),
        ]
    )


OPTIONS = (
    "label_set", "label_map", "label_column", "several", "text_column", "id_column", "time_column", "group_column",
    "config", "format", "skip_bad",
)  # fmt: skip
"""Options of the command line that say what is learned from `--labelled`."""


def given_options(arguments: argparse.Namespace) -> list[tuple[str, str]]:
    """Return the options about `--labelled` that were given, with their values, files by their names alone."""
    given: list[tuple[str, str]] = []
    for key in OPTIONS:
        name = "--map" if key == "label_map" else f"--{key.replace('_', '-')}"
        value = getattr(arguments, key, None)
        values = value if isinstance(value, list) else [value]
        given += [(name, "" if each is True else _name_of(each)) for each in values if each]
    return given


def _name_of(value: str | Path) -> str:
    """Return a value; of a path on this machine, only the name."""
    return Path(value).name if Path(value).is_absolute() else str(value)


WIDGET = (
    "I can't believe you did this for me, thank you so much!",
    "What time does the train leave?",
    "I miss the summers at my grandmother's house.",
)


def write_results(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    recipe: ClassifierRecipe,
    data: Data,
    accelerator: Accelerator,
    arguments: argparse.Namespace,
    making: dict[str, Any],
) -> None:
    """Fit the temperature on the validation split, measure the test split once, and write the model folder;
    `metrics.json` is written last.

    Without a test split, `metrics.json` has only the temperature and the validation metrics, and there are no
    predictions. `making` is facts about the training for the record, such as its seconds.
    """
    out: Path = arguments.out
    validation, test, shown = (
        logits_of(model, dialogues, recipe, tokenizer, accelerator)
        for dialogues in (data.validation.dialogues, data.test.dialogues, [[text] for text in WIDGET])
    )
    if not accelerator.is_main_process:
        return
    temperature = 1.0 if data.several else round(fit_temperature(validation, data.validation.labels), 4)
    metrics: dict[str, Any] = (
        _measured(test, data.test, data, temperature) if len(data.test) else {"temperature": temperature}
    )
    of_validation = _measured(validation, data.validation, data, temperature)
    metrics["validation"] = {name: value for name, value in of_validation.items() if not isinstance(value, dict)}
    answers = 1 / (1 + np.exp(-shown)) if data.several else softmax(shown, temperature)
    widget = widget_examples(WIDGET, answers.astype(np.float32), names=data.label_set.labels)
    record = {**make_record(recipe, data, temperature, arguments), **making, "widget": widget}
    _calibrate(model, temperature)
    if data.own and recipe.architecture == "plain":
        tokenizer.model_max_length = recipe.max_tokens  # texts are cut as in the training
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    if len(data.test):
        with replacing(out / "predictions.npz") as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, logits=test, labels=data.test.targets if data.several else data.test.labels)
    record["files"] = digests_of(out)
    write_text(out / "record.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    write_text(out / "README.md", render_model_card(record, metrics))
    draw_learning_curves(out)
    write_text(out / "metrics.json", json.dumps(metrics, indent=2) + "\n")
    accelerator.print(_told(metrics))


def _measured(logits: Floats, part: Part, data: Data, temperature: float) -> dict[str, Any]:
    """Return the figures of a part."""
    if data.several:
        return evaluate_several(logits, part.targets, part.groups, data.label_set.labels)
    if data.own:
        return evaluate_own(logits, part.labels, temperature, part.groups, data.label_set.labels)
    return evaluate_predictions(logits, part.labels, temperature)


_SCORES = ("accuracy", "macro_f1", "micro_f1", "weighted_f1", "top_3_accuracy", "ece")
_BASELINE = ("majority_class_accuracy", "majority_class_macro_f1", "majority_class_micro_f1")


def _told(metrics: dict[str, Any]) -> str:
    """Return a line with the test metrics, or with the validation metrics if there is no test split."""
    part, figures = ("test", metrics) if "accuracy" in metrics else ("validation", metrics["validation"])
    scores = {name: figures[name] for name in (*_SCORES, *_BASELINE) if name in figures}
    intervals = f", 95 % intervals {metrics['intervals']}" if part == "test" else ""
    return f"{part} ({figures['examples']} examples): {scores}{intervals}"


def _calibrate(model: PreTrainedModel, temperature: float) -> None:
    """Divide the model's logits by the temperature; for a stock classifier, fold it into the last layer."""
    if isinstance(model, DialogueClassifier):
        model.config.softmax_temperature = temperature
        return
    last = [module for module in model.modules() if isinstance(module, torch.nn.Linear)][-1]
    with torch.no_grad():
        last.weight.div_(temperature)
        last.bias.div_(temperature)


def publish(folder: Path, name: str) -> None:
    """Upload the public files of a model folder to the Hub."""
    from huggingface_hub import HfApi

    from edos_dataset.hub.model_contents import read_model

    contents = read_model(folder)
    assert contents is not None, "a training wrote it"
    api = HfApi()
    api.create_repo(name, exist_ok=True)
    api.upload_folder(
        repo_id=name,
        folder_path=folder,
        allow_patterns=[*contents.files],
        commit_message="A trained classifier",
    )
