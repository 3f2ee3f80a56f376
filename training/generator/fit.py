"""The training loop of a response model: updates, evaluations and checkpoints."""

import argparse
import math
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.optimizer import AcceleratedOptimizer
from accelerate.utils import gather_object

from edos_dataset.arrays import Doubles, Ints
from training.classifier.fit import WeightAverage
from training.classifier.model import grouped
from training.generator.pairs import Pairs, epoch, forward_passes, updates_in_epoch
from training.generator.recipe import GeneratorRecipe
from training.generator.tasks import Learner, OwnTask, Task, WholeTask, among_strangers
from training.loop import Log, Progress, each_update, rate_factor, resume

_OF_GAIN = 1000
"""Maximum number of pairs on which the gain of histories is measured."""


def costs_of(
    model: torch.nn.Module,
    task: Task,
    pairs: Pairs,
    rows: Ints,
    recipe: GeneratorRecipe,
    accelerator: Accelerator,
    strange: bool = False,
) -> tuple[Doubles, Ints]:
    """Return the cost of each pair's targets, nats [rows], and how many of them are the most probable token, [rows].

    Every process computes a part and receives all. `strange` pairs every target with the history of another pair.
    """
    model.eval()
    parts: list[tuple[Ints, Doubles, Ints]] = []
    passes = forward_passes(rows, pairs, 2 * recipe.micro_tokens)
    with torch.inference_mode(), accelerator.autocast():
        for batch in passes[accelerator.process_index :: accelerator.num_processes]:
            inputs = {name: value.to(accelerator.device) for name, value in task.batch(pairs, batch).items()}
            nats, right = task.losses(model, among_strangers(inputs) if strange else inputs, 0.0)
            parts.append((batch, nats.double().cpu().numpy(), right.cpu().numpy()))
    parts = gather_object(parts)  # a process may have had no pairs
    nats_of, right_of = np.zeros(len(pairs)), np.zeros(len(pairs), np.int64)
    for batch, nats_here, right_here in parts:
        nats_of[batch], right_of[batch] = nats_here, right_here
    return nats_of[rows], right_of[rows]


def history_gain(
    model: torch.nn.Module, task: Task, pairs: Pairs, recipe: GeneratorRecipe, accelerator: Accelerator
) -> float | None:
    """Return how many nats more a target costs after the history of another pair than after its own.

    Near 0, the model ignores the history, however low its perplexity. None if history and answer are one sequence, or
    if there is only one pair.
    """
    if not isinstance(task, OwnTask) or len(pairs) < 2:
        return None
    rows = np.sort(np.random.default_rng([recipe.seed, len(pairs)]).permutation(len(pairs))[:_OF_GAIN])
    own, others = (
        costs_of(model, task, pairs, rows, recipe, accelerator, strange)[0].sum() for strange in (False, True)
    )
    return float(others - own) / int(task.targets(pairs)[rows].sum())


def figures_of(task: Task, pairs: Pairs, rows: Ints, nats: Doubles, right: Ints) -> dict[str, float]:
    """Return cross-entropy (nats per target), perplexity, fraction of targets that are the most probable, and for
    answers the perplexity per word: all nats, including those of the ends, divided by the number of words.
    """
    targets = int(task.targets(pairs)[rows].sum())
    words = int(pairs.words[pairs.answer[rows]].sum())
    cross_entropy = float(nats.sum()) / targets
    found = {"cross_entropy": cross_entropy, "perplexity": _exp(cross_entropy)}
    if targets > len(rows):
        found["perplexity_per_word"] = _exp(float(nats.sum()) / max(1, words))
    return found | {"accuracy": float(right.sum()) / targets}


def measured(
    model: torch.nn.Module, task: Task, pairs: Pairs, recipe: GeneratorRecipe, accelerator: Accelerator
) -> dict[str, Any]:
    """Return the metrics of a split, with its numbers of pairs, targets and words."""
    rows = measured_rows(pairs, recipe)
    nats, right = costs_of(model, task, pairs, rows, recipe, accelerator)
    sizes = {"pairs": len(rows), "of_pairs": len(pairs), "targets": int(task.targets(pairs)[rows].sum())}
    sizes |= {"words": int(pairs.words[pairs.answer[rows]].sum()), **pairs.left_out}
    gain = history_gain(model, task, pairs, recipe, accelerator)
    gains = {} if gain is None else {"history_gain": gain}
    return figures_of(task, pairs, rows, nats, right) | gains | sizes


def measured_rows(pairs: Pairs, recipe: GeneratorRecipe) -> Ints:
    """Return the rows of a held-out split that are measured when the training has ended."""
    return evenly_spread(len(pairs), recipe.final_pairs or len(pairs))


def evenly_spread(count: int, most: int) -> Ints:
    """Return at most `most` of the indices from 0 to `count` - 1, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).astype(np.int64))


def unigram(
    task: Task, train: Pairs, part: Pairs, vocabulary: int, of_labels: bool, rows: Ints | None = None
) -> dict[str, float]:
    """Return the metrics of a unigram model on the given rows of a split, by default all: each token (or, for the
    predictor, each label) has its relative frequency in the answers of the training split, with add-one smoothing.
    """
    whole = isinstance(task, WholeTask)
    counts = target_counts(train, vocabulary, of_labels, whole)
    nats = -np.log(counts / counts.sum())
    rows = np.arange(len(part)) if rows is None else rows
    asked = _targets(part, rows, of_labels, whole)
    figures = figures_of(task, part, rows, nats[asked], (asked == counts.argmax()).astype(np.int64))
    return {name: round(value, 4) for name, value in figures.items()}


def target_counts(train: Pairs, vocabulary: int, of_labels: bool, whole: bool = False) -> Doubles:
    """Return the count of each token in the answers of the training split (all later turns of conversations that are
    read `whole`), or of each answer's label, plus one, [vocabulary].
    """
    counts = np.ones(vocabulary)
    for batch in np.array_split(np.arange(len(train)), max(1, len(train) // 10_000)):
        found, times = np.unique(_targets(train, batch, of_labels, whole), return_counts=True)
        counts[found] += times
    return counts


def _targets(pairs: Pairs, rows: Ints, of_labels: bool, whole: bool) -> Ints:
    if of_labels:
        return pairs.labels[pairs.answer[rows]].astype(np.int64)
    first = pairs.first[rows] + 1 if whole else pairs.answer[rows]
    answers = np.concatenate([np.arange(one, end + 1) for one, end in zip(first, pairs.answer[rows], strict=True)])
    begin = pairs.bounds[answers] + pairs.before[answers]
    lengths = pairs.bounds[answers + 1] - begin
    steps = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    found: Ints = pairs.tokens[np.repeat(begin, lengths) + steps].astype(np.int64)
    return found


def _exp(nats: float) -> float:
    return math.exp(nats) if nats < 700 else math.inf


def fit(
    learner: Learner,
    train: Pairs,
    validation: Pairs,
    recipe: GeneratorRecipe,
    accelerator: Accelerator,
    arguments: argparse.Namespace,
) -> Progress:
    """Train until the updates end or patience runs out, and leave the model with the weights of the lowest validation
    cross-entropy.

    Raises:
        ValueError: the folder belongs to another training, or the loss is not a number.
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
    rest = plan(train, recipe, progress.update)
    for rows in each_update(rest, progress, updates, model, arguments.out, arguments.checkpoint_every, accelerator):
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
    accelerator.wait_for_everyone()
    progress.load_best(model, arguments.out)
    return progress


def updates_of(train: Pairs, recipe: GeneratorRecipe) -> int:
    """Return the total number of updates."""
    every = recipe.epochs * updates_in_epoch(train, recipe)
    return min(every, recipe.updates) if recipe.updates else every


def looks_of(train: Pairs, recipe: GeneratorRecipe) -> set[int]:
    """Return the updates after which the validation split is evaluated: evenly spread in every
    epoch, and the last one.
    """
    each, last = updates_in_epoch(train, recipe), updates_of(train, recipe)
    every = np.linspace(0, recipe.epochs * each, recipe.epochs * recipe.evaluations + 1).round().astype(int)
    return {int(update) for update in every[1:] if update < last} | {last}


def plan(train: Pairs, recipe: GeneratorRecipe, done: int) -> Iterator[Ints]:
    """Yield the rows of the remaining updates."""
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
    """Update the weights on some pairs, split over the processes; return the mean loss (nats) of all, over targets or
    pairs as the recipe states.
    """
    model.train()
    targets = task.targets(pairs)
    total = float(targets[rows].sum()) if recipe.mean_over == "tokens" else float(len(rows))
    # Sorted by length before they are distributed, so that all processes have about the same work.
    ranked = rows[np.argsort(pairs.history_tokens[rows] + pairs.answer_tokens[rows], kind="stable")]
    own = ranked[accelerator.process_index :: accelerator.num_processes]
    silent = len(own) == 0  # every process must take part in the gradient exchange
    passes = forward_passes(ranked[:1] if silent else own, pairs, recipe.micro_tokens)
    summed = torch.zeros((), device=accelerator.device)
    for number, batch in enumerate(passes, start=1):
        inputs = {name: value.to(accelerator.device) for name, value in task.batch(pairs, batch).items()}
        share = 1.0 if recipe.mean_over == "tokens" else 1 / torch.from_numpy(targets[batch]).to(accelerator.device)
        with nullcontext() if number == len(passes) else accelerator.no_sync(model):
            with accelerator.autocast():
                nats, _ = task.losses(model, inputs, recipe.label_smoothing)
            loss = (nats * share).sum() / total * (not silent)
            # Gradients are averaged over processes, but the loss is a sum over them.
            accelerator.backward(loss * accelerator.num_processes)
        summed += loss.detach()
    if recipe.gradient_norm:
        accelerator.clip_grad_norm_(model.parameters(), recipe.gradient_norm)
    optimizer.step()
    optimizer.zero_grad()
    return float(accelerator.reduce(summed, "sum"))


def _chosen(validation: Pairs, recipe: GeneratorRecipe) -> Ints:
    """Return the pairs on which the training is evaluated, the same every time."""
    rows = np.arange(len(validation))
    if not recipe.validation_pairs or recipe.validation_pairs >= len(rows):
        return rows
    return np.sort(np.random.default_rng([recipe.seed, len(rows)]).permutation(rows)[: recipe.validation_pairs])


def fingerprint(
    recipe: GeneratorRecipe, train: Pairs, validation: Pairs, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Return what must match for a training to be resumed from a checkpoint; the number of processes may differ."""
    parts = {"train": train.digest(), "validation": validation.digest()}
    own = asdict(recipe)
    del own["final_pairs"]  # of what is measured afterwards
    return {"recipe": own, **parts, "start": str(arguments.start)}
