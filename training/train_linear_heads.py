"""Train the two shipped linear heads, and write them with records of how they were made.

    python training/train_linear_heads.py --data-dir "$EDOS_DATA_DIR" --recipe \
        training/recipes/minilm/linear_heads.yaml \
        --out edos_dataset/labeling/models/weights

The data folder contains `empathetic_dialogues/weak_labeler/{train,valid}.txt` (the weak labeler's set, from the
EmpatheticIntents repository) and `edos_amt/mturk_groundtruth_labels.csv` (the crowd labels, from the EDOS repository).
Each set is split by groups of equal or near-duplicate texts. The validation split chooses the hyper-parameters and the
temperature; the shipped weights are then fitted to training and validation split together, and the test split is
measured once. A list of hand-labelled frequent short turns is part of every fit; texts near them are never held out.
"""

import argparse
import hashlib
import itertools
import os
import platform
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Floats, Ints
from edos_dataset.encoders.encoder import Encoder, limit_threads
from edos_dataset.labeling.models.linear import LinearHead, calibrate, dialogue_features, fit, fit_dialogue
from edos_dataset.labels import LABELS
from edos_dataset.metrics.classification import calibration_error, confusion, per_label, scores
from edos_dataset.runs.untrusted import read_yaml
from training.examples import (
    CROWD_FILES,
    CROWD_LICENCE,
    WEAK_FILES,
    WEAK_LICENCE,
    Examples,
    embed,
    one_hot,
    read_crowd,
    read_frequent,
    read_weak,
    report,
    split,
)

SPLITS = ("train", "validation", "test")


def measure(head: LinearHead, features: Floats, labels: Ints) -> dict[str, Any]:
    """Return accuracy, macro-F1, top-3 accuracy, expected calibration error before and after the temperature, and F1 by
    label.
    """
    probabilities = head.predict_proba(features)
    counts = confusion(labels, probabilities.argmax(axis=1))
    figures = {
        **scores(probabilities, labels),
        "majority_class_accuracy": counts.sum(axis=1).max() / len(labels),
        "ece_before_temperature": calibration_error(LinearHead(head.weight, head.bias).predict_proba(features), labels),
        "ece": calibration_error(probabilities, labels),
    }
    kept = (
        "accuracy",
        "macro_f1",
        "top_3_accuracy",
        "majority_class_accuracy",
        "cross_entropy",
        "ece_before_temperature",
        "ece",
    )
    f1 = np.nan_to_num(per_label(counts)["f1"])
    return {
        "examples": len(labels),
        **{name: round(float(figures[name]), 4) for name in kept},
        "f1_by_label": {name: round(float(value), 3) for name, value in zip(LABELS, f1, strict=True)},
    }


@dataclass(frozen=True)
class Task:
    """The settings in which the two heads differ.

    Attributes:
        name: `weak` or `dialogue`.
        files: data files, below the data folder.
        licence: licence of the data.
        grid: hyper-parameters with the values to try.
        frequent: the hand-labelled frequent turns, and their embeddings.
        frequent_weight: weight of a frequent turn in a fit; other examples have weight 1.
        weak: for the dialogue head, the weak head on which it is built.
    """

    name: str
    files: tuple[str, ...]
    licence: str
    grid: dict[str, list[float]]
    frequent: tuple[Examples, Floats]
    frequent_weight: float
    weak: LinearHead | None = None

    def features(self, embeddings: Floats, offsets: Ints, choice: dict[str, float]) -> Floats:
        """Return the features of every dialogue's last turn."""
        rows = offsets[1:] - 1
        return dialogue_features(embeddings, offsets, choice["decay"])[rows] if self.weak else embeddings[rows]

    def fit(self, features: Floats, targets: Floats, choice: dict[str, float]) -> tuple[Floats, Floats]:
        """Fit to the examples and the frequent turns; return weight and bias."""
        examples, embeddings = self.frequent
        frequent = self.features(embeddings, np.arange(len(embeddings) + 1), choice)
        weights = np.concatenate([np.ones(len(features)), np.full(len(frequent), self.frequent_weight)])
        # The loss is linear in the targets, so doubling a row's targets doubles its weight.
        targets = (np.vstack([targets, examples.targets]) * (weights / weights.mean())[:, None]).astype(np.float32)
        features = np.vstack([features, frequent])
        return fit_dialogue(features, targets, self.weak, choice) if self.weak else fit(features, targets, choice["l2"])

    def choices(self) -> list[dict[str, float]]:
        """Return all combinations of the grid's values."""
        return [dict(zip(self.grid, values, strict=True)) for values in itertools.product(*self.grid.values())]


def train(task: Task, examples: Examples, embeddings: Floats, offsets: Ints, recipe: dict[str, Any]) -> LinearHead:
    """Choose on the validation split, fit to training and validation split, measure once on the test split."""
    last_turns = embeddings[offsets[1:] - 1]
    pinned = (last_turns @ task.frequent[1].T >= recipe["near_duplicate"]).any(axis=1)
    parts = split(examples, last_turns, pinned, recipe)
    fitted, held, test = parts == 0, parts == 1, parts == 2
    best: tuple[float, dict[str, float], LinearHead] | None = None
    for choice in task.choices():
        features = task.features(embeddings, offsets, choice)
        targets = mixed_targets(examples, choice)
        weight, bias = task.fit(features[fitted], targets[fitted], choice)
        head, loss = calibrate(weight, bias, features[held], examples.labels[held], choice.get("decay"))
        report(f"{task.name} {choice} validation cross-entropy {loss:.4f}")
        if best is None or loss < best[0]:
            best = loss, choice, head
    assert best is not None, "a grid has at least one choice"
    _, choice, head = best
    features, targets = task.features(embeddings, offsets, choice), mixed_targets(examples, choice)
    validation = measure(head, features[held], examples.labels[held])
    weight, bias = task.fit(features[~test], targets[~test], choice)
    final = LinearHead(weight, bias, head.temperature, head.decay)
    metrics = {
        "validation (fitted to train)": validation,
        "test (fitted to train and validation)": measure(final, features[test], examples.labels[test]),
    }
    sizes = {name: int((parts == number).sum()) for number, name in enumerate(SPLITS)}
    return replace(
        final,
        record={
            "name": f"linear-{task.name}",
            "chosen": choice,
            "temperature": final.temperature,
            "split": sizes,
            "metrics": metrics,
        },
    )


def mixed_targets(examples: Examples, choice: dict[str, float]) -> Floats:
    """Return the agreed labels mixed with the workers' answers, in the proportion that the choice gives."""
    share = np.float32(choice.get("workers_share", 0))
    return share * examples.targets + (1 - share) * one_hot(examples.labels)


def complete(
    head: LinearHead, task: Task, encoder: Encoder, args: argparse.Namespace, recipe: dict[str, Any]
) -> LinearHead:
    """Return the head with its making described in its record."""
    frequent = args.recipe.with_name(recipe["frequent_turns"])
    paths = {**{name: args.data_dir / name for name in task.files}, frequent.as_posix(): frequent}
    facts = {
        "data": [
            {"file": name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()} for name, path in paths.items()
        ],
        "frequent_turns": {"labelled by hand": len(task.frequent[1]), "weight": task.frequent_weight},
        "licence_of_the_data": task.licence,
        "encoder": encoder.identity,
        "seed": recipe["seed"],
        "near_duplicate": recipe["near_duplicate"],
        "command": f"python training/train_linear_heads.py --data-dir $EDOS_DATA_DIR --recipe {args.recipe.as_posix()}",
        "date": datetime.now(timezone.utc).date().isoformat(),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "torch", "transformers", "sentence-transformers")},
        },
    }
    return replace(head, record={**head.record, **facts})


def main() -> None:
    """Train, measure and write both heads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the datasets (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument(
        "--recipe", type=Path, required=True, help="YAML with the seed, the split and the values to choose from"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for linear-weak/ and linear-dialogue/")
    parser.add_argument("--cache", type=Path, help="folder in which embeddings are cached")
    args = parser.parse_args()
    if args.data_dir is None:
        parser.error(
            "--data-dir is missing and EDOS_DATA_DIR is not set: name the folder with empathetic_dialogues/ and "
            "edos_amt/"
        )
    recipe, encoder = read_yaml(args.recipe), Encoder()
    with limit_threads(1):
        examples = read_frequent(args.recipe.with_name(recipe["frequent_turns"]))
        frequent = examples, embed(examples.dialogues, encoder, None)[0]
        weak = Task("weak", WEAK_FILES, WEAK_LICENCE, recipe["weak"], frequent, recipe["frequent_weight"]["weak"])
        examples = read_weak(args.data_dir)
        weak_head = complete(
            train(weak, examples, *embed(examples.dialogues, encoder, args.cache), recipe), weak, encoder, args, recipe
        )
        # The dialogue head is trained on both sets: on the first through the weak head's logits.
        files, licence = CROWD_FILES + WEAK_FILES, f"{CROWD_LICENCE}; {WEAK_LICENCE}"
        dialogue = Task(
            "dialogue", files, licence, recipe["dialogue"], frequent, recipe["frequent_weight"]["dialogue"], weak_head
        )
        examples = read_crowd(args.data_dir)
        dialogue_head = complete(
            train(dialogue, examples, *embed(examples.dialogues, encoder, args.cache), recipe),
            dialogue,
            encoder,
            args,
            recipe,
        )
    for head in (weak_head, dialogue_head):
        head.save(args.out / head.record["name"])
        report(f"{head.record['name']}: {head.record['metrics']}")


if __name__ == "__main__":
    main()
