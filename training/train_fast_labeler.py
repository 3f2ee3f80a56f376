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
import csv
import hashlib
import itertools
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import yaml
from scipy.optimize import minimize
from scipy.sparse import csr_array

from edos_dataset.arrays import Floats
from edos_dataset.labeling.models.labelers import Labeler, load_labeler
from edos_dataset.labeling.models.static import Codes, StaticLabeler, count_ngrams, damping, ngrams
from edos_dataset.labels import LABELS
from edos_dataset.metrics.classification import cross_entropy, evaluate_predictions, fit_temperature, softmax
from edos_dataset.runs.recipes import RecipeError, build
from training.classifier.data import CONVERSATIONS, Data, Part, load_data
from training.classifier.recipe import ClassifierRecipe
from training.examples import CROWD_LICENCE, WEAK_LICENCE, plain_text, report, split_turns

SUBTITLES = tuple(
    f"edos_amt/{name}.csv" for name in ("similar_dialogs", "self_labeled_dialogs", "similar_self_labeled_dialogs")
)
_REPORT = 20  # steps between two lines
_CURVATURE = 0.1  # of the cross-entropy in one logit: p (1 - p), about


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


def read_unlabelled(folder: Path, held: set[str], count: int, seed: int) -> list[str]:
    """Return distinct turns of conversations and subtitles, in an order drawn by `seed`; none has the words of a text
    in `held` (as of `plain_text`).
    """
    texts: dict[str, str] = {}
    for name in (*CONVERSATIONS, *SUBTITLES):
        with (folder / name).open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                turns = (
                    split_turns(row["os_dialog"])
                    if "os_dialog" in row
                    else [row["Text"].replace("_comma_", ",").strip()]
                )
                texts.update((plain_text(turn), turn) for turn in turns)
    kept = [text for words, text in texts.items() if words and words not in held]
    order = np.random.default_rng(seed).permutation(len(kept))[:count]
    return [kept[row] for row in order]


def ask(teacher: Labeler, texts: Sequence[str], cache: Path | None) -> Floats:
    """Return the teacher's probabilities of texts, float32 [n, 41], from the cache if they are there."""
    key = hashlib.sha256("\n".join([teacher.identity, *texts]).encode()).hexdigest()[:16]
    path = cache / f"{key}.npy" if cache else None
    if path and path.is_file():
        found: Floats = np.load(path)
        return found
    parts = []
    for start in range(0, len(texts), 10_000):
        parts.append(teacher.predict_proba([[text] for text in texts[start : start + 10_000]]))
        report(f"{teacher.identity} has labelled {start + len(parts[-1])} of {len(texts)} texts")
    probabilities = np.concatenate(parts) if parts else np.zeros((0, len(LABELS)), np.float32)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, probabilities)
    return probabilities


def soften(probabilities: Floats, temperature: float) -> Floats:
    """Return probabilities at a temperature."""
    return softmax(np.log(np.maximum(probabilities, 1e-9)), temperature).astype(np.float32)


def choose_keys(texts: Sequence[str], least: int, most: int) -> Codes:
    """Return the codes of the n-grams that stand in at least `least` texts, the `most` most frequent of them (of equals
    the lower codes), rising.
    """
    seen = []
    for codes, offsets in ngrams(texts):
        rows = np.repeat(np.arange(len(texts), dtype=np.uint64), np.diff(offsets))
        seen.append(np.unique(codes.astype(np.uint64) << np.uint64(32) | rows) >> np.uint64(32))
    codes, counts = np.unique(np.concatenate(seen), return_counts=True)
    order = np.argsort(-counts, kind="stable")[:most]
    return np.sort(codes[order[counts[order] >= least]]).astype(np.uint32)


def bags_of(texts: Sequence[str], keys: Codes, power: float) -> csr_array:
    """Return the damped counts of n-grams, float32 [texts, keys]."""
    bags = count_ngrams(texts, keys)
    return csr_array(sum(bags[1:], bags[0]).multiply(damping(bags, power)[:, None]), dtype=np.float32)


def fit(bags: csr_array, targets: Floats, l2: float, iterations: int) -> tuple[Floats, Floats]:
    """Fit softmax regression to targets whose rows sum to the weights of the examples; L-BFGS from zero. Return table
    [n-grams, 41] and bias [41].

    The loss is the cross-entropy, divided by the sum of the weights, plus l2 / 2 times the sum of the squared table;
    the bias is free. The steps are taken in units of a guess at each row's curvature: else the few frequent n-grams set
    the pace, and the rare ones, which tell most, hardly move in 100 steps.
    """
    size, labels = bags.shape[1], targets.shape[1]
    weights = targets.sum(axis=1, keepdims=True)
    total, transposed = float(weights.sum()), csr_array(bags.T)
    curvature = _CURVATURE * np.asarray(bags.multiply(bags).mean(axis=0)).ravel() + l2
    units = (1 / np.sqrt(np.r_[curvature, 1])).astype(np.float32)[:, None]
    done = itertools.count(1)

    def loss(point: Any) -> tuple[float, Any]:  # noqa: ANN401 - scipy has no types
        table, bias = np.split(point.astype(np.float32).reshape(size + 1, labels) * units, [size])
        logits = bags @ table + bias
        logits -= logits.max(axis=1, keepdims=True)
        probabilities = np.exp(logits)
        sums = probabilities.sum(axis=1, keepdims=True)
        value = float((targets * (np.log(sums) - logits)).sum(dtype=np.float64)) / total + l2 / 2 * float(
            np.square(table, dtype=np.float64).sum()
        )
        slope = (probabilities / sums * weights - targets) / np.float32(total)
        gradient = np.vstack([transposed @ slope + np.float32(l2) * table, slope.sum(axis=0, keepdims=True)])
        if (number := next(done)) % _REPORT == 0:
            report(f"  {number} steps, loss {value:.4f}")
        return value, (gradient * units).ravel().astype(np.float64)

    start = np.zeros((size + 1) * labels)
    found = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxcor": 8, "ftol": 1e-7, "gtol": 1e-7},
    )
    table, bias = np.split(found.x.astype(np.float32).reshape(size + 1, labels) * units, [size])
    return table, bias[0]


def rounded(keys: Codes, table: Floats, bias: Floats, power: float) -> StaticLabeler:
    """Return the labeler whose table has 8 bits a number, each row with a scale of its own."""
    scale = np.maximum(np.abs(table).max(axis=1), 1e-12) / 127
    return StaticLabeler(keys, np.rint(table / scale[:, None]).astype(np.int8), scale.astype(np.float32), bias, power)


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
        "data": [
            {"file": name, "sha256": hashlib.sha256((arguments.data_dir / name).read_bytes()).hexdigest()}
            for name in dict.fromkeys(files)
        ],
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
        recipe = build(
            FastRecipe, yaml.safe_load(arguments.recipe.read_text(encoding="utf-8")) or {}, str(arguments.recipe)
        )
        recipe = replace(recipe, teacher=arguments.teacher or recipe.teacher)
        teacher = load_labeler(recipe.teacher)
        same = ClassifierRecipe(
            shares=recipe.shares,
            near_duplicate=recipe.near_duplicate,
            split_seed=recipe.seed,
            frequent_turns=recipe.frequent_turns,
        )
        data = load_data(same, arguments.data_dir, arguments.cache)
    except (RecipeError, ValueError, OSError, yaml.YAMLError) as error:
        sys.exit(f"error: {error}")
    held = {plain_text(text) for part in (data.validation, data.test) for text in last_turns(part)}
    unlabelled = read_unlabelled(arguments.data_dir, held, recipe.unlabelled, recipe.seed)
    labeler = train(recipe, data, unlabelled, teacher, arguments.cache)
    labeler = replace(labeler, record=describe(labeler, data, unlabelled, teacher, recipe, arguments))
    labeler.save(arguments.out)
    report(json.dumps({**labeler.record["metrics"]["test"], "by_label": "see record.json"}, indent=1))


if __name__ == "__main__":
    main()
