"""Train the encoder for all labels: each turn is encoded once; one head labels it alone, another in its dialogue.

    accelerate launch training/train_labels.py --recipe training/recipes/minilm/labels.yaml --data-dir \
        "$EDOS_DATA_DIR" --out models/labels

The training data are all sets that others labelled (`training/labels/sources.py`): a label of theirs stands for a set
of ours, one of which is right. Both heads are trained together, on parts of dialogues mixed from all sources; then the
probabilities are calibrated on turns of films.

It runs on a CPU, in several processes and on GPUs. After an interruption the same command resumes from the last
checkpoint, and ends with the same weights. `--out` becomes a model folder: the weights with their code and tokenizer,
`record.json`, a card, `metrics.json` (of held-out parts; `evaluation/domain.py` measures on the test splits), and
`log.jsonl` with every update.
"""

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from transformers import PreTrainedTokenizerBase

from edos_dataset.arrays import Floats
from edos_dataset.labeling.models.context import ContextClassifier
from edos_dataset.runs.recipes import RecipeError
from training.classifier.model import build_tokenizer, frozen_layers_in, merge_adapters
from training.labels.answers import Vectors, answers_of, hits, rows_of, vectors_of
from training.labels.fit import fit
from training.labels.model import JointModel, build_model, convention_of
from training.labels.plan import Lessons, lessons_of
from training.labels.recipe import LabelsRecipe, read_recipe
from training.labels.results import calibrate_model, make_record, rounded, write_model
from training.labels.sources import NAMES, Corpus, load_corpus
from training.loop import remove_checkpoints, start_processes


class Learned(NamedTuple):
    """The result of a training.

    Attributes:
        model: the model with the averaged weights.
        tokenizer: the model's.
        lessons: the training data.
        held: the held-out turns.
        answers: answer → logits of the held-out turns, float32 [targets, 41].
        seconds: duration of the updates.
    """

    model: ContextClassifier
    tokenizer: PreTrainedTokenizerBase
    lessons: Lessons
    held: Vectors
    answers: dict[str, Floats]
    seconds: int


def main() -> None:
    """Train, from the command line."""
    arguments = parse_arguments()
    try:
        recipe = read_recipe(arguments.recipe)
        accelerator = start_processes(recipe.precision, arguments.out, arguments.threads)
        train(recipe, accelerator, arguments)
    except (RecipeError, ValueError, OSError) as error:
        sys.exit(f"error: {error}")


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", type=Path, required=True, help="YAML; the keys are in training/labels/recipe.py")
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the datasets (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder that becomes the model")
    parser.add_argument("--name", default="general-minilm", help="name of the model in its record")
    parser.add_argument("--cache", type=Path, help="folder in which embeddings are cached")
    parser.add_argument("--checkpoint-every", type=int, default=200, help="updates between two checkpoints")
    parser.add_argument("--threads", type=int, help="threads of a process (default: an equal part of the processors)")
    arguments = parser.parse_args()
    if arguments.data_dir is None:
        parser.error("--data-dir is missing and EDOS_DATA_DIR is not set: name the folder of the data sets")
    if (arguments.out / "metrics.json").is_file():
        parser.error(f"{arguments.out} holds a finished training: choose another --out, or remove it to train again")
    for name in ("checkpoint_every", "threads"):
        if (value := getattr(arguments, name)) is not None and value < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1, got {value}")
    return arguments


def train(recipe: LabelsRecipe, accelerator: Accelerator, arguments: argparse.Namespace) -> None:
    """Train the recipe's model and write its folder."""
    cache: Path = arguments.cache or arguments.out / "embeddings"
    for name in recipe.sources:
        if name in NAMES:  # others are refused below
            convention_of(name)
    with accelerator.main_process_first():  # the first process fills the cache of embeddings for the others
        corpus = load_corpus(recipe.sources, arguments.data_dir, cache, recipe.short)
    learned = learn(recipe, corpus, accelerator, arguments)
    if accelerator.is_main_process:
        making: dict[str, Any] = {"processes": accelerator.num_processes, "training_seconds": learned.seconds}
        making |= {"precision": str(accelerator.mixed_precision)}
        model, tokenizer, held, answers = learned.model, learned.tokenizer, learned.held, learned.answers
        calibration = calibrate_model(model, held, answers)
        record = make_record(recipe, corpus, learned.lessons, arguments, making | {"calibration": calibration})
        metrics = figures_of(held, answers) | {"calibration": calibration}
        write_model(model.cpu(), tokenizer, record, metrics, arguments.out)
        remove_checkpoints(arguments.out)
        accelerator.print(f"{metrics['right']}\n{calibration}")
    accelerator.wait_for_everyone()
    accelerator.end_training()


def learn(recipe: LabelsRecipe, corpus: Corpus, accelerator: Accelerator, arguments: argparse.Namespace) -> Learned:
    """Train the recipe's model on a corpus; checkpoints and log are written to `arguments.out`.

    Raises:
        ValueError: no training data are left, or the folder belongs to another training.
    """
    arguments.out.mkdir(parents=True, exist_ok=True)
    lessons = lessons_of(corpus.train, recipe)
    accelerator.print(
        f"{len(lessons.values)} labelled turns of {len(lessons.sources)} sources; left out as near-copies of held-out "
        f"ones: {sum(corpus.left_out.values())}; precision {accelerator.mixed_precision}"
    )
    set_seed(recipe.seed)
    tokenizer = build_tokenizer(recipe)
    model = build_model(recipe, tokenizer)
    set_seed(recipe.seed, device_specific=True)  # all processes start from the same model; their dropout differs
    half = torch.bfloat16 if recipe.lora_rank and accelerator.mixed_precision == "bf16" else None
    with frozen_layers_in(half, model.encoder):
        progress = fit(JointModel(model), lessons, corpus.held, tokenizer, recipe, accelerator, arguments)
    if recipe.lora_rank:
        merge_adapters(model)
    held = vectors_of(corpus.held, model.to(accelerator.device), tokenizer, recipe, accelerator)
    answers = answers_of(model, held, accelerator)
    return Learned(model, tokenizer, lessons, held, answers, round(progress.seconds))


def figures_of(held: Vectors, answers: Mapping[str, Floats]) -> dict[str, Any]:
    """Return the number of held-out turns of each source, and the fraction that is `right`, by answer."""
    return {
        "turns": {name: len(rows_of(held, name)) for name in held.sources},
        "right": {name: rounded(hits(held, logits)) for name, logits in answers.items()},
    }


if __name__ == "__main__":
    main()
