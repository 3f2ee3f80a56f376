"""The effect of certainty on unseen shows: the fraction of dialogues without a wrong boundary against the fraction of
the films that is kept, by the certainty required of every boundary; and whether certainty is calibrated.

    python evaluation/certain_dialogues.py DATA_DIR --recipe training/recipes/turns/turns.yaml --cache build/turns

Scores are those of the blend, whose models did not see the show, from the cache of training/train_turn_segmenter.py or
computed anew. Only dialogues whose boundaries all have a known label are counted; cleaning is not applied. Writes
evaluation/certain_dialogues.json.
"""

import argparse
import json
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
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
from edos_dataset.runs.untrusted import read_yaml
from edos_dataset.schema.tables import SENTENCES
from edos_dataset.segmentation.dialogues import JudgeDialogues, SegmentDialogues
from edos_dataset.segmentation.turns.scorers import blend
from edos_dataset.segmentation.turns.stage import SegmentTurns
from training.train_turn_segmenter import log_odds, report
from training.turns.bench import Bench, Corpus
from training.turns.boundaries import UNKNOWN, Boundaries


def parse(doc: str | None, parser: ArgumentParser) -> Namespace:
    """Parse the arguments of a script about unseen shows: `data_dir`, `recipe`, `cache`."""
    parser.description = doc
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--recipe", type=Path, required=True, help="the recipe of training/train_turn_segmenter.py")
    parser.add_argument("--cache", type=Path, required=True, help="the cache of training/train_turn_segmenter.py")
    return parser.parse_args()


def unseen_shows(data_dir: Path, recipe_file: Path, cache: Path) -> Iterator[tuple[str, pa.Table, Floats]]:
    """Yield each test show of a recipe, its documents in all tested forms, and P(same turn) of their sentences
    [sentences] from models that did not see the show.

    Args:
        data_dir: the folder named by EDOS_DATA_DIR.
        recipe_file: the recipe of training/train_turn_segmenter.py.
        cache: the cache folder of that script; missing scores are computed.
    """
    recipe = read_yaml(recipe_file)
    corpus = Corpus.load(data_dir, cache, recipe["corpora"])
    bench = Bench(corpus, cache / "scores", recipe["learners"], report)
    tested = np.isin(corpus.table["corpus"].to_pylist(), recipe["test_corpora"])
    for show in recipe["test_shows"]:
        train, test = corpus.shows != show, tested & (corpus.shows == show)
        made = [log_odds(bench.scores(f"without {show}", learner, train, test)) for learner in bench.learners]
        yield show, corpus.documents(test), blend(*made)


LEAST = (0.0, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
BANDS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
OUT = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class Known(SegmentTurns):
    """The segmentation stage with given scores.

    Args:
        scores: scores of the sentences of the table, [sentences].
    """

    scores: Floats | None = None

    def score(self, table: pa.Table) -> Floats:
        """Return the given scores."""
        assert self.scores is not None
        return self.scores


@dataclass(frozen=True)
class Judged:
    """The dialogues of some documents with at least two turns.

    Attributes:
        sentences: [dialogues], number of sentences.
        turns: [dialogues], number of turns.
        wrong: [dialogues], number of wrong boundaries, or -1 if the label of one is unknown.
        certainty: [dialogues], the stated certainty.
    """

    sentences: Floats
    turns: Floats
    wrong: Floats
    certainty: Floats


def judge(table: pa.Table, scores: Floats, least: float) -> Judged:
    """Segment documents into dialogues, and compare every boundary in them with its label.

    Args:
        table: documents with labelled boundaries.
        scores: scores of all sentences, [sentences].
        least: minimum certainty of every boundary.
    """
    boundaries = Boundaries.of(table).at_least(0.5)
    turns = Known(scorer="rules", least_certainty=least, scores=scores)(table.select(SENTENCES.names))
    dialogues = JudgeDialogues()(SegmentDialogues(least_certainty=least)(turns))
    flat, offsets = unnest(dialogues, "turns")
    lengths = np.diff(flat.field("sentence_ids").offsets.to_numpy())
    begins = np.zeros(len(scores), bool)
    begins[np.cumsum(lengths) - lengths] = True
    wrong = np.where(boundaries.same == UNKNOWN, np.inf, begins != (boundaries.same == 0))
    ends = np.r_[0, np.cumsum(lengths)][offsets]
    wrong[ends[:-1]] = 0  # the boundary before a dialogue does not belong to it
    of_dialogue = np.add.reduceat(wrong, ends[:-1])
    several = np.diff(offsets) > 1
    certainty = dialogues["certainty"].to_numpy()
    counted = np.where(np.isinf(of_dialogue), -1, of_dialogue)
    return Judged(np.diff(ends)[several], np.diff(offsets)[several], counted[several], certainty[several])


def row_of(judged: Judged, sentences: int, of: Bools | None = None) -> dict[str, float]:
    """Return the metrics of dialogues, or of those in `of`, from documents with this number of sentences."""
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
    """Return the curve over LEAST, and for each value the dialogues by band of certainty."""
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
