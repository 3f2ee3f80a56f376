"""Who speaks, by the words alone: boundaries inside scenes of screenplays that nothing was trained on, laid out as
subtitles with a sentence a cue and equal pauses (`training/turns/screenplays.py`).

    python evaluation/screenplay_turns.py DATA/film_scripts --report evaluation/screenplay_turns.json
    python evaluation/screenplay_turns.py DATA/film_scripts --scorer scripts --scorer build/turns/net
    python evaluation/screenplay_turns.py DATA/film_scripts --scorer scripts --scorer context --limit 15

Every fifteenth screenplay is held out, by a hash of its title. Each scorer is a name in `SCORERS` or a folder of
weights; `new` is the fraction of the boundaries at which it sees another speaker. The encoder of `context` computes in
bfloat16 where that is faster, on all cores.
"""

import argparse
from collections.abc import Sequence
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.machine import command_line, write_result
from edos_dataset.runs.engines.base import available_cores
from edos_dataset.segmentation.turns.scorers import load_scorer
from training.turns.boundaries import Boundaries
from training.turns.metrics import measure
from training.turns.screenplays import held_out, label_screenplays, read_screenplays
from training.turns.teacher import in_haste

_MEASURES = ("accuracy", "accuracy_interval", "precision", "recall", "f1", "ece")


def read_held_out(folder: Path, limit: int | None = None) -> pa.Table:
    """Return the held-out screenplays of a folder, or the first ones, as labelled documents.

    Raises:
        ValueError: there is none.
    """
    found = ((title, speeches) for title, speeches in read_screenplays(folder) if held_out(title))
    scripts = dict(islice(found, limit))
    if not scripts:
        raise ValueError(f"{folder}: no held-out screenplay (.tsv); give the folder `film_scripts` of the data sets")
    return label_screenplays(scripts)


def measure_scorers(table: pa.Table, names: Sequence[str]) -> dict[str, Any]:
    """Return what there is to decide, and how well each scorer does."""
    boundaries = Boundaries.of(table)
    known = boundaries.known()
    row: dict[str, Any] = {
        "screenplays": table.num_rows,
        "boundaries": int(known.sum()),
        "always_new": round(float((boundaries.same[known] == 0).mean()), 4),
    }
    for name in names:
        scores = np.asarray(in_haste(load_scorer(name), available_cores()).same_turn(table), np.float32)
        found = measure(boundaries, scores)
        row[name] = {key: found[key] for key in _MEASURES} | {"new": round(float((scores[known] < 0.5).mean()), 4)}
    return row


def main() -> None:
    """Measure, print and, if asked, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="screenplays (.tsv)")
    parser.add_argument(
        "--scorer", action="append", help="name or folder of weights, repeatable (default: blend and scripts)"
    )
    parser.add_argument("--limit", type=int, help="number of screenplays, the first ones")
    parser.add_argument("--report", type=Path, help="JSON file")
    args = parser.parse_args()
    found = measure_scorers(read_held_out(args.folder, args.limit), args.scorer or ["blend", "scripts"])
    result = {"command": command_line(), "date": date.today().isoformat(), **found}
    if args.report:
        write_result(args.report, result)
    else:
        print(found)  # noqa: T201


if __name__ == "__main__":
    main()
