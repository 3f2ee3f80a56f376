"""Train the fast tier (`edos_dataset/labeling/models/static.py`): softmax regression on n-grams, distilled from a
larger labeler.

    python training/train_fast_labeler.py --data-dir "$EDOS_DATA_DIR" --recipe training/recipes/minilm/fast.yaml --out \
        edos_dataset/labeling/models/weights/fast

The training data are the turns of all sources in the recipe, labelled or not, without their histories. The targets are
the teacher's probabilities, mixed with human labels if these are among our 41. Near-duplicates of held-out texts of any
set are left out, except the hand-labelled frequent turns. The validation split of the weak labeler's set chooses the
penalty, the damping and the temperature; its test split is measured once, with the rounded table that is shipped.
`--cache` stores the teacher's probabilities in blocks: they take minutes to an hour, the rest a few minutes on two
cores.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from edos_dataset.arrays import Floats, Ints
from edos_dataset.labeling.models.base import Labeler
from edos_dataset.labeling.models.labelers import check_labeler, load_labeler
from edos_dataset.labeling.models.static import FIRST, KINDS, StaticLabeler
from edos_dataset.metrics.classification import cross_entropy, fit_temperature, softmax
from edos_dataset.runs.recipes import RecipeError, build
from edos_dataset.runs.shards import digest
from edos_dataset.runs.untrusted import read_yaml
from training.examples import report
from training.fast_labels import (
    Texts,
    ask,
    bags_of,
    choose_keys,
    fit,
    gather,
    read_sources,
    rounded,
    sampled,
    soften,
    targets_of,
    words_held_out,
)
from training.labels.results import licence
from training.labels.sources import WEAK, Corpus
from training.predictions import evaluate_predictions


@dataclass(frozen=True)
class FastRecipe:
    """The keys of training/recipes/minilm/fast.yaml, whose comments explain them."""

    name: ClassVar[str] = "fast"

    sources: dict[str, float] = field(default_factory=lambda: {WEAK: 1.0})
    labels: dict[str, float] = field(default_factory=dict)
    teacher: str = "weak"
    teacher_temperature: float = 1.0
    short: int = 0
    frequency: float = 0.0
    unlabelled: int = 400_000
    seed: int = 0
    kinds: tuple[str, ...] = FIRST
    least: int = 2
    ngrams: int = 100_000
    power: tuple[float, ...] = (0.6,)
    l2: tuple[float, ...] = (3e-6,)
    iterations: int = 40


def read_recipe(path: Path) -> FastRecipe:
    """Read a recipe.

    Raises:
        RecipeError: a key is unknown, or a value has the wrong type or is out of range.
    """
    recipe = build(FastRecipe, read_yaml(path) or {}, str(path))
    if WEAK not in recipe.sources or not all(weight > 0 for weight in recipe.sources.values()):
        raise RecipeError(
            f"{path}: sources must name {WEAK!r}, whose validation part chooses; each with a number above 0"
        )
    if strange := sorted(set(recipe.labels) - set(recipe.sources)):
        raise RecipeError(f"{path}: labels names {strange[0]!r}, which is none of the sources")
    if not all(0 <= part <= 1 for part in recipe.labels.values()):
        raise RecipeError(f"{path}: labels must be from 0 to 1, the part of people's labels in the targets")
    _check_ranges(recipe, path)
    if not recipe.kinds or recipe.kinds != tuple(kind for kind in KINDS if kind in recipe.kinds):
        raise RecipeError(f"{path}: kinds must be some of {', '.join(KINDS)}, in this order")
    return recipe


def _check_ranges(recipe: FastRecipe, path: Path) -> None:
    if not recipe.power or not recipe.l2 or min((*recipe.power, *recipe.l2)) < 0:
        raise RecipeError(f"{path}: power and l2 must each have one value or several, none below 0")
    for key, least in (("unlabelled", 0), ("seed", 0), ("least", 1), ("ngrams", 1), ("iterations", 1), ("short", 0)):
        if getattr(recipe, key) < least:
            raise RecipeError(f"{path}: {key} must be at least {least}, got {getattr(recipe, key)}")
    if recipe.teacher_temperature <= 0:
        raise RecipeError(f"{path}: teacher_temperature must be above 0, got {recipe.teacher_temperature}")


def calibrated(labeler: StaticLabeler, texts: Sequence[str], labels: Ints) -> tuple[StaticLabeler, float]:
    """Return the labeler at the temperature with the lowest cross-entropy on labelled texts, and that cross-entropy."""
    logits = labeler.logits(texts)
    temperature = round(fit_temperature(logits, labels), 4)
    return replace(labeler, temperature=temperature), cross_entropy(softmax(logits, temperature), labels)


def validation_of(corpus: Corpus) -> tuple[list[str], Ints]:
    """Return the texts and labels of the weak labeler's validation split."""
    held = corpus.held[WEAK]
    labels = [target.values.argmax() for each in held if (target := each.targets[-1])]
    return [each.turns[-1] for each in held], np.array(labels, np.int64)


def train(recipe: FastRecipe, found: Texts, answers: Floats, validation: tuple[Sequence[str], Ints]) -> StaticLabeler:
    """Fit with every combination of damping and penalty; return the labeler with the lowest validation cross-entropy.

    Its record states the chosen values.

    Args:
        recipe: the training.
        found: the texts.
        answers: float32 [texts, 41], the teacher's probabilities.
        validation: texts and their labels.
    """
    targets = targets_of(found, soften(answers, recipe.teacher_temperature), recipe.frequency)
    keys = choose_keys(found.texts, recipe.least, recipe.ngrams, recipe.kinds)
    report(f"{len(found.texts)} texts, {len(keys)} n-grams")
    tried: list[tuple[float, dict[str, float], StaticLabeler]] = []
    for power in recipe.power:
        bags = bags_of(found.texts, keys, power, recipe.kinds)
        for l2 in recipe.l2:
            labeler = rounded(keys, *fit(bags, targets, l2, recipe.iterations), power, recipe.kinds)
            labeler, loss = calibrated(labeler, *validation)
            report(f"power {power} l2 {l2}: validation cross-entropy {loss:.4f}")
            tried.append((loss, {"power": power, "l2": l2}, labeler))
    loss, chosen, labeler = min(tried, key=lambda each: each[0])
    grid = [{**choice, "validation_cross_entropy": round(each, 4)} for each, choice, _ in tried]
    return replace(labeler, record={"name": "fast", "chosen": chosen, "grid": grid})


def describe(
    labeler: StaticLabeler,
    corpus: Corpus,
    found: Texts,
    teacher: Labeler,
    recipe: FastRecipe,
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    """Return the record: test metrics of the labeler and its teacher, and how the labeler was made."""
    test = corpus.tests[WEAK]
    texts, labels = [turns[-1] for turns in test.dialogues], test.labels
    logits, answers = labeler.logits(texts), ask(teacher, texts, arguments.cache)
    of_teacher = evaluate_predictions(np.log(np.maximum(answers, 1e-9)), labels)
    agreement = float(np.mean(logits.argmax(axis=1) == answers.argmax(axis=1)))
    return {
        **labeler.record,
        "metrics": {"test": evaluate_predictions(logits, labels, labeler.temperature)},
        "teacher": {
            "identity": teacher.identity,
            "test": {name: of_teacher[name] for name in ("accuracy", "macro_f1", "top_3_accuracy", "ece", "intervals")},
            "agreement": round(agreement, 4),
        },
        "examples": {
            "train": len(found.people),
            "validation": len(corpus.held[WEAK]),
            "test": len(test),
            "unlabelled": len(found.texts) - len(found.people),
        },
        "sources": {name: {**counts, **corpus.counts.get(name, {})} for name, counts in found.sources.items()},
        "near_duplicates_removed": corpus.left_out,
        "data": [
            {"file": name, "sha256": digest(path), "licence": licence(name)} for name, path in corpus.files.items()
        ],
        "recipe": asdict(recipe),
        "command": (
            f"python training/train_fast_labeler.py --data-dir $EDOS_DATA_DIR --recipe {arguments.recipe.as_posix()} "
            f"{f'--teacher {arguments.teacher} ' if arguments.teacher else ''}--out {arguments.out.as_posix()}"
        ),
        "date": datetime.now(timezone.utc).date().isoformat(),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy", "simplemma")},
        },
    }


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the datasets (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument(
        "--recipe", type=Path, required=True, help="YAML with the sources, the targets and the values to choose from"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for static.safetensors and record.json")
    parser.add_argument("--teacher", help="overrides the recipe's teacher: a shipped labeler, a model folder, a Hub id")
    parser.add_argument(
        "--cache", type=Path, help="folder in which the teacher's probabilities and embeddings are cached"
    )
    arguments = parser.parse_args()
    if arguments.data_dir is None:
        parser.error("--data-dir is missing and EDOS_DATA_DIR is not set: name the folder of the data sets")
    return arguments


def main() -> None:
    """Train, measure and write the labeler."""
    arguments = parse_arguments()
    try:
        recipe = read_recipe(arguments.recipe)
        recipe = replace(recipe, teacher=arguments.teacher or recipe.teacher)
        teacher = load_labeler(recipe.teacher)
        check_labeler(teacher)
        corpus, turns = read_sources(recipe.sources, arguments.data_dir, arguments.cache, recipe.short)
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    found = gather(turns, recipe.sources, recipe.labels, words_held_out(corpus, recipe.short))
    found = sampled(found, recipe.unlabelled, recipe.seed)
    labeler = train(recipe, found, ask(teacher, found.texts, arguments.cache), validation_of(corpus))
    labeler = replace(labeler, record=describe(labeler, corpus, found, teacher, recipe, arguments))
    labeler.save(arguments.out)
    report(json.dumps({**labeler.record["metrics"]["test"], "by_label": "see record.json"}, indent=1))


if __name__ == "__main__":
    main()
