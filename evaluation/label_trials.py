"""Ablations of the training of labels: short trainings of a recipe, each with one change, side by side.

    python evaluation/label_trials.py --recipe training/recipes/minilm/labels.yaml --updates 600 \
        --data-dir "$EDOS_DATA_DIR" --work build/trials --out build/label_trials.json

The corpus is read once. Every trial is a training of `training/train_labels.py` in this process, with `--updates`
instead of the recipe's number, measured on the same held-out turns: for each source and answer, the fraction whose most
probable label is right. Short trainings show what helps early, and each is a single run: differences of one or two
percentage points mean nothing. A Markdown table is written beside `--out`; trials that it contains are not run again,
and an interrupted one resumes from its last checkpoint in `--work`.
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from accelerate import Accelerator
from sentence_transformers import SentenceTransformer
from torch.nn.functional import cross_entropy, normalize

from edos_dataset.arrays import Floats
from edos_dataset.crowd.splits import plain_text
from edos_dataset.encoders.encoder import model_folder
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.publishing.cards.markdown import percent, table
from edos_dataset.runs.recipes import RecipeError
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.untrusted import json_of
from training.examples import report as say
from training.fast_labels import read_unlabelled
from training.labels.model import CONVENTIONS, convention_of, using_conventions
from training.labels.recipe import LabelsRecipe, read_recipe
from training.labels.sources import FILMS, NAMES, Corpus, Taught, load_corpus, without_copies
from training.labels.targets import Kind, Target
from training.loop import precision_of
from training.train_labels import figures_of, learn

SUBTITLES = ("frasier", "friends")
"""Sources of `fast_labels.UNLABELLED` whose turns are in the order of their films."""

_WINDOW = 12  # turns in a part of subtitles
_PART = 0.5  # weight of the teacher in the target of a labelled turn
_SCALE = 20.0  # scale of cosine similarities, as in sentence-transformers
_SAID = {"reader": "general", "crowd": "dialogue", "situations": "weak"}
"""Convention → the most similar answer of the shipped labelers."""


def distilled(corpus: Corpus) -> Corpus:
    """Return a corpus whose distribution targets are averaged with a shipped labeler's answer for the same
    convention.
    """
    train = {}
    for source, dialogues in corpus.train.items():
        answer = _SAID.get(convention_of(source))
        shares = [target for each in dialogues for target in each.targets if target and target.kind == Kind.SHARES]
        train[source] = dialogues if answer is None or not shares else _mixed(dialogues, _ask(answer, dialogues))
    return replace(corpus, train=train)


def self_trained(corpus: Corpus, folder: Path, short: int) -> Corpus:
    """Return a corpus in which the turns of films are replaced by unlabelled subtitles with the labels of the shipped
    labeler for films: as many as were labelled by reading, or all that exist.

    Args:
        corpus: the training data.
        folder: the data folder.
        short: see `LabelsRecipe`.
    """
    wanted = sum(target is not None for each in corpus.train[FILMS] for target in each.targets)
    read = {plain_text(text) for each in corpus.train[FILMS] for text in each.turns}
    windows = [Taught(turns, (None,) * len(turns)) for turns in windows_of(folder, read)]
    kept = without_copies(windows, corpus, short, acted=True)
    taught, count = [], 0
    for number in np.random.default_rng(0).permutation(len(kept)).tolist():
        if count >= wanted:
            break
        taught.append(kept[number])
        count += len(kept[number].turns)
    say(f"{count} turns of films that no one labelled, in place of {wanted} read ones")
    return replace(corpus, train={**corpus.train, FILMS: _labelled(taught, _ask("general", taught))})


def windows_of(folder: Path, read: set[str]) -> list[tuple[str, ...]]:
    """Return windows of at most `_WINDOW` consecutive turns of subtitles, without turns whose words are in `read`."""
    windows: list[tuple[str, ...]] = []
    own: list[str] = []
    for source in SUBTITLES:
        for text in [*read_unlabelled(source, folder)[0], ""]:
            if not (words := plain_text(text)) or words in read or len(own) == _WINDOW:
                windows += [tuple(own)] if len(own) > 1 else []
                own = []
            own += [text] if words and words not in read else []
    return windows


def _ask(answer: str, dialogues: Sequence[Taught]) -> Floats:
    found: Floats = load_labeler(answer).predict_proba([list(each.turns) for each in dialogues])
    return found


def _mixed(dialogues: Sequence[Taught], answers: Floats) -> list[Taught]:
    rows = iter(answers)
    return [
        Taught(each.turns, tuple(_mix(target, row) for target, row in zip(each.targets, rows, strict=False)))
        for each in dialogues
    ]


def _mix(target: Target | None, answer: Floats) -> Target | None:
    if target is None or target.kind != Kind.SHARES:
        return target
    return Target(((1 - _PART) * target.values + _PART * answer).astype(np.float32), Kind.SHARES)


def _labelled(dialogues: Sequence[Taught], answers: Floats) -> list[Taught]:
    rows = iter(answers)
    return [Taught(each.turns, tuple(Target(next(rows), Kind.SHARES) for _ in each.turns)) for each in dialogues]


def contrasted(folder: Path, base_model: str, steps: int, batch: int, out: Path) -> str:
    """Train an encoder so that, within a batch, each turn is nearest to the turn that follows it in its film (in-batch
    negatives, both directions); return the folder with the model, `out`.

    Args:
        folder: the data folder.
        base_model: the encoder to start from.
        steps: number of updates, each of `batch` pairs.
        batch: number of pairs in an update.
        out: folder of the model; a finished one is not trained again.
    """
    if (out / "config.json").is_file():
        return str(out)
    texts = windows_of(folder, set())
    pairs = [pair for window in texts for pair in zip(window[::2], window[1::2], strict=False)]
    order = np.random.default_rng(0).permutation(len(pairs)).tolist()
    torch.manual_seed(0)
    model = SentenceTransformer(str(model_folder(base_model)), device="cpu", trust_remote_code=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    model.train()
    for step in range(steps):
        chosen = [pairs[order[(step * batch + row) % len(order)]] for row in range(batch)]
        with torch.autocast("cpu", torch.bfloat16, enabled=torch.cpu._is_avx512_bf16_supported()):
            sides = [model(model.tokenize(list(side)))["sentence_embedding"] for side in zip(*chosen, strict=True)]
        left, right = (normalize(side.float()) for side in sides)
        cosines, truth = _SCALE * left @ right.T, torch.arange(batch)
        loss = (cross_entropy(cosines, truth) + cross_entropy(cosines.T, truth)) / 2
        torch.autograd.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        if step % 50 == 0:
            say(f"pairs of turns, step {step} of {steps}: loss {loss.item():.3f}")
    model.save_pretrained(str(out))
    return str(out)


PLAIN = "plain"
CHECKPOINT_EVERY = 200


CONTRASTED = (100, 64)
"""Number of updates and of pairs in each, for the encoder that is first trained to predict which turns follow each
other.
"""


class Trial(NamedTuple):
    """A change: settings, a source left out, a change of targets, a change of the corpus (a function of corpus, data
    folder and recipe), whether all sources share a convention, whether the encoder is first trained on pairs of turns.
    """

    settings: dict[str, Any] = {}
    without: str = ""
    target: Callable[[Target], Target] = lambda target: target
    corpus: Callable[[Corpus, Path, LabelsRecipe], Corpus] = lambda corpus, *_: corpus
    one_convention: bool = False
    contrasted: bool = False


def plain_set(target: Target) -> Target:
    """Return a target whose labels count fully for every set for which they can stand."""
    return target if target.kind == Kind.SHARES else Target((target.values > 0).astype("float32"), target.kind)


TRIALS = {
    PLAIN: Trial(),
    "three_layers": Trial({"layers": 3}),
    "no_context": Trial({"context_layers": 0}),
    "no_dropout": Trial({"encoder_dropout": 0.0}),
    "embeddings_trained": Trial({"frozen_embeddings": False}),
    "one_convention": Trial(one_convention=True),
    "no_readings": Trial(without=FILMS),
    "self_trained": Trial(corpus=lambda corpus, folder, recipe: self_trained(corpus, folder, recipe.short)),
    "distilled": Trial(corpus=lambda corpus, *_: distilled(corpus)),
    "contrasted": Trial(contrasted=True),
    "plain_sets": Trial(target=plain_set),
}
"""Name → change: only the lower three layers; no context layers; no dropout in the encoder; token embeddings trained
too; no heads for each convention; no labels by reading; subtitles labelled by the shipped labeler instead of these;
targets averaged with the shipped labelers'; an encoder first trained on pairs of turns; no shares of meaning
(`label_sets.shares_of_meaning`).
"""


def changed(trial: Trial, recipe: LabelsRecipe, corpus: Corpus, folder: Path) -> tuple[LabelsRecipe, Corpus]:
    """Return recipe and corpus of a trial; held-out data do not change."""
    corpus = trial.corpus(corpus, folder, recipe)
    sources = {name: factor for name, factor in recipe.sources.items() if name != trial.without}

    def taught(each: Taught) -> Taught:
        return Taught(each.turns, tuple(target and trial.target(target) for target in each.targets))

    train = {name: [taught(each) for each in own] for name, own in corpus.train.items() if name in sources}
    return replace(recipe, sources=sources, **trial.settings), replace(corpus, train=train)


def run(name: str, recipe: LabelsRecipe, corpus: Corpus, data_dir: Path, work: Path) -> dict[str, Any]:
    """Run a trial; return its figures and seconds. Its folder in `work` is removed when it is finished."""
    folder = work / name
    if TRIALS[name].contrasted:
        base_model = contrasted(data_dir, recipe.base_model, *CONTRASTED, work.absolute() / "pairs")
        recipe = replace(recipe, base_model=base_model)
    arguments = argparse.Namespace(out=folder, checkpoint_every=CHECKPOINT_EVERY)
    accelerator = Accelerator(
        mixed_precision=precision_of(recipe.precision), log_with="tensorboard", project_dir=str(folder)
    )
    conventions = {"all": NAMES} if TRIALS[name].one_convention else dict(CONVENTIONS)
    with using_conventions(conventions):
        learned = learn(*changed(TRIALS[name], recipe, corpus, data_dir), accelerator, arguments)
    accelerator.end_training()
    shutil.rmtree(folder)
    return {**figures_of(learned.held, learned.answers), "seconds": learned.seconds}


def render(content: dict[str, Any]) -> str:
    """Return the trials as Markdown, a table for each answer: fractions, and the difference from the unchanged recipe
    in points.
    """
    trials: dict[str, Any] = content["trials"]
    first = min(trials, key=list(TRIALS).index)
    parts = [f"# Trials of {content['updates']} updates\n\nHeld-out turns with a right label, by source."]
    for answer, shares in trials[first]["right"].items():
        rows = []
        for source, share in shares.items():
            own = (each["right"][answer][source] for each in trials.values())
            cells = (f"{percent(other)} ({100 * (other - share):+.1f})" for other in own)
            rows.append([source, f"{trials[first]['turns'][source]:,}", *cells])
        parts.append(f"## {answer}\n\n" + table(["source", "turns", *trials], rows))
    return "\n\n".join(parts) + "\n"


def parse_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", type=Path, required=True)
    parser.add_argument(
        "--data-dir", type=Path, default=os.environ.get("EDOS_DATA_DIR"), help="default: $EDOS_DATA_DIR"
    )
    parser.add_argument("--cache", type=Path, help="folder in which embeddings are cached (default: one in --work)")
    parser.add_argument("--trials", nargs="+", choices=TRIALS, default=list(TRIALS), help="default: all")
    parser.add_argument("--updates", type=int, default=600)
    parser.add_argument("--work", type=Path, required=True, help="folder of checkpoints")
    parser.add_argument("--out", type=Path, required=True, help="JSON file of the figures")
    arguments = parser.parse_args(given)
    if arguments.data_dir is None:
        parser.error("--data-dir is missing and EDOS_DATA_DIR is not set: name the folder of the data sets")
    if arguments.updates < 1:
        parser.error(f"--updates must be at least 1, got {arguments.updates}")
    arguments.data_dir = Path(arguments.data_dir)
    return arguments


def main(given: Sequence[str] | None = None) -> None:
    """Run the missing trials, and write figures and table."""
    arguments = parse_arguments(given)
    try:
        recipe = replace(read_recipe(arguments.recipe), updates=arguments.updates, evaluations=1)
        content: dict[str, Any] = {"updates": recipe.updates, "recipe": asdict(recipe), "trials": {}}
        there = json_of(arguments.out.read_bytes()) if arguments.out.is_file() else content
        if there["recipe"] != content["recipe"]:
            raise ValueError(f"{arguments.out} has trials of another recipe: choose another --out")
        cache = arguments.cache or arguments.work / "embeddings"
        corpus = load_corpus(recipe.sources, arguments.data_dir, cache, recipe.short)
        for name in (each for each in arguments.trials if each not in there["trials"]):
            if TRIALS[name].settings and replace(recipe, **TRIALS[name].settings) == recipe:
                say(f"{name}: the recipe is so already")
                continue
            there["trials"][name] = run(name, recipe, corpus, arguments.data_dir, arguments.work)
            write_text(arguments.out, json.dumps(there, indent=1) + "\n")
        write_text(arguments.out.with_suffix(".md"), render(there))
    except (RecipeError, ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    say(render(there))


if __name__ == "__main__":
    main()
