"""Pack a trained classifier into the form that the package ships, count what the rounding changes, and measure it.

    python training/pack_classifier.py models/labels --data-dir "$EDOS_DATA_DIR" --recipe \
        training/recipes/minilm/weak.yaml training/recipes/minilm/dialogue.yaml --out \
        edos_dataset/labeling/models/weights/general

The model is a `DialogueClassifier`, or a `ContextClassifier` with several answers. In the latter case each answer is
measured on its own test split (`weak` and `dialogue` on those of the recipes, `general` on the held-out turns of films,
whose first label by reading counts as right), and `metrics.json` has the metrics by answer. The record beside the
packed weights gains `packing`: the fraction of labels on the first recipe's test split that stay the same, and the
largest change of a probability. `--predictions` saves logits and record of each answer for
`evaluation/classifier_report.py`. `python -m model_cards.render` then writes the cards.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Floats, Ints
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.models.packed import pack
from edos_dataset.labeling.models.saved_labelers import sees_vectors
from edos_dataset.labeling.models.shipped import SHIPPED, ShippedModel
from edos_dataset.labels import LABEL_IDS
from edos_dataset.runs.shards import replacing, write_text
from training.classifier.data import load_data
from training.classifier.recipe import read_recipe
from training.held_out import held_out_reading
from training.labels.readings import read_readings
from training.predictions import evaluate_predictions


@dataclass(frozen=True, eq=False)
class Test:
    """Turns with their reference labels.

    Attributes:
        dialogues: turns, oldest first.
        rows: int64 [n], indices of the labelled turns among the turns of all dialogues.
        labels: int64 [n].
    """

    dialogues: Sequence[Sequence[str]]
    rows: Ints
    labels: Ints

    @property
    def groups(self) -> Ints:
        """The dialogue of each labelled turn, int64 [n]."""
        found: Ints = np.repeat(np.arange(len(self.dialogues)), [len(turns) for turns in self.dialogues])[self.rows]
        return found


_TESTED = {
    "weak": ("empathetic_dialogues", "situations and utterances of EmpatheticDialogues, one by one"),
    "dialogue": ("edos_amt", "last turns of film dialogues on whose label people agreed"),
    "general": ("readings", "turns of films, labelled by a language model that read them; its first label is right"),
}
"""Task → the dataset of its test split, and a description of it."""


def main() -> None:
    """Pack, unpack, compare, measure."""
    arguments = parse_arguments()
    try:
        _pack(arguments)
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")


def _pack(arguments: argparse.Namespace) -> None:
    backbone = SHIPPED[_shipped(arguments.out, "")].backbone
    tests = tests_of(arguments)
    pack(arguments.model, arguments.out, backbone)
    first, *_ = tests
    several = sees_vectors(arguments.out)
    answers = {task: ask(_shipped(arguments.out, task), test) for task, test in tests.items()}
    before = ask(f"{arguments.model}#{first}" if several else str(arguments.model), tests[first])
    record = json.loads((arguments.out / "record.json").read_text(encoding="utf-8"))
    record["packing"] = {"task": first} | packing_of(before, answers[first], tests[first].labels, arguments.out)
    write_text(arguments.out / "record.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    if several:
        measure_all(answers, tests, arguments)
    sys.stdout.write(f"{record['packing']}\n")


def parse_arguments(description: str | None = __doc__, packs: bool = True) -> argparse.Namespace:
    """Return the command line; `out` is the model itself for a script that packs nothing."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    written = "that train_classifier.py or train_labels.py wrote" if packs else "of a packed model of several answers"
    parser.add_argument("model", type=Path, help=f"folder {written}")
    parser.add_argument(
        "--recipe",
        type=Path,
        nargs="+",
        required=True,
        help="recipes of train_classifier.py whose test splits are labelled; labels are compared on the first one",
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the datasets (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument("--cache", type=Path, help="folder in which embeddings are cached")
    if packs:
        out = "folder below edos_dataset/labeling/models/weights"
        parser.add_argument("--out", type=Path, required=True, help=out)
    parser.add_argument("--predictions", type=Path, help="folder for predictions, one subfolder for each task")
    arguments = parser.parse_args()
    arguments.out = arguments.out if packs else arguments.model
    if arguments.data_dir is None:
        parser.error("--data-dir is missing and EDOS_DATA_DIR is not set: name the folder of the data sets")
    return arguments


def tests_of(arguments: argparse.Namespace) -> dict[str, Test]:
    """Return the test splits by task, of the answers that ship: those of the recipes and, for a model with several
    answers, the turns of films.
    """
    tests = {}
    given = {model.asked for model in _models_of(arguments.out)}
    for recipe in map(read_recipe, arguments.recipe):
        if recipe.task not in given:
            continue
        part = load_data(recipe, Path(arguments.data_dir), arguments.cache).test
        tests[recipe.task] = Test(part.dialogues, np.cumsum(list(map(len, part.dialogues))) - 1, part.labels)
    return tests | ({"general": _films(Path(arguments.data_dir))} if sees_vectors(arguments.model) else {})


def _films(folder: Path) -> Test:
    """Return the turns that were labelled by reading and held out from training."""
    held = [each for each in read_readings(folder)[0] if held_out_reading(each.dialogue_id)]
    given = [names for each in held for names in each.labels]
    rows = np.flatnonzero([bool(names) for names in given])
    return Test([each.turns for each in held], rows, np.array([LABEL_IDS[given[row][0]] for row in rows]))


def packing_of(before: Floats, after: Floats, labels: Any, out: Path) -> dict[str, Any]:  # noqa: ANN401 - NumPy's own
    """Return what rounding changes in probabilities [n, 41]."""
    return {
        "test_examples": len(labels),
        "equal_labels": round(float(np.mean(before.argmax(axis=1) == after.argmax(axis=1))), 4),
        "accuracy_before": round(float(np.mean(before.argmax(axis=1) == labels)), 4),
        "accuracy_after": round(float(np.mean(after.argmax(axis=1) == labels)), 4),
        "largest_change_of_a_probability": round(float(np.abs(before - after).max()), 4),
        "bytes": (out / "packed.safetensors").stat().st_size,
    }


def measure_all(answers: Mapping[str, Floats], tests: Mapping[str, Test], arguments: argparse.Namespace) -> None:
    """Add the metrics of every answer on its test split to `metrics.json`."""
    measured = {task: measure(task, answers[task], test, arguments) for task, test in tests.items()}
    known = json.loads((arguments.out / "metrics.json").read_text(encoding="utf-8"))
    write_text(arguments.out / "metrics.json", json.dumps(known | measured, indent=2) + "\n")


def measure(task: str, probabilities: Floats, test: Test, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the metrics of an answer on its test split, and save its predictions if `--predictions` is given."""
    config = json.loads((arguments.out / "config.json").read_text(encoding="utf-8"))
    temperature = float(config["answers"][task]["temperature"])
    logits = (np.log(np.maximum(probabilities, 1e-12)) * temperature).astype(np.float32)
    calibration = json.loads((arguments.out / "metrics.json").read_text(encoding="utf-8")).get("calibration", {})
    dataset, what = _TESTED[task]
    facts = {"test": {"dataset": dataset, "told": what}, "calibrated_on": calibration.get(task, {}).get("on")}
    if arguments.predictions:
        folder = arguments.predictions / task
        folder.mkdir(parents=True, exist_ok=True)
        record = json.loads((arguments.out / "record.json").read_text(encoding="utf-8"))
        record |= {
            "task": task,
            "name": SHIPPED[_shipped(arguments.out, task)].source,
            "temperature": temperature,
        }
        write_text(folder / "record.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
        write_text(folder / "metrics.json", json.dumps(facts, indent=2) + "\n")
        with replacing(folder / "predictions.npz") as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, logits=logits, labels=test.labels, groups=test.groups)
    return facts | evaluate_predictions(logits, test.labels, temperature, test.groups)


def _shipped(folder: Path, task: str) -> str:
    """Return the name by which the shipped answer for a task is loaded.

    Raises:
        ValueError: the package ships no model from that folder.
    """
    models = _models_of(folder)
    if not models:
        raise ValueError(f"no model ships from {folder}: add it to edos_dataset/labeling/models/shipped.py first")
    return next((model.name for model in models if model.asked == task), models[0].name)


def _models_of(folder: Path) -> list[ShippedModel]:
    return [model for model in SHIPPED.values() if model.weights.resolve() == folder.resolve()]


def ask(name: str, test: Test) -> Floats:
    """Return a model's probabilities for the labelled turns, float32 [n, 41]."""
    found: Floats = load_labeler(name).predict_proba(test.dialogues)[test.rows]
    return found


if __name__ == "__main__":
    main()
