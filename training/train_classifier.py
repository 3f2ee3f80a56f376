"""Train one of the two classifiers: the weak labeler (a single turn) or the dialogue classifier (a turn with its
history).

    accelerate launch training/train_classifier.py --recipe training/recipes/minilm/weak.yaml --data-dir \
        "$EDOS_DATA_DIR" --out models/weak
    accelerate launch training/train_classifier.py --recipe training/recipes/minilm/dialogue.yaml --data-dir \
        "$EDOS_DATA_DIR" \
        --start models/weak --out models/dialogue

On your own labels, of any set:

    accelerate launch training/train_classifier.py --labelled dialogues.csv --out models/mine

`--labelled` takes what `edos label` reads and writes, with a column of labels: CSV, TSV, Excel, JSON lines, JSON,
Parquet, Arrow, a folder of `edos curate`, `books`, `crowd seed` or `extend`, a saved dataset or one of the Hub. Columns
are found by name. The labels are those of the data (`--label-set` names their set, `--map` translates them); where a
cell has several, or there is a column for each label, a turn can have several. What is held out are whole films or
documents, where a column names them, otherwise whole dialogues. Without `--recipe` it fine-tunes by
`training/recipes/own/classifier.yaml`, or with `--lora` by `lora.yaml` there; `--base-model` names another encoder.

It runs on a CPU, in several CPU processes (`--config_file training/recipes/two_cpu_processes.yaml`), and on one or more
GPUs. An update sees the same examples with any number of processes, so losses agree up to rounding and dropout, which
every process draws separately. After an interruption the same command resumes from the last checkpoint, and ends with
the same weights.

`--out` becomes a model folder: the weights with their code and tokenizer, `metrics.json` and `predictions.npz` (logits)
of the test split, which is measured once (without a test split, `metrics.json` has only the validation metrics),
`record.json`, the model card, `log.jsonl` with every update, and `learning_curves.png`.
"""

import argparse
import os
import sys
from pathlib import Path

from accelerate import Accelerator
from accelerate.utils import set_seed

from edos_dataset.releases.formats.forms import FORMS
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.runs.recipes import RecipeError
from training.classifier.data import load_data
from training.classifier.fit import Examples, fit, teach
from training.classifier.model import build_model, build_tokenizer, merge_adapters
from training.classifier.own import Wanted
from training.classifier.own_labels import Asked
from training.classifier.recipe import ClassifierRecipe, read_recipe
from training.classifier.results import given_options, publish, write_results
from training.loop import remove_checkpoints, start_processes


def main() -> None:
    """Train, from the command line."""
    arguments = parse_arguments()
    try:
        recipe = read_recipe(arguments.recipe, arguments.set)
        accelerator = start_processes(recipe.precision, arguments.out, arguments.threads, arguments.processes)
        train(recipe, accelerator, arguments)
    except (RecipeError, ValueError, OSError, ImportError) as error:
        sys.exit(f"error: {error}")


OWN = Path(__file__).parent / "recipes" / "own"
"""Recipes for labels of one's own."""


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--recipe",
        type=Path,
        help="YAML; training/classifier/recipe.py explains it (default with --labelled: recipes/own/classifier.yaml)",
    )
    parser.add_argument("--set", action="append", metavar="KEY=VALUE", help="change a key of the recipe; repeatable")
    parser.add_argument("--base-model", metavar="ID_OR_FOLDER", help="encoder to start from, as --set base_model=...")
    parser.add_argument("--lora", action="store_true", help="train adapters: the recipe recipes/own/lora.yaml")
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the datasets (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument("--labelled", help="labelled dialogues to learn from instead of the authors' files")
    parser.add_argument("--out", type=Path, required=True, help="folder that becomes the model")
    parser.add_argument(
        "--start", type=Path, help="folder of a trained classifier to start from, such as the weak labeler's"
    )
    parser.add_argument("--cache", type=Path, help="folder in which embeddings are cached")
    parser.add_argument("--checkpoint-every", type=int, default=200, help="updates between two checkpoints")
    parser.add_argument(
        "--threads",
        type=int,
        help="threads of a process (default: the processors divided among the machine's processes)",
    )
    parser.add_argument("--processes", type=int, help="the required number of processes")
    parser.add_argument(
        "--push-to-hub", metavar="NAMESPACE/NAME", help="upload the finished folder as a model to the Hub"
    )
    _add_options(parser.add_argument_group("what --labelled holds"))
    arguments = parser.parse_args()
    _check(parser, arguments)
    if arguments.recipe is None:
        arguments.recipe = OWN / ("lora.yaml" if arguments.lora else "classifier.yaml")
    arguments.set = [*(arguments.set or [])]
    if arguments.base_model:
        arguments.set.append(f"base_model={arguments.base_model}")
    return arguments


def _add_options(group: argparse._ArgumentGroup) -> None:
    """Add the options about the user's data; they are named as those of `edos label`."""
    add = group.add_argument
    add(
        "--label-column",
        action="append",
        metavar="NAME",
        help="column of the labels; several, each with 1 or 0, are one for each label (default: found by name)",
    )
    add(
        "--label-set",
        metavar="NAME|FILE",
        help="set that the labels are of, or are translated into (default: those in the data)",
    )
    add("--map", dest="label_map", metavar="NAME|FILE", help="set or map into which labels are translated")
    add("--several", action="store_true", help="a cell can hold several labels, as in joy, surprise")
    add("--text-column", "--column", metavar="NAME", help="column of the texts or the dialogues")
    add("--id-column", metavar="NAME", help="column that names the dialogue of a turn")
    add("--time-column", metavar="NAME", help="column of times, by which turns are ordered")
    add("--group-column", metavar="NAME", help="column of what stays in one part, such as films")
    add("--config", metavar="NAME", help="config of a folder or dataset, or sheet of a workbook")
    add("--format", choices=FORMS, help="format of the file (default: by its name and beginning)")
    add("--skip-bad", action="store_true", help="leave out bad rows, and count them")


def _check(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Refuse arguments that contradict each other, before anything is read."""
    if fault := _fault_of_sources(arguments):
        parser.error(fault)
    if (arguments.out / "metrics.json").is_file():
        parser.error(f"{arguments.out} holds a finished training: choose another --out, or remove it to train again")
    if arguments.start and not (arguments.start / "config.json").is_file():
        parser.error(f"--start {arguments.start} is no model folder: it has no config.json")
    for name in ("checkpoint_every", "threads"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1, got {value}")


def _fault_of_sources(arguments: argparse.Namespace) -> str | None:
    """Return what is wrong with the arguments about data and recipe."""
    if arguments.recipe and arguments.lora:
        return "--lora chooses a recipe: leave it out, and give --set lora_rank=16 with --recipe"
    if arguments.labelled == "-":
        return "--labelled - cannot be read again after an interruption: write a file"
    if arguments.labelled is not None:
        return None
    if given := given_options(arguments):
        return f"{given[0][0]} is about --labelled: give that, too"
    if arguments.recipe is None:
        return "--recipe is missing: name a recipe of training/recipes, or your own data as --labelled"
    if arguments.data_dir is None:
        return (
            "--data-dir is missing and EDOS_DATA_DIR is not set: name the folder with empathetic_dialogues/ and "
            "edos_amt/, or your own as --labelled"
        )
    return None


def _wanted(arguments: argparse.Namespace) -> Wanted:
    """Return what the options say about the user's data."""
    selection = Selection(
        config=arguments.config,
        column=arguments.text_column,
        form=arguments.format,
        id_column=arguments.id_column,
        time_column=arguments.time_column,
        skip_bad=arguments.skip_bad,
        keep_labels=True,
    )
    columns = tuple(arguments.label_column or ())
    labels = Asked(columns, arguments.label_set, arguments.label_map, arguments.several)
    return Wanted(selection, labels, arguments.group_column)


def train(recipe: ClassifierRecipe, accelerator: Accelerator, arguments: argparse.Namespace) -> None:
    """Train the recipe's model and write its folder."""
    with accelerator.main_process_first():  # the first process fills the cache of embeddings for the others
        cache = arguments.cache or arguments.out / "embeddings"
        data = load_data(recipe, arguments.data_dir, cache, arguments.labelled, _wanted(arguments))
    arguments.out.mkdir(parents=True, exist_ok=True)
    set_seed(recipe.seed)
    tokenizer = build_tokenizer(recipe)
    model = build_model(recipe, tokenizer, arguments.start, data.label_set, data.several)
    set_seed(recipe.seed, device_specific=True)  # all processes start from the same model; their dropout differs
    if recipe.distil:
        data = teach(data, recipe, tokenizer, accelerator)
    for remark in data.remarks:
        accelerator.print(remark)
    task = "own labels" if data.own else recipe.task
    accelerator.print(
        f"{task}: {len(data.train)} + {len(data.replay)} training, {len(data.validation)} validation, "
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
