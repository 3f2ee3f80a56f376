"""Train one of the two classifiers: the weak labeler (a single turn) or the dialogue classifier (a turn with its
history).

    accelerate launch training/train_classifier.py --recipe training/recipes/minilm/weak.yaml --data-dir \
        "$EDOS_DATA_DIR" --out models/weak
    accelerate launch training/train_classifier.py --recipe training/recipes/minilm/dialogue.yaml --data-dir \
        "$EDOS_DATA_DIR" \
        --start models/weak --out models/dialogue

On your own labels: `--labelled FOLDER`, a data set of `edos crowd seed` or `edos extend`, whose splits take the place
of the authors' files and of the recipe's split.

It runs on a CPU, in several CPU processes (`--config_file training/recipes/two_cpu_processes.yaml`), on one and on many
GPUs. An update sees the same examples whatever the number of processes, so losses agree up to rounding, and up to
dropout, which every process draws for itself. A training that was killed goes on with the same command, from its last
checkpoint, to the same weights.

`--out` becomes a model folder: the weights with their code and tokenizer, `metrics.json` and `predictions.npz` (logits)
of the test part, which is looked at once (without a test part, `metrics.json` is of the validation part alone),
`record.json`, the model card, `log.jsonl` with every update, and `learning_curves.png`.
"""

import argparse
import os
import sys
from pathlib import Path

from accelerate import Accelerator
from accelerate.utils import set_seed

from edos_dataset.runs.recipes import RecipeError
from training.classifier.batches import Examples
from training.classifier.data import load_data
from training.classifier.fit import fit
from training.classifier.model import build_model, build_tokenizer, merge_adapters
from training.classifier.prediction import teach
from training.classifier.recipe import ClassifierRecipe, read_recipe
from training.classifier.results import publish, write_results
from training.loop.checkpoints import remove_checkpoints
from training.loop.processes import start_processes


def main() -> None:
    """Train, from the command line."""
    arguments = parse_arguments()
    try:
        recipe = read_recipe(arguments.recipe)
        accelerator = start_processes(recipe.precision, arguments.out, arguments.threads, arguments.processes)
        train(recipe, accelerator, arguments)
    except (RecipeError, ValueError, OSError) as error:
        sys.exit(f"error: {error}")


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--recipe", type=Path, required=True, help="YAML; training/classifier/recipe.py tells what it may say"
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the data sets (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument(
        "--labelled",
        type=Path,
        help="data set of `edos crowd seed` or `edos extend` to learn from instead of the authors' files",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder that becomes the model")
    parser.add_argument(
        "--start", type=Path, help="folder of a trained classifier to start from, such as the weak labeler's"
    )
    parser.add_argument("--cache", type=Path, help="folder that keeps embeddings for the next training")
    parser.add_argument("--checkpoint-every", type=int, default=200, help="updates between two checkpoints")
    parser.add_argument(
        "--threads",
        type=int,
        help="threads of a process (default: the processors, shared among the processes of this machine)",
    )
    parser.add_argument("--processes", type=int, help="refuse to run with another number of processes")
    parser.add_argument(
        "--push-to-hub", metavar="NAMESPACE/NAME", help="upload the finished folder as a model of the Hub"
    )
    arguments = parser.parse_args()
    if arguments.data_dir is None and arguments.labelled is None:
        parser.error(
            "--data-dir is missing and EDOS_DATA_DIR is not set: name the folder with empathetic_dialogues/ and "
            "edos_amt/, or your own as --labelled"
        )
    if (arguments.out / "metrics.json").is_file():
        parser.error(f"{arguments.out} holds a finished training: choose another --out, or remove it to train anew")
    if arguments.start and not (arguments.start / "config.json").is_file():
        parser.error(f"--start {arguments.start} is no model folder: it has no config.json")
    for name in ("checkpoint_every", "threads"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1, got {value}")
    return arguments


def train(recipe: ClassifierRecipe, accelerator: Accelerator, arguments: argparse.Namespace) -> None:
    """Train the recipe's model and write its folder."""
    with accelerator.main_process_first():  # the first process fills the cache of embeddings for the others
        data = load_data(
            recipe, arguments.data_dir, arguments.cache or arguments.out / "embeddings", arguments.labelled
        )
    arguments.out.mkdir(parents=True, exist_ok=True)
    set_seed(recipe.seed)
    tokenizer = build_tokenizer(recipe)
    model = build_model(recipe, tokenizer, arguments.start)
    set_seed(recipe.seed, device_specific=True)  # the model starts alike in all processes; dropout differs
    if recipe.distil:
        data = teach(data, recipe, tokenizer, accelerator)
    accelerator.print(
        f"{recipe.task}: {len(data.train)} + {len(data.replay)} training, {len(data.validation)} validation, "
        f"{len(data.test)} test examples; "
        f"left out of training as near-duplicates of held-out texts: {data.left_out or 'none were added'}"
    )
    examples = Examples.of(data, recipe, tokenizer)
    progress = fit(model, examples, data, tokenizer, recipe, accelerator, arguments)
    if recipe.lora_rank:
        merge_adapters(model)
    making = {"processes": accelerator.num_processes, "training_seconds": round(progress.seconds)}
    making |= {"updates": progress.update, "best_update": progress.best_update}
    write_results(
        accelerator.unwrap_model(model, keep_fp32_wrapper=False),
        tokenizer,
        recipe,
        data,
        accelerator,
        arguments,
        making,
    )
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        remove_checkpoints(arguments.out)
        if arguments.push_to_hub:
            publish(arguments.out, arguments.push_to_hub)
    accelerator.end_training()


if __name__ == "__main__":
    main()
