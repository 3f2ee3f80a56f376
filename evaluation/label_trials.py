"""What parts of the labels' training are worth: short trainings of a recipe, each with one thing changed, side by side.

    python evaluation/label_trials.py --recipe training/recipes/minilm/labels.yaml --updates 600 \
        --data-dir "$EDOS_DATA_DIR" --work build/trials --out build/label_trials.json

The corpus is read once. Every trial is a training of `training/train_labels.py` in this process, with `--updates` in
place of the recipe's, measured on the same held-out turns: by source and answer, the share whose most probable label is
right. So short, they tell what helps early, and each is one run: differences of a point or two say nothing. `--out`
gets a table as Markdown beside it; trials that it has are not run again, and one that was ended goes on from its last
checkpoint in `--work`.
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
from unittest import mock

from accelerate import Accelerator

from edos_dataset.publishing.cards.markdown import percent, table
from edos_dataset.runs.foreign import json_of
from edos_dataset.runs.recipes import RecipeError
from edos_dataset.runs.shards import write_text
from evaluation.label_teachers import contrasted, distilled, self_trained
from training.examples import report as say
from training.labels.conventions import CONVENTIONS
from training.labels.recipe import LabelsRecipe, read_recipe
from training.labels.sources import FILMS, NAMES, Corpus, Taught, load_corpus
from training.labels.targets import Kind, Target
from training.loop.processes import precision_of
from training.train_labels import figures_of, learn

PLAIN = "plain"
CHECKPOINT_EVERY = 200


CONTRASTED = (100, 64)
"""Updates, and pairs of turns in each, of the encoder that first learns which turns follow each other."""


class Trial(NamedTuple):
    """What is changed: settings, a source left out, what a target teaches, what the corpus teaches (of corpus, data
    folder and recipe), whether all sources share a convention, whether the encoder learned from pairs of turns before.
    """

    settings: dict[str, Any] = {}
    without: str = ""
    target: Callable[[Target], Target] = lambda target: target
    corpus: Callable[[Corpus, Path, LabelsRecipe], Corpus] = lambda corpus, *_: corpus
    one_convention: bool = False
    contrasted: bool = False


def plain_set(target: Target) -> Target:
    """Return a target whose labels count in full for every set that they can stand for."""
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
"""Name → what is changed: the lower three layers only; no layers that see earlier turns; no dropout in the encoder;
token embeddings trained, too; no heads for each convention; nothing that was labelled by reading; in place of it turns
of subtitles that the shipped labeler labels; shares that are half the shipped labelers'; an encoder that first learned
from pairs of turns; no shares of meaning (`label_sets.shares_of_meaning`)."""


def changed(trial: Trial, recipe: LabelsRecipe, corpus: Corpus, folder: Path) -> tuple[LabelsRecipe, Corpus]:
    """Return recipe and corpus of a trial; what is held out stays."""
    corpus = trial.corpus(corpus, folder, recipe)
    sources = {name: factor for name, factor in recipe.sources.items() if name != trial.without}

    def taught(each: Taught) -> Taught:
        return Taught(each.turns, tuple(target and trial.target(target) for target in each.targets))

    train = {name: [taught(each) for each in own] for name, own in corpus.train.items() if name in sources}
    return replace(recipe, sources=sources, **trial.settings), replace(corpus, train=train)


def run(name: str, recipe: LabelsRecipe, corpus: Corpus, data_dir: Path, work: Path) -> dict[str, Any]:
    """Train a trial; return its figures and seconds. Its folder in `work` goes when it is done."""
    folder = work / name
    if TRIALS[name].contrasted:
        base_model = contrasted(data_dir, recipe.base_model, *CONTRASTED, work.absolute() / "pairs")
        recipe = replace(recipe, base_model=base_model)
    arguments = argparse.Namespace(out=folder, checkpoint_every=CHECKPOINT_EVERY)
    accelerator = Accelerator(
        mixed_precision=precision_of(recipe.precision), log_with="tensorboard", project_dir=str(folder)
    )
    conventions = {"all": NAMES} if TRIALS[name].one_convention else dict(CONVENTIONS)
    with mock.patch.dict(CONVENTIONS, conventions, clear=True):
        learned = learn(*changed(TRIALS[name], recipe, corpus, data_dir), accelerator, arguments)
    accelerator.end_training()
    shutil.rmtree(folder)
    return {**figures_of(learned.held, learned.answers), "seconds": learned.seconds}


def render(content: dict[str, Any]) -> str:
    """Return the trials as Markdown, a table an answer: shares, and how many points they are from the plain trial's."""
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
    parser.add_argument("--cache", type=Path, help="folder that keeps embeddings (default: one in --work)")
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
    """Run the trials that are missing, and write figures and table."""
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
