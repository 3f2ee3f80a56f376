"""The gain of each step of `edos extend`: OSED, Table 5, on your own labels.

    python evaluation/ladder.py --extended OUT --name "subtitles" --learners fasttext linear \
        "accelerate launch training/train_classifier.py --recipe training/recipes/minilm/ladder.yaml --start \
        models/weak" \
        --work build/ladder --out evaluation/ladder.json

Every learner is fitted for every step k of the set: on the training rows that people labelled and those of the steps up
to k; then it is calibrated on the validation split and measured once on the test split. Both splits are labelled only
by people and are the same for all steps. The difference in accuracy from the seed alone has a 95 % interval from a
paired bootstrap over test examples. Results that are finished in `--work` are not computed again.

Several sets, such as two pools from one seed, need `--extended` and `--name` for each.
"""

import argparse
import json
import re
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

from benchmarks.machine import describe_machine
from edos_dataset.arrays import Floats
from edos_dataset.augmentation import learners
from edos_dataset.augmentation.labelled import Labelled
from edos_dataset.augmentation.learners import Learner
from edos_dataset.crowd.splits import plain_text
from edos_dataset.labels import LABELS
from edos_dataset.metrics.resampling import interval, resampled
from edos_dataset.runs.shards import write_text
from training.caches import kept, key_of
from training.examples import read_labelled_rows
from training.predictions import evaluate_predictions

SCORES = ("macro_precision", "macro_recall", "macro_f1", "accuracy", "top_3_accuracy", "ece")
SOURCE = "OSED, Table 5: macro precision, recall, F1 and accuracy in %, on the authors' own test part"
TABLE_5 = {
    "fastText": [
        (0.78, 4.73, 1.32, 6.36),
        (7.18, 10.28, 5.65, 11.20),
        (9.76, 11.19, 7.37, 12.04),
        (13.23, 15.06, 10.89, 15.53),
    ],
    "EmoBERT+": [
        (63.33, 63.94, 63.28, 65.17),
        (63.55, 63.54, 62.92, 64.55),
        (63.96, 64.27, 63.61, 64.88),
        (64.11, 64.59, 63.86, 65.00),
    ],
}
RUNGS = ("base", "1st iteration", "2nd iteration", "2nd extended")
PAPERS_STEPS = ["crowd", "spread", "self-label", "spread"]


def caption(learner: str) -> str:
    """Return a short name of a learner; for a command, the names of its scripts and recipes."""
    return " ".join(Path(word).stem for word in shlex.split(learner) if word.endswith((".py", ".yaml"))) or learner


def show(name: str, report: dict[str, Any], console: Console) -> None:
    """Print the table of a set, with the papers' figures below ours."""
    table = Table(title=f"{name}: {report['test']} test examples, %")
    columns = ("learner", "labels of", "train", *SCORES, "accuracy, 95 %", "gain over base, 95 %")
    for column in columns:
        table.add_column(column.replace("_", " "), justify="left" if column in columns[:2] else "right")
    for learner, results in report["learners"].items():
        for result in results:
            gain = result.get("gain")
            scores = [f"{100 * result[score]:.1f}" for score in SCORES]
            difference = f"{100 * gain['accuracy']:+.1f} {_range(gain['interval'])}" if gain else ""
            rung = f"{result['step']} {result['method']}"
            table.add_row(
                caption(learner),
                rung,
                f"{result['train']:,}",
                *scores,
                _range(result["intervals"]["accuracy"]),
                difference,
            )
        table.add_section()
    for learner, figures in TABLE_5.items():
        for rung, row in zip(RUNGS, figures, strict=True):
            table.add_row(f"{learner} (OSED)", rung, "", *(f"{value:.1f}" for value in row), *[""] * 4)
        table.add_section()
    table.caption = SOURCE + ("" if report["as_in_the_papers"] else "; its steps are others than this set's")
    console.print(table)


def _range(values: Sequence[float | None]) -> str:
    return "" if None in values else f"[{100 * (values[0] or 0):.1f}, {100 * (values[1] or 0):.1f}]"


@dataclass(frozen=True)
class Rungs:
    """The steps of a set, each with the training rows up to it.

    Attributes:
        steps: number of each rung's last step, and the origin of its labels.
        train: [rungs], the training rows of each.
        validation: the calibration data.
        test: the test data.
        seen: number of training rows of the last rung whose last turn has the same words as one in the test split;
            above 0 if the set leaks.
    """

    steps: list[tuple[int, str]]
    train: list[Labelled]
    validation: Labelled
    test: Labelled
    seen: int


def read_rungs(folder: Path) -> Rungs:
    """Read a set that `edos extend` wrote.

    Raises:
        ValueError: it is not such a set, or a split has no rows.
    """
    splits = {name: read_labelled_rows(folder, name) for name in ("train", "validation", "test")}
    if empty := [name for name, rows in splits.items() if not len(rows)]:
        raise ValueError(
            f"{folder}: the split {empty[0]} has no labelled rows: give a set that `edos extend` wrote of a seed with "
            "all three splits"
        )
    if (labels := splits["train"].rows.label_set).labels != LABELS:
        raise ValueError(
            f"{folder} has the labels of {labels.name!r}, but the ladder is measured on the {len(LABELS)} of EDOS"
        )
    train, held = splits["train"], {plain_text(turns[-1]) for turns in splits["test"].rows.turns}
    steps = [
        (int(step), Counter(np.array(train.methods)[train.steps == step].tolist()).most_common(1)[0][0])
        for step in np.unique(train.steps)
    ]
    seen = sum(plain_text(turns[-1]) in held for turns in train.rows.turns)
    return Rungs(
        steps,
        [train.take(train.steps <= step) for step, _ in steps],
        splits["validation"].rows,
        splits["test"].rows,
        seen,
    )


def climb(learner: Learner, rungs: Rungs, work: Path) -> list[dict[str, Any]]:
    """Return the scores of every rung, with its number of training rows and, above the first, `gain`: the difference in
    accuracy with its interval.
    """
    results: list[dict[str, Any]] = []
    base = np.zeros(len(rungs.test))
    for (step, method), train in zip(rungs.steps, rungs.train, strict=True):
        probabilities = ask(learner, train, rungs, work)
        right = (probabilities.argmax(axis=1) == rungs.test.labels).astype(np.float64)
        scores = evaluate_predictions(np.log(np.maximum(probabilities, 1e-12)), rungs.test.labels)
        result = {
            "step": step,
            "method": method,
            "train": len(train),
            **{name: scores[name] for name in SCORES},
            "intervals": scores["intervals"],
        }
        if results:
            result["gain"] = {"accuracy": round(float((right - base).mean()), 4), "interval": paired(right - base)}
        else:
            base = right
        results.append(result)
    return results


def paired(gains: npt.NDArray[np.float64]) -> list[float | None]:
    """Return the 95 % bootstrap interval of the mean of differences, [n], one for each test example."""
    return interval(resampled(gains[:, None], np.arange(len(gains)))[:, 0] / len(gains))


def ask(learner: Learner, train: Labelled, rungs: Rungs, work: Path) -> Floats:
    """Return the probabilities [n, 41] of the last turns of the test split from the learner fitted on `train`, or from
    an earlier run.
    """
    names = [learner.identity, train.identity, rungs.validation.identity, rungs.test.identity]

    def answer() -> Floats:
        last = np.cumsum([len(turns) for turns in rungs.test.turns]) - 1
        probabilities: Floats = learner.fit(train, rungs.validation).predict_proba(rungs.test.turns)[last]
        return probabilities

    return kept(work / f"rung-{key_of([json.dumps(names)])}.npy", len(rungs.test), answer)


def portable(text: str) -> str:
    """Return a command with absolute paths shortened to names."""
    return re.sub(r"(?<![^\s='\"])/(?:[^\s'\"]*/)?(?=[^\s/'\"])", "", text)


def measure(folder: Path, learners: dict[str, Learner], work: Path) -> dict[str, Any]:
    """Return the report of a set: its rows by step and, for each learner, its rungs."""
    rungs = read_rungs(folder)
    counts = {f"{step} {method}": len(train) for (step, method), train in zip(rungs.steps, rungs.train, strict=True)}
    sizes = {"train": counts, "validation": len(rungs.validation), "test": len(rungs.test), "seen": rungs.seen}
    as_in_papers = [method for _, method in rungs.steps] == PAPERS_STEPS
    return {
        **sizes,
        "as_in_the_papers": as_in_papers,
        "learners": {portable(name): climb(each, rungs, work) for name, each in learners.items()},
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--extended", type=Path, action="append", required=True, help="folder that `edos extend` wrote; repeatable"
    )
    parser.add_argument("--name", action="append", default=[], help="name of the set (default: the folder's)")
    parser.add_argument(
        "--learners",
        nargs="+",
        required=True,
        help='"fasttext", "linear", or a command that takes --labelled FOLDER --out MODEL',
    )
    parser.add_argument("--work", type=Path, required=True, help="folder in which results are cached")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    if arguments.name and len(arguments.name) != len(arguments.extended):
        parser.error(
            f"{len(arguments.extended)} --extended and {len(arguments.name)} --name: give one for each, or none"
        )
    names = arguments.name or [folder.resolve().name for folder in arguments.extended]
    if len(set(names)) < len(names):
        parser.error(f"sets of equal names, {', '.join(names)}: give each its own --name")
    try:
        chosen = {name: learners.learner_of(name, arguments.work) for name in arguments.learners}
        sets = {
            name: measure(folder, chosen, arguments.work)
            for name, folder in zip(names, arguments.extended, strict=True)
        }
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    report = {
        "command": f"python evaluation/ladder.py {portable(shlex.join(sys.argv[1:]))}",
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "versions": {name: version(name) for name in ("numpy", "scikit-learn", "torch", "transformers", "accelerate")},
        "labels": len(LABELS),
        "papers": {"source": SOURCE, "rungs": RUNGS, **TABLE_5},
        "sets": sets,
    }
    write_text(arguments.out, json.dumps(report, indent=1) + "\n")
    for name, each in sets.items():
        show(name, each, Console(width=170))


if __name__ == "__main__":
    main()
