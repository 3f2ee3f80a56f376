"""Train a response model, plain or conditioned on emotions, or the predictor of the response's label.

    accelerate launch training/train_generator.py --recipe training/recipes/small/empathetic.yaml \
        --data-dir "$EDOS_DATA_DIR" --out models/empathetic
    accelerate launch training/train_generator.py --recipe training/recipes/small/empathetic_os.yaml \
        --dialogues FOLDER_OF_EDOS_CURATE --out models/empathetic_os
    accelerate launch training/train_generator.py --recipe training/recipes/small/empathetic.yaml \
        --start models/empathetic_os --out models/empathetic_os_ed

The recipe names the training data: EmpatheticDialogues and DailyDialog in their released form, below `--data-dir`, or a
config of a dataset (`os`, `edos`, `edos_initial`, ...), whose folder or Hub id is given as `--dialogues`. Every turn
from the second on is an answer to those before it. If the model needs labels, turns without one are labelled, and
`--cache` stores the labels.

It runs on a CPU, in several CPU processes (`--config_file training/recipes/two_cpu_processes.yaml`), and on one or more
GPUs. An update sees the same pairs with any number of processes, so losses agree up to rounding and dropout, which
every process draws separately. After an interruption the same command resumes from the last checkpoint, and ends with
the same weights.

`--out` becomes a model folder: the weights with their code and tokenizer, `metrics.json` (validation and test metrics,
with those of a unigram model), `record.json`, `log.jsonl` with every update, and `learning_curves.png`.
"""

import argparse
import os
import sys
from pathlib import Path

from accelerate import Accelerator
from accelerate.utils import set_seed

from edos_dataset.generation.model import ResponseModel
from edos_dataset.runs.recipes import RecipeError
from edos_dataset.schema import SPLITS
from training.generator.corpus import load_corpus
from training.generator.fit import fit, target_counts, updates_of
from training.generator.model import begin_at_frequencies, build_learner
from training.generator.pairs import without_overlap
from training.generator.recipe import GeneratorRecipe, read_recipe
from training.generator.results import write_results
from training.loop import remove_checkpoints, start_processes


def main() -> None:
    """Train, from the command line."""
    arguments = parse_arguments()
    try:
        recipe = read_recipe(arguments.recipe, arguments.set or [])
        accelerator = start_processes(recipe.precision, arguments.out, arguments.threads, arguments.processes)
        train(recipe, accelerator, arguments)
    except (RecipeError, ValueError, OSError) as error:
        sys.exit(f"error: {error}")


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", type=Path, required=True, help="YAML; training/generator/recipe.py explains it")
    parser.add_argument("--set", action="append", metavar="KEY=VALUE", help="change a key of the recipe; repeatable")
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the raw releases (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument("--dialogues", help="folder or Hub id of the dataset whose configs the recipe names")
    parser.add_argument("--out", type=Path, required=True, help="folder that becomes the model")
    parser.add_argument("--start", type=Path, help="folder of a trained model of the same kind to start from")
    parser.add_argument("--cache", type=Path, help="folder in which labels are cached")
    parser.add_argument("--checkpoint-every", type=int, default=500, help="updates between two checkpoints")
    parser.add_argument("--threads", type=int, help="threads of a process (default: an equal part of the processors)")
    parser.add_argument("--processes", type=int, help="the required number of processes")
    arguments = parser.parse_args()
    if (arguments.out / "metrics.json").is_file():
        parser.error(f"{arguments.out} holds a finished training: choose another --out, or remove it to train again")
    if arguments.start and not (arguments.start / "config.json").is_file():
        parser.error(f"--start {arguments.start} is no model folder: it has no config.json")
    for name in ("checkpoint_every", "threads"):
        if (value := getattr(arguments, name)) is not None and value < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1, got {value}")
    return arguments


def train(recipe: GeneratorRecipe, accelerator: Accelerator, arguments: argparse.Namespace) -> None:
    """Train the recipe's model and write its folder."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    with accelerator.main_process_first():  # the first process labels and trains the tokenizer for the others
        cache: Path = arguments.cache or arguments.out / "labels"
        corpus = load_corpus(recipe, arguments.data_dir, arguments.dialogues, cache)
        set_seed(recipe.seed)
        learner = build_learner(recipe, corpus.parts["train"], arguments.start, arguments.out)
    parts = {split: learner.task.pairs(corpus.parts[split], recipe) for split in SPLITS}
    if recipe.drop_overlap:
        parts["train"] = without_overlap(parts["train"], corpus.parts["train"], corpus.parts["test"])
    if empty := [split for split, part in parts.items() if not len(part)]:
        raise ValueError(f"no pair is left for {' and '.join(empty)}: raise max_tokens, {recipe.max_tokens} now")
    if recipe.first_bias == "frequencies" and isinstance(learner.model, ResponseModel) and arguments.start is None:
        begin_at_frequencies(learner.model, target_counts(parts["train"], len(learner.tokenizer), of_labels=False))
    set_seed(recipe.seed, device_specific=True)  # all processes start from the same model; their dropout differs
    size = sum(parameter.numel() for parameter in learner.model.parameters())
    accelerator.print(
        f"{recipe.kind}: {', '.join(f'{len(part)} {split}' for split, part in parts.items())} pairs; left out of "
        f"training: {parts['train'].left_out}; {size:,} parameters, "
        f"{updates_of(parts['train'], recipe)} updates, precision {accelerator.mixed_precision}"
    )
    progress = fit(learner, parts["train"], parts["validation"], recipe, accelerator, arguments)
    figures = write_results(learner, parts, corpus, recipe, progress, accelerator, arguments)
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        remove_checkpoints(arguments.out)
    accelerator.print(f"test: {figures['test']}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
