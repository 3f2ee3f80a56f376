"""The seams of shows that were not learned from, with the scores of the blend, for whatever is measured on them."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Floats
from edos_dataset.runs.foreign import read_yaml
from edos_dataset.segmentation.turns.blend import blend
from training.train_turn_segmenter import log_odds, report
from training.turns.bench import Bench, Corpus


def parse(doc: str | None, parser: ArgumentParser) -> Namespace:
    """Parse the arguments of a script that reads unseen shows: `data_dir`, `recipe`, `cache`."""
    parser.description = doc
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--recipe", type=Path, required=True, help="that of training/train_turn_segmenter.py")
    parser.add_argument("--cache", type=Path, required=True, help="likewise")
    return parser.parse_args()


def unseen_shows(data_dir: Path, recipe_file: Path, cache: Path) -> Iterator[tuple[str, pa.Table, Floats]]:
    """Yield each test show of a recipe, its documents in all tested forms, and P(same turn) of their sentences
    [sentences], by models that did not see the show.

    Args:
        data_dir: the folder that EDOS_DATA_DIR names.
        recipe_file: of training/train_turn_segmenter.py.
        cache: the folder of that script; what lies there is taken, the rest is made.
    """
    recipe = read_yaml(recipe_file)
    corpus = Corpus.load(data_dir, cache, recipe["corpora"])
    bench = Bench(corpus, cache / "scores", recipe["learners"], report)
    tested = np.isin(corpus.table["corpus"].to_pylist(), recipe["test_corpora"])
    for show in recipe["test_shows"]:
        train, test = corpus.shows != show, tested & (corpus.shows == show)
        made = [log_odds(bench.scores(f"without {show}", learner, train, test)) for learner in bench.learners]
        yield show, corpus.documents(test), blend(*made)
