"""How often labelers say the writer's own word: speeches of unseen screenplays whose note ("furious") names a label.

    python evaluation/written_notes.py --data-dir "$EDOS_DATA_DIR" --models general dialogue fast

A note has at most three words; `training/written_notes.py` says which speeches count and what their notes stand for.
The speech is the last of up to four of its scene. An answer is right if the note names its label. Writes JSON: for each
model, the fraction whose first label is right, and one of whose first three is, with 95 % intervals (bootstrap over
screenplays); how often it answers neutral or an intent; and, for each label, the cases and the fraction right.
`by_chance` is the fraction right of answers dealt out at random among the cases.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Bools, Floats
from edos_dataset.labeling.models.base import Labeler
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labels import EMOTIONS, LABELS
from edos_dataset.metrics.resampling import interval, resampled
from edos_dataset.runs.shards import write_text
from training.examples import report as say
from training.written_notes import Noted, read_notes

_FIRST = 3


def measure(cases: Sequence[Noted], probabilities: Floats) -> dict[str, Any]:
    """Return the figures of a model, listed in the module's docstring.

    Args:
        cases: speeches with the labels of their notes.
        probabilities: float32 [cases, 41].
    """
    right = right_of(cases)
    ranked = np.argsort(-probabilities, axis=1, kind="stable")
    hits: Bools = np.take_along_axis(right, ranked[:, :_FIRST], axis=1)
    first, among = hits[:, 0], hits.any(axis=1)
    columns = np.stack([first, among, np.ones(len(cases))], axis=1).astype(float)
    sums = resampled(columns, np.array([case.film for case in cases]))
    said = np.bincount(ranked[:, 0], minlength=len(LABELS))
    return {
        "first": _share(first),
        "first_interval": interval(sums[:, 0] / sums[:, -1]),
        "among_three": _share(among),
        "among_three_interval": interval(sums[:, 1] / sums[:, -1]),
        "by_chance": round(float((right.mean(axis=0) * said).sum() / len(cases)), 4),
        "no_emotion": _share(ranked[:, 0] >= len(EMOTIONS)),
        "by_label": {
            LABELS[label]: {"cases": int(right[:, label].sum()), "right": _share(first[right[:, label]])}
            for label in np.argsort(-right.sum(axis=0), kind="stable")
            if right[:, label].any()
        },
    }


def right_of(cases: Sequence[Noted]) -> Bools:
    """Return which labels the note of each speech names, [cases, 41]."""
    right = np.zeros((len(cases), len(LABELS)), bool)
    for row, case in enumerate(cases):
        right[row, [*case.shares]] = True
    return right


def predict(labeler: Labeler, cases: Sequence[Noted]) -> Floats:
    """Return the probabilities of the speeches, each with those before it, float32 [cases, 41]."""
    last = np.cumsum([len(case.turns) for case in cases]) - 1
    found: Floats = labeler.predict_proba([case.turns for case in cases])[last]
    return found


def _share(marks: npt.ArrayLike) -> float:
    return round(float(np.mean(np.asarray(marks, np.float64))), 4)


def main(given: Sequence[str] | None = None) -> None:
    """Measure and write, from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data-dir", type=Path, default=os.environ.get("EDOS_DATA_DIR"), help="default: $EDOS_DATA_DIR"
    )
    parser.add_argument("--models", nargs="+", default=["general", "dialogue", "fast"], help="any labelers")
    parser.add_argument("--most", type=int, help="measure only on the first so many speeches")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args(given)
    if arguments.data_dir is None:
        parser.error("--data-dir is missing and EDOS_DATA_DIR is not set: name the folder of the data sets")
    try:
        cases = list(islice(read_notes(Path(arguments.data_dir), held_out=True), arguments.most))
        if not cases:
            raise ValueError(f"{arguments.data_dir}: no held-out screenplay has a note that names a label")
        content: dict[str, Any] = {"cases": len(cases), "films": len({case.film for case in cases}), "models": {}}
        for name in arguments.models:
            labeler = load_labeler(name)
            figures = measure(cases, predict(labeler, cases))
            content["models"][name] = {"source": labeler.source, **figures}
            first, among = (100 * figures[key] for key in ("first", "among_three"))
            say(f"{name}: {first:.1f} % of {len(cases)} right, {among:.1f} % among three")
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    write_text(arguments.out, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
