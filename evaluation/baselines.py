"""Baselines for the classifiers: majority class, TF-IDF with logistic regression, fastText, and shipped labelers.

    python evaluation/baselines.py --data-dir "$EDOS_DATA_DIR" --labelers linear-weak linear-dialogue fast weak dialogue

There are two tasks, with the splits of `training/train_classifier.py`: the weak labeler's set (single turns), and the
crowd labels (a turn with its history, seen as the last turn alone and as the whole dialogue). Methods with
hyper-parameters are fitted to the training split with each setting, and the validation cross-entropy chooses one; the
test split is measured once for each row of the result.

fastText is the baseline of OSED, Table 5, whose macro-F1 of 1.3 to 10.9 % suggests that training had hardly begun.
"default" uses the settings of `fasttext.train_supervised`: five epochs over a few thousand texts; "chosen" is the best
of a small grid. One thread and a fixed seed give the same figures in every run. Writes evaluation/baselines.json and
prints a table.
"""

import argparse
import itertools
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from edos_dataset.arrays import Floats
from edos_dataset.augmentation.fasttext_learner import GRID, SEED, fit_fasttext, tokens_of
from edos_dataset.encoders.encoder import limit_threads
from edos_dataset.labeling.models.labelers import check_labeler, load_labeler
from edos_dataset.labels import LABELS
from edos_dataset.metrics.classification import cross_entropy
from edos_dataset.runs.shards import write_text
from training.classifier.data import load_data
from training.classifier.parts import Data, Part
from training.classifier.recipe import ClassifierRecipe
from training.predictions import evaluate_predictions

SCORES = ("accuracy", "macro_precision", "macro_recall", "macro_f1", "top_3_accuracy", "ece")
VIEWS: dict[str, dict[str, int | None]] = {
    "weak": {"single turn": 1},
    "dialogue": {"last turn": 1, "whole dialogue": None},
}
"""Task → its views, and the number of last turns in each."""
TFIDF_GRID = [{"C": 2.0}, {"C": 8.0}]

Probabilities = Callable[[list[str]], Floats]


@dataclass(frozen=True)
class View:
    """The texts of a task.

    Attributes:
        name: "single turn", "last turn" or "whole dialogue".
        parts: texts and labels of the training, validation and test split.
    """

    name: str
    parts: tuple[tuple[list[str], Any], ...]


def views(task: str, data: Data) -> Iterator[View]:
    """Yield the views of a task."""
    for name, turns in VIEWS[task].items():
        parts = (data.train.take(data.train.weights > 0), data.validation, data.test)
        yield View(name, tuple((texts_of(part, turns), part.labels) for part in parts))


def texts_of(part: Part, turns: int | None) -> list[str]:
    """Return the last turns of every dialogue (None: all of them) as lower-cased tokens, separated by spaces."""
    chosen = (dialogue if turns is None else dialogue[-turns:] for dialogue in part.dialogues)
    return [tokens_of(dialogue) for dialogue in chosen]


def majority(texts: list[str], labels: Any, setting: dict[str, Any]) -> Probabilities:  # noqa: ANN401 - NumPy's own
    """Return the relative frequencies of the labels in the training split for every text."""
    shares = np.bincount(labels, minlength=len(LABELS)) / len(labels)
    return lambda asked: np.tile(shares.astype(np.float32), (len(asked), 1))


def tfidf(texts: list[str], labels: Any, setting: dict[str, Any]) -> Probabilities:  # noqa: ANN401
    """Fit logistic regression on TF-IDF of words and word pairs."""
    features = TfidfVectorizer(token_pattern=r"\S+", ngram_range=(1, 2), sublinear_tf=True, min_df=2)
    model = make_pipeline(features, LogisticRegression(max_iter=200, random_state=SEED, **setting)).fit(texts, labels)

    def ask(asked: list[str]) -> Floats:
        shares = np.zeros((len(asked), len(LABELS)), np.float32)
        shares[:, model.classes_] = model.predict_proba(asked)
        return shares

    return ask


METHODS: dict[str, tuple[Callable[..., Probabilities], Sequence[dict[str, Any]]]] = {
    "majority class": (majority, [{}]),
    "fastText, default": (fit_fasttext, [{}]),
    "fastText, chosen": (fit_fasttext, GRID),
    "TF-IDF + logistic regression": (tfidf, TFIDF_GRID),
}


def run(method: str, view: View) -> dict[str, Any]:
    """Fit a method with every setting, and measure the best one on the test split."""
    learn, grid = METHODS[method]
    (texts, labels), (held, held_labels), (asked, truth) = view.parts
    best: tuple[float, dict[str, Any], Floats] | None = None
    for setting in grid:
        model = learn(texts, labels, setting)
        loss = cross_entropy(model(held), held_labels)
        if best is None or loss < best[0]:
            best = loss, setting, model(asked)
    assert best is not None, "a grid has at least one setting"
    return {"method": method, "view": view.name, "setting": best[1], "tried": len(grid), **scored(best[2], truth)}


def scored(probabilities: Floats, labels: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the scores, with 95 % intervals where they are defined."""
    figures = evaluate_predictions(np.log(np.maximum(probabilities, 1e-12)), labels)
    return {**{name: figures[name] for name in SCORES}, "intervals": figures["intervals"]}


def ask_labeler(name: str, task: str, test: Part) -> dict[str, Any] | None:
    """Measure a labeler on the last turns of the test split; None if it needs a history that the task does not have."""
    labeler = load_labeler(name)
    if task == "weak" and labeler.context != 0:
        return None
    dialogues = [dialogue[-1:] if labeler.context == 0 else dialogue for dialogue in test.dialogues]
    last = np.cumsum([len(dialogue) for dialogue in dialogues]) - 1
    view = {"weak": "single turn", "dialogue": "last turn" if labeler.context == 0 else "whole dialogue"}[task]
    return {
        "method": name,
        "view": view,
        "source": labeler.source,
        **scored(labeler.predict_proba(dialogues)[last], test.labels),
    }


def show(task: str, results: list[dict[str, Any]], size: int) -> None:
    """Print a table."""
    table = Table(title=f"{task}: {size} test examples, %")
    for column in ("method", "view", *SCORES):
        table.add_column(column, justify="left" if column in ("method", "view") else "right", no_wrap=True)
    for result in results:
        table.add_row(result["method"], result["view"], *(f"{100 * result[name]:.1f}" for name in SCORES))
    Console(width=150).print(table)


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
        "--methods",
        nargs="*",
        choices=METHODS,
        default=list(METHODS),
        metavar="METHOD",
        help=f"of {', '.join(METHODS)} (default: all)",
    )
    parser.add_argument(
        "--labelers",
        nargs="*",
        default=["linear-weak", "linear-dialogue"],
        help="shipped labelers, model folders, Hub ids",
    )
    parser.add_argument("--tasks", nargs="+", choices=("weak", "dialogue"), default=["weak", "dialogue"])
    parser.add_argument(
        "--cache", type=Path, help="folder in which the embeddings for finding near-duplicates are cached"
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    parser.add_argument("--add", action="store_true", help="keep the other rows of the file --out")
    arguments = parser.parse_args()
    if arguments.data_dir is None:
        parser.error(
            "--data-dir is missing and EDOS_DATA_DIR is not set: name the folder with empathetic_dialogues/ and "
            "edos_amt/"
        )
    return arguments


def main() -> None:
    """Measure and report."""
    arguments = parse_arguments()
    report: dict[str, Any] = {
        "command": " ".join(["python", "evaluation/baselines.py", *sys.argv[1:]]),
        "date": date.today().isoformat(),
        "seed": SEED,
    }
    fasttexts = [f"{each.name} {each.version}" for each in distributions() if each.name.startswith("fasttext")]
    report["versions"] = {name: version(name) for name in ("numpy", "scikit-learn")} | {
        "fasttext": ", ".join(fasttexts)
    }
    try:
        known = json.loads(arguments.out.read_text(encoding="utf-8")) if arguments.add else {}
        with limit_threads(1):
            for name in arguments.labelers:
                check_labeler(load_labeler(name))
            for task in arguments.tasks:
                report[task] = measure(task, arguments, known.get(task))
    except (OSError, ValueError, ModuleNotFoundError) as error:
        sys.exit(f"error: {error}")
    if known:
        report = {**known, **report, "command": f"{known['command']} && {report['command']}"}
    write_text(arguments.out, json.dumps(report, indent=1) + "\n")


def measure(
    task: Literal["weak", "dialogue"], arguments: argparse.Namespace, known: dict[str, Any] | None
) -> dict[str, Any]:
    """Return the sizes of a task's splits and the rows of all methods and labelers, after those of an earlier record
    that were not measured again.

    Raises:
        ValueError: data are missing, or the record is of other data.
    """
    data = load_data(ClassifierRecipe(task=task, frequent_turns=0), arguments.data_dir, arguments.cache)
    sizes = {name: len(getattr(data, name)) for name in ("train", "validation", "test")}
    if known and sizes != {name: known[name] for name in sizes}:
        raise ValueError(f"{arguments.out} was measured on other data: measure all rows, without --add")
    results = [run(*each) for each in itertools.product(arguments.methods, views(task, data))]
    results += [row for name in arguments.labelers if (row := ask_labeler(name, task, data.test))]
    show(task, results, len(data.test))
    again = {row["method"] for row in results}
    kept = [row for row in known["results"] if row["method"] not in again] if known else []
    return {**sizes, "results": [*kept, *results]}


if __name__ == "__main__":
    main()
