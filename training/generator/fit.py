"""Updates, evaluations and checkpoints of a response model's training."""

import argparse
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.optimizer import AcceleratedOptimizer

from edos_dataset.arrays import Ints
from training.classifier.batches import WeightAverage
from training.classifier.model import grouped
from training.generator.batches import epoch, forward_passes, updates_in_epoch
from training.generator.measure import costs_of, figures_of, history_gain
from training.generator.pairs import Pairs
from training.generator.recipe import GeneratorRecipe
from training.generator.tasks import Learner, Task
from training.loop.checkpoints import Progress, resume
from training.loop.log import Log
from training.loop.rates import rate_factor


def fit(
    learner: Learner,
    train: Pairs,
    validation: Pairs,
    recipe: GeneratorRecipe,
    accelerator: Accelerator,
    arguments: argparse.Namespace,
) -> Progress:
    """Train to the end of the updates or of patience, and leave the model with the weights of the lowest validation
    cross-entropy.

    Raises:
        ValueError: the folder is of another training, or the loss is no number.
    """
    model, task = learner.model, learner.task
    updates = updates_of(train, recipe)
    looks = looks_of(train, recipe)
    optimizer = torch.optim.AdamW(
        grouped(((parameter, recipe.learning_rate) for parameter in model.parameters()), recipe.weight_decay),
        betas=(0.9, recipe.beta_2),
        eps=recipe.epsilon,
        fused=True,
    )
    prepared, optimizer = accelerator.prepare(model, optimizer)
    average = WeightAverage(model, recipe.averaging)
    warmup = recipe.warmup_updates / updates if recipe.warmup_updates else recipe.warmup
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimizer.optimizer, lambda update: rate_factor(min(update, updates - 1), updates, warmup, recipe.schedule)
    )
    accelerator.register_for_checkpointing(average, rates)
    progress = resume(arguments.out, fingerprint(recipe, train, validation, arguments), accelerator)
    held = _chosen(validation, recipe)
    log, begun = Log(arguments.out, progress.update, accelerator), time.perf_counter() - progress.seconds
    for rows in plan(train, recipe, progress.update):
        if progress.stopped:
            break
        loss = take_step(prepared, optimizer, rows, train, task, recipe, accelerator)
        log.update(progress.update + 1, updates, loss, float(rates.get_last_lr()[-1]), time.perf_counter() - begun)
        rates.step()
        average.add()
        progress.update, progress.seconds = progress.update + 1, time.perf_counter() - begun
        if progress.update in looks:
            with average.applied():
                figures = figures_of(
                    task, validation, held, *costs_of(model, task, validation, held, recipe, accelerator)
                )
                value = figures.pop("cross_entropy")
                if (gain := history_gain(model, task, validation, recipe, accelerator)) is not None:
                    figures["history_gain"] = gain
                if progress.judge(value, recipe.patience) and accelerator.is_main_process:
                    progress.keep_best(model, arguments.out)
            log.evaluation(progress.update, value, **figures)
        if progress.update % arguments.checkpoint_every == 0 and progress.update < updates:
            progress.save(arguments.out, accelerator)
    accelerator.wait_for_everyone()
    progress.load_best(model, arguments.out)
    return progress


def updates_of(train: Pairs, recipe: GeneratorRecipe) -> int:
    """Return the number of all updates."""
    every = recipe.epochs * updates_in_epoch(train, recipe)
    return min(every, recipe.updates) if recipe.updates else every


def looks_of(train: Pairs, recipe: GeneratorRecipe) -> set[int]:
    """Return after which updates the validation part is evaluated: evenly in every epoch, and after the last."""
    each, last = updates_in_epoch(train, recipe), updates_of(train, recipe)
    every = np.linspace(0, recipe.epochs * each, recipe.epochs * recipe.evaluations + 1).round().astype(int)
    return {int(update) for update in every[1:] if update < last} | {last}


def plan(train: Pairs, recipe: GeneratorRecipe, done: int) -> Iterator[Ints]:
    """Yield the rows of the updates that are still to come."""
    each, last = updates_in_epoch(train, recipe), updates_of(train, recipe)
    for number in range(done // each, recipe.epochs):
        for place, rows in enumerate(epoch(train, recipe, number)):
            if done <= number * each + place < last:
                yield rows


def take_step(
    model: torch.nn.Module,
    optimizer: AcceleratedOptimizer,
    rows: Ints,
    pairs: Pairs,
    task: Task,
    recipe: GeneratorRecipe,
    accelerator: Accelerator,
) -> float:
    """Update the weights by some pairs, each process by its share of them; return the mean loss (nats) of all, over
    targets or over pairs as the recipe says.
    """
    model.train()
    targets = task.targets(pairs)
    total = float(targets[rows].sum()) if recipe.mean_over == "tokens" else float(len(rows))
    # Sorted by length before they are dealt out, so that the processes get equally much to do.
    ranked = rows[np.argsort(pairs.history_tokens[rows] + pairs.answer_tokens[rows], kind="stable")]
    own = ranked[accelerator.process_index :: accelerator.num_processes]
    silent = len(own) == 0  # every process must take part in the exchange of gradients
    passes = forward_passes(ranked[:1] if silent else own, pairs, recipe.micro_tokens)
    summed = torch.zeros((), device=accelerator.device)
    for number, batch in enumerate(passes, start=1):
        inputs = {name: value.to(accelerator.device) for name, value in task.batch(pairs, batch).items()}
        share = 1.0 if recipe.mean_over == "tokens" else 1 / torch.from_numpy(targets[batch]).to(accelerator.device)
        with nullcontext() if number == len(passes) else accelerator.no_sync(model):
            with accelerator.autocast():
                nats, _ = task.losses(model, inputs, recipe.label_smoothing)
            loss = (nats * share).sum() / total * (not silent)
            # Gradients are averaged over the processes, and the loss is a sum over them.
            accelerator.backward(loss * accelerator.num_processes)
        summed += loss.detach()
    if recipe.gradient_norm:
        accelerator.clip_grad_norm_(model.parameters(), recipe.gradient_norm)
    optimizer.step()
    optimizer.zero_grad()
    return float(accelerator.reduce(summed, "sum"))


def _chosen(validation: Pairs, recipe: GeneratorRecipe) -> Ints:
    """Return the pairs by which the training is evaluated, the same every time."""
    rows = np.arange(len(validation))
    if not recipe.validation_pairs or recipe.validation_pairs >= len(rows):
        return rows
    return np.sort(np.random.default_rng([recipe.seed, len(rows)]).permutation(rows)[: recipe.validation_pairs])


def fingerprint(
    recipe: GeneratorRecipe, train: Pairs, validation: Pairs, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Return what must be equal for a checkpoint to be gone on from; the number of processes need not be."""
    parts = {"train": train.digest(), "validation": validation.digest()}
    return {"recipe": asdict(recipe), **parts, "start": str(arguments.start)}
