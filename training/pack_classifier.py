"""Pack a trained classifier into the form that the package ships, count what the rounding changes, and measure it.

    python training/pack_classifier.py models/labels --data-dir "$EDOS_DATA_DIR" --recipe \
        training/recipes/minilm/dialogue.yaml training/recipes/minilm/weak.yaml --out \
        edos_dataset/labeling/models/weights/dialogue

It packs a `DialogueClassifier`, or a `ContextClassifier` with its two heads: then each task's test part is labelled by
the head that is for it, and `metrics.json` has the figures of both by task. The record beside the packed weights gains
`packing`: the share of the test part's labels that stay the same, and the largest change of a probability.
`--predictions` keeps logits and record of each task as `evaluation/classifier_report.py` reads them.
`python -m model_cards.render` then writes the cards.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.labeling.models.context_labeler import sees_vectors
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.models.packed import pack
from edos_dataset.labeling.models.shipped import SHIPPED
from edos_dataset.metrics.classification import evaluate_predictions
from edos_dataset.runs.shards import replacing, write_text
from training.classifier.data import Part, load_data
from training.classifier.recipe import read_recipe

HEADS = {"weak": ("turn", "turn_temperature"), "dialogue": ("history", "dialogue_temperature")}
"""Task → what the head that is for it sees, and where the configuration keeps its temperature."""


def main() -> None:
    """Pack, unpack, compare, measure."""
    arguments = parse_arguments()
    tests = {}
    for path in arguments.recipe:
        recipe = read_recipe(path)
        tests[recipe.task] = load_data(recipe, Path(arguments.data_dir), arguments.cache).test
    pack(arguments.model, arguments.out)
    first = next(iter(tests))
    before = _last(str(arguments.model), tests[first])
    answers = {task: _last(_name(arguments.out, task), test) for task, test in tests.items()}
    record = json.loads((arguments.out / "record.json").read_text(encoding="utf-8"))
    record["packing"] = packing_of(before, answers[first], tests[first].labels, arguments.out)
    write_text(arguments.out / "record.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    if sees_vectors(arguments.out):
        measured = {task: measure(task, answers[task], test, arguments) for task, test in tests.items()}
        known = json.loads((arguments.out / "metrics.json").read_text(encoding="utf-8"))
        write_text(arguments.out / "metrics.json", json.dumps(known | measured, indent=2) + "\n")
    sys.stdout.write(f"{record['packing']}\n")


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder that train_classifier.py or train_labels.py wrote")
    parser.add_argument(
        "--recipe",
        type=Path,
        nargs="+",
        required=True,
        help="recipes of train_classifier.py whose test parts are labelled; labels are compared on the first's",
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the data sets (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument("--cache", type=Path, help="folder that keeps embeddings")
    parser.add_argument("--out", type=Path, required=True, help="folder below edos_dataset/labeling/models/weights")
    parser.add_argument("--predictions", type=Path, help="folder that gets a folder of predictions for each task")
    return parser.parse_args()


def packing_of(before: Floats, after: Floats, labels: Any, out: Path) -> dict[str, Any]:  # noqa: ANN401 - NumPy's own
    """Return what the rounding changes of probabilities [n, 41]."""
    return {
        "test_examples": len(labels),
        "equal_labels": round(float(np.mean(before.argmax(axis=1) == after.argmax(axis=1))), 4),
        "accuracy_before": round(float(np.mean(before.argmax(axis=1) == labels)), 4),
        "accuracy_after": round(float(np.mean(after.argmax(axis=1) == labels)), 4),
        "largest_change_of_a_probability": round(float(np.abs(before - after).max()), 4),
        "bytes": (out / "packed.safetensors").stat().st_size,
    }


def measure(task: str, probabilities: Floats, test: Part, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of a task's test part, and keep its predictions where they are asked for."""
    config = json.loads((arguments.out / "config.json").read_text(encoding="utf-8"))
    temperature = float(config[HEADS[task][1]])
    logits = (np.log(np.maximum(probabilities, 1e-12)) * temperature).astype(np.float32)
    if arguments.predictions:
        folder = arguments.predictions / task
        folder.mkdir(parents=True, exist_ok=True)
        record = json.loads((arguments.out / "record.json").read_text(encoding="utf-8"))
        record |= {"task": task, "name": f"{task}-minilm", "temperature": temperature}
        write_text(folder / "record.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
        with replacing(folder / "predictions.npz") as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, logits=logits, labels=test.labels)
    return evaluate_predictions(logits, test.labels, temperature)


def _name(folder: Path, task: str) -> str:
    """Return the name by which the head for a task of shipped weights is loaded."""
    names = [model.name for model in SHIPPED.values() if model.weights.name == folder.name]
    return next((name for name in names if len(names) == 1 or SHIPPED[name].sees == HEADS[task][0]), str(folder))


def _last(name: str, part: Part) -> Floats:
    """Return a model's probabilities of the last turn of every dialogue, float32 [dialogues, 41]."""
    ends = np.cumsum(list(map(len, part.dialogues))) - 1
    found: Floats = load_labeler(name).predict_proba(part.dialogues)[ends]
    return found


if __name__ == "__main__":
    main()
