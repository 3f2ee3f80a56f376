"""What a training leaves behind: its log and learning curves, the predictions of the test part, the model folder with
its record and card.
"""

import argparse
import json
import os
import platform
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from transformers import AutoModelForSequenceClassification

from edos_dataset.arrays import Floats
from edos_dataset.labeling.models.classifier import DialogueClassifier
from edos_dataset.labeling.models.encoder import DEFAULT_MODEL
from edos_dataset.metrics.classification import evaluate_predictions, fit_temperature, softmax
from edos_dataset.publishing.cards.model import render_model_card, widget_examples
from edos_dataset.runs.shards import digest
from training.classifier.batches import micro_batches, pad
from training.classifier.data import Data, mix_in
from training.classifier.model import token_ids
from training.classifier.recipe import ClassifierRecipe

DEFAULT_ON_HUB = f"sentence-transformers/{DEFAULT_MODEL}"

WIDGET = (
    "I can't believe you did this for me, thank you so much!",
    "What time does the train leave?",
    "I miss the summers at my grandmother's house.",
)
PACKAGES = ("torch", "transformers", "accelerate", "numpy")
TAUGHT = (
    "The automatic labels of EmpatheticDialogues' later turns, from which it learned, are those of the authors' "
    "classifier, which had been trained on the "
    "texts that the weak labeler is tested on. Turns of those texts' conversations were left out, but the teacher was "
    "not: the test figures of the weak "
    "labeler may be a little too good."
)


class Log:
    """`log.jsonl` in the model's folder, a line for every update and evaluation; TensorBoard's files beside it; and now
    and then a line on the terminal.
    """

    def __init__(self, folder: Path, update: int, accelerator: Accelerator) -> None:
        """Open the log; lines after `update`, of a training that was killed, are dropped."""
        self.path, self.accelerator = folder / "log.jsonl", accelerator
        if accelerator.is_main_process:
            lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.is_file() else []
            kept = [line for line in lines if line.endswith("}") and json.loads(line)["update"] <= update]
            self.path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
        accelerator.init_trackers("tensorboard")

    def update(self, update: int, updates: int, loss: float, rate: float, seconds: float) -> None:
        """Log an update: mean loss (nats), learning rate of the head, seconds since the start."""
        self._write({"update": update, "loss": loss, "learning_rate": rate, "seconds": round(seconds, 1)})
        if update % 20 == 0 or update == updates:
            self.accelerator.print(
                f"update {update} of {updates}: loss {loss:.3f}, {seconds / 60:.1f} min, "
                f"{seconds / update * (updates - update) / 60:.0f} to go"
            )

    def evaluation(self, update: int, value: float, accuracy: float) -> None:
        """Log an evaluation of the validation part."""
        self._write({"update": update, "validation_cross_entropy": value, "validation_accuracy": accuracy})
        self.accelerator.print(f"update {update}: validation cross-entropy {value:.4f}, accuracy {accuracy:.2%}")

    def _write(self, entry: dict[str, float]) -> None:
        self.accelerator.log(
            {name: value for name, value in entry.items() if name != "update"}, step=int(entry["update"])
        )
        if self.accelerator.is_main_process:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")


def predict(
    model: torch.nn.Module, inputs: Sequence[list[int]], budget: int, padding: int, accelerator: Accelerator
) -> Floats:
    """Return the logits of inputs, float32 [n, 41], before any temperature; every process computes a part and gets them
    all.
    """
    model.eval()
    found: list[tuple[np.ndarray, np.ndarray]] = []
    with torch.inference_mode(), accelerator.autocast():
        for batch in micro_batches(np.arange(len(inputs)), inputs, budget)[
            accelerator.process_index :: accelerator.num_processes
        ]:
            ids, mask = (tensor.to(accelerator.device) for tensor in pad([inputs[row] for row in batch], padding))
            found.append((batch, model(input_ids=ids, attention_mask=mask).logits.float().cpu().numpy()))
    found = gather_object(found)  # a process may have had none
    logits = np.zeros((len(inputs), found[0][1].shape[1] if found else 0), np.float32)
    for batch, values in found:
        logits[batch] = values
    return logits


def teach(data: Data, recipe: ClassifierRecipe, tokenizer: Any, accelerator: Accelerator) -> Data:  # noqa: ANN401
    """Return the data with the mean calibrated probabilities of the recipe's teachers mixed into
    the training targets.
    """
    parts = []
    teachers = [
        AutoModelForSequenceClassification.from_pretrained(folder).to(accelerator.device) for folder in recipe.distil
    ]
    for part in (data.train, data.replay):
        if len(part):
            inputs = token_ids(recipe, tokenizer, part.dialogues)
            answers = [
                softmax(predict(teacher, inputs, recipe.micro_tokens, tokenizer.pad_token_id, accelerator))
                for teacher in teachers
            ]
            part = mix_in(part, np.mean(answers, axis=0), recipe.distil_share)
        parts.append(part)
    return replace(data, train=parts[0], replay=parts[1])


def write_results(
    model: Any,  # noqa: ANN401
    tokenizer: Any,  # noqa: ANN401
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
    out = arguments.out

    def logits(dialogues: Sequence[Sequence[str]]) -> Floats:
        return predict(
            model, token_ids(recipe, tokenizer, dialogues), recipe.micro_tokens, tokenizer.pad_token_id, accelerator
        )

    validation, test, shown = (
        logits(data.validation.dialogues),
        logits(data.test.dialogues),
        logits([[text] for text in WIDGET]),
    )
    if not accelerator.is_main_process:
        return
    temperature = round(fit_temperature(validation, data.validation.labels), 4)
    metrics: dict[str, Any] = (
        evaluate_predictions(test, data.test.labels, temperature) if len(data.test) else {"temperature": temperature}
    )
    metrics["validation"] = {
        name: value
        for name, value in evaluate_predictions(validation, data.validation.labels, temperature).items()
        if not isinstance(value, dict)
    }
    record = {
        **make_record(recipe, data, temperature, arguments),
        **making,
        "widget": widget_examples(WIDGET, softmax(shown, temperature).astype(np.float32)),
    }
    _calibrate(model, temperature)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    if len(data.test):
        np.savez_compressed(out / "predictions.npz", logits=test, labels=data.test.labels)
    (out / "record.json").write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (out / "README.md").write_text(render_model_card(record, metrics), encoding="utf-8")
    draw_learning_curves(out)
    (out / "metrics.json.tmp").write_text(json.dumps(metrics, indent=2) + "\n", encoding="utf-8")
    os.replace(out / "metrics.json.tmp", out / "metrics.json")
    part, found = ("test", metrics) if len(data.test) else ("validation", metrics["validation"])
    scores = {name: found[name] for name in ("accuracy", "macro_f1", "top_3_accuracy", "ece")}
    accelerator.print(
        f"{part} ({found['examples']} examples): {scores}"
        + (f", 95 % intervals {metrics['intervals']}" if len(data.test) else "")
    )


def make_record(
    recipe: ClassifierRecipe, data: Data, temperature: float, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Return how the model was made: data with their hashes, also of the model that it started from, recipe, seed,
    machine, versions.
    """
    backbone = re.sub(r"[^a-z0-9]+", "-", recipe.base_model.split("/")[-1].lower())
    rows = [{"file": name, "sha256": digest(path), "licence": data.licence(name)} for name, path in data.files.items()]
    before = arguments.start / "record.json" if arguments.start else None
    started = json.loads(before.read_text(encoding="utf-8")) if before and before.is_file() else {}
    rows += [row for row in started.get("data", []) if row["file"] not in data.files]
    return {
        "name": "-".join([recipe.task, backbone, *(["plain"] if recipe.architecture == "plain" else [])]),
        "task": recipe.task,
        "architecture": recipe.architecture,
        "base_model": DEFAULT_ON_HUB if recipe.base_model == DEFAULT_MODEL else recipe.base_model,
        "start": started.get("name"),
        "data": rows,
        "split": {
            "train": len(data.train),
            "replay": len(data.replay),
            "validation": len(data.validation),
            "test": len(data.test),
        },
        "near_duplicates_removed": data.left_out,
        "limitations": [*([TAUGHT] if recipe.annotated else []), *started.get("limitations", [])],
        "temperature": temperature,
        "seed": recipe.seed,
        "recipe": asdict(recipe),
        "command": _command(data, arguments),
        "date": datetime.now(timezone.utc).date().isoformat(),
        "hardware": f"{platform.machine()}, {os.cpu_count()} processors"
        + (f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
    }


def _command(data: Data, arguments: argparse.Namespace) -> str:
    """Return the command that makes the model again; of a path on this machine only the name is told."""
    given = {
        "--recipe": arguments.recipe,
        "--labelled": arguments.labelled,
        "--start": arguments.start,
        "--out": arguments.out,
    }
    told = {name: path.name if path.is_absolute() else path for name, path in given.items() if path}
    own = arguments.labelled.resolve().name if arguments.labelled else None
    if any(name.partition("/")[0] != own for name in data.files):
        told = {"--recipe": told.pop("--recipe"), "--data-dir": "$EDOS_DATA_DIR", **told}
    return " ".join(
        ["accelerate launch training/train_classifier.py", *(f"{name} {value}" for name, value in told.items())]
    )


def _calibrate(model: Any, temperature: float) -> None:  # noqa: ANN401
    """Let the model divide its logits by the temperature; a stock classifier gets it folded into its last layer."""
    if isinstance(model, DialogueClassifier):
        model.config.softmax_temperature = temperature
        return
    last = [module for module in model.modules() if isinstance(module, torch.nn.Linear)][-1]
    with torch.no_grad():
        last.weight /= temperature
        last.bias /= temperature


def draw_learning_curves(folder: Path) -> None:
    """Draw `learning_curves.png` of a folder's `log.jsonl`: training and validation cross-entropy, and validation
    accuracy, by update.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    entries = [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    updates, evaluations = ([entry for entry in entries if key in entry] for key in ("loss", "validation_accuracy"))
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained")
    width = max(1, len(updates) // 100)
    losses = np.array([entry["loss"] for entry in updates])
    means = [losses[start : start + width].mean() for start in range(0, len(losses), width)]
    left.plot(
        [updates[start]["update"] for start in range(0, len(losses), width)],
        means,
        label=f"training (mean of {width} updates, smoothed targets)",
    )
    left.plot(
        [entry["update"] for entry in evaluations],
        [entry["validation_cross_entropy"] for entry in evaluations],
        "o-",
        label="validation",
    )
    left.set(xlabel="update", ylabel="cross-entropy (nats)", title="Cross-entropy")
    left.legend()
    right.plot(
        [entry["update"] for entry in evaluations],
        [100 * entry["validation_accuracy"] for entry in evaluations],
        "o-",
        color="C1",
    )
    right.set(xlabel="update", ylabel="accuracy (%)", title="Validation accuracy")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.savefig(folder / "learning_curves.png", dpi=110)
    pyplot.close(figure)


def publish(folder: Path, name: str) -> None:
    """Upload a model folder to the Hub."""
    from huggingface_hub import HfApi

    api = HfApi()
    api.create_repo(name, exist_ok=True)
    api.upload_folder(
        repo_id=name,
        folder_path=folder,
        ignore_patterns=["embeddings/*", "tensorboard/*"],
        commit_message="A trained classifier",
    )
