"""What each step of `edos extend` is worth: OSED, Table 5, on one's own labels.

    python evaluation/ladder.py --extended OUT --name "subtitles" --learners fasttext linear \
        "accelerate launch training/train_classifier.py --recipe training/recipes/minilm/ladder.yaml --start \
        models/weak" \
        --work build/ladder --out evaluation/ladder.json

For every learner and every step k of the set: fitted on the training rows that people labelled and those of the steps
up to k, calibrated on the validation part, measured once on the test part. Both parts are labelled by people alone and
the same for all steps. The difference in accuracy to the seed alone has a 95 % interval by the paired bootstrap over
test examples. What is finished in `--work` is not fitted again.

Several sets, such as two pools from one seed, need as many `--extended`, each followed by its `--name`.
"""

import argparse
import json
import re
import shlex
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console

from benchmarks.machine import describe_machine
from edos_dataset.arrays import Floats
from edos_dataset.augmentation import learners
from edos_dataset.augmentation.labelled import Labelled
from edos_dataset.augmentation.learners import Learner
from edos_dataset.crowd.splits import plain_text
from edos_dataset.labels import LABELS
from edos_dataset.metrics.classification import evaluate_predictions
from edos_dataset.metrics.resampling import interval, resampled
from edos_dataset.runs.shards import write_text
from evaluation.ladder_table import PAPERS_STEPS, RUNGS, SCORES, SOURCE, TABLE_5, show
from training.caches import kept, key_of
from training.labelled import read_labelled_rows


@dataclass(frozen=True)
class Rungs:
    """A set as its rungs.

    Attributes:
        steps: number of each rung's last step, and what gave its labels.
        train: [rungs], what is learned from on each.
        validation: what calibrates.
        test: what is measured on.
        seen: training rows of the last rung whose last turn has the words of a test dialogue's: 0 unless the set has a
            leak.
    """

    steps: list[tuple[int, str]]
    train: list[Labelled]
    validation: Labelled
    test: Labelled
    seen: int


def read_rungs(folder: Path) -> Rungs:
    """Read a set that `edos extend` wrote.

    Raises:
        ValueError: it is none, or a split has no rows.
    """
    splits = {name: read_labelled_rows(folder, name) for name in ("train", "validation", "test")}
    if empty := [name for name, rows in splits.items() if not len(rows)]:
        raise ValueError(
            f"{folder}: the split {empty[0]} has no labelled rows: give a set that `edos extend` wrote of a seed with "
            "all three splits"
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
    """Return the scores of every rung, with the number of its training rows and, above the first, `gain`: the
    difference in accuracy with its interval.
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
    """Return the 95 % interval of the mean of differences, [n], one for each test example, by the bootstrap."""
    return interval(resampled(gains[:, None], np.arange(len(gains)))[:, 0] / len(gains))


def ask(learner: Learner, train: Labelled, rungs: Rungs, work: Path) -> Floats:
    """Return the probabilities [n, 41] of the last turns of the test part, by the learner fitted on `train`, or as kept
    from an earlier run.
    """
    names = [learner.identity, train.identity, rungs.validation.identity, rungs.test.identity]

    def answer() -> Floats:
        last = np.cumsum([len(turns) for turns in rungs.test.turns]) - 1
        probabilities: Floats = learner.fit(train, rungs.validation).predict_proba(rungs.test.turns)[last]
        return probabilities

    return kept(work / f"rung-{key_of([json.dumps(names)])}.npy", len(rungs.test), answer)


def portable(text: str) -> str:
    """Return a command without paths of this machine: of an absolute path only the name is told."""
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
    """Climb, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--extended", type=Path, action="append", required=True, help="folder that `edos extend` wrote; repeatable"
    )
    parser.add_argument("--name", action="append", default=[], help="what to call it (default: the folder's name)")
    parser.add_argument(
        "--learners",
        nargs="+",
        required=True,
        help='"fasttext", "linear", or a command that takes --labelled FOLDER --out MODEL',
    )
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps what is fitted")
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
