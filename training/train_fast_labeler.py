"""Train the fast tier (`edos_dataset/labeling/static.py`): softmax regression on n-grams, distilled from a larger
labeler.

    python training/train_fast_labeler.py --data-dir "$EDOS_DATA_DIR" --recipe training/recipes/minilm/fast.yaml --out \
        edos_dataset/labeling/models/weights/fast

The examples are those of the weak labeler, in the same parts. The targets of the training part are the teacher's
probabilities mixed with the true labels; further turns (EmpatheticDialogues, subtitles of the EDOS authors' extended
labels, whose labels are not used) get the teacher's probabilities alone. A turn with the same words as a held-out text
is left out. The validation part chooses the penalty, the damping and the temperature; the test part is looked at once,
with the rounded table that ships. `--cache` keeps the teacher's answers, the costly part: minutes to an hour, where the
rest takes a few minutes on one core.
"""

import argparse
import itertools
import json
import os
import platform
import sys
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from edos_dataset.crowd.splits import plain_text
from edos_dataset.labeling.models.labelers import Labeler, load_labeler
from edos_dataset.labeling.models.static import StaticLabeler
from edos_dataset.metrics.calibration import fit_temperature, softmax
from edos_dataset.metrics.classification import cross_entropy, evaluate_predictions
from edos_dataset.runs.foreign import read_yaml
from edos_dataset.runs.recipes import build
from edos_dataset.runs.shards import digest
from training.classifier.data import Data, Part, load_data
from training.classifier.recipe import ClassifierRecipe
from training.classifier.sources import CONVERSATIONS
from training.examples import CROWD_LICENCE, WEAK_LICENCE, report
from training.heads.fast_data import SUBTITLES, ask, read_unlabelled
from training.heads.ngram_fit import bags_of, choose_keys, fit, rounded, soften


@dataclass(frozen=True)
class FastRecipe:
    """What training/recipes/minilm/fast.yaml says; comments there explain every key."""

    name: ClassVar[str] = "fast"

    teacher: str = "weak"
    shares: tuple[float, ...] = (0.72, 0.08, 0.2)
    near_duplicate: float = 0.95
    seed: int = 0
    frequent_turns: float = 3.0
    unlabelled: int = 100_000
    unlabelled_weight: float = 0.5
    teacher_share: float = 0.7
    teacher_temperature: float = 1.0
    least: int = 2
    ngrams: int = 56_000
    power: tuple[float, ...] = (0.5,)
    l2: tuple[float, ...] = (1e-5,)
    iterations: int = 40


def calibrated(labeler: StaticLabeler, part: Part) -> tuple[StaticLabeler, float]:
    """Return the labeler at the temperature of the lowest cross-entropy on a part, and that cross-entropy."""
    logits = labeler.logits(last_turns(part))
    temperature = round(fit_temperature(logits, part.labels), 4)
    return replace(labeler, temperature=temperature), cross_entropy(softmax(logits, temperature), part.labels)


def last_turns(part: Part) -> list[str]:
    """Return the texts that the labels belong to."""
    return [turns[-1] for turns in part.dialogues]


def train(recipe: FastRecipe, data: Data, unlabelled: list[str], teacher: Labeler, cache: Path | None) -> StaticLabeler:
    """Fit for every choice of damping and penalty, and return the one with the lowest cross-entropy on the validation
    part; its record says what was chosen.
    """
    own, answers = ask(teacher, last_turns(data.train), cache), ask(teacher, unlabelled, cache)
    mixed = (
        recipe.teacher_share * soften(own, recipe.teacher_temperature) + (1 - recipe.teacher_share) * data.train.targets
    )
    targets = np.vstack(
        [mixed * data.train.weights[:, None], recipe.unlabelled_weight * soften(answers, recipe.teacher_temperature)]
    ).astype(np.float32)
    texts = last_turns(data.train) + unlabelled
    keys = choose_keys(texts, recipe.least, recipe.ngrams)
    report(f"{len(texts)} texts, {len(keys)} n-grams")
    tried: list[tuple[float, dict[str, float], StaticLabeler]] = []
    for power, l2 in itertools.product(recipe.power, recipe.l2):
        labeler = rounded(keys, *fit(bags_of(texts, keys, power), targets, l2, recipe.iterations), power)
        labeler, loss = calibrated(labeler, data.validation)
        report(f"power {power} l2 {l2}: validation cross-entropy {loss:.4f}")
        tried.append((loss, {"power": power, "l2": l2}, labeler))
    loss, chosen, labeler = min(tried, key=lambda each: each[0])
    grid = [{**choice, "validation_cross_entropy": round(each, 4)} for each, choice, _ in tried]
    return replace(labeler, record={"name": "fast", "chosen": chosen, "grid": grid})


def describe(
    labeler: StaticLabeler,
    data: Data,
    unlabelled: list[str],
    teacher: Labeler,
    recipe: FastRecipe,
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    """Return the record: metrics of the test part, beside the teacher's, and how the labeler was made."""
    texts, labels = last_turns(data.test), data.test.labels
    logits, answers = labeler.logits(texts), ask(teacher, texts, arguments.cache)
    of_teacher = evaluate_predictions(np.log(np.maximum(answers, 1e-9)), labels)
    agreement = float(np.mean(logits.argmax(axis=1) == answers.argmax(axis=1)))
    files = (*data.files, *CONVERSATIONS, *SUBTITLES)
    return {
        **labeler.record,
        "metrics": {"test": evaluate_predictions(logits, labels, labeler.temperature)},
        "teacher": {
            "identity": teacher.identity,
            "test": {name: of_teacher[name] for name in ("accuracy", "macro_f1", "top_3_accuracy", "ece", "intervals")},
            "agreement": round(agreement, 4),
        },
        "examples": {
            "train": len(data.train),
            "validation": len(data.validation),
            "test": len(data.test),
            "unlabelled": len(unlabelled),
        },
        "data": [{"file": name, "sha256": digest(arguments.data_dir / name)} for name in dict.fromkeys(files)],
        "licence_of_the_data": f"{WEAK_LICENCE}; {CROWD_LICENCE}",
        "recipe": asdict(recipe),
        "command": (
            f"python training/train_fast_labeler.py --data-dir $EDOS_DATA_DIR --recipe {arguments.recipe.as_posix()}"
        ),
        "date": datetime.now(timezone.utc).date().isoformat(),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy", "simplemma")},
        },
    }


def main() -> None:
    """Train, measure and write the labeler."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the data sets (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument(
        "--recipe", type=Path, required=True, help="YAML with the data, the targets and the values to choose from"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder that gets static.safetensors and record.json")
    parser.add_argument(
        "--teacher", help="another teacher than the recipe's: a shipped labeler, a model folder, a Hub id"
    )
    parser.add_argument(
        "--cache", type=Path, help="folder that keeps the teacher's answers and the embeddings for the next training"
    )
    arguments = parser.parse_args()
    if arguments.data_dir is None:
        parser.error(
            "--data-dir is missing and EDOS_DATA_DIR is not set: name the folder with empathetic_dialogues/ and "
            "edos_amt/"
        )
    try:
        recipe = build(FastRecipe, read_yaml(arguments.recipe) or {}, str(arguments.recipe))
        recipe = replace(recipe, teacher=arguments.teacher or recipe.teacher)
        teacher = load_labeler(recipe.teacher)
        same = ClassifierRecipe(
            shares=recipe.shares,
            near_duplicate=recipe.near_duplicate,
            split_seed=recipe.seed,
            frequent_turns=recipe.frequent_turns,
        )
        data = load_data(same, arguments.data_dir, arguments.cache)
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    held = {plain_text(text) for part in (data.validation, data.test) for text in last_turns(part)}
    unlabelled = read_unlabelled(arguments.data_dir, held, recipe.unlabelled, recipe.seed)
    labeler = train(recipe, data, unlabelled, teacher, arguments.cache)
    labeler = replace(labeler, record=describe(labeler, data, unlabelled, teacher, recipe, arguments))
    labeler.save(arguments.out)
    report(json.dumps({**labeler.record["metrics"]["test"], "by_label": "see record.json"}, indent=1))


if __name__ == "__main__":
    main()
