"""What certainty buys on shows that were not learned from: dialogues without a wrong seam against what is kept of the
films, by the certainty that the recipe asks of every seam; and whether what is said to be sure comes true.

    python evaluation/certain_dialogues.py DATA_DIR --recipe training/recipes/turns/turns.yaml --cache build/turns

Scores are those of the blend, each show's by models that did not see it, from the cache of
training/train_turn_segmenter.py, or made. A dialogue counts where the truth of all its seams is known; cleaning is left
out. Writes evaluation/certain_dialogues.json.
"""

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from edos_dataset.arrays import Bools, Floats, unnest
from edos_dataset.runs.shards import write_text
from edos_dataset.schema.tables import SENTENCES
from edos_dataset.segmentation.certainty import JudgeDialogues
from edos_dataset.segmentation.dialogues import SegmentDialogues
from edos_dataset.segmentation.turns.stage import SegmentTurns
from evaluation.unseen_turns import parse, unseen_shows
from training.turns.seams import UNKNOWN, Seams

LEAST = (0.0, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
BANDS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
OUT = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class Known(SegmentTurns):
    """The stage, given the scores.

    Args:
        scores: of the sentences of the table, [sentences].
    """

    scores: Floats | None = None

    def score(self, table: pa.Table) -> Floats:
        """Return them."""
        assert self.scores is not None
        return self.scores


@dataclass(frozen=True)
class Judged:
    """The dialogues of some documents, those of two turns and more.

    Attributes:
        sentences: [dialogues], how many each has.
        turns: [dialogues] likewise.
        wrong: [dialogues], seams that are decided wrongly, or -1 where the truth of one is not known.
        certainty: [dialogues], what the program says.
    """

    sentences: Floats
    turns: Floats
    wrong: Floats
    certainty: Floats


def judge(table: pa.Table, scores: Floats, least: float) -> Judged:
    """Cut documents to dialogues, and compare every seam in them with the truth.

    Args:
        table: documents with labelled seams.
        scores: of all sentences, [sentences].
        least: certainty that every seam must have.
    """
    seams = Seams.of(table).at_least(0.5)
    turns = Known(scorer="rules", least_certainty=least, scores=scores)(table.select(SENTENCES.names))
    dialogues = JudgeDialogues()(SegmentDialogues(least_certainty=least)(turns))
    flat, offsets = unnest(dialogues, "turns")
    lengths = np.diff(flat.field("sentence_ids").offsets.to_numpy())
    begins = np.zeros(len(scores), bool)
    begins[np.cumsum(lengths) - lengths] = True
    wrong = np.where(seams.same == UNKNOWN, np.inf, begins != (seams.same == 0))
    ends = np.r_[0, np.cumsum(lengths)][offsets]
    wrong[ends[:-1]] = 0  # the seam before a dialogue is none of its own
    of_dialogue = np.add.reduceat(wrong, ends[:-1])
    several = np.diff(offsets) > 1
    certainty = dialogues["certainty"].to_numpy()
    counted = np.where(np.isinf(of_dialogue), -1, of_dialogue)
    return Judged(np.diff(ends)[several], np.diff(offsets)[several], counted[several], certainty[several])


def row_of(judged: Judged, sentences: int, of: Bools | None = None) -> dict[str, float]:
    """Return the figures of dialogues, or of some of them, out of documents of so many sentences."""
    of = np.ones(len(judged.wrong), bool) if of is None else of
    known = of & (judged.wrong >= 0)
    return {
        "dialogues": int(of.sum()),
        "known": int(known.sum()),
        "sentences_kept": round(float(judged.sentences[of].sum()) / sentences, 4),
        "turns_per_dialogue": round(float(judged.turns[of].mean()), 2),
        "without_wrong_seam": round(float((judged.wrong[known] == 0).mean()), 4),
        "mean_certainty": round(float(judged.certainty[known].mean()), 4),
    }


def figures(table: pa.Table, scores: Floats) -> dict[str, Any]:
    """Return the curve over LEAST, and at each the dialogues by band of their certainty."""
    rows: list[dict[str, Any]] = []
    for least in LEAST:
        judged = judge(table, scores, least)
        bands = [
            {"from": low, **row_of(judged, len(scores), band)}
            for low, high in zip(BANDS, (*BANDS[1:], 1.1), strict=True)
            if (band := (judged.certainty >= low) & (judged.certainty < high) & (judged.wrong >= 0)).sum() >= 50
        ]
        rows.append({"least_certainty": least, **row_of(judged, len(scores)), "bands": bands})
    return {"sentences": len(scores), "curve": rows}


def show(title: str, rows: Sequence[dict[str, Any]]) -> None:
    """Print the curve."""
    table = Table(title=title)
    names = [name for name in rows[0] if name != "bands"]
    for name in names:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*(f"{row[name]:g}" for name in names))
    Console().print(table)


def main() -> None:
    """Measure, print and write."""
    args = parse(__doc__, argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter))
    shows = {name: (table, scores) for name, table, scores in unseen_shows(args.data_dir, args.recipe, args.cache)}
    tables, parts = zip(*shows.values(), strict=True)
    result: dict[str, Any] = {
        "command": f"python evaluation/certain_dialogues.py $EDOS_DATA_DIR --recipe {args.recipe.as_posix()}",
        "date": date.today().isoformat(),
        "cores": os.cpu_count(),
        "all": figures(pa.concat_tables(tables), np.concatenate(parts)),
        "shows": {name: figures(table, scores) for name, (table, scores) in shows.items()},
    }
    show("Dialogues of unseen shows", result["all"]["curve"])
    write_text(OUT, json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
