"""The output of a training: the model folder with its record, metrics and card."""

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerBase

from edos_dataset.arrays import Floats
from edos_dataset.encoders.encoder import DEFAULT_MODEL
from edos_dataset.labeling.models.context import ContextClassifier
from edos_dataset.labeling.models.saved_model import digests_of
from edos_dataset.publishing.cards.markdown import percent, table
from edos_dataset.releases.labelled_sets.readers import SOURCES
from edos_dataset.runs.shards import digest, write_text
from model_cards.classifiers import render_model_card
from training.classifier.results import DEFAULT_ON_HUB, TAUGHT
from training.examples import CROWD_LICENCE, WEAK_LICENCE
from training.labels.answers import Vectors, calibrate, rows_of
from training.labels.model import ANSWERS
from training.labels.plan import Lessons, shares_of
from training.labels.recipe import LabelsRecipe
from training.labels.sources import CROWD, FILMS, WEAK, Corpus
from training.loop import circumstances

_LIMITATIONS = {
    "weak_annotated": TAUGHT,
    FILMS: "Part of the turns that it learned from were labelled by a language model, not by people.",
}
"""Source → what users of the model should know about it."""

_OWN_LICENCES = {
    "empathetic_dialogues": WEAK_LICENCE,
    "edos_amt": CROWD_LICENCE,
    "readings": "CC BY 4.0 (our labels; the turns are subtitles under their studios' copyright)",
    "notes": "CC BY 4.0 (our lexicon; the speeches are screenplays under their studios' copyright)",
}


_CALIBRATED_ON = {
    FILMS: "held-out turns of films, labelled by reading",
    CROWD: "validation part of the crowd labels",
    WEAK: "validation part of the weak labeler's set",
}


def calibrate_model(model: ContextClassifier, held: Vectors, answers: Mapping[str, Floats]) -> dict[str, Any]:
    """Fit the temperature of every answer of a model, and return for each answer the fit and its source.

    The source is the one that the answer names, or another if the recipe does not have it.

    Args:
        model: its configuration receives the temperatures.
        held: the held-out turns.
        answers: answer → logits, float32 [targets, 41], at temperature 1.
    """
    calibrations: dict[str, Any] = {}
    for name, logits in answers.items():
        own = ANSWERS[name].calibrated_on
        there = [each for each in (own, *_CALIBRATED_ON) if each in held.sources and len(rows_of(held, each)) > 1]
        if there:
            rows = rows_of(held, there[0])
            found = calibrate(logits[rows], held.targets[rows].numpy())
            model.config.answers[name]["temperature"] = found.temperature
            calibrations[name] = {"on": _CALIBRATED_ON[there[0]], "temperature": found.temperature, **found.figures}
    return calibrations


def write_model(
    model: ContextClassifier,
    tokenizer: PreTrainedTokenizerBase,
    record: dict[str, Any],
    metrics: dict[str, Any],
    out: Path,
) -> None:
    """Write the model folder; `metrics.json` is written last."""
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    record["files"] = digests_of(out)
    write_text(out / "record.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    write_text(out / "README.md", render_model_card(record, {}, _held_table(metrics)))
    write_text(out / "metrics.json", json.dumps(metrics, indent=2) + "\n")


def _held_table(metrics: dict[str, Any]) -> str:
    right: dict[str, dict[str, float]] = metrics["right"]
    names = next(iter(right.values()))
    rows = [[name, f"{metrics['turns'][name]:,}", *(percent(own[name]) for own in right.values())] for name in names]
    text = "Of held-out turns of each source, the share on which the first label of an answer is one of the right ones"
    return f"{text}:\n\n" + table(["source", "turns", *right], rows)


def make_record(
    recipe: LabelsRecipe, corpus: Corpus, lessons: Lessons, arguments: argparse.Namespace, making: dict[str, Any]
) -> dict[str, Any]:
    """Return how the model was made: the data with their hashes and licences, the counts of each source, recipe,
    machine, versions.
    """
    sizes = {name: lessons.labelled_turns(name) for name in lessons.sources}
    shares = shares_of(sizes, recipe)
    sources = {
        name: {
            "turns": sizes[name],
            "share": round(share, 4),
            "rounds": round(share * recipe.updates * recipe.batch / sizes[name], 2),
            "near_copies_left_out": corpus.left_out.get(name, 0),
            **corpus.counts.get(name, {}),
        }
        for name, share in shares.items()
    }
    base = Path(recipe.base_model).name if Path(recipe.base_model).is_absolute() else recipe.base_model
    rows = [{"file": name, "sha256": digest(path), "licence": licence(name)} for name, path in corpus.files.items()]
    return {
        "name": arguments.name,
        "task": "general",
        "architecture": "context",
        "base_model": DEFAULT_ON_HUB if recipe.base_model == DEFAULT_MODEL else base,
        "data": rows,
        "sources": sources,
        "near_duplicates_removed": corpus.left_out,
        "limitations": [text for name, text in _LIMITATIONS.items() if name in shares],
        "seed": recipe.seed,
        "recipe": {**asdict(recipe), "base_model": base},
        "command": f"accelerate launch training/train_labels.py --recipe {_told(arguments.recipe)} --data-dir "
        f"$EDOS_DATA_DIR --out {_told(arguments.out)}",
        **circumstances(),
        **making,
    }


def licence(file: str) -> str:
    """Return the licence of a file of the data folder."""
    top = file.partition("/")[0]
    return SOURCES[top].licence if top in SOURCES else _OWN_LICENCES.get(top, "as the README of the data says")


def _told(path: Path) -> str:
    return path.name if path.is_absolute() else path.as_posix()


def rounded(right: dict[str, float]) -> dict[str, float]:
    """Return fractions rounded to four digits."""
    return {name: float(np.round(value, 4)) for name, value in right.items()}
