"""Responses per second of the 17 metrics of dialog-eval, compared with the same metrics computed one response at a
time, in the same run, on one thread, from strings to figures.

    python benchmarks/response_metrics.py FOLDER --repeats 5

FOLDER contains testSource.txt, testTarget.txt, trainSource.txt, vectors50.txt, vocab.txt and responses/*.txt, one text
per line, as for dialog-eval. `plain_responses.Peer` works like that code: dictionaries, numpy on one vector at a time,
NLTK's BLEU if installed. Both get vocabulary, vectors and the training text's distribution before timing starts, both
compute BLEU in two forms, and they alternate, so that a busy machine slows both; processor seconds and their median are
reported. The figures must be equal, response by response. Writes benchmarks/response_metrics.json.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.machine import command_line, describe_machine, write_result
from benchmarks.plain_responses import Peer
from edos_dataset.arrays import Doubles
from edos_dataset.encoders.encoder import limit_blas
from edos_dataset.metrics.responses.dialog_eval import measure, summarise
from edos_dataset.metrics.responses.words import Words, read_lines, read_vectors

T = TypeVar("T")
STATED = 600
"""Responses per second of dialog-eval itself on a similar machine, measured elsewhere."""


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Return processor seconds, and the result."""
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def largest_difference(ours: dict[str, Doubles], theirs: dict[str, list[float]]) -> float:
    """Return the largest difference between any two values of a metric.

    Raises:
        ValueError: the numbers of responses with a value differ.
    """
    largest = 0.0
    for name, column in ours.items():
        values = column[~np.isnan(column)]
        if len(values) != len(theirs[name]):
            raise ValueError(f"{name}: {len(values)} responses have a value here, {len(theirs[name])} there")
        largest = max(largest, float(np.abs(values - np.array(theirs[name])).max(initial=0.0)))
    return largest


def benchmark(folder: Path, repeats: int) -> dict[str, Any]:
    """Measure all files of responses in a folder, `repeats` times."""
    contexts, references, train = (
        read_lines(folder / f"{name}.txt") for name in ("testSource", "testTarget", "trainSource")
    )
    vocabulary = [line.strip() for line in read_lines(folder / "vocab.txt")]
    vectors = read_vectors(folder / "vectors50.txt")
    loading, words = timed(lambda: Words.of(vectors, vocabulary, train))
    peer = Peer(vectors, vocabulary, train)
    sets = {path.name: read_lines(path) for path in sorted((folder / "responses").glob("*.txt"))}
    sets["truth"] = references
    seconds: dict[str, list[float]] = {"ours": [], "plain": []}
    difference = 0.0
    for responses in sets.values():  # warm-up
        measure(responses, references, contexts, words)
    for _ in range(repeats):
        for responses in sets.values():
            ours, found = timed(lambda given=responses: measure(given, references, contexts, words))  # type: ignore[misc]
            summed, _ = timed(lambda given=found: [summarise(values) for values in given.values()])  # type: ignore[misc]
            theirs, expected = timed(lambda given=responses: peer.run(given, references, contexts))  # type: ignore[misc]
            difference = max(difference, largest_difference(found, expected))
            seconds["ours"].append(ours + summed)
            seconds["plain"].append(theirs)
    rates = {name: len(references) / statistics.median(each) for name, each in seconds.items()}
    return {
        "responses": {name: len(responses) for name, responses in sets.items()},
        "dimensions": len(next(iter(vectors.values()))),
        "bleu_of_plain": f"nltk {version('nltk')}" if peer.nltk else "plain",
        "seconds": {name: [round(each, 4) for each in spent] for name, spent in seconds.items()},
        "seconds_loading": round(loading, 4),
        "responses_per_second": {name: round(rate) for name, rate in rates.items()},
        "times_plain": round(rates["ours"] / rates["plain"], 1),
        "times_stated_dialog_eval": round(rates["ours"] / STATED, 1),
        "largest_difference": difference,
    }


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    with limit_blas(1):
        found = benchmark(arguments.folder, arguments.repeats)
    result = {"command": command_line(), "date": str(date.today()), "machine": describe_machine(), **found}
    write_result(arguments.out, result)


if __name__ == "__main__":
    main()
