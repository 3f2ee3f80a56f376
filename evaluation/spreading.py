"""The reliability of similarity spreading, by threshold and rule: how many dialogues get a label, and how often near
seeds have the same label.

    edos crowd seed "$EDOS_DATA_DIR/edos_amt/mturk_groundtruth_labels.csv" --out build/seed
    edos curate "$EDOS_DATA_DIR/frasier/subtitles" "$EDOS_DATA_DIR/noisy_srt" "$EDOS_DATA_DIR/opensubtitles_xml" \
        --no-labels --out build/pool
    python evaluation/spreading.py --seed build/seed --pool build/pool --work build/spreading

For each threshold: how many seeds of the training split would get a label from the others (with other words), and the
fraction of these that would get their own label, with a 95 % interval (Wilson); and what the pool gets under all rules.
Writes evaluation/spreading.json and prints a table.
"""

import argparse
import json
import sys
from datetime import date
from pathlib import Path
from typing import Any, get_args

from rich.console import Console
from rich.table import Table

from edos_dataset.augmentation.embeddings import VectorStore
from edos_dataset.augmentation.guards import Dialogues
from edos_dataset.augmentation.labelled import labelled_of
from edos_dataset.augmentation.pool import PIECE_TURNS, Embedding, read_pool
from edos_dataset.augmentation.spreading import Conflict, SpreadingRules, agreement_of_seeds, spread
from edos_dataset.crowd.seed import read_seed
from edos_dataset.encoders.encoder import DEFAULT_MODEL, Encoder
from edos_dataset.metrics.resampling import wilson
from edos_dataset.releases.dialogues import read_sources
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.shards import write_text

THRESHOLDS = (0.92, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=Path, required=True, help="folder that `edos crowd seed` wrote")
    parser.add_argument(
        "--pool", type=Path, nargs="+", required=True, help="folders of `edos curate`, or files of JSON lines"
    )
    parser.add_argument("--encoder", default=DEFAULT_MODEL)
    parser.add_argument("--history", type=int, default=4, help="number of earlier turns used")
    parser.add_argument("--thresholds", type=float, nargs="+", default=THRESHOLDS)
    parser.add_argument("--work", type=Path, required=True, help="folder in which vectors are cached")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    store = VectorStore(arguments.work, Encoder(arguments.encoder))
    train, labels = read_dialogues(arguments.seed, ["train"], store, arguments.history)
    held_out, _ = read_dialogues(arguments.seed, ["validation", "test"], store, arguments.history)
    tables = read_sources(arguments.pool, None, PIECE_TURNS)
    pool = read_pool(tables, Embedding(store, arguments.history), LocalEngine()).candidates
    rows = [measure(threshold, train, labels, pool, held_out) for threshold in arguments.thresholds]
    command = "python evaluation/spreading.py --seed SEED --pool POOL --work WORK"
    facts = {
        "command": command,
        "date": date.today().isoformat(),
        "encoder": store.encoder.identity,
        "seeds": len(train),
        "candidates": len(pool),
    }
    write_text(arguments.out, json.dumps({**facts, "thresholds": rows}, indent=1) + "\n")
    show(rows)


def read_dialogues(seed: Path, splits: list[str], store: VectorStore, history: int) -> tuple[Dialogues, list[int]]:
    """Return the labelled dialogues in some splits of a seed, and their labels."""
    table = read_seed(seed, splits)
    table = table.filter(table["label"].is_valid())
    turns = labelled_of(table).turns
    return Dialogues(
        table["dialogue_id"].to_pylist(), turns, store.dialogues([dialogue[-history - 1 :] for dialogue in turns])
    ), table["label"].to_pylist()


def measure(
    threshold: float, seeds: Dialogues, labels: list[int], pool: Dialogues, held_out: Dialogues
) -> dict[str, Any]:
    """Return the row of a threshold: for each conflict rule, how many seeds are near others and how many of them agree;
    and what the pool gets.
    """
    row: dict[str, Any] = {"threshold": threshold}
    for conflict in get_args(Conflict):
        agreement = agreement_of_seeds(seeds, labels, SpreadingRules(threshold=threshold, conflict=conflict))
        share = agreement["same"] / agreement["near"] if agreement["near"] else 0.0
        row[conflict] = {
            **agreement,
            "share": round(share, 4),
            "interval": [round(end, 4) for end in wilson(share, agreement["near"])] if agreement["near"] else None,
        }
    count = spread(seeds, labels, pool, held_out, SpreadingRules(threshold=threshold)).count
    return {**row, "pool": {"labelled": count.kept, "labels": len(count.tally), "rejected": count.rejected}}


def show(rows: list[dict[str, Any]]) -> None:
    """Print the table."""
    table = Table(title="near seeds with the same label, by rule for conflicts; new labels of the pool")
    for name in ("threshold", *get_args(Conflict), "new labels", "rejected"):
        table.add_column(name, justify="right" if name != "rejected" else "left")
    for row in rows:
        shares = [
            f"{row[rule]['same']} of {row[rule]['near']} ({row[rule]['share']:.1%})" for rule in get_args(Conflict)
        ]
        rejected = ", ".join(
            f"{reason} {count:,}" for reason, count in row["pool"]["rejected"].items() if reason != "not_similar"
        )
        table.add_row(str(row["threshold"]), *shares, f"{row['pool']['labelled']:,}", rejected)
    Console(width=150, file=sys.stdout).print(table)


if __name__ == "__main__":
    main()
