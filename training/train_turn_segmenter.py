"""Train the scorers of turn borders that the package ships, measure them on shows and episodes that they have not seen, and write report and weights.

    python training/train_turn_segmenter.py --data-dir "$EDOS_DATA_DIR" --recipe training/recipes/turns/turns.yaml \
        --cache build/turns --report evaluation/turns --out edos_dataset/segmentation/weights

`turn_data.py` makes the labelled documents of the data folder; they are kept in the cache, and so are the scores of every model that is measured: a training
that was stopped goes on where it was. No episode is in the training and the test part of a split, in whatever form; nothing is chosen on a test part, and the
threshold is 0.5 everywhere. The shipped weights are then fitted to all documents.
"""

import argparse
import hashlib
import json
import os
import platform
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import yaml
from turn_data import count_labels, episode_key, load_corpora
from turn_metrics import ablation_row, measure
from turn_net_fit import NetSettings, fit_net
from turn_report import Results, assess, write_report
from turn_seams import Seams
from turn_svm_fit import FitSettings, fit_svm

from edos_dataset.pipeline import code_hash
from edos_dataset.schema import unnest
from edos_dataset.segmentation.turn_features import GROUPS, FeatureSettings
from edos_dataset.segmentation.turn_net import NetScorer
from edos_dataset.segmentation.turn_rules import RuleScorer
from edos_dataset.segmentation.turn_svm import SvmScorer

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]
Scorer = SvmScorer | NetScorer

LICENCES = {
    "friends, the_big_bang_theory": "MIT (seinfeld_laugh_corpus); the text is under its studios' copyright",
    "frasier": "none stated; the text is under its studio's copyright",
    "friends_srt, weak": "none stated; the text is under its studios' copyright",
    "meld": "GPL v3",
    "dailydialog": "CC BY-NC-SA 4.0",
    "empathetic_dialogues": "CC BY-NC 4.0",
}
"""Of the data; the weights hold hashes of words and numbers."""


def learn_svm(table: pa.Table, settings: Mapping[str, Any]) -> SvmScorer:
    """Fit the SVM to all labelled seams of some documents."""
    features = FeatureSettings(**{name: tuple(value) if isinstance(value, list) else value for name, value in settings.get("features", {}).items()})
    return fit_svm(table, _all_seams(table), FitSettings(**{**settings, "features": features}))


def learn_net(table: pa.Table, settings: Mapping[str, Any]) -> NetScorer:
    """Fit the network to all labelled seams of some documents."""
    return fit_net(table, _all_seams(table), NetSettings(**settings))


LEARNERS: dict[str, tuple[Callable[[pa.Table, Mapping[str, Any]], Scorer], str]] = {
    "svm": (learn_svm, "edos_dataset.segmentation.turn_svm"),
    "net": (learn_net, "edos_dataset.segmentation.turn_net"),
}
"""What fits a scorer, and the module whose code decides its scores."""


def _all_seams(table: pa.Table) -> Bools:
    return np.ones(len(unnest(table, "sentences")[0]), bool)


@dataclass(frozen=True)
class Corpus:
    """The labelled documents, and what a split must keep together.

    Attributes:
        table: documents.
        keys: the episode of each.
        shows: the show of each; what is no episode is a show of its own corpus.
    """

    table: pa.Table
    keys: npt.NDArray[np.str_]
    shows: npt.NDArray[np.str_]

    @classmethod
    def load(cls, data_dir: Path, cache: Path, names: list[str]) -> "Corpus":
        """Load the corpora of these names."""
        table = load_corpora(data_dir, names, cache / "documents")
        corpora = table["corpus"].to_pylist()
        keys = [episode_key(corpus, film) for corpus, film in zip(corpora, table["film"].to_pylist(), strict=True)]
        episode = re.compile(r"(.+) S\d+E\d+$")
        shows = [match[1] if (match := episode.match(key)) else corpus for key, corpus in zip(keys, corpora, strict=True)]
        return cls(table, np.array(keys), np.array(shows))

    def documents(self, rows: Bools) -> pa.Table:
        """Return some of the documents."""
        return self.table.filter(pa.array(rows))


@dataclass(frozen=True)
class Bench:
    """Fits models and scores test documents with them, each once: the scores are kept in a folder."""

    corpus: Corpus
    folder: Path
    learners: Mapping[str, Mapping[str, Any]]

    def scores(self, name: str, learner: str, train: Bools, test: Bools, settings: Mapping[str, Any] | None = None) -> Floats:
        """Return the scores of the test documents, [sentences], by a model that is fitted to the training documents."""
        settings = self.learners[learner] if settings is None else settings
        fit, module = LEARNERS[learner]
        ids = "\n".join(self.corpus.keys[train]) + "\n\n" + "\n".join(self.corpus.keys[test])
        labels = self.corpus.table["same_turn"].combine_chunks().flatten().to_numpy().tobytes()
        parts = (learner, json.dumps(settings, sort_keys=True), code_hash(module), code_hash(f"turn_{learner}_fit"), ids)
        key = hashlib.sha256("\0".join(parts).encode() + labels).hexdigest()[:16]
        path = self.folder / f"{name.replace(' ', '_')}.{learner}.{key}.npy"
        if not path.is_file():
            scores = fit(self.corpus.documents(train), settings).same_turn(self.corpus.documents(test))
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.with_suffix(".part").open("wb") as file:
                np.save(file, scores)
            path.with_suffix(".part").replace(path)
        found: Floats = np.load(path)
        report(f"{name}, {learner}: {int(train.sum())} documents learned from, {int(test.sum())} scored")
        return found


def unseen_shows(bench: Bench, recipe: Mapping[str, Any]) -> Results:
    """Measure on every test show models that were fitted to all documents but those of the show."""
    corpus, tables, scores = bench.corpus, [], {name: [] for name in (*bench.learners, "rules")}
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
    scores = {learner: [bench.scores("other episodes", learner, ~held, test)] for learner in bench.learners} | {"rules": [RuleScorer().same_turn(table)]}
    return _assess("Turns of episodes that were not learned from", table, scores, recipe)


def _assess(title: str, table: pa.Table, scores: Mapping[str, list[Floats]], recipe: Mapping[str, Any]) -> Results:
    joined = {name: np.concatenate(parts) for name, parts in scores.items()}
    return assess(title, table, joined, dict.fromkeys(joined, 0.5), least=recipe["least_confidence"], seed=recipe["seed"])


def ablation(bench: Bench, recipe: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Leave out one group of features after the other, and measure on one unseen show."""
    plan, settings = recipe["ablation"], bench.learners[recipe["ablation"]["learner"]]
    train, test = _parted(bench.corpus, plan["show"], recipe)
    seams = Seams.of(bench.corpus.documents(test)).at_least(recipe["least_confidence"])
    sets = {"all": GROUPS, **{f"without {group}": tuple(name for name in GROUPS if name != group) for group in GROUPS}, "the paper's seven": GROUPS[:7]}
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
            yield {"scorer": learner, "seams": learned, **measure(seams, score, seed=recipe["seed"])}


def _parted(corpus: Corpus, show: str, recipe: Mapping[str, Any]) -> tuple[Bools, Bools]:
    test = (corpus.shows == show) & np.isin(corpus.table["corpus"].to_pylist(), recipe["test_corpora"])
    return corpus.shows != show, test


def ship(bench: Bench, results: Mapping[str, Results], recipe: Mapping[str, Any], args: argparse.Namespace) -> None:
    """Fit every learner to all documents and write it with the record of its making."""
    corpora = dict.fromkeys(bench.corpus.table["corpus"].to_pylist())
    for learner, settings in bench.learners.items():
        scorer = LEARNERS[learner][0](bench.corpus.table, settings)
        tables = {name: bench.corpus.table.filter(pa.compute.equal(bench.corpus.table["corpus"], name)) for name in corpora}
        record = {
            "name": f"turns-{learner}",
            "what": "scores whether a sentence goes on with the turn of the one before",
            "settings": settings,
            "metrics": {name: _brief(result, learner) for name, result in results.items()},
            "data": {name: count_labels(table) for name, table in tables.items()},
            "licences": LICENCES,
            "seed": recipe["seed"],
            "command": f"python training/train_turn_segmenter.py --data-dir $EDOS_DATA_DIR --recipe {args.recipe.as_posix()} --learners {learner}",
            "date": datetime.now(timezone.utc).date().isoformat(),
            "versions": {"python": platform.python_version(), **{name: version(name) for name in ("numpy", "scikit-learn", "simplemma", "torch")}},
        }
        replace(scorer, record=record).save(args.out / learner)
        report(f"{learner}: written to {args.out / learner}")


def _brief(results: Results, learner: str) -> dict[str, Any]:
    names = ("seams", "documents", "accuracy", "accuracy_interval", "precision", "recall", "f1", "ece")
    rows = {"all": results.scorers[learner], **results.sources[learner]}
    return {source: {name: row[name] if isinstance(row[name], int | list) else round(row[name], 4) for name in names} for source, row in rows.items()}


def report(line: str) -> None:
    """Say where the training is."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Measure, report and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("EDOS_DATA_DIR"), help="folder of the data sets (default: $EDOS_DATA_DIR)")
    parser.add_argument("--recipe", type=Path, required=True, help="YAML with the corpora, the splits and the settings of the learners")
    parser.add_argument("--cache", type=Path, required=True, help="folder that keeps labelled documents and scores for the next training")
    parser.add_argument("--learners", nargs="+", choices=list(LEARNERS), help="of the recipe, those to train (default: all)")
    parser.add_argument("--report", type=Path, help="folder of the reports")
    parser.add_argument("--out", type=Path, help="folder that gets a folder of weights a learner")
    args = parser.parse_args()
    if args.data_dir is None:
        parser.error("--data-dir is missing and EDOS_DATA_DIR is not set: name the folder of the data sets")
    recipe = yaml.safe_load(args.recipe.read_text(encoding="utf-8"))
    learners = {name: settings for name, settings in recipe["learners"].items() if not args.learners or name in args.learners}
    bench = Bench(Corpus.load(Path(args.data_dir), args.cache, recipe["corpora"]), args.cache / "scores", learners)
    results = {"unseen_shows": unseen_shows(bench, recipe), "unseen_episodes": unseen_episodes(bench, recipe)}
    rows = ablation(bench, recipe) if recipe["ablation"]["learner"] in learners else []
    results["unseen_shows"] = replace(results["unseen_shows"], ablation=rows, learning_curve=list(learning_curve(bench, recipe)))
    for name, result in results.items():
        if args.report:
            write_report(args.report / name, result)
        report(f"{name}: {json.dumps({learner: _brief(result, learner)['all'] for learner in learners})}")
    if args.out:
        ship(bench, results, recipe, args)


if __name__ == "__main__":
    main()
