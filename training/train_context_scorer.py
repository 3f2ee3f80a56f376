"""Train the encoder of the scorer `context`, measure it on unseen shows, and write report and weights.

    python training/train_context_scorer.py --recipe training/recipes/turns/context.yaml --data-dir "$EDOS_DATA_DIR" \
        --cache build/turns --state build/context/friends --without friends
    python training/train_context_scorer.py --recipe training/recipes/turns/context.yaml --data-dir "$EDOS_DATA_DIR" \
        --cache build/turns --state build/context/all --start build/context/friends \
        --measured friends=build/context/friends --report evaluation/turns/context \
        --out edos_dataset/segmentation/turns/weights/context

The other recipes are for a larger encoder and a GPU: `context_screenplays.yaml`, from whose --state
`context_mpnet.yaml` starts.

`--without` leaves a show out of training and measures on it: the encoder alone, and its mean with the blend, whose
parts did not see the show either (`train_turn_segmenter.py`; the cache stores their scores). Without it, all documents
are used for training, and the record has the metrics of the `--measured` trainings. After an interruption the same
command resumes from the last checkpoint, and ends with the same weights.
"""

import argparse
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from accelerate import Accelerator

from edos_dataset.arrays import Bools, Floats
from edos_dataset.runs.engines.base import available_cores
from edos_dataset.runs.recipes import build
from edos_dataset.runs.shards import replacing
from edos_dataset.runs.untrusted import read_yaml
from edos_dataset.segmentation.turns.context import ContextScorer
from edos_dataset.segmentation.turns.rules import RuleScorer
from edos_dataset.segmentation.turns.scorers import blend
from training.loop import remove_checkpoints
from training.train_turn_segmenter import log_odds, report
from training.turns.bench import LEARNERS, Bench, Corpus, brief, facts_of
from training.turns.context_fit import ContextSettings, fit_context, keep_state
from training.turns.report import Results, assess, write_report

_SCORES = "scores.npy"
_BACKBONES = {"all-MiniLM-L6-v2": "Apache-2.0", "sentence-transformers/all-mpnet-base-v2": "Apache-2.0"}
"""Licences of the pretrained encoders."""


def train(arguments: argparse.Namespace) -> None:
    """Train, measure and write, as the options state."""
    given = read_yaml(arguments.recipe)
    recipe = read_yaml(arguments.recipe.parent / given["turns"])
    settings = build(ContextSettings, given["context"], str(arguments.recipe))
    if arguments.updates is not None:
        settings = replace(settings, updates=arguments.updates)
    corpus = Corpus.load(arguments.data_dir, arguments.cache, given.get("corpora", recipe["corpora"]))
    bench = Bench(corpus, arguments.cache / "scores", recipe["learners"], report)
    shows = [*arguments.measured, *([arguments.without] if arguments.without else [])]
    for show in shows:
        if show not in recipe["test_shows"]:
            raise ValueError(f"{show!r} is no show that is measured on: name {', '.join(recipe['test_shows'])}")
    measured = {show: _kept_scores(folder, corpus, show, recipe) for show, folder in arguments.measured.items()}
    rows = corpus.shows != arguments.without if arguments.without else np.ones(len(corpus.shows), bool)
    scorer = learn(corpus.documents(rows), settings, arguments)
    results = None
    if arguments.without:
        results = measure_unseen(scorer, bench, recipe, arguments)
    elif measured:
        results = assess_shows(bench, recipe, measured)
    if results and (place := arguments.report or (arguments.state / "report" if arguments.without else None)):
        write_report(place, results)
    if arguments.out:
        record = record_of(corpus.documents(rows), recipe, settings, results, arguments)
        replace(scorer, record=record).save(arguments.out)
        report(f"written to {arguments.out}")
    remove_checkpoints(arguments.state)


def learn(table: pa.Table, settings: ContextSettings, arguments: argparse.Namespace) -> ContextScorer:
    """Return the scorer trained on some documents, its weights rounded as shipped."""
    torch.set_num_threads(arguments.threads)
    accelerator = Accelerator(mixed_precision=settings.precision, project_dir=str(arguments.state))
    if accelerator.num_processes > 1:
        raise ValueError(f"this training is one process, got {accelerator.num_processes}: start it with python alone")
    net = fit_context(table, settings, accelerator, arguments.state, arguments.checkpoint_every, arguments.start)
    keep_state(net, arguments.state)
    return ContextScorer.of(net, settings.backbone)


def measure_unseen(
    scorer: ContextScorer, bench: Bench, recipe: Mapping[str, Any], arguments: argparse.Namespace
) -> Results:
    """Score the show that was left out, store the scores, and measure them."""
    table = bench.corpus.documents(tested(bench.corpus, arguments.without, recipe))
    begun = time.process_time()
    scores = replace(scorer, threads=arguments.threads).same_turn(table)
    speed = len(scores) / (time.process_time() - begun)
    with replacing(arguments.state / _SCORES) as temporary, temporary.open("wb") as file:
        np.save(file, scores)
    results = assess_shows(bench, recipe, {arguments.without: scores})
    facts = {"sentences a second and core, the encoder": round(speed), "threads": arguments.threads}
    for name, row in results.scorers.items():
        report(f"{name}: accuracy {row['accuracy']:.4f} {row['accuracy_interval']}, log loss {row['log_loss']:.4f}")
    return replace(results, facts={**results.facts, **facts})


def assess_shows(bench: Bench, recipe: Mapping[str, Any], measured: Mapping[str, Floats]) -> Results:
    """Measure encoders on shows that they did not see, alone and averaged with blends that did not see them either.

    Args:
        bench: fits the parts of the blend, or loads their scores.
        recipe: the recipe of the blend's parts.
        measured: show → float32 [sentences] scores of its test documents.
    """
    corpus, tables = bench.corpus, []
    scores: dict[str, list[Floats]] = {name: [] for name in ("context", "encoder", "blend", "rules")}
    for show, alone in measured.items():
        test = tested(corpus, show, recipe)
        tables.append(corpus.documents(test))
        parts = [log_odds(bench.scores(f"without {show}", name, corpus.shows != show, test)) for name in LEARNERS]
        scores["context"].append(blend(log_odds(alone), np.mean(parts, axis=0)))
        scores["encoder"].append(alone)
        scores["blend"].append(blend(*parts))
        scores["rules"].append(RuleScorer().same_turn(tables[-1]))
    joined = {name: np.concatenate(each) for name, each in scores.items()}
    title = f"Turns of shows that the encoder was not learned from: {', '.join(measured)}"
    return assess(
        title,
        pa.concat_tables(tables),
        joined,
        dict.fromkeys(joined, 0.5),
        least=recipe["least_confidence"],
        seed=recipe["seed"],
    )


def tested(corpus: Corpus, show: str, recipe: Mapping[str, Any]) -> Bools:
    """Return which documents are the test documents of a show."""
    test: Bools = (corpus.shows == show) & np.isin(corpus.table["corpus"].to_pylist(), recipe["test_corpora"])
    return test


def record_of(
    table: pa.Table,
    recipe: Mapping[str, Any],
    settings: ContextSettings,
    results: Results | None,
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    """Return the record of the weights: training data, settings and metrics."""
    options = f"--recipe {arguments.recipe.as_posix()} --data-dir $EDOS_DATA_DIR --updates {settings.updates}"
    options += f" --without {arguments.without!r}" if arguments.without else ""
    options += f" --start {arguments.start.as_posix()}" if arguments.start else ""
    packages = ("accelerate", "numpy", "simplemma", "torch", "transformers")
    command = f"python training/train_context_scorer.py {options}"
    names = list(dict.fromkeys(table["corpus"].to_pylist()))
    facts = facts_of(table, names, settings.seed, command, packages)
    licence = {name: licence for name, licence in _BACKBONES.items() if name == settings.backbone}
    return {
        "name": "turns-context",
        "metrics": {"unseen_shows": brief(results, "context")} if results else {},
        "metrics_alone": {"unseen_shows": brief(results, "encoder")} if results else {},
        "measured_on": arguments.without or ", ".join(arguments.measured),
        "settings": asdict(settings),
        "encoder": settings.backbone,
        **facts,
        "licences": facts["licences"] | licence,
    }


def _kept_scores(folder: Path, corpus: Corpus, show: str, recipe: Mapping[str, Any]) -> Floats:
    scores: Floats = np.load(folder / _SCORES)
    table = corpus.documents(tested(corpus, show, recipe))
    sentences = sum(map(len, table["sentences"]))
    if len(scores) != sentences:
        raise ValueError(
            f"{folder / _SCORES} holds {len(scores)} scores, but the test documents of {show} have {sentences} "
            f"sentences: measure again, with --without {show!r}"
        )
    return scores


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data-dir", type=Path, default=os.environ.get("EDOS_DATA_DIR"), help="datasets (default: $EDOS_DATA_DIR)")
    add(
        "--recipe",
        type=Path,
        required=True,
        help="YAML: `turns`, that of the other scorers; `context`, the settings; `corpora`, if not those of `turns`",
    )
    add("--cache", type=Path, required=True, help="folder of train_turn_segmenter.py's documents and scores")
    add("--state", type=Path, required=True, help="folder of this training: checkpoints, its last state, scores")
    add("--without", help="a show to leave out of training and measure on")
    add("--start", type=Path, help="folder of an earlier training from whose weights to start")
    add("--measured", nargs="+", default=[], metavar="SHOW=FOLDER", help="earlier trainings, each without a show")
    add("--updates", type=int, help="overrides the recipe; 0 only measures the model in --start")
    add("--threads", type=int, default=available_cores(), help="threads of torch (default: the processors)")
    add("--checkpoint-every", type=int, default=100, help="updates between two checkpoints")
    add("--report", type=Path, help="folder of the report (default with --without: in --state)")
    add("--out", type=Path, help="folder for the weights and their record")
    arguments = parser.parse_args()
    if arguments.data_dir is None:
        parser.error("--data-dir is missing and EDOS_DATA_DIR is not set: name the folder of the data sets")
    if arguments.without and arguments.measured:
        parser.error("--measured is for the training on all shows; leave it out, or --without")
    for pair in arguments.measured:
        if not all(pair.partition("=")):
            parser.error(f"--measured takes SHOW=FOLDER, got {pair!r}")
    arguments.measured = {
        show: Path(folder) for show, _, folder in (pair.partition("=") for pair in arguments.measured)
    }
    for name in ("threads", "checkpoint_every"):
        if (value := getattr(arguments, name)) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1, got {value}")
    arguments.data_dir = Path(arguments.data_dir)
    return arguments


def main() -> None:
    """Train, from the command line."""
    try:
        train(parse_arguments())
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
