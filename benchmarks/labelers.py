"""Turns a second of labelers, each beside `general` in one run on one core: processor seconds, so that a busy machine
slows all alike.

    python benchmarks/labelers.py "$EDOS_DATA_DIR/meld/dev_sent_emo.csv" --models large

Writes benchmarks/labelers.json: the best of --repeats, and how many times as fast as `general` each is.
"""

import argparse
import time
from datetime import date
from pathlib import Path

from benchmarks.machine import command_line, describe_machine, write_result
from edos_dataset.encoders.encoder import limit_threads
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.releases.labelled_sets.readers import LabelledDialogue, read_meld

BESIDE = "general"


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="a file of MELD, whose dialogues are labelled")
    parser.add_argument("--models", nargs="+", default=["large"], help="names that `edos label --model` accepts")
    parser.add_argument("--dialogues", type=int, default=24, help="number of dialogues (default: 24)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    read = [each.turns for each in read_meld(arguments.file) if isinstance(each, LabelledDialogue)]
    dialogues = read[: arguments.dialogues]
    turns = sum(map(len, dialogues))
    with limit_threads(1):
        labelers = {name: load_labeler(name) for name in (BESIDE, *arguments.models)}
        seconds: dict[str, list[float]] = {name: [] for name in labelers}
        for number in range(arguments.repeats + 1):
            for name, labeler in labelers.items():
                begun = time.process_time()
                labeler.predict_proba(dialogues)
                if number:  # the first loads the weights
                    seconds[name].append(time.process_time() - begun)
    best = {name: min(each) for name, each in seconds.items()}
    result = {
        "command": command_line(),
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "turns": turns,
        "turns_a_second": {name: round(turns / each, 1) for name, each in best.items()},
        "times_general": {name: round(best[BESIDE] / each, 2) for name, each in best.items()},
    }
    write_result(arguments.out, result)


if __name__ == "__main__":
    main()
