"""Ablations of the dialogue classifier's training: the same recipe without one part at a time, on the same test split.

    python evaluation/ablations.py --recipe training/recipes/minilm/dialogue_agreed.yaml --start models/weak \
        --data-dir "$EDOS_DATA_DIR" \
        --work build/ablations --out evaluation/ablations.json

Every variant is a run of `training/train_classifier.py` with one setting changed; `--epochs` shortens all of them
equally. The difference from the unchanged recipe has a 95 % interval from a paired bootstrap over test examples.
Variants that are finished in `--work` are not run again.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml

from edos_dataset.runs.shards import write_text
from edos_dataset.runs.untrusted import read_yaml

TRAINING = Path(__file__).parents[1] / "training"
VARIANTS: dict[str, dict[str, Any]] = {
    "as in the recipe": {},
    "no history": {"context": 0},
    "no decay": {"decay": 1.0},
    "a steeper decay": {"decay": 0.25},
    "weights of the turns sum to 1": {"normalisation": "sum"},
    "mean pooling": {"pooling": "mean"},
    "no transfer from the weak labeler": {"start": None},
    "half of the target the workers' answers": {"workers_share": 0.5},
    "and the dialogues without agreement": {"workers_share": 0.5, "unagreed": 0.5},
    "and the authors' self-labelled dialogues": {"workers_share": 0.5, "unagreed": 0.5, "self_labelled": 0.5},
    "no averaged weights": {"averaging": 0.0},
    "no label smoothing": {"label_smoothing": 0.0},
    "weak labeler's texts replayed": {"replay": 0.3},
}


def main() -> None:
    """Run the missing variants, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", type=Path, required=True, help="recipe of the dialogue classifier")
    parser.add_argument("--start", type=Path, required=True, help="folder of the weak labeler")
    parser.add_argument(
        "--data-dir", default=os.environ.get("EDOS_DATA_DIR"), help="folder of the datasets (default: $EDOS_DATA_DIR)"
    )
    parser.add_argument("--epochs", type=int, help="number of epochs of every variant (default: the recipe's)")
    parser.add_argument(
        "--variants", nargs="*", choices=list(VARIANTS), default=list(VARIANTS), help="variants to run (default: all)"
    )
    parser.add_argument("--work", type=Path, required=True, help="folder of the trained variants")
    parser.add_argument("--cache", type=Path, help="folder in which embeddings are cached")
    parser.add_argument("--out", type=Path, required=True, help="JSON file of the results")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    for name in arguments.variants:
        run(name, arguments)
    finished = {
        name: folder_of(name, arguments.work)
        for name in VARIANTS
        if (folder_of(name, arguments.work) / "metrics.json").is_file()
    }
    results = compare(finished)
    write_text(arguments.out, json.dumps(results, indent=2) + "\n")
    for name, row in results.items():
        sys.stdout.write(f"{name:36} {row['accuracy']:7.2%} {row['macro_f1']:7.2%} {row.get('difference', '')}\n")


def folder_of(name: str, work: Path) -> Path:
    """Return the folder of a variant."""
    return work / name.replace(" ", "_").replace("'", "")


def run(name: str, arguments: argparse.Namespace) -> None:
    """Train a variant unless it is finished."""
    folder = folder_of(name, arguments.work)
    if (folder / "metrics.json").is_file():
        return
    settings = {**read_yaml(arguments.recipe), **VARIANTS[name]}
    start = ["--start", str(arguments.start)] if settings.pop("start", arguments.start) else []
    if arguments.epochs:
        settings["epochs"] = arguments.epochs
    recipe = folder.with_suffix(".yaml")
    recipe.write_text(yaml.safe_dump(settings), encoding="utf-8")
    command = [
        sys.executable,
        str(TRAINING / "train_classifier.py"),
        "--recipe",
        str(recipe),
        "--data-dir",
        arguments.data_dir,
        "--out",
        str(folder),
        *start,
    ]
    subprocess.run(command + (["--cache", str(arguments.cache)] if arguments.cache else []), check=True)


def compare(finished: dict[str, Path], resamples: int = 2000) -> dict[str, dict[str, Any]]:
    """Return test accuracy, macro-F1 and validation accuracy of every variant, and the difference between its test
    accuracy and that of the first one, in percentage points.
    """
    generator = np.random.default_rng(0)
    results: dict[str, dict[str, Any]] = {}
    first: npt.NDArray[np.float64] | None = None
    for name, folder in finished.items():
        stored, metrics = (
            np.load(folder / "predictions.npz"),
            json.loads((folder / "metrics.json").read_text(encoding="utf-8")),
        )
        right = (stored["logits"].argmax(axis=1) == stored["labels"]).astype(float)
        row = {key: metrics[key] for key in ("accuracy", "macro_f1", "top_3_accuracy", "cross_entropy")}
        row |= {"validation_accuracy": metrics["validation"]["accuracy"], "interval": metrics["intervals"]["accuracy"]}
        if first is None:
            first = right
        else:
            gain = right - first
            means = gain[generator.integers(0, len(gain), (resamples, len(gain)))].mean(axis=1)
            row["difference"] = [
                round(100 * float(value), 2) for value in (gain.mean(), *np.percentile(means, [2.5, 97.5]))
            ]
        results[name] = row
    return results


if __name__ == "__main__":
    main()
