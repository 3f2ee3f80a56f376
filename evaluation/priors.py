"""What other priors than a labeler's own change (`edos label --priors`), and the shares that they are made of.

    python evaluation/priors.py --data-dir "$EDOS_DATA_DIR" --cache build/cache

Of the held-out turns of films and of the crowd (`evaluation/domain_sets.py`), every second dialogue states the shares:
how often each label is right in each corpus, and how often each shipped labeler gives it, as the mean of its
probabilities over both corpora, of which each counts half. They are written to `edos_dataset/labeling/priors.json`. On
the other dialogues the labels with each of the priors are measured, and written to `priors.json`. Run it again whenever
a labeler is trained or its answers are weighed anew.

    edos books DATA/gutenberg/de --language de --no-labels --out build/books_de  # and es, hu, it, nl, pt
    python evaluation/priors.py --models multilingual --books build/books_*

`--books` adds the shares of labelers of other languages, as the mean of their probabilities on turns of books, each
language counting alike; nobody has labelled these. `evaluation/judged_languages.py weigh` measures what they change.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Bools, Doubles, Floats
from edos_dataset.encoders.encoder import limit_threads
from edos_dataset.labeling.models.base import Labeler
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.priors import MEASURED, NAMED, Priors
from edos_dataset.labels import INTENTS, LABELS, NEUTRAL
from edos_dataset.runs.shards import write_text
from edos_dataset.schema import BOOK_LANGUAGES
from evaluation.domain import measure, predict
from evaluation.domain_sets import HeldOut, read_set
from evaluation.judged_languages import rows_of
from training.examples import report as say

CORPORA = ("films", "crowd")
MODELS = ("general", "dialogue", "weak", "fast", "linear-weak", "linear-dialogue", "large")
FIGURES = Path(__file__).with_suffix(".json")
AS_IT_IS = "as it is"
TURNS = 1500
"""Turns of a language from which the shares of a labeler are taken."""
SMOOTHING = 0.5
"""Turns that are added to those of each label, so that no label is impossible (Jeffreys' prior)."""


def rightly(held: HeldOut, rows: Bools) -> Doubles:
    """Return the share of each label among the right ones of some turns, [41]; a turn counts once."""
    right = held.right[rows].astype(np.float64)
    counts = (right / right.sum(axis=1, keepdims=True)).sum(axis=0) + SMOOTHING
    return np.asarray(counts / counts.sum())


def given(answers: Mapping[str, Floats], rows: Mapping[str, Bools]) -> Doubles:
    """Return how often a labeler gives each label, [41]: its mean probabilities on some turns of every corpus."""
    found: Doubles = np.mean([answers[name][rows[name]].mean(axis=0, dtype=np.float64) for name in answers], axis=0)
    return found


def figures_of(held: HeldOut, answers: Floats) -> dict[str, Any]:
    """Return what is right of the answers to the turns of a set, and how many of the intents are found."""
    found = measure(held, answers)
    intents = [found["by_class"][name] for name in INTENTS]
    there = sum(row["support"] for row in intents)
    return {
        "accuracy": found["accuracy"],
        "interval": found["intervals"]["accuracy"],
        "macro_f1": found["macro_f1"],
        "ece": found["ece"],
        "intents_recall": round(sum(row["recall"] * row["support"] for row in intents if row["support"]) / there, 4),
        "neutral": round(float((answers.argmax(axis=1) == LABELS.index(NEUTRAL)).mean()), 4),
    }


def report(labelers: Mapping[str, Labeler], sets: Mapping[str, HeldOut], cache: Path | None) -> tuple[Any, Any]:
    """Return the contents of both files: the shares, and the figures by set, model and priors."""
    first = {name: held.clusters % 2 == 0 for name, held in sets.items()}
    others = {name: replace(held, judged=held.judged[~first[name]], right=held.right[~first[name]])
              for name, held in sets.items()}  # fmt: skip
    corpora = {name: rightly(held, first[name]) for name, held in sets.items()}
    shares: dict[str, Any] = {
        "corpora": {name: {"turns": int(first[name].sum()), "shares": _named(each)} for name, each in corpora.items()},
        "models": {},
    }
    figures: dict[str, Any] = {name: {"turns": len(held.judged), "models": {}} for name, held in others.items()}
    for model, labeler in labelers.items():
        answers = {name: predict(labeler, held, cache) for name, held in sets.items()}
        own = given(answers, first)
        known = {"identity": labeler.identity, "shares": _named(own)}
        shares["models"][labeler.identity.partition("@")[0]] = known
        targets = corpora | {"none": np.full(len(LABELS), 1 / len(LABELS))}
        for name, held in others.items():
            kept = answers[name][~first[name]]
            by_priors = {AS_IT_IS: kept} | {prior: Priors(prior, targets[prior] / own)(kept) for prior in NAMED}
            figures[name]["models"][model] = {prior: figures_of(held, each) for prior, each in by_priors.items()}
            shown = {prior: row["accuracy"] for prior, row in figures[name]["models"][model].items()}
            say(f"{model} on {name}: {shown}")
    return shares, figures


def of_books(labeler: Labeler, runs: Sequence[Path]) -> Doubles:
    """Return how often a labeler gives each label, [41], on at most TURNS turns of every run of `edos books`.

    Raises:
        ValueError: a folder has no dialogues.
    """
    means = []
    for run in runs:
        rows = [row for language in BOOK_LANGUAGES for row in rows_of(run, language)]
        if not rows:
            raise ValueError(f"{run} has no dialogues: name folders that `edos books` wrote")
        rows.sort(key=lambda row: sha256(row["dialogue_id"].encode()).digest())
        ends = np.cumsum([len(row["turns"]) for row in rows])
        chosen = [[turn["text"] for turn in row["turns"]] for row in rows[: int(np.searchsorted(ends, TURNS)) + 1]]
        means.append(labeler.predict_proba(chosen).mean(axis=0, dtype=np.float64))
        say(f"{run}: {sum(map(len, chosen))} turns")
    found: Doubles = np.mean(means, axis=0)
    return found


def _named(shares: Doubles) -> dict[str, float]:
    return {label: float(f"{share:.6g}") for label, share in zip(LABELS, shares, strict=True)}


def add_shares(chosen: argparse.Namespace) -> None:
    """Add the shares of labelers on turns of books to the file of the shares."""
    known = json.loads(chosen.shares.read_text(encoding="utf-8"))
    with limit_threads(1):
        try:
            for labeler in map(load_labeler, chosen.models):
                own = {"identity": labeler.identity, "shares": _named(of_books(labeler, chosen.books))}
                known["models"][labeler.identity.partition("@")[0]] = own
        except (OSError, ValueError) as error:
            sys.exit(f"error: {error}")
    write_text(chosen.shares, json.dumps(known, indent=1) + "\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_dir = os.environ.get("EDOS_DATA_DIR")
    parser.add_argument("--data-dir", type=Path, default=data_dir, required=data_dir is None)
    parser.add_argument("--models", nargs="+", default=MODELS, help=f"shipped models (default: {' '.join(MODELS)})")
    parser.add_argument("--cache", type=Path, help="folder in which embeddings and predictions are cached")
    parser.add_argument("--shares", type=Path, default=MEASURED, help="file of the shares")
    parser.add_argument("--out", type=Path, default=FIGURES, help="file of the figures")
    parser.add_argument("--books", type=Path, nargs="+", help="runs of `edos books`, of which only shares are taken")
    chosen = parser.parse_args(arguments)
    if chosen.books:
        add_shares(chosen)
        return
    with limit_threads(1):
        try:
            sets = {name: read_set(name, chosen.data_dir, chosen.cache) for name in CORPORA}
            shares, figures = report({name: load_labeler(name) for name in chosen.models}, sets, chosen.cache)
        except (OSError, ValueError) as error:
            sys.exit(f"error: {error}")
    command = f"python evaluation/priors.py --models {' '.join(chosen.models)}"
    if chosen.shares.is_file():  # those of models that were not measured, such as on books, stay
        shares["models"] = json.loads(chosen.shares.read_text(encoding="utf-8"))["models"] | shares["models"]
    write_text(chosen.shares, json.dumps({"command": command, **shares}, indent=1) + "\n")
    write_text(chosen.out, json.dumps({"command": command, "sets": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
