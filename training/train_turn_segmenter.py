"""Train the shipped scorers of turn boundaries, measure them on unseen shows and episodes, and write report and
weights.

    python training/train_turn_segmenter.py --data-dir "$EDOS_DATA_DIR" --recipe training/recipes/turns/turns.yaml \
        --cache build/turns --report evaluation/turns --out edos_dataset/segmentation/turns/weights

`turns/data.py` makes the labelled documents from the data folder. They are cached with the scores of every measured
model, so that an interrupted run can be resumed. No episode is in both the training and the test split, in any form,
and the threshold is always 0.5; but features and settings were chosen on two of the shows, so their figures are
slightly optimistic. The shipped weights are then fitted to all documents, but not to those of the shows that a recipe
names as `kept_out`, on which they are measured; `--ship-only` does this alone.

A recipe may name a `teacher`, a slow scorer from whose probabilities all boundaries are learned beside their labels
(`turns/teacher.py`). It must not have learned from the shows that are measured on: use `--ship-only`.
"""

import argparse
import json
import os
import sys
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.arrays import Bools, Floats, nest, unnest
from edos_dataset.runs.engines.base import available_cores
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.untrusted import read_yaml
from edos_dataset.segmentation.turns.rules import RuleScorer
from edos_dataset.segmentation.turns.scorers import blend, load_scorer
from edos_dataset.segmentation.turns.svm import GROUPS
from training.turns.bench import LEARNERS, Bench, Corpus, Scorer, brief, facts_of
from training.turns.boundaries import Boundaries
from training.turns.data import count_labels
from training.turns.metrics import ablation_row, measure
from training.turns.report import Results, assess, write_report
from training.turns.teacher import in_haste, with_teacher

RULES_ALONE = "rules, words unknown"
_CIPHER = str.maketrans(
    ascii_lowercase + ascii_uppercase,
    "".join(letters[13:] + letters[:13] for letters in (ascii_lowercase, ascii_uppercase)),
)


def enciphered(table: pa.Table) -> pa.Table:
    """Return SENTENCES with other letters, so that no word is known, as in a language without word lists."""
    sentences, offsets = unnest(table, "sentences")
    texts = pa.array([text.translate(_CIPHER) for text in sentences.field("text").to_pylist()], pa.string())
    names = [field.name for field in sentences.type]
    columns = {name: texts if name == "text" else sentences.field(name) for name in names}
    at = table.schema.get_field_index("sentences")
    return table.set_column(at, "sentences", nest(offsets, sentences.type, columns))


def unseen_shows(bench: Bench, recipe: Mapping[str, Any]) -> Results:
    """Measure models on every test show, fitted to all documents except those of the show."""
    corpus, tables = bench.corpus, []
    plain = RULES_ALONE if any(settings.get("marks_only") for settings in bench.learners.values()) else None
    scores: dict[str, list[Floats]] = {name: [] for name in (*bench.learners, "rules", *([plain] if plain else []))}
    tested = np.isin(corpus.table["corpus"].to_pylist(), recipe["test_corpora"])
    for show in recipe["test_shows"]:
        test = tested & (corpus.shows == show)
        tables.append(corpus.documents(test))
        for learner in bench.learners:
            scores[learner].append(bench.scores(f"without {show}", learner, corpus.shows != show, test))
        scores["rules"].append(RuleScorer().same_turn(tables[-1]))
        if plain:
            scores[plain].append(RuleScorer().same_turn(enciphered(tables[-1])))
    return _assess("Turns of shows that were not learned from", pa.concat_tables(tables), scores, recipe)


def unseen_episodes(bench: Bench, recipe: Mapping[str, Any]) -> Results:
    """Measure on held-out episodes of shows whose other episodes are training data."""
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
    """Return the log-odds of probabilities; NaN is kept."""
    exact = scores.astype(np.float64).clip(1e-7, 1 - 1e-7)
    odds: npt.NDArray[np.float64] = np.log(exact / (1 - exact))
    return odds


def ablation(bench: Bench, recipe: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Leave out one group of features after another, and measure on one unseen show."""
    plan, settings = recipe["ablation"], bench.learners[recipe["ablation"]["learner"]]
    train, test = _parted(bench.corpus, plan["show"], recipe)
    boundaries = Boundaries.of(bench.corpus.documents(test)).at_least(recipe["least_confidence"])
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
        rows.append(ablation_row(name, boundaries, score, whole, seed=recipe["seed"]))
    return rows


def learning_curve(bench: Bench, recipe: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Fit to growing fractions of the training episodes, and measure on one unseen show."""
    plan = recipe["learning_curve"]
    train, test = _parted(bench.corpus, plan["show"], recipe)
    boundaries = Boundaries.of(bench.corpus.documents(test)).at_least(recipe["least_confidence"])
    place = np.array([zlib.crc32(f"curve {key}".encode()) / 2**32 for key in bench.corpus.keys])
    for learner in bench.learners:
        for share in plan["shares"]:
            part = train & (place < share)
            score = bench.scores(f"share {share:g}", learner, part, test)
            learned = count_labels(bench.corpus.documents(part))["labelled"]
            yield {**measure(boundaries, score, seed=recipe["seed"]), "scorer": learner, "seams": learned}


def _parted(corpus: Corpus, show: str, recipe: Mapping[str, Any]) -> tuple[Bools, Bools]:
    test = (corpus.shows == show) & np.isin(corpus.table["corpus"].to_pylist(), recipe["test_corpora"])
    return corpus.shows != show, test


def kept_out_shows(bench: Bench, recipe: Mapping[str, Any], learner: str, scorer: Scorer) -> Results:
    """Measure the weights that are shipped on the shows that they did not learn from."""
    tested = np.isin(bench.corpus.table["corpus"].to_pylist(), recipe["test_corpora"])
    table = bench.corpus.documents(tested & np.isin(bench.corpus.shows, recipe["kept_out"]))
    scores = {learner: [scorer.same_turn(table)], "rules": [RuleScorer().same_turn(table)]}
    return _assess("Turns of shows that were not learned from", table, scores, recipe)


def taught(corpus: Corpus, recipe: Mapping[str, Any], cache: Path) -> Corpus:
    """Return the documents with the probabilities of the recipe's teacher, if it has one."""
    if not (name := recipe.get("teacher")):
        return corpus
    left_out = frozenset(recipe.get("untaught", ()))
    table = with_teacher(corpus.table, in_haste(load_scorer(name), available_cores()), cache, left_out, report)
    return replace(corpus, table=table)


def ship(bench: Bench, results: Mapping[str, Results], recipe: Mapping[str, Any], args: argparse.Namespace) -> None:
    """Fit every learner to all documents but those of the shows that the recipe keeps out, and write each with its
    record, and a record of all together.
    """
    table = bench.corpus.documents(~np.isin(bench.corpus.shows, recipe.get("kept_out", ())))
    names = dict.fromkeys(table["corpus"].to_pylist())
    command = f"python training/train_turn_segmenter.py --data-dir $EDOS_DATA_DIR --recipe {args.recipe.as_posix()}"
    packages = ("numpy", "scikit-learn", "simplemma", "torch")
    common = facts_of(table, names, recipe["seed"], command, packages)
    for learner, settings in bench.learners.items():
        scorer = LEARNERS[learner][0](table, settings)
        found = results
        if recipe.get("kept_out"):
            found = {"unseen_shows": kept_out_shows(bench, recipe, learner, scorer)}
            report(f"{learner}: {json.dumps(brief(found['unseen_shows'], learner)['all'])}")
        record = {"name": f"turns-{learner}", "metrics": _metrics(found, learner), "settings": settings, **common}
        replace(scorer, record=record).save(args.out / learner)
        report(f"{learner}: written to {args.out / learner}")
    if set(LEARNERS) <= set(bench.learners):
        record = {"name": "turns-blend", "metrics": _metrics(results, "blend"), **common}
        write_text(args.out / "record.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def _metrics(results: Mapping[str, Results], scorer: str) -> dict[str, Any]:
    return {name: brief(result, scorer) for name, result in results.items()}


def report(line: str) -> None:
    """Print a line of progress."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Measure, report and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the datasets (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument(
        "--recipe", type=Path, required=True, help="YAML with the corpora, the splits and the settings of the learners"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        required=True,
        help="folder in which labelled documents and scores are cached",
    )
    parser.add_argument(
        "--learners", nargs="+", choices=list(LEARNERS), help="the recipe's learners to train (default: all)"
    )
    parser.add_argument("--ship-only", action="store_true", help="fit only the weights for --out, and measure these")
    parser.add_argument("--report", type=Path, help="folder of the reports")
    parser.add_argument("--out", type=Path, help="folder for the weights, one subfolder for each learner")
    args = parser.parse_args()
    if args.data_dir is None:
        parser.error("--data-dir is missing and EDOS_DATA_DIR is not set: name the folder of the data sets")
    recipe = read_yaml(args.recipe)
    learners = {
        name: settings for name, settings in recipe["learners"].items() if not args.learners or name in args.learners
    }
    if args.ship_only and not (args.out and recipe.get("kept_out")):
        parser.error("--ship-only needs --out, and a recipe with shows that are kept out")
    if recipe.get("teacher") and not args.ship_only:
        parser.error(f"the teacher {recipe['teacher']!r} knows the shows that are measured on: give --ship-only")
    corpus = taught(Corpus.load(Path(args.data_dir), args.cache, recipe["corpora"]), recipe, args.cache / "soft_labels")
    bench = Bench(corpus, args.cache / "scores", learners, report)
    results = {} if args.ship_only else measured(bench, recipe, args.report)
    if args.out:
        ship(bench, results, recipe, args)


def measured(bench: Bench, recipe: Mapping[str, Any], folder: Path | None) -> dict[str, Results]:
    """Return the results on unseen shows and episodes; print them and, with a folder, write the reports."""
    results = {"unseen_shows": unseen_shows(bench, recipe), "unseen_episodes": unseen_episodes(bench, recipe)}
    rows = ablation(bench, recipe) if recipe["ablation"]["learner"] in bench.learners else []
    results["unseen_shows"] = replace(
        results["unseen_shows"], ablation=rows, learning_curve=list(learning_curve(bench, recipe))
    )
    for name, result in results.items():
        if folder:
            write_report(folder / name, result)
        report(f"{name}: {json.dumps({scorer: brief(result, scorer)['all'] for scorer in result.scorers})}")
    return results


if __name__ == "__main__":
    main()
