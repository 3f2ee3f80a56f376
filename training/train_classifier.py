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
import hashlib
import os
import sys
import time
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

from edos_dataset.metrics.classification import cross_entropy, softmax
from edos_dataset.runs.engines.base import available_cores
from edos_dataset.runs.recipes import RecipeError
from training.classifier.batches import Examples, WeightAverage, micro_batches, pad
from training.classifier.checkpoints import Progress, remove_checkpoints, resume
from training.classifier.data import Data, load_data
from training.classifier.model import build_model, build_tokenizer, merge_adapters, parameter_groups, token_ids
from training.classifier.recipe import ClassifierRecipe, read_recipe
from training.classifier.results import Log, predict, publish, teach, write_results


def main() -> None:
    """Train, from the command line."""
    arguments = parse_arguments()
    try:
        recipe = read_recipe(arguments.recipe)
        accelerator = start_processes(recipe, arguments)
        train(recipe, accelerator, arguments)
    except (RecipeError, ValueError, OSError) as error:
        sys.exit(f"error: {error}")


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--recipe", type=Path, required=True, help="YAML; training/classifier_recipe.py tells what it may say"
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


def start_processes(recipe: ClassifierRecipe, arguments: argparse.Namespace) -> Accelerator:
    """Join the other processes of this training, if there are any."""
    # accelerate launch leaves every process one thread (OMP_NUM_THREADS=1), also the only one.
    torch.set_num_threads(
        arguments.threads or max(1, available_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    )
    # Several CPU processes are announced by this variable alone; a GPU, accelerate finds by itself.
    on_cpu = os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes")
    accelerator = Accelerator(
        mixed_precision=recipe.precision, cpu=on_cpu, log_with="tensorboard", project_dir=str(arguments.out)
    )
    if arguments.processes and accelerator.num_processes != arguments.processes:
        raise ValueError(
            f"{accelerator.num_processes} processes run, not {arguments.processes}: check how accelerate launch is "
            "configured"
        )
    return accelerator


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


def fit(
    model: torch.nn.Module,
    examples: Examples,
    data: Data,
    tokenizer: Any,  # noqa: ANN401
    recipe: ClassifierRecipe,
    accelerator: Accelerator,
    arguments: argparse.Namespace,
) -> Progress:
    """Train to the end of the epochs or of patience, and leave the model with the weights of the lowest validation
    cross-entropy.
    """
    plan = [rows for epoch in range(recipe.epochs) for rows in examples.epoch(epoch, recipe)]
    evaluations = set(np.linspace(0, len(plan), recipe.epochs * recipe.evaluations + 1).round().astype(int).tolist())
    prepared, optimizer = accelerator.prepare(
        model, torch.optim.AdamW(parameter_groups(model, recipe), betas=(0.9, recipe.beta_2))
    )
    average = WeightAverage(model, recipe.averaging)
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimizer.optimizer, lambda update: rate_factor(update, len(plan), recipe)
    )
    accelerator.register_for_checkpointing(average, rates)
    progress = resume(arguments.out, fingerprint(recipe, examples, arguments), accelerator)
    validation = token_ids(recipe, tokenizer, data.validation.dialogues)
    log, begun = Log(arguments.out, progress.update, accelerator), time.perf_counter() - progress.seconds
    for rows in plan[progress.update :]:
        if progress.stopped:
            break
        loss = take_step(prepared, optimizer, rows, examples, tokenizer.pad_token_id, recipe, accelerator)
        log.update(progress.update + 1, len(plan), loss, rates.get_last_lr()[-1], time.perf_counter() - begun)
        rates.step()
        average.add()
        progress.update, progress.seconds = progress.update + 1, time.perf_counter() - begun
        if progress.update in evaluations:
            with average.applied():
                logits = predict(model, validation, recipe.micro_tokens, tokenizer.pad_token_id, accelerator)
                value = cross_entropy(softmax(logits), data.validation.labels)
                if progress.judge(value, recipe.patience) and accelerator.is_main_process:
                    progress.keep_best(model, arguments.out)
            log.evaluation(progress.update, value, float(np.mean(logits.argmax(axis=1) == data.validation.labels)))
        if progress.update % arguments.checkpoint_every == 0 and progress.update < len(plan):
            progress.save(arguments.out, accelerator)
    accelerator.wait_for_everyone()
    progress.load_best(model, arguments.out)
    return progress


def take_step(
    model: torch.nn.Module,
    optimizer: Any,  # noqa: ANN401
    rows: np.ndarray,
    examples: Examples,
    padding: int,
    recipe: ClassifierRecipe,
    accelerator: Accelerator,
) -> float:
    """Update the weights by some examples, each process by its share of them; return the weighted mean loss (nats) over
    all of them.
    """
    model.train()
    total = float(examples.weights[rows].sum())
    # Sorted by length before they are dealt out, so that the processes get equally much to do.
    ranked = rows[np.argsort([len(examples.inputs[row]) for row in rows], kind="stable")]
    own = ranked[accelerator.process_index :: accelerator.num_processes]
    silent = len(own) == 0  # every process must take part in the exchange of gradients
    batches = micro_batches(ranked[:1] if silent else own, examples.inputs, recipe.micro_tokens)
    loss_sum = torch.zeros((), device=accelerator.device)
    for number, batch in enumerate(batches, start=1):
        ids, mask = (tensor.to(accelerator.device) for tensor in pad([examples.inputs[row] for row in batch], padding))
        targets, weights = (
            examples.targets[batch].to(accelerator.device),
            examples.weights[batch].to(accelerator.device) * (not silent),
        )
        with nullcontext() if number == len(batches) else accelerator.no_sync(model):
            logits = model(input_ids=ids, attention_mask=mask).logits
            loss = (
                torch.nn.functional.cross_entropy(logits.float(), targets, reduction="none") * weights
            ).sum() / total
            # Gradients are averaged over the processes, and the loss is a sum over them.
            accelerator.backward(loss * accelerator.num_processes)
        loss_sum += loss.detach()
    accelerator.clip_grad_norm_(model.parameters(), recipe.gradient_norm)
    optimizer.step()
    optimizer.zero_grad()
    return float(accelerator.reduce(loss_sum, "sum"))


def rate_factor(update: int, updates: int, recipe: ClassifierRecipe) -> float:
    """Return the learning rate of an update (from 0) relative to its highest: linear warm-up, then a linear decay to
    zero or none.
    """
    warmup = max(1, round(recipe.warmup * updates))
    if update < warmup:
        return (update + 1) / warmup
    return 1.0 if recipe.schedule == "constant" else (updates - update) / max(1, updates - warmup)


def fingerprint(recipe: ClassifierRecipe, examples: Examples, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what must be equal for a checkpoint to be gone on from; the number of processes need not be."""
    digest = hashlib.sha256(repr(examples.inputs).encode())
    digest.update(examples.targets.numpy().tobytes() + examples.weights.numpy().tobytes())
    return {"recipe": asdict(recipe), "examples": digest.hexdigest(), "start": str(arguments.start)}


if __name__ == "__main__":
    main()
