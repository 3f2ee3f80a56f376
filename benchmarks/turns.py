"""Sentence pairs per second of the shipped turn scorers on one core, compared with scikit-learn's HashingVectorizer and
LinearSVC on the SVM's features.

    python benchmarks/turns.py SENTENCES.parquet --repeats 5

The sentences come from Parquet files that `training/turns/data.py` wrote. Our time is all the work from the table to
the scores; "cold" is the first pass of the process, which loads the lemmatiser's dictionary and sees every word for the
first time. `context` needs all-mpnet-base-v2 in the cache of the Hub. The baselines get tokens, lemmas and bins for
free; timed are feature names, hashing and decision. They run on the first --few boundaries, since they are slow; once
with all feature products, once without ("plain"). Writes benchmarks/turns.json.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.svm import LinearSVC

from benchmarks.machine import describe_machine, write_result
from edos_dataset.arrays import Bools, Ints
from edos_dataset.segmentation.turns.evidence import read
from edos_dataset.segmentation.turns.scorers import SCORERS, load_scorer
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.segmentation.turns.svm import Boundaries, SvmScorer, read_boundaries

Row = tuple[list[str], int, list[str], list[str]]
SLOW = ("context",)
"""Scorers that get only a part of the documents."""


def rows_of(boundaries: Boundaries, chosen: Ints) -> list[Row]:
    """Return for each boundary the column values by name, the number of columns that are not words, and the n-grams on
    either side.
    """
    grams = [[str(code) for code in bag.tolist()] for bag in boundaries.bags]
    names, columns, offsets = boundaries.names, boundaries.columns[:, chosen].T.tolist(), boundaries.offsets.tolist()
    return [
        (
            [f"{name}={value}" for name, value in zip(names, values, strict=True)],
            boundaries.plain,
            [f"before={gram}" for gram in grams[0][offsets[row - 1] : offsets[row]]],
            [f"here={gram}" for gram in grams[1][offsets[row] : offsets[row + 1]]],
        )
        for row, values in zip(chosen.tolist(), columns, strict=True)
    ]


def linear(row: Row) -> Iterator[str]:
    """Yield the feature names of a boundary without feature products."""
    columns, _, before, here = row
    yield from columns
    yield from before
    yield from here


def quadratic(row: Row) -> Iterator[str]:
    """Yield all feature names of a boundary, as in `turns.features.products`."""
    columns, plain, before, here = row
    yield from linear(row)
    for place in range(plain):
        for other in columns[place + 1 :]:
            yield f"{columns[place]}&{other}"
    for gram in before[::2]:
        for other in here[::2]:
            yield f"{gram}&{other}"


def baseline(names: Callable[[Row], Iterator[str]], rows: list[Row], labels: Bools, bits: int) -> Callable[[], object]:
    """Return a function that hashes and decides all rows, fitted to a part of them."""
    vectorizer = HashingVectorizer(
        analyzer=names, n_features=1 << bits, norm=None, alternate_sign=False, dtype=np.float32
    )
    part = slice(None, 1000)
    model = LinearSVC(C=1e-3, loss="hinge", max_iter=50, random_state=0).fit(
        vectorizer.transform(rows[part]), labels[part]
    )
    return lambda: model.decision_function(vectorizer.transform(rows))


def seconds(work: Callable[[], object], repeats: int) -> list[float]:
    """Return the seconds of every repeat."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(round(time.perf_counter() - began, 3))
    return times


def entry(pairs: int, times: list[float]) -> dict[str, Any]:
    """Return the number of pairs, the seconds of every repeat, and the median as pairs per second."""
    return {"pairs": pairs, "seconds": times, "pairs_per_second": round(pairs / statistics.median(times))}


def compare(table: pa.Table, few: int, repeats: int) -> dict[str, Any]:
    """Time the shipped scorers on the whole table, slow ones on its first documents, and both baselines on its first
    boundaries.
    """
    svm = load_scorer("svm")
    assert isinstance(svm, SvmScorer), "the scorer of this name"
    boundaries = read_boundaries(read(table, "en"), svm.settings)
    chosen = np.flatnonzero(~boundaries.first)
    results = {}
    for name in SCORERS:
        scorer, part = load_scorer(name), table
        if name in SLOW:
            ends = np.cumsum(pc.list_value_length(table["sentences"]).to_numpy() - 1)
            part = table.slice(0, int(np.searchsorted(ends, few)) + 1)
        pairs = pc.sum(pc.list_value_length(part["sentences"])).as_py() - part.num_rows
        results[name] = entry(pairs, seconds(lambda: scorer.same_turn(part), repeats))  # noqa: B023 - called at once
    rows, labels = rows_of(boundaries, chosen[:few]), svm.log_odds(read(table, "en"))[chosen[:few]] > 0
    for name, names in (("scikit_learn", quadratic), ("scikit_learn_plain", linear)):
        results[name] = entry(len(rows), seconds(baseline(names, rows, labels, svm.settings.bits), repeats))
        results[name]["features_per_pair"] = round(sum(sum(1 for _ in names(row)) for row in rows) / len(rows), 1)
    others = ("scikit_learn", "scikit_learn_plain")
    ratios = {
        f"{ours} / {name}": round(results[ours]["pairs_per_second"] / results[name]["pairs_per_second"], 2)
        for ours in SCORERS
        for name in others
    }
    return {"documents": table.num_rows, "results": results, "ratio": ratios}


def main() -> None:
    """Time and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sentences", type=Path, nargs="+")
    parser.add_argument("--few", type=int, default=3000, help="boundaries for the baselines and (roughly) slow scorers")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one core for everything that follows
    table = pa.concat_tables([pq.read_table(path) for path in arguments.sentences])
    default = load_scorer(SegmentTurns().scorer)
    cold = entry(
        pc.sum(pc.list_value_length(table["sentences"])).as_py() - table.num_rows,
        seconds(lambda: default.same_turn(table), 1),
    )
    report = {
        "command": " ".join(
            [
                "python",
                "benchmarks/turns.py",
                *(argument if argument.startswith("-") else Path(argument).name for argument in sys.argv[1:]),
            ]
        ),
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "versions": {name: version(name) for name in ("numpy", "pyarrow", "scikit-learn", "simplemma", "torch")},
        "default": SegmentTurns().scorer,
        "default_cold": cold,
        **compare(table, arguments.few, arguments.repeats),
    }
    write_result(arguments.out, report)


if __name__ == "__main__":
    main()
