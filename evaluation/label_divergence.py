"""The divergence between the labels of EDOS and EmpatheticDialogues, from the authors' publications, compared with the
0.2447 of the EDOS paper (Section 4.2).

    python evaluation/label_divergence.py --data-dir $EDOS_DATA_DIR

The labels of EDOS are those of the paper's Table 9, by turns; those of EmpatheticDialogues are the authors' labels of
its turns (`annotated/`). The paper states neither the logarithm nor whether neutral is among "emotions and intents", so
there is a row for each interpretation. The rows of `emotions` compare the emotions for which the speakers of
EmpatheticDialogues were asked with the authors' labels. Writes evaluation/label_divergence.json.
"""

import argparse
import os
from datetime import date
from math import log
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import write_result
from edos_dataset.analysis import divergence_intervals, js_divergence, kl_divergence
from edos_dataset.arrays import Ints
from edos_dataset.labels import EMOTIONS, LABELS
from edos_dataset.publishing.cards.paper_figures import BY_LABEL, EMPATHETIC_DIALOGUES, KL_OF_LABELS
from edos_dataset.reproduction.experiments.empathetic import BLOCKS, read_annotated

ALL, WITHOUT_NEUTRAL, OF_EMOTIONS = len(LABELS), len(LABELS) - 1, len(EMOTIONS)


def count(data: Path) -> dict[str, Ints]:
    """Return counts: `blocks` [BLOCKS, labels] of the turns, `first` [labels] of first turns, `emotions` [labels] of
    conversations by the requested emotion.
    """
    found = {"blocks": np.zeros((BLOCKS, ALL), np.int64)} | {
        name: np.zeros(ALL, np.int64) for name in ("first", "emotions")
    }
    for number, row in enumerate(read_annotated(data / "empathetic_dialogues" / "annotated")):
        for turn in row["turns"]:
            found["blocks"][number % BLOCKS, turn["label"]] += 1
        found["first"][row["turns"][0]["label"]] += 1
        found["emotions"][row["emotion"]] += 1
    return found


def readings(edos: Ints, blocks: Ints) -> list[dict[str, Any]]:
    """Return the divergence of EDOS from EmpatheticDialogues by every interpretation of the paper's definition."""
    rows = []
    for labels, size in (("all 41", ALL), ("without neutral", WITHOUT_NEUTRAL), ("the 32 emotions", OF_EMOTIONS)):
        theirs = blocks[:, :size]
        value = kl_divergence(edos[:size], theirs.sum(axis=0))
        back = kl_divergence(theirs.sum(axis=0), edos[:size])
        # Only the sums of EDOS are known, so it is not resampled.
        interval = divergence_intervals(np.stack([edos[:size], edos[:size]]), theirs, smoothing=0)["kl"]
        rows.append(
            {
                "labels": labels,
                "kl_nats": round(value, 4),
                "interval": interval,
                "kl_bits": round(value / log(2), 4),
                "kl_back_nats": round(back, 4),
                "js_nats": round(js_divergence(edos[:size], theirs.sum(axis=0)), 4),
            }
        )
    return rows


def main() -> None:
    """Compute and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("EDOS_DATA_DIR"))
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    found = count(arguments.data_dir)
    edos = np.array([turns for _, turns in BY_LABEL], np.int64)
    own, first = found["emotions"][:OF_EMOTIONS], found["first"][:OF_EMOTIONS]
    turns = found["blocks"].sum(axis=0)
    closest = min(readings(edos, found["blocks"]), key=lambda row: abs(row["kl_nats"] - KL_OF_LABELS))
    result = {
        "date": date.today().isoformat(),
        "paper": {
            "kl": KL_OF_LABELS,
            "conversations": EMPATHETIC_DIALOGUES.dialogues,
            "turns": EMPATHETIC_DIALOGUES.turns,
        },
        "files": {"conversations": int(found["emotions"].sum()), "turns": int(turns.sum())},
        "edos_from_empathetic_dialogues": readings(edos, found["blocks"]),
        "closest": {"labels": closest["labels"], "kl_nats": closest["kl_nats"]},
        "emotions": {
            "own_from_authors_first_turns": round(kl_divergence(own, first), 4),
            "own_from_authors_turns": round(kl_divergence(own, turns[:OF_EMOTIONS]), 4),
            "first_turns_labelled_with_an_emotion": round(float(first.sum() / found["first"].sum()), 4),
        },
    }
    write_result(arguments.out, result)


if __name__ == "__main__":
    main()
