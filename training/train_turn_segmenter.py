"""Train the scorers of turn borders that the package ships, measure them on shows and episodes that they have not seen,
and write report and weights.

    python training/train_turn_segmenter.py --data-dir "$EDOS_DATA_DIR" --recipe training/recipes/turns/turns.yaml \
        --cache build/turns --report evaluation/turns --out edos_dataset/segmentation/turns/weights

`turns/data.py` makes the labelled documents of the data folder; they are kept in the cache, and so are the scores of
every model that is measured: a training that was stopped goes on where it was. No episode is in the training and the
test part of a split, in whatever form, and the threshold is 0.5 everywhere; but features and settings were chosen with
an eye on two of the shows, so their figures are a little too good. The shipped weights are then fitted to all
documents.
"""

import argparse
import json
import os
import sys
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.arrays import Bools, Floats
from edos_dataset.runs.foreign import read_yaml
from edos_dataset.runs.shards import write_text
from edos_dataset.segmentation.turns.blend import blend
from edos_dataset.segmentation.turns.features import GROUPS
from edos_dataset.segmentation.turns.rules import RuleScorer
from training.turns.bench import LEARNERS, Bench, Corpus
from training.turns.data import count_labels
from training.turns.metrics import ablation_row, measure
from training.turns.records import brief, facts_of
from training.turns.report import assess, write_report
from training.turns.seams import Seams
from training.turns.tables import Results


def unseen_shows(bench: Bench, recipe: Mapping[str, Any]) -> Results:
    """Measure on every test show models that were fitted to all documents but those of the show."""
    corpus, tables = bench.corpus, []
    scores: dict[str, list[Floats]] = {name: [] for name in (*bench.learners, "rules")}
    tested = np.isin(corpus.table["corpus"].to_pylist(), recipe["test_corpora"])
    for show in recipe["test_shows"]:
        test = tested & (corpus.shows == show)
        tables.append(corpus.documents(test))
        for learner in bench.learners:
            scores[learner].append(bench.scores(f"without {show}", learner, corpus.shows != show, test))
        scores["rules"].append(RuleScorer().same_turn(tables[-1]))
    return _assess("Turns of shows that were not learned from", pa.concat_tables(tables), scores, recipe)


def unseen_episodes(bench: Bench, recipe: Mapping[str, Any]) -> Results:
    """Measure on episodes of shows of which other episodes were learned from."""
    corpus = bench.corpus
    held = np.array([zlib.crc32(key.encode()) % recipe["episodes"] == 0 for key in corpus.keys])
    test = held & np.isin(corpus.table["corpus"].to_pylist(), recipe["test_corpora"])
    table = corpus.documents(test)
    scores = {learner: [bench.scores("other episodes", learner, ~held, test)] for learner in bench.learners} | {
        "rules": [RuleScorer().same_turn(table)]
    }
    return _assess("Turns of episodes that were not learned from", table, scores, recipe)


def _assess(title: str, table: pa.Table, scores: Mapping[str, list[Floats]], recipe: Mapping[str, Any]) -> Results:
    joined = {name: np.concatenate(parts) for name, parts in scores.items()}
    if set(LEARNERS) <= set(joined):
        joined = {"blend": blend(*(log_odds(joined[name]) for name in LEARNERS)), **joined}
    return assess(
        title, table, joined, dict.fromkeys(joined, 0.5), least=recipe["least_confidence"], seed=recipe["seed"]
    )


def log_odds(scores: Floats) -> npt.NDArray[np.float64]:
    """Return the log-odds of probabilities; NaN stays."""
    exact = scores.astype(np.float64).clip(1e-7, 1 - 1e-7)
    odds: npt.NDArray[np.float64] = np.log(exact / (1 - exact))
    return odds


def ablation(bench: Bench, recipe: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Leave out one group of features after the other, and measure on one unseen show."""
    plan, settings = recipe["ablation"], bench.learners[recipe["ablation"]["learner"]]
    train, test = _parted(bench.corpus, plan["show"], recipe)
    seams = Seams.of(bench.corpus.documents(test)).at_least(recipe["least_confidence"])
    sets = {
        "all": GROUPS,
        **{f"without {group}": tuple(name for name in GROUPS if name != group) for group in GROUPS},
        "the paper's seven": GROUPS[:7],
    }
    rows, whole = [], np.zeros(0, np.float32)
    for name, groups in sets.items():
        chosen = {**settings, "features": {**settings.get("features", {}), "groups": list(groups)}}
        score = bench.scores(f"ablation {name}", plan["learner"], train, test, chosen)
        whole = score if name == "all" else whole
        rows.append(ablation_row(name, seams, score, whole, seed=recipe["seed"]))
    return rows


def learning_curve(bench: Bench, recipe: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Fit to growing shares of the training episodes, and measure on one unseen show."""
    plan = recipe["learning_curve"]
    train, test = _parted(bench.corpus, plan["show"], recipe)
    seams = Seams.of(bench.corpus.documents(test)).at_least(recipe["least_confidence"])
    place = np.array([zlib.crc32(f"curve {key}".encode()) / 2**32 for key in bench.corpus.keys])
    for learner in bench.learners:
        for share in plan["shares"]:
            part = train & (place < share)
            score = bench.scores(f"share {share:g}", learner, part, test)
            learned = count_labels(bench.corpus.documents(part))["labelled"]
            yield {**measure(seams, score, seed=recipe["seed"]), "scorer": learner, "seams": learned}


def _parted(corpus: Corpus, show: str, recipe: Mapping[str, Any]) -> tuple[Bools, Bools]:
    test = (corpus.shows == show) & np.isin(corpus.table["corpus"].to_pylist(), recipe["test_corpora"])
    return corpus.shows != show, test


def ship(bench: Bench, results: Mapping[str, Results], recipe: Mapping[str, Any], args: argparse.Namespace) -> None:
    """Fit every learner to all documents and write it with the record of its making; and the
    record of both together.
    """
    command = f"python training/train_turn_segmenter.py --data-dir $EDOS_DATA_DIR --recipe {args.recipe.as_posix()}"
    packages = ("numpy", "scikit-learn", "simplemma", "torch")
    common = facts_of(bench.corpus.table, recipe["corpora"], recipe["seed"], command, packages)
    for learner, settings in bench.learners.items():
        scorer = LEARNERS[learner][0](bench.corpus.table, settings)
        replace(
            scorer,
            record={"name": f"turns-{learner}", "metrics": _metrics(results, learner), "settings": settings, **common},
        ).save(args.out / learner)
        report(f"{learner}: written to {args.out / learner}")
    if set(LEARNERS) <= set(bench.learners):
        record = {"name": "turns-blend", "metrics": _metrics(results, "blend"), **common}
        write_text(args.out / "record.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def _metrics(results: Mapping[str, Results], scorer: str) -> dict[str, Any]:
    return {name: brief(result, scorer) for name, result in results.items()}


def report(line: str) -> None:
    """Say where the training is."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Measure, report and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the data sets (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument(
        "--recipe", type=Path, required=True, help="YAML with the corpora, the splits and the settings of the learners"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        required=True,
        help="folder that keeps labelled documents and scores for the next training",
    )
    parser.add_argument(
        "--learners", nargs="+", choices=list(LEARNERS), help="of the recipe, those to train (default: all)"
    )
    parser.add_argument("--report", type=Path, help="folder of the reports")
    parser.add_argument("--out", type=Path, help="folder that gets a folder of weights a learner")
    args = parser.parse_args()
    if args.data_dir is None:
        parser.error("--data-dir is missing and EDOS_DATA_DIR is not set: name the folder of the data sets")
    recipe = read_yaml(args.recipe)
    learners = {
        name: settings for name, settings in recipe["learners"].items() if not args.learners or name in args.learners
    }
    bench = Bench(
        Corpus.load(Path(args.data_dir), args.cache, recipe["corpora"]), args.cache / "scores", learners, report
    )
    results = {"unseen_shows": unseen_shows(bench, recipe), "unseen_episodes": unseen_episodes(bench, recipe)}
    rows = ablation(bench, recipe) if recipe["ablation"]["learner"] in learners else []
    results["unseen_shows"] = replace(
        results["unseen_shows"], ablation=rows, learning_curve=list(learning_curve(bench, recipe))
    )
    for name, result in results.items():
        if args.report:
            write_report(args.report / name, result)
        report(f"{name}: {json.dumps({scorer: brief(result, scorer)['all'] for scorer in result.scorers})}")
    if args.out:
        ship(bench, results, recipe, args)


if __name__ == "__main__":
    main()
