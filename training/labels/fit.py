"""The training loop: updates, evaluations on the validation splits, and checkpoints."""

import argparse
import hashlib
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.optimizer import AcceleratedOptimizer
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import PreTrainedTokenizerBase

from edos_dataset.arrays import Ints
from edos_dataset.encoders.encoder import token_batches
from training.classifier.fit import WeightAverage, pad
from training.labels.answers import answers_of, hits, vectors_of
from training.labels.model import JointModel, turn_ids
from training.labels.plan import Lessons, turns_of, updates_of
from training.labels.recipe import LabelsRecipe
from training.labels.sources import Taught
from training.labels.targets import loss_of
from training.loop import Log, Progress, each_update, linear_rate, resume

_LOOKED_AT = 1000
"""Approximate number of held-out turns of a source in an evaluation."""

_GATE = 0.1
"""Weight of the gate's loss, which trains only the gate."""


def fit(
    model: JointModel,
    lessons: Lessons,
    held: Mapping[str, Sequence[Taught]],
    tokenizer: PreTrainedTokenizerBase,
    recipe: LabelsRecipe,
    accelerator: Accelerator,
    arguments: argparse.Namespace,
) -> Progress:
    """Train for all updates, and leave the model with the averaged weights. The validation splits are evaluated but do
    not influence the training.

    Raises:
        ValueError: the folder belongs to another training.
    """
    inputs = turn_ids(lessons.texts, tokenizer, recipe.turn_tokens)
    plan = updates_of(lessons, recipe)
    looks = set(np.linspace(0, len(plan), recipe.evaluations + 1).round().astype(int).tolist())
    prepared, optimizer = accelerator.prepare(
        model, torch.optim.AdamW(model.groups(recipe), betas=(0.9, recipe.beta_2))
    )
    average = WeightAverage(model, recipe.averaging)
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimizer.optimizer, lambda update: linear_rate(update, len(plan), recipe.warmup)
    )
    accelerator.register_for_checkpointing(average, rates)
    progress = resume(arguments.out, fingerprint(recipe, inputs, lessons), accelerator)
    log, begun = Log(arguments.out, progress.update, accelerator), time.perf_counter() - progress.seconds
    rest, every = plan[progress.update :], arguments.checkpoint_every
    for parts in each_update(rest, progress, len(plan), model, arguments.out, every, accelerator):
        loss = take_step(prepared, optimizer, parts, inputs, lessons, tokenizer.pad_token_id or 0, recipe, accelerator)
        log.update(progress.update + 1, len(plan), loss, float(rates.get_last_lr()[-1]), time.perf_counter() - begun)
        rates.step()
        average.add()
        progress.update, progress.seconds = progress.update + 1, time.perf_counter() - begun
        if progress.update in looks:
            with average.applied():
                look(model, held, tokenizer, recipe, accelerator, log, progress.update)
    accelerator.wait_for_everyone()
    average.apply()
    return progress


def take_step(
    model: torch.nn.Module,
    optimizer: AcceleratedOptimizer,
    parts: Ints,
    inputs: Sequence[list[int]],
    lessons: Lessons,
    padding: int,
    recipe: LabelsRecipe,
    accelerator: Accelerator,
) -> float:
    """Update the weights on parts of dialogues, split over the processes; return the mean loss (nats) over all labelled
    turns, averaged over both heads.
    """
    model.train()
    total = int(lessons.taught[parts].sum())
    own = parts[accelerator.process_index :: accelerator.num_processes]
    silent = len(own) == 0  # every process must take part in the gradient exchange
    groups = _groups(parts[:1] if silent else own, inputs, lessons, recipe.micro_tokens)
    summed = torch.zeros((), device=accelerator.device)
    for number, group in enumerate(groups, start=1):
        turns, starts, chosen = turns_of(group, lessons.bounds, lessons.labelled)
        batches, order = batches_of([inputs[turn] for turn in turns], padding, recipe.encode_tokens)
        rows = lessons.labelled[turns[chosen]]
        moved = [(ids.to(accelerator.device), mask.to(accelerator.device)) for ids, mask in batches]
        places = (torch.from_numpy(each).to(accelerator.device) for each in (order, starts, chosen))
        learned = (lessons.values, lessons.wide, lessons.kinds, lessons.conventions)
        *truth, whose = (each[rows].to(accelerator.device) for each in learned)
        settings = recipe.silent_weight, recipe.label_smoothing
        with nullcontext() if number == len(groups) else accelerator.no_sync(model), attention_of(accelerator.device):
            heads = model(moved, *places)
            losses = [head_loss(logits, odds, whose, truth, settings) for logits, odds in heads]
            loss = torch.stack(losses).mean(0).sum() / total * (not silent)
            # Gradients are averaged over processes, but the loss is a sum over them.
            accelerator.backward(loss * accelerator.num_processes)
        summed += loss.detach()
    accelerator.clip_grad_norm_(model.parameters(), recipe.gradient_norm)
    optimizer.step()
    optimizer.zero_grad()
    return float(accelerator.reduce(summed, "sum"))


def head_loss(
    logits: torch.Tensor,
    odds: torch.Tensor,
    whose: torch.Tensor,
    truth: Sequence[torch.Tensor],
    settings: tuple[float, float],
) -> torch.Tensor:
    """Return the loss of a head for every turn, nats [n]: that of the turn's own convention, plus the weighted loss of
    the gate.

    Args:
        logits: [n, conventions, 41], as returned by `ConventionHead`.
        odds: [n, conventions], the gate's logits.
        whose: int64 [n], the convention of each turn.
        truth: values, wide and kinds, as for `loss_of`.
        settings: silent_weight and smoothing.
    """
    own = logits[torch.arange(len(whose), device=whose.device), whose].float()
    values, wide, kinds = truth
    gate = torch.nn.functional.cross_entropy(odds.float(), whose, reduction="none")
    return loss_of(own, values, wide, kinds, *settings) + _GATE * gate


def attention_of(device: torch.device) -> AbstractContextManager[None]:
    """Select the attention implementation: on a CPU the plain one, since the backward pass of the fused kernel is
    slower there.
    """
    return sdpa_kernel(SDPBackend.MATH) if device.type == "cpu" else nullcontext()


def batches_of(
    inputs: Sequence[list[int]], padding: int, budget: int
) -> tuple[list[tuple[torch.Tensor, torch.Tensor]], Ints]:
    """Return ids and mask of turns in batches of similar length, and the position of every turn in the concatenated
    batches.
    """
    batches = list(token_batches([len(ids) for ids in inputs], budget))
    order: Ints = np.argsort(np.concatenate(batches), kind="stable")
    return [pad([inputs[row] for row in batch], padding) for batch in batches], order


def _groups(parts: Ints, inputs: Sequence[list[int]], lessons: Lessons, budget: int) -> list[list[int]]:
    """Group parts so that each group has at most `budget` tokens; a longer part is a group of its own."""
    groups: list[list[int]] = [[]]
    count = 0
    for part in parts.tolist():
        size = sum(len(inputs[turn]) for turn in range(lessons.bounds[part], lessons.bounds[part + 1]))
        if groups[-1] and count + size > budget:
            groups.append([])
            count = 0
        groups[-1].append(part)
        count += size
    return groups


def look(
    model: JointModel,
    held: Mapping[str, Sequence[Taught]],
    tokenizer: PreTrainedTokenizerBase,
    recipe: LabelsRecipe,
    accelerator: Accelerator,
    log: Log,
    update: int,
) -> None:
    """Log for each source and answer the fraction of held-out turns whose most probable label is right."""
    vectors = vectors_of(held, model.model, tokenizer, recipe, accelerator, _LOOKED_AT)
    for answer, logits in answers_of(model.model, vectors, accelerator).items():
        log.look(update, answer, hits(vectors, logits))


def fingerprint(recipe: LabelsRecipe, inputs: Sequence[list[int]], lessons: Lessons) -> dict[str, Any]:
    """Return what must match for a training to be resumed from a checkpoint; the number of processes may differ."""
    digest = hashlib.sha256(repr(inputs).encode())
    for part in (lessons.values, lessons.kinds, lessons.conventions):
        digest.update(part.numpy().tobytes())
    digest.update(lessons.bounds.tobytes() + lessons.labelled.tobytes())
    return {"recipe": asdict(recipe), "lessons": digest.hexdigest()}
