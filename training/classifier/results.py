"""What a training leaves behind: the model folder with its record, figures, card and predictions."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from edos_dataset.labeling.models.classifier import DialogueClassifier
from edos_dataset.labeling.models.saved_model import digests_of
from edos_dataset.metrics.calibration import fit_temperature, softmax
from edos_dataset.metrics.classification import evaluate_predictions
from edos_dataset.publishing.cards.model import render_model_card
from edos_dataset.publishing.cards.model_header import widget_examples
from edos_dataset.runs.shards import replacing, write_text
from training.classifier.data import Data
from training.classifier.prediction import logits_of
from training.classifier.recipe import ClassifierRecipe
from training.classifier.record import make_record
from training.loop.log import draw_learning_curves

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
    """Fit the temperature on the validation part, measure the test part once, and write the model folder;
    `metrics.json` comes last.

    Without a test part, `metrics.json` holds the temperature and the figures of the validation part alone, and there
    are no predictions. `making` holds facts of the training for the record, such as its seconds.
    """
    out: Path = arguments.out
    validation, test, shown = (
        logits_of(model, dialogues, recipe, tokenizer, accelerator)
        for dialogues in (data.validation.dialogues, data.test.dialogues, [[text] for text in WIDGET])
    )
    if not accelerator.is_main_process:
        return
    temperature = round(fit_temperature(validation, data.validation.labels), 4)
    metrics: dict[str, Any] = (
        evaluate_predictions(test, data.test.labels, temperature) if len(data.test) else {"temperature": temperature}
    )
    of_validation = evaluate_predictions(validation, data.validation.labels, temperature)
    metrics["validation"] = {name: value for name, value in of_validation.items() if not isinstance(value, dict)}
    widget = widget_examples(WIDGET, softmax(shown, temperature).astype(np.float32))
    record = {**make_record(recipe, data, temperature, arguments), **making, "widget": widget}
    _calibrate(model, temperature)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    if len(data.test):
        with replacing(out / "predictions.npz") as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, logits=test, labels=data.test.labels)
    record["files"] = digests_of(out)
    write_text(out / "record.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    write_text(out / "README.md", render_model_card(record, metrics))
    draw_learning_curves(out)
    write_text(out / "metrics.json", json.dumps(metrics, indent=2) + "\n")
    accelerator.print(_told(metrics))


def _told(metrics: dict[str, Any]) -> str:
    """Return a line with the scores of the test part, or, where there is none, of the validation part."""
    part, figures = ("test", metrics) if "accuracy" in metrics else ("validation", metrics["validation"])
    scores = {name: figures[name] for name in ("accuracy", "macro_f1", "top_3_accuracy", "ece")}
    intervals = f", 95 % intervals {metrics['intervals']}" if part == "test" else ""
    return f"{part} ({figures['examples']} examples): {scores}{intervals}"


def _calibrate(model: PreTrainedModel, temperature: float) -> None:
    """Let the model divide its logits by the temperature; a stock classifier gets it folded into its last layer."""
    if isinstance(model, DialogueClassifier):
        model.config.softmax_temperature = temperature
        return
    last = [module for module in model.modules() if isinstance(module, torch.nn.Linear)][-1]
    with torch.no_grad():
        last.weight.div_(temperature)
        last.bias.div_(temperature)


def publish(folder: Path, name: str) -> None:
    """Upload what of a model folder is for others to the Hub."""
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
