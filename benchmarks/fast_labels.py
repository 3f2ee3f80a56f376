"""Texts per second of the `fast` labeler, compared with other labelers, on the same turns in the same run, from strings
to probabilities, on one thread.

    python benchmarks/fast_labels.py TURNS.txt --labelers fast linear-weak weak --limit 40000 --slow-limit 2000

The turns come from a text file, one per line, or from the Parquet files of a finished run. The first labeler gets all
of them, the others the first `--slow-limit`, since they take a hundred times as long. The labelers alternate, so that a
busy machine slows all; the median is reported. "cold" is the first pass of the first labeler in a separate process, in
which every word is new; in the other passes words are cached, as in the shards of a long run. Also reported: how often
each labeler's label equals that of the first. Writes benchmarks/fast_labels.json.
"""

import argparse
import statistics
import sys
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.encoding import read_turns
from benchmarks.machine import describe_machine, write_result
from edos_dataset.arrays import Floats
from edos_dataset.encoders.encoder import limit_threads
from edos_dataset.labeling.models.base import Labeler
from edos_dataset.labeling.models.labelers import load_labeler

WARM_UP = ["Why do you ask?", "I was so scared."]


def timed(labeler: Labeler, texts: list[str]) -> tuple[float, Floats]:
    """Return seconds and probabilities."""
    began = time.perf_counter()
    probabilities = labeler.predict_proba([[text] for text in texts])
    return time.perf_counter() - began, probabilities


def measure(names: list[str], texts: list[str], slow: int, repeats: int) -> list[dict[str, Any]]:
    """Return a row for every labeler: identity, number of texts, seconds of every pass, texts per second, how many
    times slower it is than the first, agreement with the first.
    """
    labelers = [load_labeler(name) for name in names]
    for labeler in labelers:
        labeler.predict_proba([[text] for text in WARM_UP])
    cold, reference = timed(labelers[0], texts)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    answers: dict[str, Floats] = {}
    for _ in range(repeats):
        for number, (name, labeler) in enumerate(zip(names, labelers, strict=True)):
            spent, answers[name] = timed(labeler, texts[:slow] if number else texts)
            seconds[name].append(spent)
    lines: list[dict[str, Any]] = []
    for name, labeler in zip(names, labelers, strict=True):
        rate = len(answers[name]) / statistics.median(seconds[name])
        equal = answers[name].argmax(axis=1) == reference[: len(answers[name])].argmax(axis=1)
        line = {
            "labeler": name,
            "identity": labeler.identity,
            "texts": len(equal),
            "seconds": [round(each, 3) for each in seconds[name]],
        }
        lines.append(
            {**line, "texts_per_second": round(rate, 1), "same_label_as_first": round(float(np.mean(equal)), 4)}
        )
    for line in lines:
        line["times_slower_than_first"] = round(lines[0]["texts_per_second"] / line["texts_per_second"], 1)
    lines[0]["cold_texts_per_second"] = round(len(texts) / cold, 1)
    return lines


def main() -> None:
    """Time and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--labelers", nargs="+", default=["fast", "linear-weak", "weak"])
    parser.add_argument("--limit", type=int, default=40_000, help="number of turns for the first labeler")
    parser.add_argument("--slow-limit", type=int, default=2_000, help="number of turns for the others")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    try:
        texts = list(dict.fromkeys(read_turns(arguments.source)))[: arguments.limit]
        if not texts:
            parser.error(
                f"{arguments.source} has no turns: expected a text file, or a folder of Parquet files with a column "
                "'turns'"
            )
        with limit_threads(1):
            lines = measure(arguments.labelers, texts, arguments.slow_limit, arguments.repeats)
    except ValueError as error:
        sys.exit(f"error: {error}")
    report = {
        "command": " ".join(["python", "benchmarks/fast_labels.py", arguments.source.name, *sys.argv[2:]]),
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "versions": {name: version(name) for name in ("numpy", "scipy", "torch", "transformers")},
        "characters_per_text": round(sum(map(len, texts)) / len(texts), 1),
        "threads": 1,
        "results": lines,
    }
    write_result(arguments.out, report)


if __name__ == "__main__":
    main()
