"""The EDOS authors' extended dialogues as a pool for `edos extend`, and how often it assigns the authors' labels.

    python evaluation/authors_pool.py write --data-dir "$EDOS_DATA_DIR" --pool build/authors.jsonl
    edos extend build/seed build/authors.jsonl --last-turns --out build/authors
    python evaluation/authors_pool.py compare --data-dir "$EDOS_DATA_DIR" --extended build/authors

The three files contain dialogues that the authors' spreading and self-labelling found in OpenSubtitles, so similar
dialogues are more frequent than in other pools, which also raises the agreement. Equal dialogues are used once. Writes
evaluation/authors_pool.json.
"""

import argparse
import json
import os
import sys
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

from edos_dataset.augmentation.extended import COUNTS, read_extended
from edos_dataset.releases.raw import Reject, read_extension
from edos_dataset.runs.shards import write_text
from training.fast_labels import SUBTITLES


def read_pool(folder: Path) -> dict[str, tuple[list[str], int]]:
    """Return the turns and the authors' label of every dialogue, keyed by "FILE LINE"."""
    dialogues: dict[str, tuple[list[str], int]] = {}
    seen = set()
    for name, method in SUBTITLES.items():
        for number, row in enumerate(read_extension(folder / name, method), 2):
            if not isinstance(row, Reject):
                turns = [turn["text"] for turn in row["turns"]]
                if tuple(turns) not in seen:
                    seen.add(tuple(turns))
                    dialogues[f"{Path(name).stem} {number}"] = turns, row["label"]
    return dialogues


def compare(dialogues: dict[str, tuple[list[str], int]], extended: Path) -> dict[str, Any]:
    """Return for each step the number of new labels and how many of them agree with the authors', in total
    and by file.
    """
    counts = json.loads((extended / COUNTS).read_text(encoding="utf-8"))
    tallies: dict[tuple[int, str], Counter[str]] = {}
    for row in read_extended(extended, ["train"]).select(["dialogue_id", "label", "method", "step"]).to_pylist():
        if row["step"]:
            name = row["dialogue_id"].rpartition("@")[0]
            step = tallies.setdefault((row["step"], row["method"]), Counter())
            step["labels"] += 1
            step["same"] += dialogues[name][1] == row["label"]
            step[f"{name.split()[0]}: labels"] += 1
            step[f"{name.split()[0]}: same"] += dialogues[name][1] == row["label"]
    steps = [
        {"step": step, "method": method, **sorted_counts(tally)} for (step, method), tally in sorted(tallies.items())
    ]
    return {"pool": counts["pool"], "seed": counts["seed"], "steps": steps}


def sorted_counts(tally: Counter[str]) -> dict[str, Any]:
    """Return counts by name, with the fraction of equal labels."""
    return {"share": round(tally["same"] / tally["labels"], 4), **dict(sorted(tally.items()))}


def main() -> None:
    """Write the pool, or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("write", "compare"))
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the datasets (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument("--pool", type=Path, help="file of JSON lines to write")
    parser.add_argument("--extended", type=Path, help="folder that `edos extend` made of that pool")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    needed = arguments.pool if arguments.action == "write" else arguments.extended
    if arguments.data_dir is None or needed is None:
        parser.error("give --data-dir (or EDOS_DATA_DIR), and --pool to write or --extended to compare")
    dialogues = read_pool(arguments.data_dir)
    if arguments.action == "write":
        write_text(
            needed,
            "".join(
                json.dumps({"dialogue_id": name, "turns": turns}, ensure_ascii=False) + "\n"
                for name, (turns, _) in dialogues.items()
            ),
        )
        sys.stdout.write(f"{len(dialogues):,} dialogues in {needed}\n")
        return
    report = {
        "command": "python evaluation/authors_pool.py compare --extended EXTENDED",
        "date": date.today().isoformat(),
        **compare(dialogues, needed),
    }
    write_text(arguments.out, json.dumps(report, indent=1) + "\n")
    for step in report["steps"]:
        sys.stdout.write(
            f"step {step['step']}, {step['method']}: {step['same']:,} of {step['labels']:,} labels are the authors' "
            f"({step['share']:.1%})\n"
        )


if __name__ == "__main__":
    main()
