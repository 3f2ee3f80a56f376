"""Train the encoder of the scorer `context`, measure it on the shows that its recipe keeps out, and write report and
weights.

    python training/train_context_scorer.py --recipe training/recipes/turns/context.yaml --data-dir "$EDOS_DATA_DIR" \
        --cache build/turns --state build/context --report evaluation/turns/context \
        --out edos_dataset/segmentation/turns/weights/context

The encoder is measured alone and, as it is used, in the mean with the scorer `scripts`, which did not learn from these
shows either. After an interruption the same command resumes from the last checkpoint, and ends with the same weights.
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

from edos_dataset.runs.engines.base import available_cores
from edos_dataset.runs.recipes import build
from edos_dataset.runs.untrusted import read_yaml
from edos_dataset.segmentation.turns.context import ContextScorer
from edos_dataset.segmentation.turns.scorers import BESIDE, OF_ENCODER, blend, load_scorer
from training.loop import remove_checkpoints
from training.train_turn_segmenter import log_odds, report
from training.turns.bench import Corpus, brief, facts_of
from training.turns.context_fit import ContextSettings, fit_context, keep_state
from training.turns.report import Results, assess, write_report
from training.turns.teacher import in_haste

_BACKBONES = {
    "all-MiniLM-L6-v2": "Apache-2.0",
    "sentence-transformers/all-mpnet-base-v2": "Apache-2.0",
    "sentence-transformers/all-roberta-large-v1": "Apache-2.0",
}
"""Licences of the pretrained encoders."""


def train(arguments: argparse.Namespace) -> None:
    """Train, measure and write, as the options state."""
    given = read_yaml(arguments.recipe)
    recipe = read_yaml(arguments.recipe.parent / given["turns"])
    recipe["test_corpora"] = given.get("test_corpora", recipe["test_corpora"])
    if not recipe.get("kept_out"):
        raise ValueError(f"{given['turns']} keeps no show out, to measure on: name one as `kept_out`")
    settings = build(ContextSettings, given["context"], str(arguments.recipe))
    if arguments.updates is not None:
        settings = replace(settings, updates=arguments.updates)
    corpus = Corpus.load(arguments.data_dir, arguments.cache, recipe["corpora"])
    unseen = np.isin(corpus.shows, recipe["kept_out"])
    scorer = learn(corpus.documents(~unseen), settings, arguments)
    test = unseen & np.isin(corpus.table["corpus"].to_pylist(), recipe["test_corpora"])
    results = measure_unseen(in_haste(scorer, arguments.threads), corpus.documents(test), recipe)
    for name, row in results.scorers.items():
        report(f"{name}: accuracy {row['accuracy']:.4f} {row['accuracy_interval']}, log loss {row['log_loss']:.4f}")
    if arguments.report:
        write_report(arguments.report, results)
    if arguments.out:
        record = record_of(corpus.documents(~unseen), recipe, settings, results, arguments)
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
    return ContextScorer.of(net, settings.backbone, by_adapters=settings.lora_rank > 0)


def measure_unseen(encoder: ContextScorer, table: pa.Table, recipe: Mapping[str, Any]) -> Results:
    """Measure the encoder on the documents of shows that it did not learn from, alone and as it is used."""
    begun = time.process_time()
    alone = encoder.same_turn(table)
    speed = len(alone) / (time.process_time() - begun)
    others = {name: load_scorer(name).same_turn(table) for name in (BESIDE, "rules")}
    both = blend(log_odds(alone), log_odds(others[BESIDE]), weights=OF_ENCODER)
    scores = {"context": both, "encoder": alone, **others}
    results = assess(
        f"Turns of shows that the encoder did not learn from: {', '.join(recipe['kept_out'])}",
        table,
        scores,
        dict.fromkeys(scores, 0.5),
        least=recipe["least_confidence"],
        seed=recipe["seed"],
    )
    facts = {
        "sentences a second and core, the encoder": round(speed),
        "threads": encoder.threads,
        "precision": "bfloat16" if encoder.half else "float32",
    }
    return replace(results, facts={**results.facts, **facts})


def record_of(
    table: pa.Table,
    recipe: Mapping[str, Any],
    settings: ContextSettings,
    results: Results,
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    """Return the record of the weights: training data, settings and metrics."""
    options = f"--recipe {arguments.recipe.as_posix()} --data-dir $EDOS_DATA_DIR --updates {settings.updates}"
    options += f" --start {arguments.start.as_posix()}" if arguments.start else ""
    packages = ("accelerate", "numpy", "simplemma", "torch", "transformers")
    command = f"python training/train_context_scorer.py {options}"
    names = list(dict.fromkeys(table["corpus"].to_pylist()))
    facts = facts_of(table, names, settings.seed, command, packages)
    licence = {name: licence for name, licence in _BACKBONES.items() if name == settings.backbone}
    return {
        "name": "turns-context",
        "metrics": {"unseen_shows": brief(results, "context")},
        "metrics_alone": {"unseen_shows": brief(results, "encoder")},
        "measured_on": ", ".join(recipe["kept_out"]),
        "settings": asdict(settings),
        "encoder": settings.backbone,
        **facts,
        "licences": facts["licences"] | licence,
    }


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data-dir", type=Path, default=os.environ.get("EDOS_DATA_DIR"), help="datasets (default: $EDOS_DATA_DIR)")
    add(
        "--recipe",
        type=Path,
        required=True,
        help="YAML: `turns`, the recipe with the documents and the shows that are kept out; `context`, the settings; "
        "`test_corpora`, if not all of `turns`",
    )
    add("--cache", type=Path, required=True, help="folder of train_turn_segmenter.py's documents")
    add("--state", type=Path, required=True, help="folder of this training: checkpoints and its last state")
    add("--start", type=Path, help="folder of an earlier training from whose weights to start")
    add("--updates", type=int, help="overrides the recipe; 0 only measures the model in --start")
    add("--threads", type=int, default=available_cores(), help="threads of torch (default: the processors)")
    add("--checkpoint-every", type=int, default=100, help="updates between two checkpoints")
    add("--report", type=Path, help="folder of the report")
    add("--out", type=Path, help="folder for the weights and their record")
    arguments = parser.parse_args()
    if arguments.data_dir is None:
        parser.error("--data-dir is missing and EDOS_DATA_DIR is not set: name the folder of the data sets")
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
