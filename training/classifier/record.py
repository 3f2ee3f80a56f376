"""The record of a classifier: what it was made of, by whom it was started, and how to make it again."""

import argparse
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edos_dataset.encoders.encoder import DEFAULT_MODEL
from edos_dataset.runs.shards import digest
from training.classifier.data import Data
from training.classifier.recipe import ClassifierRecipe
from training.loop.circumstances import circumstances

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
    """Return how the model was made: data with their hashes, also of the model that it started from, recipe, seed,
    machine, versions.
    """
    base = Path(recipe.base_model).name if Path(recipe.base_model).is_absolute() else recipe.base_model
    backbone = re.sub(r"[^a-z0-9]+", "-", recipe.base_model.split("/")[-1].lower())
    rows = [{"file": name, "sha256": digest(path), "licence": data.licence(name)} for name, path in data.files.items()]
    before = arguments.start / "record.json" if arguments.start else None
    started = json.loads(before.read_text(encoding="utf-8")) if before and before.is_file() else {}
    rows += [row for row in started.get("data", []) if row["file"] not in data.files]
    return {
        "name": "-".join([recipe.task, backbone, *(["plain"] if recipe.architecture == "plain" else [])]),
        "task": recipe.task,
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
        "limitations": [*([TAUGHT] if recipe.annotated else []), *started.get("limitations", [])],
        "temperature": temperature,
        "seed": recipe.seed,
        "recipe": {**asdict(recipe), "base_model": base},
        "command": _command(data, arguments),
        **circumstances(),
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
