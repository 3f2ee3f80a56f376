"""Give a packed model the answers as `training/labels/model.py` states them now, and measure them: nothing is trained.

    python training/weigh_answers.py edos_dataset/labeling/models/weights/general --data-dir "$EDOS_DATA_DIR" --recipe \
        training/recipes/minilm/weak.yaml training/recipes/minilm/dialogue.yaml

An answer weighs the conventions that the model learned, so other factors need no training: the temperatures are fitted
and the figures measured as at the end of `training/train_labels.py` and of `training/pack_classifier.py`, whose options
these are. `config.json` and `metrics.json` of the folder are replaced at the end.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from transformers import AutoTokenizer

from edos_dataset.labeling.models.context import ContextClassifier
from edos_dataset.labeling.models.packed import unpack
from edos_dataset.runs.shards import write_text
from training.labels.answers import answers_of, vectors_of
from training.labels.model import answers_over
from training.labels.recipe import LabelsRecipe, read_recipe
from training.labels.results import calibrate_model
from training.labels.sources import load_corpus
from training.pack_classifier import ask, measure_all, parse_arguments, tests_of
from training.train_labels import figures_of

RECIPE = Path(__file__).parent / "recipes" / "minilm" / "labels.yaml"
"""The recipe by which the packed model was trained: its sources hold out what is measured."""


def main() -> None:
    """Weigh, calibrate, measure."""
    arguments = parse_arguments(__doc__, packs=False)
    try:
        weigh(arguments)
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")


def weigh(arguments: argparse.Namespace) -> None:
    """Replace the answers of the folder `arguments.model`, and its metrics."""
    folder: Path = arguments.model
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    answers, metrics = weighed(config["answer"], read_recipe(RECIPE), arguments)
    write_text(folder / "config.json", json.dumps(config | {"answers": answers}, indent=2, sort_keys=True) + "\n")
    write_text(folder / "metrics.json", json.dumps(metrics, indent=2) + "\n")
    tests = tests_of(arguments)
    measure_all({task: ask(task, test) for task, test in tests.items()}, tests, arguments)
    sys.stdout.write(f"{json.dumps(metrics['right'], indent=1)}\n")


def weighed(name: str, recipe: LabelsRecipe, arguments: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the answers of a shipped model with fitted temperatures, and what is right on the held-out turns."""
    accelerator = Accelerator(cpu=True)
    with tempfile.TemporaryDirectory() as place:
        unpacked = unpack(name, Path(place) / "model")
        model = ContextClassifier.from_pretrained(unpacked, trust_remote_code=False)
        tokenizer = AutoTokenizer.from_pretrained(unpacked, split_special_tokens=True, trust_remote_code=False)
    model.config.answers = answers_over(model.config.conventions, recipe.crowd_weight)
    corpus = load_corpus(recipe.sources, arguments.data_dir, arguments.cache, None)
    held = vectors_of(corpus.held, model, tokenizer, recipe, accelerator)
    answers = answers_of(model, held, accelerator)
    calibration = calibrate_model(model, held, answers)
    return model.config.answers, figures_of(held, answers) | {"calibration": calibration}


if __name__ == "__main__":
    main()
