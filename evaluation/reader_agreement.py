"""The agreement between readings of the same turns: the held-out dialogues in `training/readings/second.jsonl`,
labelled a second time by readers who did not know the first labels, and the same turns in `alone.jsonl`, labelled by
others in shuffled order and without their dialogues.

    python evaluation/reader_agreement.py

Writes reader_agreement.json. For each of the two compared with the first reading, it has fractions of turns with 95 %
intervals (bootstrap over dialogues): the first labels are equal; the second reading's first label is among the first
reading's one to three; any label is common; the first labels are in one group. And Cohen's kappa of the first labels.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from edos_dataset.labels import GROUPS, LABELS
from edos_dataset.metrics.resampling import interval, resampled
from edos_dataset.runs.shards import write_text
from training.labels.readings import READINGS

SECOND, ALONE = READINGS.with_name("second.jsonl"), READINGS.with_name("alone.jsonl")

_GROUP_OF = {label: name for name, labels in GROUPS.items() for label in labels}


class Pair(NamedTuple):
    """A turn that was labelled twice: its dialogue, and the labels of both readings, best first."""

    dialogue_id: str
    first: list[str]
    second: list[str]


def read_pairs(second: Path, readings: Path = READINGS) -> list[Pair]:
    """Return the turns of the second reading with the labels of the first.

    Raises:
        ValueError: a turn has no first reading.
    """
    rows = [json.loads(line) for line in second.read_text(encoding="utf-8").splitlines()]
    wanted = {row["dialogue_id"] for row in rows}
    table = pq.read_table(readings, columns=["dialogue_id", "turns"])
    first = {row["dialogue_id"]: row["turns"] for row in table.to_pylist() if row["dialogue_id"] in wanted}
    pairs = []
    for number, row in enumerate(rows, 1):
        turns = first.get(row["dialogue_id"], [])
        given = turns[row["turn"] - 1]["labels"] if 1 <= row["turn"] <= len(turns) else []
        if not given:
            raise ValueError(f"{second}, line {number}: turn {row['turn']} of {row['dialogue_id']} was not read before")
        pairs.append(Pair(row["dialogue_id"], [LABELS[label] for label in given], row["labels"]))
    return pairs


def agreement(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the figures listed in the module's docstring, fractions with intervals."""
    seen = {
        "same_first_label": [pair.first[0] == pair.second[0] for pair in pairs],
        "among_the_first_ones": [pair.second[0] in pair.first for pair in pairs],
        "one_in_common": [not set(pair.first).isdisjoint(pair.second) for pair in pairs],
        "same_group": [_GROUP_OF[pair.first[0]] == _GROUP_OF[pair.second[0]] for pair in pairs],
    }
    columns = np.stack([*map(np.array, seen.values()), np.ones(len(pairs))], axis=1).astype(float)
    sums = resampled(columns, np.array([pair.dialogue_id for pair in pairs]))
    shares = {
        name: {"share": round(float(columns[:, row].mean()), 4), "interval": interval(sums[:, row] / sums[:, -1])}
        for row, name in enumerate(seen)
    }
    ours, theirs = (Counter(labels[0] for labels in side) for side in zip(*(pair[1:] for pair in pairs), strict=True))
    chance = sum(number * theirs[label] for label, number in ours.items()) / len(pairs) ** 2
    kappa = (float(columns[:, 0].mean()) - chance) / (1 - chance)
    return {"turns": len(pairs), **shares, "kappa_of_first_labels": round(kappa, 4)}


def main() -> None:
    """Count and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--second", type=Path, default=SECOND)
    parser.add_argument("--alone", type=Path, default=ALONE)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    figures = {}
    for name, file in (("second", arguments.second), ("alone", arguments.alone)):
        pairs = read_pairs(file)
        films = [pair for pair in pairs if pair.dialogue_id.startswith("films/")]
        figures[name] = {"all": agreement(pairs), "films": agreement(films)}
    write_text(arguments.out, json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
